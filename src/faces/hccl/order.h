// SPDX-License-Identifier: Apache-2.0
// From a call of HCCL to calls of tern: where it is put, and how calls of one communicator keep
// their order. Each call that is appended records the communicator's event behind itself; a call on
// another stream than the one before waits for that event first. So streams do all of the waiting,
// and no thread waits for its turn.
#ifndef TERN_FACES_HCCL_ORDER_H
#define TERN_FACES_HCCL_ORDER_H

#include "faces/hccl/state.h"
#include "tern/coll.h"

// Calls of tern that are under way together, and behind them the arrays that they point to: one
// piece of memory of `bytes`, copied as it is. Pointers into it are those of where it was made.
struct tern__hccl_work {
    struct hccl *comm;
    const char *name; // of the function of HCCL
    size_t bytes;
    const void *made_at;
    uint32_t count;
    tern_coll calls[];
};

// NULL: no memory, with its sentence. *words: room for so many counts and offsets.
struct tern__hccl_work *tern__hccl_work_new(const char *name, struct hccl *comm, uint32_t count,
                                            size_t words, size_t **room);

// Takes the work: makes its calls in the order of the stream, or keeps it for the end of the
// thread's group. What a rank can see alone has been checked.
HcclResult tern__hccl_submit(struct tern__hccl_work *work, tern_stream *stream);

// HCCL_SUCCESS when calls on the communicator may be made now: it lives, and is not suspended.
HcclResult tern__hccl_ready(const char *call, const struct hccl *comm);

// Whether this thread is in a group; and whether that keeps calls on the communicator.
bool tern__hccl_in_group(void);
bool tern__hccl_gathers(const struct hccl *comm);

// For what uses the communicator without a stream: waits until its calls have ended, and keeps
// others away until leave.
int tern__hccl_enter(struct hccl *comm);
void tern__hccl_leave(struct hccl *comm);

#endif
