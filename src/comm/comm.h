// SPDX-License-Identifier: Apache-2.0
// The communicator from inside: a group of ranks, and what has been made on it.
#ifndef TERN_COMM_COMM_H
#define TERN_COMM_COMM_H

#include <stdbool.h>

#include "base/handle.h"
#include "net/net.h"
#include "sync/group.h"
#include "sync/turn.h"
#include "tern/comm.h"
#include "xport/xport.h"

// What is made from a communicator and goes before it.
enum tern__child {
    TERN__CHILD_WINDOW,
    TERN__CHILD_CHIP,
    TERN__CHILD_PART,
    TERN__CHILD_REQUEST,
    TERN__CHILD_MEMORY,
    TERN__CHILD_WAITER,
};
#define TERN__CHILDREN 6

struct tern_comm {
    struct tern__handle handle;
    void *calls; // of coll/call; NULL before the first one
    struct tern__turn turn; // of its calls
    struct tern__group group;
    bool first;            // it joined the job, and leaves it when it is destroyed
    bool logs;             // log lines of this process have the rank of this job
    uint32_t windows_made; // for tags; the same on all ranks
    _Atomic uint32_t children[TERN__CHILDREN];        // made from it and alive
    const struct tern__xport *xports[TERN_RANKS_MAX]; // the way to each rank
    struct tern_comm *parent;                         // the communicator it was split from
    struct tern_window *area;                         // comm/area.h
    struct tern__heap *heap;                          // comm/heap.h; of the first one, or NULL
    struct tern_window *checking;                     // comm/checking.h; likewise
    void (*free_calls)(void *calls);
    void (*ended)(void); // the first one's: after it has left the job; or NULL
};

// Makes the first communicator of a job that this process has joined; leaves the job when it
// cannot.
int tern__comm_first(struct tern__job *job, void (*ended)(void), struct tern_comm **comm);

// The same for a job in which only windows are wanted: without an area, so without calls, a heap or
// checking mode. tern_comm_destroy frees it. NULL, with a sentence, leaves the job as it is.
tern_comm *tern__comm_bare(struct tern__job *job);

static inline void tern__comm_gains(struct tern_comm *comm, enum tern__child child)
{
    tern__flag_add(&comm->children[child], 1);
}

static inline void tern__comm_loses(struct tern_comm *comm, enum tern__child child)
{
    tern__flag_add(&comm->children[child], UINT32_MAX);
}

// TERN_OK for a communicator that lives; the sentence begins with the name of the public call.
static inline int tern__comm_lives(const char *call, const struct tern_comm *comm)
{
    return tern__handle_check(call, comm, TERN__COMM);
}

// TERN_OK, or why the communicator has failed. Cheap: no system call, one shared line.
static inline int tern__comm_check(struct tern_comm *comm)
{
    if (__builtin_expect(tern__flag_load(&comm->group.shared->failed) != TERN__WORKING, 0)) {
        return tern__group_check(&comm->group, false);
    }
    return TERN_OK;
}

#endif
