// SPDX-License-Identifier: Apache-2.0
// Ranks stay spread over the processors. They begin so (spread.h), but whoever sleeps wakes up
// where the kernel finds a place at that moment, and of threads that hand a processor to each other
// all the time it seldom moves one: 3 of 4 ranks stay on one of 2 processors for tenths of a
// second, and each small call takes nearly twice as long. So each rank says now and then where it
// is and looks where the others are, and one of those on a processor with two more than another one
// moves. Only while calls take microseconds: in those that take longer some ranks have more to do
// than others, which sleep meanwhile, and the kernel finds the places that suit.
#ifndef TERN_SYNC_BALANCE_H
#define TERN_SYNC_BALANCE_H

#include <stdbool.h>

#include "sync/job.h"

// Looks once in so many calls that ranks make together.
#define TERN__BALANCE_EVERY 32

// Short path: the number-th call of the calling thread that other ranks make, too. Once in a while
// it looks, and may move to another processor of its own, on all of which it may run as before.
// Does nothing where there are more processors than ranks (the kernel knows better which of those
// share a core), and where ranks have chips, whose cores are spread by themselves.
void tern__balance_now(struct tern__job *job);
static inline void tern__balance(struct tern__job *job, uint32_t number)
{
    if (number % TERN__BALANCE_EVERY == 0 && tern__job_is_crowded(job)) {
        tern__balance_now(job);
    }
}

// Whether a rank that runs on processor `at` is to move, the others being where ctl says; and to
// which one, in *cpu.
bool tern__balance_is_better(const struct tern__job *job, int at, int *cpu);

#endif
