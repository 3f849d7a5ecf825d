// SPDX-License-Identifier: Apache-2.0
// Rings (rings.h): taking, and giving back. rings_make.c makes them.

#include "graph/rings.h"

#include <stdio.h>
#include <string.h>

#include "base/public.h"
#include "graph/chip.h"
#include "graph/join.h"
#include "graph/orchestrate.h"

static void empty_bump(struct tern__bump *bump)
{
    bump->head = bump->tail = bump->offset = bump->most = 0;
}

void tern__rings_begin(struct tern__rings *rings, tern_graph *graph)
{
    rings->graph = graph;
    rings->bell = &graph->chip->room_bell;
    rings->tasks = 0;
    rings->depth = -1;
    rings->has_joins = false;
    memset(rings->joins, 0, sizeof rings->joins);
    tern__map_clear(rings->map);
    for (int r = 0; r < TERN_RINGS; r++) {
        struct tern__ring *ring = &rings->ring[r];
        ring->next = ring->freed = ring->joins = ring->most = ring->most_entries = 0;
        tern__flag_store(&ring->alive, 0);
        tern__flag_store(&ring->wake_at, 0);
        tern__flag_store(&ring->released, 0);
        empty_bump(&ring->heap);
        empty_bump(&ring->edges);
        empty_bump(&ring->args);
    }
    tern__rings_open(rings, TERN_SCOPE_AUTO);
}

uint64_t tern__rings_end(struct tern__rings *rings)
{
    while (rings->depth >= 0) {
        tern__rings_close(rings);
    }
    return rings->tasks;
}

// Whether somebody who waits for room need not wait any longer: enough has retired, or nothing more
// can.
static bool is_enough(const struct tern__ring *ring)
{
    uint32_t alive = tern__flag_load(&ring->alive);
    return (int32_t)(alive - tern__flag_load(&ring->wake_at)) >= 0 ||
           alive == tern__flag_load(&ring->released);
}

// Whether the oldest task may go; and so on. Who cannot have the lock has made its change before,
// and who has the lock looks again after it has let go: one of the two sees it.
static void retire(struct tern__rings *rings, struct tern__ring *ring)
{
    for (;;) {
        if (!tern__flag_swap(&ring->retiring, 0, 1)) {
            return;
        }
        uint32_t released = tern__flag_load(&ring->released);
        uint32_t alive = tern__flag_load(&ring->alive);
        while (alive != released && tern__task_unused(&ring->rows[alive & ring->mask])) {
            alive++;
        }
        tern__flag_store(&ring->alive, alive); // partner: drop_user, is_enough
        tern__flag_store(&ring->retiring, 0);
        if (is_enough(ring)) {
            tern__bell_ring(rings->bell);
        }
        if (alive == tern__flag_load(&ring->released) ||
            !tern__task_unused(&ring->rows[alive & ring->mask])) {
            return;
        }
    }
}

// What users_done of a join comes to, and by nothing else, with the last of those after it and its
// hold: who sees it needs no other word of a row that may be another task's.
#define JOIN_UNUSED (UINT32_C(1) << 31)

// The last user of a join but the join itself: then nobody needs those before it. It is there until
// it has dropped itself.
static void drop_join(struct tern__rings *rings, struct tern__task *task)
{
    for (uint32_t i = 0; i < task->before_count; i++) {
        tern__rings_drop_user(rings, task->before[i].from);
    }
    tern__rings_drop_user(rings, task);
}

// Before the scope has ended, nothing retires, and more users may come; its end looks at them all.
static void drop_users(struct tern__rings *rings, struct tern__task *task, uint32_t count)
{
    struct tern__ring *ring = &rings->ring[task->ring];
    const uint32_t number = task->number;
    const bool join = (task->special & TERN__TASK_JOIN) != 0;
    const uint32_t done = tern__flag_add(&task->users_done, count) + count; // partner: retire
    if (join && done == JOIN_UNUSED) {
        drop_join(rings, task);
        return;
    }
    // From here on it may have retired, and its row be another task's.
    if ((int32_t)(number - tern__flag_load(&ring->released)) < 0 &&
        done == tern__peek(&task->users) && tern__flag_load(&ring->alive) == number) {
        retire(rings, ring);
    }
}

