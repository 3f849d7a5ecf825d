// SPDX-License-Identifier: Apache-2.0
// A topology as the planner sees it: directed edges, each of which uses a few resources, and the
// capacities of the resources. A link's own bandwidth is a resource that no other link uses; what
// links share comes behind. Ranks that nothing connects are found here.
#ifndef TERN_OPTIMAL_GRAPH_H
#define TERN_OPTIMAL_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/optimal/arena.h"
#include "tern/plan.h"
#include "tern/topo.h"

#define TERN__NET_RANKS_MAX 64                      // beyond it the linear programs take hours
#define TERN__NET_USES_MAX (1 + TERN_TOPO_USES_MAX) // of an edge: its own, and what it shares

struct tern__net_edge {
    int from, to;
    int uses[TERN__NET_USES_MAX]; // resources; the first is its own bandwidth, and its own index
    int uses_count;
};

struct tern__net_graph {
    const tern_topo *topo;
    int n;
    int edges_count;
    struct tern__net_edge *edges; // ascending by from, then by to
    int *edge_at;                 // [from * n + to]; -1: no link
    int resources_count;          // the first edges_count are the edges' own bandwidths
    double *capacity;             // of each resource, GB/s
    double reference;             // the fastest link's, GB/s
    // Whether every link has a reverse that uses resources of the same capacities; then also the
    // resource that takes the place of each.
    bool symmetric;
    int *mirror;
    bool moderated; // the rates are not all those of the topology (moderate.h)
};

// Reads a topology. TERN_ERR_LIMIT above TERN__NET_RANKS_MAX ranks.
int tern__net_graph_make(struct tern__arena *arena, const tern_topo *topo,
                         struct tern__net_graph *graph);

// Whether the bytes that a kind moves can get where they are wanted; a sentence where not.
int tern__net_graph_connects(const struct tern__net_graph *graph, tern_plan_kind kind, int root);

// Finds ranks between which the kind has to move bytes, and cannot over links of `least` GB/s and
// more.
bool tern__net_graph_gap(const struct tern__net_graph *graph, tern_plan_kind kind, int root,
                         double least, int gap[2]);

// What an edge can carry alone: the least of its resources' capacities, GB/s.
double tern__net_graph_rate(const struct tern__net_graph *graph, int edge);

// The length of each edge, [from * n + to], when each resource has a price: their sum;
// TERN__NO_EDGE where there is none.
#define TERN__NO_EDGE INT64_MAX
void tern__net_graph_lengths(const struct tern__net_graph *graph, const int64_t *prices,
                             int64_t *lengths);

#endif
