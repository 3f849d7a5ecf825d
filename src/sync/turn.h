// SPDX-License-Identifier: Apache-2.0
// Turns: one thread of the process at a time has what a turn guards. Who comes later climbs the
// ladder of the turn's own bell. A turn is had for as long as something is changed, never while its
// thread waits for other ranks. Short path: one atomic swap each to take it and to leave it, and
// none in a process of one thread.
//
// Order: a thread that has the turn of a communicator may take that of the list of work
// (sync/work.c) and of the table of requests; with either of these it only tries others.
#ifndef TERN_SYNC_TURN_H
#define TERN_SYNC_TURN_H

#include "base/single.h"
#include "sync/bell.h"

// Zero-initialised: free.
struct tern__turn {
    _Atomic uint32_t taken;
    struct tern__bell bell;
    _Atomic uintptr_t keeper; // the thread that goes on with it in another function
};

// A number of the calling thread, which no other living thread has; not 0.
uintptr_t tern__thread_number(void);

static inline bool tern__turn_try(struct tern__turn *turn)
{
    if (__builtin_expect(tern__single_threaded(),
                         1)) { // also where it is called back within its own turn
        bool is_free = tern__peek(&turn->taken) == 0;
        tern__poke(&turn->taken, 1);
        return is_free;
    }
    return tern__flag_swap(&turn->taken, 0, 1);
}

void tern__turn_await(struct tern__turn *turn);

static inline void tern__turn_take(struct tern__turn *turn)
{
    if (__builtin_expect(!tern__turn_try(turn), 0)) {
        tern__turn_await(turn);
    }
}

static inline void tern__turn_leave(struct tern__turn *turn)
{
    if (__builtin_expect(tern__single_threaded(), 1)) {
        tern__poke(&turn->taken, 0);
        return;
    }
    tern__flag_store(&turn->taken, 0);
    tern__bell_ring(&turn->bell); // partner: tern__turn_await
}

// The thread that has the turn keeps it for a function that enters.
static inline void tern__turn_keep(struct tern__turn *turn)
{
    atomic_store_explicit(&turn->keeper, tern__thread_number(), memory_order_relaxed);
}

// Takes it, unless this thread has kept it.
static inline void tern__turn_enter(struct tern__turn *turn)
{
    uintptr_t keeper = atomic_load_explicit(&turn->keeper, memory_order_relaxed);
    if (keeper != 0 && keeper == tern__thread_number()) {
        atomic_store_explicit(&turn->keeper, 0, memory_order_relaxed);
    } else {
        tern__turn_take(turn);
    }
}

#endif
