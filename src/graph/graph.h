// SPDX-License-Identifier: Apache-2.0
// A task graph from inside. Built as lists, sealed once into arrays: after that only the scheduler
// reads it, and its per-run state lies apart (struct tern__run).
#ifndef TERN_GRAPH_GRAPH_H
#define TERN_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/handle.h"
#include "stream/core.h"
#include "tern/graph.h"

#define TERN__TASK_NAME_BYTES 36

struct tern__graph_task {
    struct tern__kernel_call call; // its name and its args point into the graph after sealing
    char name[TERN__TASK_NAME_BYTES];
    uint32_t args_first;       // in graph->args
    uint32_t successors_first; // in graph->successors, after sealing
    uint32_t successors_count;
    uint32_t fanin; // edges that end here, after sealing
    uint32_t waits_count;
    const struct tern__graph_wait *waits; // after sealing
};

struct tern__edge {
    uint32_t from;
    uint32_t to;
};

struct tern__graph_wait {
    uint32_t task;
    int32_t step_per_run;
    tern_condition condition; // of run 0
};

struct tern_graph {
    struct tern__handle handle;
    struct tern__graph_task *tasks;
    size_t tasks_count, tasks_room;
    int64_t *args;
    size_t args_count, args_room;
    struct tern__edge *edges; // sorted by (from, to) and unique after sealing
    size_t edges_count, edges_room;
    struct tern__graph_wait *waits; // sorted by task after sealing
    size_t waits_count, waits_room;
    void **libraries;
    size_t libraries_count, libraries_room;

    uint32_t *successors;
    bool sealed;
    _Atomic uint32_t running; // 1 while a chip runs it
    uint32_t runs;            // launches so far
};

// Checks for cycles and makes the arrays; nothing when it is sealed already.
int tern__graph_seal(tern_graph *graph);

// A wait's condition in a run.
static inline tern_condition tern__wait_in_run(const struct tern__graph_wait *wait, uint32_t run)
{
    tern_condition condition = wait->condition;
    condition.value = (int32_t)((uint32_t)condition.value + run * (uint32_t)wait->step_per_run);
    return condition;
}

#endif