void tern__rings_drop_user(struct tern__rings *rings, struct tern__task *task)
{
    drop_users(rings, task, 1);
}

void tern__rings_drop_hold(struct tern__rings *rings, struct tern__task *join)
{
    const uint32_t readers = tern__peek(&join->users) - 2;
    tern__poke(&join->users, JOIN_UNUSED + 1); // the join itself
    drop_users(rings, join, JOIN_UNUSED - readers);
}

void tern__rings_ended(struct tern__rings *rings, struct tern__task *task)
{
    for (uint32_t i = 0; i < task->before_count; i++) {
        tern__rings_drop_user(rings, task->before[i].from);
    }
    tern__rings_drop_user(rings, task);
}

void tern__rings_open(struct tern__rings *rings, tern_scope mode)
{
    rings->scopes[++rings->depth] = (struct tern__open_scope){.mode = mode};
}

void tern__rings_close(struct tern__rings *rings)
{
    tern__joins_drop(rings, true);
    int which = tern__ring_of_depth(rings->depth--);
    struct tern__ring *ring = &rings->ring[which];
    uint32_t released = ring->next;
    // Scopes of the last ring lie in one another.
    for (int depth = rings->depth; depth >= which; depth--) {
        if (rings->scopes[depth].tasks > 0) {
            released = rings->scopes[depth].first;
        }
    }
    tern__flag_store(&ring->released, released); // partner: retire
    retire(rings, ring);
}

// What is empty begins anew, also when tasks that have nothing of it are still in flight: their
// ends are then before the tail.
static void give_back(struct tern__bump *bump, uint64_t tail)
{
    uint64_t used = bump->head - bump->tail;
    bump->most = used > bump->most ? used : bump->most;
    bump->tail = tail > bump->tail ? tail : bump->tail;
    if (bump->tail == bump->head && bump->offset > 0) {
        bump->tail = bump->head += bump->size - bump->offset;
        bump->offset = 0;
    }
}

static void collect(struct tern__rings *rings, int which)
{
    struct tern__ring *ring = &rings->ring[which];
    uint32_t alive = tern__flag_load(&ring->alive); // partner: retire
    if (alive == ring->freed) {
        return;
    }
    const struct tern__task *last = &ring->rows[(alive - 1) & ring->mask];
    uint32_t used = tern__ring_used(ring);
    ring->most = used > ring->most ? used : ring->most;
    uint32_t entries = tern__map_used(rings->map, which);
    ring->most_entries = entries > ring->most_entries ? entries : ring->most_entries;
    give_back(&ring->heap, last->heap_end);
    give_back(&ring->edges, last->edges_end);
    give_back(&ring->args, last->args_end);
    tern__map_retire(rings->map, which, alive);
    for (uint32_t at = ring->freed; ring->joins > 0 && at != alive; at++) {
        ring->joins -= (ring->rows[at & ring->mask].special & TERN__TASK_JOIN) != 0;
    }
    ring->freed = alive;
}

void tern__rings_collect(struct tern__rings *rings)
{
    for (int r = 0; r < TERN_RINGS; r++) {
        collect(rings, r);
    }
}

// Whether a piece is at the beginning of the memory: it does not fit behind what is there, or is
// beyond what is usually enough and fits there.
static bool wraps(const struct tern__bump *bump, uint64_t size)
{
    uint64_t end = bump->offset + size;
    return end > bump->size ||
           (end > bump->usual && bump->offset > 0 &&
            bump->head + (bump->size - bump->offset) + size - bump->tail <= bump->size);
}

// What a piece skips at the end of the memory.
static uint64_t skip_of(const struct tern__bump *bump, uint64_t size)
{
    return wraps(bump, size) ? bump->size - bump->offset : 0;
}

