// SPDX-License-Identifier: Apache-2.0
// What ranks know of each other in checking mode (isa/check.h): shared memory that is made with the
// first communicator of a job when TERN_ISA_CHECK asks for it. Sparse.
//
// On several machines each rank writes to its own part alone, or, about words of other machines, to
// the part of its machine's leader; what another machine's parts say is fetched when it is asked
// for. So what a rank did before it told anybody is found by whoever was told.
#ifndef TERN_COMM_CHECKING_H
#define TERN_COMM_CHECKING_H

#include <stdbool.h>
#include <stdint.h>

#include "comm/window.h"

enum {
    TERN__WATCH_ACCESSES = 256, // that are remembered, of a rank to another rank's part
    TERN__WATCH_SIGNALS = 4096, // of a rank
    TERN__WATCH_SITES = 1024,
    TERN__WATCH_SITE_BYTES = 128,
    // How far from its place the entry of a word of another machine may be: all of these are
    // fetched.
    TERN__WATCH_AWAY_TRIES = 16,
};

#define TERN__EPOCH_PENDING UINT32_MAX

// A rank's clock, and what it knows of the others'. `launches`: where the clock was when a kernel
// ended, by the kernel's number.
enum { TERN__WATCH_LAUNCHES = 64 };
struct tern__clock {
    _Atomic uint32_t time;
    _Atomic uint32_t known[TERN_RANKS_MAX];
    _Atomic uint64_t launches[TERN__WATCH_LAUNCHES]; // number << 32 | time; 0: none
};

// A load or a store of a rank: ordered before whoever knows of a time after `epoch`.
struct tern__access {
    _Atomic uint32_t version; // 0: never used; odd: it is being written
    _Atomic uint32_t epoch;
    uint32_t window; // which one
    uint32_t kind;
    uint32_t site;
    uint32_t block;
    int64_t offset; // bytes from the beginning of the part
    int64_t element_bytes;
    int64_t shape[5];
    int64_t stride[5];
};

struct tern__watch_ring {
    uint64_t count;
    struct tern__access accesses[TERN__WATCH_ACCESSES];
};

// A word that is notified.
struct tern__watch_signal {
    _Atomic uint64_t key; // 0: free
    _Atomic uint32_t notifies;
    _Atomic uint32_t by; // who notified last: rank, site
    _Atomic uint32_t carries[TERN_RANKS_MAX];
};

// Of a rank; by rank of the job whose part is touched.
struct tern__watch_part {
    struct tern__clock clock;
    char sites[TERN__WATCH_SITES][TERN__WATCH_SITE_BYTES];
    struct tern__watch_signal signals[TERN__WATCH_SIGNALS];
    struct tern__watch_signal rest; // all words that found no place among them
    struct tern__watch_ring loads[TERN_RANKS_MAX];
    struct tern__watch_ring stores[TERN_RANKS_MAX];
    // Of a machine's leader: words of ranks of other machines that ranks here notify.
    struct tern__watch_signal away[TERN__WATCH_SIGNALS + TERN__WATCH_AWAY_TRIES];
    struct tern__watch_signal away_rest;
};

static inline struct tern__watch_part *tern__watch_part(const tern_window *share, int rank)
{
    return (struct tern__watch_part *)(void *)tern__window_at(share, rank, 0);
}

// What a rank has at an address of its part: there, or a copy of what is on another machine. Zeros
// when that has not come: a failure that the communicator knows.
const void *tern__watch_read(const tern_window *share, int rank, const void *at, void *copy,
                             size_t bytes);

static inline void tern__watch_raise(_Atomic uint32_t *clock, uint32_t value)
{
    uint32_t seen = tern__flag_load(clock);
    while (seen < value && !tern__flag_swap(clock, seen, value)) {
        seen = tern__flag_load(clock);
    }
}

// All ranks of the communicator have met: each knows what the others did before. `tick` before the
// meeting, `join` after it.
void tern__checking_tick(tern_comm *comm);
void tern__checking_join(tern_comm *comm);

// The host of a kernel may have met the others by means that tern does not see. So a kernel that
// begins knows what ended on other ranks with a kernel of a lower number: all ranks are taken to
// launch the same ones. Numbers from 1.
void tern__checking_kernel_begins(uint64_t number);
void tern__checking_kernel_ended(uint64_t number);

// Whether TERN_ISA_CHECK asks for the mode.
bool tern__checking_asked(void);

// For the first communicator of a job; nothing when the mode is off. The second when all ranks have
// left, since others may read this one's part until then.
int tern__checking_create(tern_comm *comm);
void tern__checking_destroy(tern_comm *comm);

// The same with memory that is there: of tern__watch_part for each rank, and zero.
int tern__checking_attach(tern_comm *comm, tern_window *share);

#endif
