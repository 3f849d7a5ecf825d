// SPDX-License-Identifier: Apache-2.0
// What a collective call must give, computed naively: loops over elements in rank order, f16 and
// bf16 widened to f32 and rounded once by scalar code of its own. Shares nothing with the library
// but the numbers of tern/coll.h. An element of an input depends on its rank and its place alone,
// so every rank knows every input without having it. Inputs repeat after REF_PERIOD elements, a
// prime, so that large expectations are cheap and a block that lands at a wrong place is still
// seen.
#ifndef TERN_TEST_COLL_REF_H
#define TERN_TEST_COLL_REF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/coll.h"

#define REF_PERIOD 1021

// A call as all ranks together make it. SEND stands for a ring: everybody sends to the next rank
// and receives from the one before; RECV for pairs (0, 1), (2, 3), … that swap; who has no partner,
// itself.
struct ref_case {
    tern_coll_kind kind;
    tern_dtype dtype;
    tern_reduce_op op; // of kinds that reduce
    int n;
    int root;
    size_t count;  // of the (v) forms: what the shares are about
    uint64_t seed; // of the inputs and of the shares
    bool exact;    // whole numbers whose sums and products are the same in every order
    bool spread;   // (v) forms: shares in another order than the ranks', with gaps
};

bool ref_reduces(tern_coll_kind kind);    // it has an op
bool ref_has_shares(tern_coll_kind kind); // one of its buffers is n times the other
bool ref_is_v(tern_coll_kind kind);
bool ref_has_root(tern_coll_kind kind);

// Bytes of an element: of a pair for minloc and maxloc of the kinds that reduce.
size_t ref_element(const struct ref_case *c);

// What a rank passes: counts and offsets of its shares (the kinds without shares have one), and how
// many elements its buffers have.
struct ref_shares {
    size_t in_counts[TERN_RANKS_MAX], in_offsets[TERN_RANKS_MAX];
    size_t out_counts[TERN_RANKS_MAX], out_offsets[TERN_RANKS_MAX];
    size_t in_extent, out_extent; // 0: it has no such buffer
};
void ref_shares(const struct ref_case *c, int rank, struct ref_shares *shares);

// Elements [begin, begin + count) of a rank's input.
void ref_input(const struct ref_case *c, int rank, size_t begin, size_t count, void *to);

// Writes what the call gives into `to`, laid out as the rank's out; gaps are left as they are.
void ref_output(const struct ref_case *c, int rank, void *to);

// Zeroes what pairs have between and behind their fields, which means nothing.
void ref_clean(const struct ref_case *c, void *elements, size_t count);

// The call of a rank, from its shares (which it points to) and buffers; of SEND and RECV the
// sending half. The function and its argument are set for TERN_FUNCTION.
void ref_call(const struct ref_case *c, int rank, const struct ref_shares *shares, const void *in,
              void *out, tern_coll *call);

// Who the rank sends to and receives from in SEND and RECV.
int ref_to(const struct ref_case *c, int rank);
int ref_from(const struct ref_case *c, int rank);

// The caller's function: elements taken as unsigned integers of the size, accumulator * 3 + source;
// when exact, accumulator + source. The argument is one of these.
struct ref_function_arg {
    size_t size_bytes;
    bool exact;
    bool misaligned; // it was handed an address that is not a multiple of the size
};
extern struct ref_function_arg ref_function_args[9][2]; // by size and by exact
void ref_function(void *accumulator, const void *source, size_t count, void *arg);

// One element: the i-th of a rank's input; and what a reduction makes of one of each rank.
void ref_make_element(const struct ref_case *c, int rank, size_t i, char *to);
void ref_reduce_element(const struct ref_case *c, const char *const *from, char *to);

// A number that looks random, from three.
uint64_t ref_mix(uint64_t a, uint64_t b, uint64_t c);

#endif
