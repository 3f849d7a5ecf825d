// SPDX-License-Identifier: Apache-2.0
// The rings of the third builder: rows of tasks, heaps of outputs, edges and arguments, each of a
// fixed size, used in the order of submission and given back in that order. A task's part is given
// back when all before it in its ring have been, the scope that submitted it has ended, and it and
// the tasks after it have finished: it has retired.
//
// The orchestration alone takes; whoever finishes the oldest task of a ring lets it retire.
#ifndef TERN_GRAPH_RINGS_H
#define TERN_GRAPH_RINGS_H

#include "graph/bump.h"
#include "graph/graph.h"
#include "graph/tensor_map.h"
#include "tern/submit.h"

struct tern__ring {
    struct tern__task *rows;
    uint32_t window, mask;
    uint32_t next;         // number of the next task
    uint32_t freed;        // tasks before have been given back
    uint32_t joins;        // rows in use that are no tasks, beyond the window
    uint32_t most;         // rows in use at once
    uint32_t entries;      // of the map
    uint32_t most_entries; // in use at once
    struct tern__bump heap, edges, args;
    alignas(TERN_CACHE_LINE) _Atomic uint32_t alive; // the oldest that has not retired
    _Atomic uint32_t released;                       // tasks before are of scopes that have ended
    _Atomic uint32_t retiring;                       // a lock: somebody counts `alive` up
    _Atomic uint32_t wake_at; // when `alive` comes there, the orchestration is rung
};

struct tern__open_scope {
    tern_scope mode;
    uint32_t tasks; // submitted in it, not in those inside
    uint32_t first; // of these
};

struct tern__rings {
    struct tern__ring ring[TERN_RINGS];
    uint32_t flags;
    tern_graph *graph;
    struct tern__bell *bell; // that the orchestration sleeps on
    struct tern__tensor_map *map;
    struct tern__ids ids; // of the task that is being submitted
    int depth;            // of the innermost scope; -1: no run
    struct tern__open_scope scopes[TERN_SCOPES_MAX];
    uint64_t tasks;     // of the run
    uint32_t has_joins; // bit i: joins[i] is one that a lookup may find
    struct {
        struct tern__task *row; // NULL: none
        tern_task_id id;
        struct tern__map_share *share; // of the map
    } joins[TERN__MAP_SHARES];
    int waits_code; // what the orchestration waits for, for the report
    bool heap_lent; // tern__rings_lend_heap
};

static inline int tern__ring_of_depth(int depth)
{
    return depth < TERN_RINGS ? depth : TERN_RINGS - 1;
}

// For a run, and at its end: how many tasks there were.
void tern__rings_begin(struct tern__rings *rings, tern_graph *graph);
uint64_t tern__rings_end(struct tern__rings *rings);

// Whether somebody who waits for room need not wait any longer: enough has retired, or nothing more
// can.
bool tern__ring_is_enough(const struct tern__ring *ring);

// Whether the oldest task may go; and so on. Who cannot have the lock has made its change before,
// and who has the lock looks again after it has let go: one of the two sees it.
void tern__rings_retire(struct tern__rings *rings, struct tern__ring *ring);

// The task has finished. From any thread.
void tern__rings_ended(struct tern__rings *rings, struct tern__task *task);

// Scopes, checked by the caller.
void tern__rings_open(struct tern__rings *rings, tern_scope mode);
void tern__rings_close(struct tern__rings *rings);

// Room for one more task in the ring of the innermost scope: a row, and so many bytes, edges and
// entries of the map. Waits for it. TERN_ERR_LIMIT when it is certain that none can come,
// TERN_ERR_STATE when the run has failed meanwhile: the run knows why.
struct tern__room {
    uint64_t heap, args;
    uint32_t edges, entries;
};
int tern__rings_await_any(struct tern__rings *rings, const struct tern__room *need);

// The row of a task that has not retired, else NULL. What has retired stays where it is until the
// caller collects it.
static inline struct tern__task *tern__rings_find(const struct tern__rings *rings, tern_task_id id)
{
    const struct tern__ring *ring = &rings->ring[(id >> 32) % TERN_RINGS];
    const uint32_t number = (uint32_t)id;
    return (int32_t)(number - ring->freed) < 0 ? NULL : &ring->rows[number & ring->mask];
}

// Where the row of a task is or was; another task's may be there by now.
static inline struct tern__task *tern__ring_row(const struct tern__ring *ring, tern_task_id id)
{
    return &ring->rows[(uint32_t)id & ring->mask];
}

