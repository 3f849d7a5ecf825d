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
    _Atomic uint32_t running; // 1 while a chip runs it
    uint32_t runs;            // launches so far
};

// Looks for cycles, admits all tasks and closes the table; nothing when that is done.
int tern__graph_seal(tern_graph *graph);

#endif
