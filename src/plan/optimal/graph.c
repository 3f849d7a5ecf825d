// SPDX-License-Identifier: Apache-2.0
// From a topology to edges and resources. Links are asked for one by one, as any program asks.

#include <string.h>

#include "base/error.h"
#include "plan/optimal/graph.h"

static int add_edges(struct tern__arena *arena, struct tern__net_graph *graph)
{
    int n = graph->n;
    int at = 0;
    for (int from = 0; from < n; from++) {
        for (int to = 0; to < n; to++) {
            tern_link link;
            graph->edge_at[from * n + to] = -1;
            if (from == to || !tern_topo_link(graph->topo, from, to, &link)) {
                continue;
            }
            struct tern__net_edge *edge = &graph->edges[at];
            *edge = (struct tern__net_edge){.from = from, .to = to, .uses = {at}};
            int shared[TERN_TOPO_USES_MAX];
            int count = tern_topo_uses(graph->topo, from, to, shared);
            for (int i = 0; i < count; i++) {
                edge->uses[1 + i] = graph->edges_count + shared[i];
            }
            edge->uses_count = 1 + count;
            graph->capacity[at] = link.bandwidth_GBps;
            if (link.bandwidth_GBps > graph->reference) {
                graph->reference = link.bandwidth_GBps;
            }
            graph->edge_at[from * n + to] = at++;
        }
    }
    TERN__ARENA_TAKE(arena, graph->mirror, graph->resources_count);
    return TERN_OK;
}

static bool uses(const struct tern__net_edge *edge, int resource)
{
    for (int i = 0; i < edge->uses_count; i++) {
        if (edge->uses[i] == resource) {
            return true;
        }
    }
    return false;
}

// Whether resource b is for the reverse links what a is for the links.
static bool mirrors(const struct tern__net_graph *graph, int a, int b)
{
    if (graph->capacity[a] != graph->capacity[b]) {
        return false;
    }
    if (a < graph->edges_count) { // own bandwidths
        return graph->edges[a].from == graph->edges[b].to &&
               graph->edges[a].to == graph->edges[b].from;
    }
    for (int e = 0; e < graph->edges_count; e++) {
        const struct tern__net_edge *edge = &graph->edges[e];
        int back = graph->edge_at[edge->to * graph->n + edge->from];
        if (back < 0 || uses(edge, a) != uses(&graph->edges[back], b)) {
            return false;
        }
    }
    return true;
}

// Finds the mirror of each resource, in pairs: of those that are for the same links any will do.
static bool find_mirrors(struct tern__net_graph *graph)
{
    for (int a = 0; a < graph->resources_count; a++) {
        graph->mirror[a] = -1;
    }
    for (int a = 0; a < graph->resources_count; a++) {
        for (int b = a; b < graph->resources_count && graph->mirror[a] < 0; b++) {
            bool same_sort = (a < graph->edges_count) == (b < graph->edges_count);
            if (same_sort && graph->mirror[b] < 0 && mirrors(graph, a, b)) {
                graph->mirror[a] = b;
                graph->mirror[b] = a;
            }
        }
        if (graph->mirror[a] < 0) {
            return false;
        }
    }
    return true;
}

int tern__net_graph_make(struct tern__arena *arena, const tern_topo *topo,
                         struct tern__net_graph *graph)
{
    int n = tern_topo_size(topo);
    if (n < 1 || n > TERN__NET_RANKS_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "the planner is for 1 to %d ranks, not %d",
                          TERN__NET_RANKS_MAX, n);
    }
    *graph = (struct tern__net_graph){.topo = topo, .n = n};
    graph->edges_count = (int)tern_topo_link_count(topo); // few: the ranks are
    graph->resources_count = graph->edges_count + tern_topo_resource_count(topo);
    TERN__ARENA_TAKE(arena, graph->edges, graph->edges_count);
    TERN__ARENA_TAKE(arena, graph->edge_at, n * n);
    TERN__ARENA_TAKE(arena, graph->capacity, graph->resources_count);
    TERN_TRY(add_edges(arena, graph));
    graph->reference = graph->edges_count > 0 ? graph->reference : 1; // of one rank
    for (int i = graph->edges_count; i < graph->resources_count; i++) {
        tern_topo_resource resource = {0};
        (void)tern_topo_get_resource(topo, i - graph->edges_count, &resource);
        graph->capacity[i] = resource.GBps;
    }
    graph->symmetric = find_mirrors(graph);
    return TERN_OK;
}

double tern__net_graph_rate(const struct tern__net_graph *graph, int edge)
{
    double slowest = graph->capacity[edge];
    for (int k = 1; k < graph->edges[edge].uses_count; k++) {
        double capacity = graph->capacity[graph->edges[edge].uses[k]];
        slowest = capacity < slowest ? capacity : slowest;
    }
    return slowest;
}

// The ranks that can be reached from a rank, or, backwards, those that reach it, over links of
// `least` GB/s and more.
static void reach(const struct tern__net_graph *graph, int rank, bool backwards, double least,
                  bool *seen)
{
    int stack[TERN__NET_RANKS_MAX];
    int count = 0;
    memset(seen, 0, (size_t)graph->n * sizeof *seen);
    stack[count++] = rank;
    seen[rank] = true;
    while (count > 0) {
        int at = stack[--count];
        for (int next = 0; next < graph->n; next++) {
            int edge = graph->edge_at[backwards ? next * graph->n + at : at * graph->n + next];
            if (edge >= 0 && !seen[next] && tern__net_graph_rate(graph, edge) >= least) {
                seen[next] = true;
                stack[count++] = next;
            }
        }
    }
}

bool tern__net_graph_gap(const struct tern__net_graph *graph, tern_plan_kind kind, int root,
                         double least, int gap[2])
{
    bool to_root = tern_coll_kind_facts(kind)->root == TERN_KIND_ROOT_TO;
    bool from_root = tern_coll_kind_facts(kind)->root == TERN_KIND_ROOT_FROM;
    int start = to_root || from_root ? root : 0;
    bool seen[TERN__NET_RANKS_MAX];
    for (int backwards = 0; backwards <= 1; backwards++) {
        if (backwards ? from_root : to_root) {
            continue;
        }
        reach(graph, start, backwards, least, seen);
        for (int rank = 0; rank < graph->n; rank++) {
            if (!seen[rank]) {
                gap[backwards] = start;
                gap[1 - backwards] = rank;
                return true;
            }
        }
    }
    return false;
}

int tern__net_graph_connects(const struct tern__net_graph *graph, tern_plan_kind kind, int root)
{
    int gap[2];
    return tern__net_graph_gap(graph, kind, root, 0, gap)
               ? tern__fail(TERN_ERR_ARG, "no links lead from rank %d to rank %d", gap[0], gap[1])
               : TERN_OK;
}

void tern__net_graph_lengths(const struct tern__net_graph *graph, const int64_t *prices,
                             int64_t *lengths)
{
    for (int i = 0; i < graph->n * graph->n; i++) {
        lengths[i] = TERN__NO_EDGE;
        if (graph->edge_at[i] >= 0) {
            const struct tern__net_edge *edge = &graph->edges[graph->edge_at[i]];
            lengths[i] = 0;
            for (int k = 0; k < edge->uses_count; k++) {
                lengths[i] += prices[edge->uses[k]];
            }
        }
    }
}
