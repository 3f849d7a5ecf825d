// SPDX-License-Identifier: Apache-2.0
// One call that `tern perf` measures: where its buffers lie, what it is for the library, what must
// come of it, and how many bytes any implementation has to move.
#ifndef TERN_CLI_PERF_CALL_H
#define TERN_CLI_PERF_CALL_H

#include "perf/perf.h"
#include "data.h"
#include "tern/coll.h"
#include "tern/exec.h"

// Behind a buffer, to see whether a call writes there.
#define PERF_GUARD_BYTES 64

struct perf_call {
    enum perf_kind kind;
    int rank, nranks, root;
    uint64_t total; // elements, as shape.h means it
    bool in_place;
    struct cli_data data;
    uint64_t in_count, out_count; // of this rank
    char *in, *out;               // as the library gets them; in place they overlap
    tern_coll coll;
    tern_exec *recorded; // NULL: the call itself
    size_t in_counts[TERN_RANKS_MAX], out_counts[TERN_RANKS_MAX];
};

// Elements of the larger buffer for about `bytes`: whole ones, as many for every share, at least
// one.
uint64_t perf_total(enum perf_kind kind, int nranks, uint64_t bytes, size_t element_bytes);

// What the data of a kind are under these options.
struct cli_data perf_data_of(enum perf_kind kind, const struct perf_options *options);

// `in` and `out`: memory for the whole and a guard, on every rank. The call stays where it is: the
// library is given pointers into it.
void perf_call_make(struct perf_call *call, const struct perf_options *options, enum perf_kind kind,
                    uint64_t total, int rank, int nranks, char *in, char *out);

// Bytes from one pair of buffers to the next, of a call of so many elements.
static inline size_t perf_stride(uint64_t total, size_t element_bytes)
{
    return (total * element_bytes + PERF_GUARD_BYTES + 63) / 64 * 64;
}

// The blocking call; a status.
int perf_call_run(tern_comm *comm, const struct perf_call *call);

// TERN_OK when the library has all the algorithms that are asked for, at the least size; else a
// status.
int perf_call_judge(const struct perf_options *options, enum perf_kind kind, int nranks);

// Fills the input for a run and spoils the output.
void perf_call_fill(const struct perf_call *call, uint64_t run);

// Elements that are wrong after that run: of the output, of an input that has changed, and one for
// bytes written behind the output.
uint64_t perf_call_wrong(const struct perf_call *call, uint64_t run);

// Bytes that all ranks together must read and write.
uint64_t perf_bound_bytes(const struct perf_call *call);

// busbw / algbw.
double perf_bus_factor(enum perf_kind kind, int nranks);

#endif
