// SPDX-License-Identifier: Apache-2.0
// Rates that differ by many powers of ten are more than a linear program can do with. Most of them
// do not matter: beside the rate at which links connect all ranks, some are too slow to carry
// anything, some so fast that what they carry takes no time.
#ifndef TERN_OPTIMAL_MODERATE_H
#define TERN_OPTIMAL_MODERATE_H

#include "plan/optimal/graph.h"

// Leaves out links that are too slow (they keep their places among the edges; edge_at has them no
// more) and makes slower what is too fast. If that changes anything, graph->moderated says so, and
// `reference` is the rate at which links connect all ranks. For graphs that connect what the kind
// needs.
int tern__moderate(struct tern__arena *arena, struct tern__net_graph *graph, tern_plan_kind kind,
                   int root);

// Prices for what was left out, from those of a graph that was moderated: together they prove
// something of the topology itself.
void tern__moderate_prices(const struct tern__net_graph *graph, int64_t *prices);

#endif
