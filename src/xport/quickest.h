// SPDX-License-Identifier: Apache-2.0
// Long work on memory by the way that is quickest here and now. Whether stores go best through the
// caches or past them follows from the caches, from what else is in them and, in a virtual machine,
// from what that says of them: glibc 2.36 on an AMD EPYC that lends two of its cores copies through
// the caches up to 240 MiB, whereas both have 32 MiB, and 16 MiB then take twice as long as they
// need; on another such machine stores past the caches took twice as long. So all work tells what
// its way takes: mostly the quickest is used, and seldom another one is tried.
//
// What a way takes shows when the work before went the same way: stores through the caches are
// quick where others went past them, since who comes later pays for writing them back. So a way is
// tried twice in a row, and the second time counts.
#ifndef TERN_XPORT_QUICKEST_H
#define TERN_XPORT_QUICKEST_H

#include <stddef.h>
#include <stdint.h>

enum {
    TERN__WAYS_MAX = 3,
    TERN__QUICKEST_TRIALS = 4,  // of each way, in a row, before one is chosen
    TERN__QUICKEST_SELDOM = 64, // afterwards two of so many go another way
    TERN__QUICKEST_CLASSES = 8,
};

// What work takes by each way, in ns a MiB, and how often it was tried, up to the number of trials.
// Threads may share it: of two that report at a time one may not be counted.
struct tern__quickest {
    _Atomic uint32_t ns[TERN__WAYS_MAX]; // 0: not known
    _Atomic uint32_t tried[TERN__WAYS_MAX];
    _Atomic uint32_t last; // way, and 1
    _Atomic uint32_t works;
};

// The way to go next, of the first `ways`.
int tern__quickest_next(struct tern__quickest *quickest, int ways);

// So many bytes have taken so long by this way. More than twice what is known was interrupted, and
// counts as twice. The first time of a row counts as long as nothing else is known.
void tern__quickest_took(struct tern__quickest *quickest, int way, int64_t ns, uint64_t bytes);

// What is known of work on so many bytes, of all that is known of one kind of work: [0] is of less
// than 4 MiB, each other one of less than twice the one before, the last one of all.
struct tern__quickest *tern__quickest_of(struct tern__quickest known[TERN__QUICKEST_CLASSES],
                                         uint64_t bytes);

// All of the work, by a way.
typedef void tern__way_fn(const void *arg, int way);

// Does it by one of the first `ways`. Data path.
void tern__quickest_run(struct tern__quickest known[TERN__QUICKEST_CLASSES], int ways,
                        uint64_t bytes, tern__way_fn *fn, const void *arg);

#endif
