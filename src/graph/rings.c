// SPDX-License-Identifier: Apache-2.0
// Rings (rings.h): taking, and giving back. rings_make.c makes them.

#include "graph/rings.h"

#include <stdio.h>
#include <string.h>

#include "base/public.h"
#include "graph/chip.h"
#include "graph/join.h"
#include "graph/orchestrate.h"

void tern__rings_begin(struct tern__rings *rings, tern_graph *graph)
{
    rings->graph = graph;
    rings->bell = &graph->chip->room_bell;
    rings->tasks = 0;
    rings->depth = -1;
    rings->has_joins = 0;
    memset(rings->joins, 0, sizeof rings->joins);
    tern__map_clear(rings->map);
    for (int r = 0; r < TERN_RINGS; r++) {
        struct tern__ring *ring = &rings->ring[r];
        ring->next = ring->freed = ring->joins = ring->most = ring->most_entries = 0;
        tern__flag_store(&ring->alive, 0);
        tern__flag_store(&ring->wake_at, 0);
        tern__flag_store(&ring->released, 0);
        tern__bump_empty(&ring->heap);
        tern__bump_empty(&ring->edges);
        tern__bump_empty(&ring->args);
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
    tern__flag_store(&ring->released, released); // partner: tern__rings_retire
    tern__rings_retire(rings, ring);
}

static void collect(struct tern__rings *rings, int which)
{
    struct tern__ring *ring = &rings->ring[which];
    uint32_t alive = tern__flag_load(&ring->alive); // partner: tern__rings_retire
    if (alive == ring->freed) {
        return;
    }
    const struct tern__task *last = &ring->rows[(alive - 1) & ring->mask];
    uint32_t used = tern__ring_used(ring);
    ring->most = used > ring->most ? used : ring->most;
    uint32_t entries = tern__map_used(rings->map, which);
    ring->most_entries = entries > ring->most_entries ? entries : ring->most_entries;
    tern__bump_give_back(&ring->heap, last->heap_end);
    tern__bump_give_back(&ring->edges, last->edges_end);
    tern__bump_give_back(&ring->args, last->args_end);
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

// The code of what lacks first, or 0.
static int lacks(const struct tern__rings *rings, const struct tern__room *need)
{
    int which = tern__ring_of_depth(rings->depth);
    const struct tern__ring *ring = &rings->ring[which];
    if (tern__ring_used(ring) + 1 >= ring->window ||
        !tern__bump_has_room(&ring->args, need->args)) {
        return rings->scopes[rings->depth].tasks + 1 >= ring->window
                   ? TERN__CODE_SCOPE_DEADLOCK
                   : TERN__CODE_FLOW_CONTROL_DEADLOCK;
    }
    if (!tern__bump_has_room(&ring->heap, need->heap)) {
        return TERN__CODE_HEAP_RING_DEADLOCK;
    }
    if (!tern__bump_has_room(&ring->edges, need->edges * sizeof(struct tern__edge))) {
        return TERN__CODE_DEP_POOL_OVERFLOW;
    }
    return tern__map_used(rings->map, which) + need->entries > ring->entries
               ? TERN__CODE_TENSORMAP_OVERFLOW
               : 0;
}

static bool some_retired(void *arg)
{
    return tern__ring_is_enough(arg);
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
