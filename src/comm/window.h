// SPDX-License-Identifier: Apache-2.0
// The window from inside: one mapping of all ranks' parts, one after the other.
#ifndef TERN_COMM_WINDOW_H
#define TERN_COMM_WINDOW_H

#include "base/trace.h"
#include "comm/comm.h"
#include "mem/promised.h"
#include "tern/window.h"
#include "xport/xport.h"

struct tern_window {
    struct tern__handle handle;
    struct tern_comm *comm;
    const struct tern__xport *xport; // between parts that are mapped, for who has their addresses
    char *base;                      // of rank 0's part
    size_t size_bytes;               // of a part, and the distance between two
    int rank;
    int nranks;
    uint32_t number;  // of the communicator's windows, from 0
    int fd;           // on rank 0, to see how much of it is still untouched; else -1
    bool sparse;      // tern__window_create_sparse
    bool placed;      // this rank has taken the machine's place of it
    bool shared_far;  // known to the network, and placed on all machines
    uint32_t *places; // by machine: of struct tern__ctl_window; or NULL
    bool heap;        // not a window to programs: comm/heap.h
    struct tern__promised promised;
    const struct tern__xport *xports[TERN_RANKS_MAX]; // as comm has them: one load less a put
    tern_context context;
};

// Instead of a window's number.
#define TERN__AREA_NUMBER UINT32_MAX
#define TERN__HEAP_NUMBER (UINT32_MAX - 1)

// TERN_OK for a window that lives; the sentence begins with the name of the public call.
static inline int tern__window_lives(const char *call, const struct tern_window *window)
{
    return tern__handle_check(call, window, TERN__WINDOW);
}

// tern_window_create of memory that takes nothing until it is touched: it is not held against what
// the machine has to give, has no place in tern_window_find, and does not count as a child of comm.
int tern__window_create_sparse(tern_comm *comm, size_t size_bytes, tern_window **window);

// A window of parts that are mapped, one after the other, and whose memory others see to; it is
// unmapped with the window. On several machines those of ranks elsewhere are addresses alone, and
// nothing comes in before it is made, which is to be agreed on. number: TERN__AREA_NUMBER for a
// sparse one.
int tern__window_of_parts(tern_comm *comm, void *base, size_t size_bytes, uint32_t number,
                          tern_window **window);

// Where a range of a rank's part is in this process. TERN_ERR_ARG, with a sentence that begins with
// `call`, when the window does not live, the rank does not exist, or the range sticks out; the
// error of a failed communicator.
int tern__window_range(tern_window *window, const char *call, int rank, size_t offset_bytes,
                       size_t size_bytes, char **address);

// Byte `offset_bytes` of a rank's part: its name in this process, of every rank. Who wants to load
// from it or store to it asks tern__window_is_mapped first.
static inline char *tern__window_at(const tern_window *window, int rank, size_t offset_bytes)
{
    return window->base + (size_t)rank * window->size_bytes + offset_bytes;
}

// The way to a rank of the window; and whether its part can be read and written through a pointer.
static inline const struct tern__xport *tern__window_xport(const tern_window *window, int rank)
{
    return window->xports[rank];
}

static inline bool tern__window_is_mapped(const tern_window *window, int rank)
{
    return tern__window_xport(window, rank)->is_mapped;
}

// The machine that a rank's part is on, in jobs on several.
static inline const char *tern__window_machine(const tern_window *window, int rank)
{
    const struct tern__group *group = &window->comm->group;
    const struct tern__machines *machines = group->job->machines;
    return machines != NULL ? machines->list[machines->of[group->members[rank]]].name : "elsewhere";
}

// After a transfer to or from a rank, or a notify: TERN_OK, or why it has not gone. Nothing that
// is mapped fails.
int tern__window_sent_far(tern_window *window, int rank);
static inline int tern__window_sent(tern_window *window, int rank)
{
    return __builtin_expect(tern__window_is_mapped(window, rank), 1)
               ? TERN_OK
               : tern__window_sent_far(window, rank);
}

// The doorbell of a rank of the window.
static inline struct tern__bell *tern__window_bell(const tern_window *window, int rank)
{
    const struct tern__group *group = &window->comm->group;
    return &group->job->ctl->ranks[group->members[rank]].bell;
}

// In a trace: the arrow from who changes a word of a rank's part to who waits for it; and an event
// about a rank's part, filled in.
static inline uint64_t tern__window_arrow(const tern_window *window, int rank, size_t offset_bytes)
{
    const struct tern__group *group = &window->comm->group;
    return tern__trace_arrow(TERN__ARROW_WINDOW, group->slot,
                             (uint64_t)window->number << 32 | (uint32_t)group->members[rank],
                             offset_bytes);
}

static inline struct tern__trace_event tern__window_event(const tern_window *window, int rank,
                                                          enum tern__trace_kind kind,
                                                          int64_t begin_ns)
{
    return (struct tern__trace_event){.begin_ns = begin_ns,
                                      .kind = (uint16_t)kind,
                                      .peer = (int16_t)window->comm->group.members[rank],
                                      .has = TERN__TRACE_HAS_PEER};
}

#endif