static bool has_room(const struct tern__bump *bump, uint64_t size)
{
    return size == 0 || bump->head + skip_of(bump, size) + size - bump->tail <= bump->size;
}

bool tern__rings_has_room(const struct tern__ring *ring, uint32_t edges)
{
    return ring->joins + 1 < ring->window &&
           has_room(&ring->edges, edges * sizeof(struct tern__edge));
}

void *tern__bump_take_any(struct tern__bump *bump, uint64_t size)
{
    uint64_t begin = wraps(bump, size) ? 0 : bump->offset;
    bump->head += skip_of(bump, size) + size;
    bump->offset = begin + size;
    return bump->base + begin;
}

// The code of what lacks first, or 0.
static int lacks(const struct tern__rings *rings, const struct tern__room *need)
{
    int which = tern__ring_of_depth(rings->depth);
    const struct tern__ring *ring = &rings->ring[which];
    if (tern__ring_used(ring) + 1 >= ring->window || !has_room(&ring->args, need->args)) {
        return rings->scopes[rings->depth].tasks + 1 >= ring->window
                   ? TERN__CODE_SCOPE_DEADLOCK
                   : TERN__CODE_FLOW_CONTROL_DEADLOCK;
    }
    if (!has_room(&ring->heap, need->heap)) {
        return TERN__CODE_HEAP_RING_DEADLOCK;
    }
    if (!has_room(&ring->edges, need->edges * sizeof(struct tern__edge))) {
        return TERN__CODE_DEP_POOL_OVERFLOW;
    }
    return tern__map_used(rings->map, which) + need->entries > ring->entries
               ? TERN__CODE_TENSORMAP_OVERFLOW
               : 0;
}

static bool some_retired(void *arg)
{
    return is_enough(arg);
}

static bool waits_no_more(struct tern_chip *chip)
{
    return tern__flag_load(&chip->run.failed) != TERN__RUN_WELL ||
           tern__flag_load(&chip->run.cancelled) != 0;
}

struct waiting {
    struct tern_chip *chip;
    bool (*holds)(void *arg);
    void *arg;
};

static bool goes_on(void *arg)
{
    const struct waiting *waiting = arg;
    return waiting->holds(waiting->arg) || waits_no_more(waiting->chip);
}

int tern__rings_wait(struct tern__rings *rings, bool (*holds)(void *arg), void *arg, int code)
{
    struct tern_chip *chip = rings->graph->chip;
    struct waiting waiting = {chip, holds, arg};
    struct tern__ladder ladder = tern__cores_ladder(&chip->cores);
    struct tern__wait wait = {.bell = &chip->room_bell,
                              .ladder = &ladder,
                              .timeout_ns = INT64_MAX, // the scheduler keeps the deadline
                              .holds = goes_on,
                              .arg = &waiting};
    if (rings->graph->later != NULL) { // else nothing would move
        tern__orchestrate_release(rings->graph);
    }
    tern__flag_store(&chip->orchestrator_waits, (uint32_t)code); // partner: end_one in run.c
    tern__wait(&wait);
    tern__poke(&chip->orchestrator_waits, 0);
    // In a run that has failed, tasks end without having run.
    return waits_no_more(chip)
               ? tern__fail(TERN_ERR_STATE, "the run of the graph has failed meanwhile")
               : TERN_OK;
}

