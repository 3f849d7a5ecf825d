// SPDX-License-Identifier: Apache-2.0
// The second builder, and the thread that orchestrations of the second and third run on.
#ifndef TERN_GRAPH_ORCHESTRATE_H
#define TERN_GRAPH_ORCHESTRATE_H

#include "graph/chip.h"

// This thread runs an orchestration of the graph from now on; NULL: of none.
void tern__orchestrates_now(const tern_graph *graph);

// Whose orchestration this thread runs, or NULL. For the next function.
extern _Thread_local const tern_graph *tern__orchestrated
    __attribute__((tls_model("initial-exec")));

// Whether the caller is an orchestration of the graph.
static inline bool tern__orchestrates(const tern_graph *graph)
{
    return tern__orchestrated == graph;
}

// Whether it is one of a graph that runs on the chip.
bool tern__orchestrates_on(const struct tern_chip *chip);

// A task of the running orchestration is complete: now, or, when it builds first, later. `met`
// edges of those that its `pending` counts are met.
void tern__orchestrate_publish(tern_graph *graph, struct tern__task *task, uint32_t met);

// What was put off starts. Also when an orchestration that builds first waits for room.
void tern__orchestrate_release(tern_graph *graph);

#endif
