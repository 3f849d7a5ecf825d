// SPDX-License-Identifier: Apache-2.0
// The slots of the control memory that communicators lie in.
//
// Where a job is on several machines, each has a slot of the same number for a communicator that
// they share, and a number is given out by one machine only: slot s by machine s modulo their
// count. Each time it has a higher generation, which is told with it: what comes late, about an
// older communicator of the slot, is of no interest, and what comes early, about a newer one than
// is known here, finds the slot made ready for it: no member of the older one is left, or the
// number would not have been given out again.
#ifndef TERN_SYNC_SLOTS_H
#define TERN_SYNC_SLOTS_H

#include "sync/job.h"

// Which one, and of which generation.
struct tern__slot {
    int32_t number; // -1: none
    uint32_t generation;
};

// Takes a free one, for a communicator of so many members. None: number is -1.
struct tern__slot tern__slot_take(struct tern__job *job, int size);

// TERN_ERR_LIMIT for `call`: there was none.
int tern__slots_exhausted(const struct tern__job *job, const char *call);

// Makes ready what a rank of another machine has taken; nothing if it is.
void tern__slot_ready(struct tern__job *job, struct tern__slot slot, int size);

// One member less, by itself; the last one here or away gives the slot back. The slot is not
// touched by the member any more.
void tern__slot_leave(struct tern__job *job, struct tern__slot slot);

// For the thread that receives: the communicator that a message is about, made ready and locked,
// until tern__slot_unlock; NULL for an older one.
struct tern__ctl_comm *tern__slot_lock(struct tern__job *job, struct tern__slot slot, int size);
void tern__slot_unlock(struct tern__job *job, struct tern__slot slot);

#endif
