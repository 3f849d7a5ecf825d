// SPDX-License-Identifier: Apache-2.0
// Whether the process of a rank lives, seen without a system call. A rank holds a robust mutex in
// the control memory from when it enters its job. The kernel marks it when the thread that holds it
// ends, before the process lets go of its memory (get_robust_list(2)). So whoever finds it held
// knows that the process had not ended before: bytes that were read out of it until then are that
// process's, and no other's that has its number by now.
//
// Held says that it lives. Not held says nothing: the thread may have ended alone, or the rank has
// left. Then the kernel is asked (sync/reach.c).
#ifndef TERN_SYNC_ALIVE_H
#define TERN_SYNC_ALIVE_H

#include <stdbool.h>

#include "sync/job.h"

// This rank lives, as long as the calling thread does. Once a job; set-up path.
void tern__life_begin(struct tern__job *job);

// Data path.
bool tern__life_is_seen(const struct tern__ctl *ctl, int rank);

// This rank no longer takes part: unmaps the control memory. If the thread that holds its mutex is
// another one and may live, the page of it stays mapped, since that thread's list leads there.
void tern__life_end(struct tern__job *job);

#endif
