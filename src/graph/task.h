// SPDX-License-Identifier: Apache-2.0
// A task and its edges, of all three builders. Who builds writes a task before its last `pending`
// is taken away; then it belongs to who runs it.
//
// In graphs that grow while they run: pending is what the task still comes after, and until it is
// published what who builds adds: one, or TERN__UNPUBLISHED. Who takes the last one makes it ready.
// after: what comes after it. Who finishes a task closes that list, so that a later edge from it is
// known to be met; both sides are one atomic operation on that word, and no lock. Graphs that
// are whole before they run have both in dense arrays (struct tern__order).
#ifndef TERN_GRAPH_TASK_H
#define TERN_GRAPH_TASK_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/order.h"
#include "graph/until.h"
#include "tern/graph.h"

#define TERN__TASK_NAME_BYTES 36

struct tern__task;

// Of tasks of the second builder: `before_count` of those that are published, and what `pending` of
// the others begins with. That counts down by edges that end before the task is published, which
// `linked` then accounts for, so that adding an edge does not count.
#define TERN__PUBLISHED UINT32_MAX
#define TERN__UNPUBLISHED (UINT32_C(1) << 31)

struct tern__edge {
    struct tern__task *from, *to;
    struct tern__edge *next; // of those that begin at `from`
};

// In place of a list: the task has finished; and it was poisoned, or was not.
#define TERN__EDGES_CLOSED ((struct tern__edge *)(uintptr_t)1)
#define TERN__EDGES_POISONED ((struct tern__edge *)(uintptr_t)2)

static inline bool tern__edges_are_closed(const struct tern__edge *edges)
{
    return (uintptr_t)edges - 1 < 2;
}

// Conditions that something waits for: a task, to be ready; or a block, to have ended. Held in a
// list (hold.c) until all hold.
struct tern__hold {
    struct tern__hold *next;
    struct tern__task *task;
    bool ends;        // a block's; else a task's, to start
    uint32_t count;   // of conditions
    int64_t since_ns; // for traces
    struct tern__until *untils;
};

// What few tasks have.
struct tern__task_more {
    struct tern__hold hold; // its waits
    tern_predicate predicate;
    bool has_predicate;
    bool sync_start;
    uint8_t notices_count;
    tern_kernel mix[3];
    // Of a task that is being placed on cores; under the lock of gang.c.
    struct tern__task *next_gang;
    _Atomic uint32_t left; // calls of kernels that have not ended
    uint32_t turn;         // counts up from task to task
    int next_block;
    int reserve; // the cluster whose cores are kept for it, or -1
    tern_notice notices[TERN_TASK_NOTICES_MAX];
};

enum tern__task_special {
    TERN__TASK_WAITS = 1,
    TERN__TASK_PREDICATE = 2,
    TERN__TASK_EMPTY = 4,     // no kernel
    TERN__TASK_GANG = 8,      // several cores, or several blocks
    TERN__TASK_JOIN = 16,     // nobody's task: seal.c or join.c made it, and it does not count
    TERN__TASK_AWAY = 32,     // no core of this chip runs it (away.h)
    TERN__TASK_NOTIFIES = 64, // it has notices
};

// Of `flags`.
enum { TERN__TASK_POISONED = 1 };

struct tern__task {
    alignas(TERN_CACHE_LINE) tern_kernel kernel;
    const int64_t *args; // the kernel gets a copy
    const char *name;    // for reports and traces
    union {
        struct tern__edge *before; // of rings: those that end here
        uint32_t *numbers;         // else: of the tasks before it, also twice until it is sealed
    };
    uint32_t before_count; // of these, or TERN__PUBLISHED
    // Cores count it down: not in the line where who builds makes edges that begin here.
    _Atomic uint32_t pending;
    uint32_t blocks;
    uint16_t args_count;
    uint8_t core;    // tern_core
    uint8_t special; // enum tern__task_special
    uint8_t ring;
    uint32_t number; // in its ring, or in its table
    _Atomic uint32_t flags;
    // In rings. Of itself and the tasks after it, those that have finished: cores count, and so not
    // in the line where the orchestration makes edges.
    _Atomic uint32_t users_done;

    alignas(TERN_CACHE_LINE) _Atomic(struct tern__edge *) after;
    struct tern__task *next; // in the list it is in
    struct tern__task_more *more;
    uint32_t record; // its place in the record of the run (history.h)
    // In rings. Itself and the tasks after it, as the orchestration alone counts. Until the scope
    // has ended, more can come.
    union {
        _Atomic uint32_t users;
        uint32_t linked; // not of rings: edges that end here and were not met when they were made
    };
    // Of rings, by the orchestration alone: what is in use up to and with this task.
    uint64_t heap_end, edges_end, args_end;
    uint64_t by; // for traces: the id of the task that released it, + 1
};
_Static_assert(sizeof(struct tern__task) == 2 * TERN_CACHE_LINE, "two lines");
_Static_assert(offsetof(struct tern__task, users_done) < TERN_CACHE_LINE &&
                   offsetof(struct tern__task, pending) < TERN_CACHE_LINE &&
                   offsetof(struct tern__task, after) >= TERN_CACHE_LINE &&
                   offsetof(struct tern__task, users) > TERN_CACHE_LINE,
               "cores and the orchestration count in different lines");

// What it is called in records and traces.
static inline uint64_t tern__task_id_of(const struct tern__task *task)
{
    return (uint64_t)task->ring << 32 | task->number;
}

// Kernels that a call of the task has: blocks times cores.
static inline uint32_t tern__task_calls(const struct tern__task *task)
{
    uint32_t cores = 1;
    if (task->core == TERN_CORE_MIX) {
        cores = 0;
        for (int i = 0; i < 3; i++) {
            cores += task->more->mix[i] != NULL;
        }
    }
    return cores * task->blocks;
}

// `to`, which is not published, comes after edge->from; its `pending` counts the edge already.
// False: that has finished, and who calls takes the edge back. Its memory stays while the graph
// runs.
static inline bool tern__task_link(struct tern__edge *edge)
{
    struct tern__edge *seen = atomic_load_explicit(&edge->from->after, memory_order_acquire);
    do {
        if (tern__edges_are_closed(seen)) {     // partner: the exchange in run.c
            if (seen == TERN__EDGES_POISONED) { // and so is what comes after it
                tern__poke(&edge->to->flags, TERN__TASK_POISONED);
            }
            return false;
        }
        edge->next = seen;
    } while (!atomic_compare_exchange_weak_explicit(&edge->from->after, &seen, edge,
                                                    memory_order_acq_rel, memory_order_acquire));
    return true;
}

// The same while nothing runs, and nobody else uses the list.
static inline void tern__task_link_alone(struct tern__edge *edge, struct tern__task *from)
{
    edge->next = atomic_load_explicit(&from->after, memory_order_relaxed);
    atomic_store_explicit(&from->after, edge, memory_order_relaxed);
}

// What `pending` of an unpublished task of the second builder is too high by.
static inline uint32_t tern__task_unpublished(const struct tern__task *task)
{
    return TERN__UNPUBLISHED - task->linked;
}

// Of rings: it has finished, and so have all that came after it so far.
static inline bool tern__task_unused(const struct tern__task *task)
{
    return tern__flag_load(&task->users_done) == tern__peek(&task->users);
}

static inline bool tern__task_finished(const struct tern__task *task)
{
    return tern__edges_are_closed(atomic_load_explicit(&task->after, memory_order_acquire));
}

#endif
