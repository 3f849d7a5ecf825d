// SPDX-License-Identifier: Apache-2.0
// A task graph from inside: its table, where its kernels come from, and whether it runs.
#ifndef TERN_GRAPH_GRAPH_H
#define TERN_GRAPH_GRAPH_H

#include "base/handle.h"
#include "graph/table.h"

struct tern_graph {
    struct tern__handle handle;
    struct tern__table table;
    void **libraries;
    size_t libraries_count;
    // Launches that have not ended, all of one chip: its number << TERN__LAUNCHES_BITS | how many.
    _Atomic uint64_t launched;
    uint32_t runs; // launches so far
};

#define TERN__LAUNCHES_BITS 16

// One launch more, and one less. False: launches of another chip have not ended.
bool tern__graph_take(tern_graph *graph, uint64_t chip_number);
void tern__graph_leave(tern_graph *graph);

static inline bool tern__graph_is_taken(const tern_graph *graph)
{
    return atomic_load(&graph->launched) != 0; // partner: tern__graph_leave
}

// Looks for cycles, admits all tasks and closes the table; nothing when that is done.
int tern__graph_seal(tern_graph *graph);

#endif