static int refuse(struct tern__rings *rings, int code, const struct tern__room *need, bool proof)
{
    int which = tern__ring_of_depth(rings->depth);
    const struct tern__ring *ring = &rings->ring[which];
    struct tern_chip *chip = rings->graph->chip;
    char why[160];
    snprintf(why, sizeof why, "%s",
             proof ? "nothing can retire: the oldest task is of a scope that is open"
                   : "one task needs more than there is");
    tern__run_fail(
        chip, TERN_ERR_LIMIT, code,
        "%s: ring %d: %s; %u of %u rows, %llu of %llu heap bytes, %llu of %llu edges are "
        "in use; the task needs %llu bytes and %u edges; scope depth %d has %u tasks",
        tern_graph_code_name(code), which, why, tern__ring_used(ring), ring->window - 1,
        (unsigned long long)(ring->heap.head - ring->heap.tail),
        (unsigned long long)ring->heap.size,
        (unsigned long long)((ring->edges.head - ring->edges.tail) / sizeof(struct tern__edge)),
        (unsigned long long)(ring->edges.size / sizeof(struct tern__edge)),
        (unsigned long long)need->heap, need->edges, rings->depth,
        rings->scopes[rings->depth].tasks);
    return tern__fail(TERN_ERR_LIMIT, "tern_graph_submit: %s", chip->run.failure);
}

int tern__rings_await_any(struct tern__rings *rings, const struct tern__room *need)
{
    int which = tern__ring_of_depth(rings->depth);
    struct tern__ring *ring = &rings->ring[which];
    int code = lacks(rings, need);
    if (code == 0) {
        return TERN_OK;
    }
    if (need->heap > ring->heap.size) {
        return refuse(rings, TERN__CODE_HEAP_RING_DEADLOCK, need, false);
    }
    if (need->edges * sizeof(struct tern__edge) > ring->edges.size) {
        return refuse(rings, TERN__CODE_DEP_POOL_OVERFLOW, need, false);
    }
    if (need->entries > ring->entries) {
        return refuse(rings, TERN__CODE_TENSORMAP_OVERFLOW, need, false);
    }
    for (;;) {
        collect(rings, which);
        code = lacks(rings, need);
        if (code == 0) {
            return TERN_OK;
        }
        // The proof: only the end of a scope, which the caller does not come to, lets it retire.
        if (ring->freed == tern__flag_load(&ring->released) &&
            tern__flag_load(&ring->alive) == ring->freed) {
            return refuse(rings, code, need, true);
        }
        // For a quarter of what is in flight, so that it is not woken for each.
        tern__flag_store(&ring->wake_at, ring->freed + (ring->next - ring->freed) / 4 + 1);
        TERN_TRY(tern__rings_wait(rings, some_retired, ring, code));
    }
}

struct tern__task *tern__rings_use_late(const struct tern__rings *rings, tern_task_id id)
{
    struct tern__task *task = tern__rings_find(rings, id);
    if (task == NULL) {
        return NULL;
    }
    const uint32_t users = tern__peek(&task->users);
    uint32_t done = tern__flag_load(&task->users_done);
    while (done != users) { // else it may retire at any time
        if (atomic_compare_exchange_weak(&task->users_done, &done, done - 1)) {
            return task;
        }
    }
    return NULL;
}

static int graph_marks(const tern_graph *graph, tern_ring_marks *marks)
{
    TERN_TRY(tern__handle_check("tern_graph_marks", graph, TERN__GRAPH));
    if (graph->rings == NULL || marks == NULL || tern__graph_is_taken(graph)) {
        return tern__fail(graph->rings == NULL || marks == NULL ? TERN_ERR_ARG : TERN_ERR_STATE,
                          "tern_graph_marks: %s",
                          marks == NULL          ? "marks must not be NULL"
                          : graph->rings == NULL ? "the graph has no rings"
                                                 : "the graph runs, or its turn has not come");
    }
    tern_ring_marks found = {.tasks = graph->rings->tasks};
    tern__rings_collect(graph->rings);
    for (int r = 0; r < TERN_RINGS; r++) {
        const struct tern__ring *ring = &graph->rings->ring[r];
        found.window[r] = ring->most;
        found.heap[r] = ring->heap.most;
        found.edges[r] = (uint32_t)(ring->edges.most / sizeof(struct tern__edge));
        found.regions[r] = ring->most_entries;
    }
    *marks = found;
    return TERN_OK;
}

int tern_graph_marks(const tern_graph *graph, tern_ring_marks *marks)
{
    return TERN__CALL(graph_marks(graph, marks));
}