static inline struct tern__task *tern__rings_row(const struct tern__rings *rings, tern_task_id id)
{
    return tern__ring_row(&rings->ring[(id >> 32) % TERN_RINGS], id);
}

// Tasks of a ring that are of open scopes, and so cannot retire: `count` ids from `first` on. Where
// numbers go around, it has too few.
struct tern__open_ids {
    tern_task_id first;
    uint64_t count;
};

static inline struct tern__open_ids tern__rings_open_ids(const struct tern__rings *rings, int which)
{
    const struct tern__ring *ring = &rings->ring[which];
    const uint32_t released = tern__peek(&ring->released);
    return (struct tern__open_ids){(uint64_t)which << 32 | released, ring->next - released};
}

static inline bool tern__is_open(struct tern__open_ids open, tern_task_id id)
{
    return id - open.first < open.count;
}

// The row of a task that there is, of a scope that is open: it cannot retire. Else NULL.
static inline struct tern__task *tern__rings_open_row(const struct tern__rings *rings,
                                                      tern_task_id id)
{
    if (id >> 32 >= TERN_RINGS) {
        return NULL;
    }
    const struct tern__ring *ring = &rings->ring[id >> 32];
    const uint32_t released = tern__peek(&ring->released);
    return (uint32_t)id - released < ring->next - released ? &ring->rows[(uint32_t)id & ring->mask]
                                                           : NULL;
}

// One more task uses what this one, of an open scope, has made. True.
static inline bool tern__task_use(struct tern__task *row)
{
    tern__poke(&row->users, tern__peek(&row->users) + 1);
    return true;
}

// The same of a scope that has ended. False: it has retired.
bool tern__rings_use_late(const struct tern__rings *rings, tern_task_id id);

// The same, of any scope.
static inline bool tern__rings_use(const struct tern__rings *rings, tern_task_id id,
                                   struct tern__task *row)
{
    const struct tern__ring *ring = &rings->ring[(id >> 32) % TERN_RINGS];
    if (__builtin_expect((int32_t)((uint32_t)id - tern__peek(&ring->released)) < 0, 0)) {
        return tern__rings_use_late(rings, id);
    }
    return tern__task_use(row);
}

// Takes in what has retired.
void tern__rings_collect(struct tern__rings *rings);

// Waits until `holds`. TERN_ERR_STATE when the run has failed meanwhile.
int tern__rings_wait(struct tern__rings *rings, bool (*holds)(void *arg), void *arg, int code);

// Rows of tasks in use.
static inline uint32_t tern__ring_used(const struct tern__ring *ring)
{
    return ring->next - ring->freed - ring->joins;
}

static inline bool tern__ring_fits(const struct tern__rings *rings, int which,
                                   const struct tern__room *need)
{
    const struct tern__ring *ring = &rings->ring[which];
    return tern__ring_used(ring) + 1 < ring->window && tern__bump_fits(&ring->args, need->args) &&
           tern__bump_fits(&ring->heap, need->heap) &&
           tern__bump_fits(&ring->edges, need->edges * sizeof(struct tern__edge)) &&
           tern__map_used(rings->map, which) + need->entries <= ring->entries;
}

static inline int tern__rings_await(struct tern__rings *rings, const struct tern__room *need)
{
    return tern__ring_fits(rings, tern__ring_of_depth(rings->depth), need)
               ? TERN_OK
               : tern__rings_await_any(rings, need);
}

// Whether there is room for a join, and so many more edges, without waiting.
bool tern__rings_has_room(const struct tern__ring *ring, uint32_t edges);

// One who uses what the task has made has finished. From any thread.
void tern__rings_drop_user(struct tern__rings *rings, struct tern__task *task);

// Nobody comes after the join any more. By the orchestration, once.
void tern__rings_drop_hold(struct tern__rings *rings, struct tern__task *join);

// Tasks in flight at most.
uint64_t tern__rings_tasks(const struct tern__rings *rings);

// The heaps are in this memory, as large as all of them together. Before the first run.
void tern__rings_lend_heap(struct tern__rings *rings, char *memory);

// Of the options, or of the environment. TERN_ERR_ARG, TERN_ERR_MEMORY.
int tern__rings_make(const tern_ring_options *options, struct tern__rings **rings);
void tern__rings_free(struct tern__rings *rings);

#endif
