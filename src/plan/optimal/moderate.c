// SPDX-License-Identifier: Apache-2.0
// Rates that linear programs can do with, and what prices found with them prove of the topology.

#include <stdlib.h>

#include "base/error.h"
#include "plan/optimal/arborescence.h"
#include "plan/optimal/certificate.h"
#include "plan/optimal/moderate.h"

// Beside the rate at which links connect all ranks, those that are slower by SLOW carry next to
// nothing in the least time, and those that are faster by FAST, times the ranks squared, take next
// to no time, whatever they carry.
#define SLOW 1e-6
#define FAST 1e3

enum { N = TERN__NET_RANKS_MAX };

static int compare_rates(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

// The greatest rate at which links that are as fast still connect what the kind needs.
static int find_needed(struct tern__arena *arena, const struct tern__net_graph *graph,
                       tern_plan_kind kind, int root, double *needed)
{
    double *rates;
    int gap[2];
    int low = 0; // the links from the one at low on connect, those from high on do not
    int high = graph->edges_count;
    TERN__ARENA_TAKE(arena, rates, graph->edges_count + 1);
    for (int edge = 0; edge < graph->edges_count; edge++) {
        rates[edge] = tern__net_graph_rate(graph, edge);
    }
    qsort(rates, (size_t)graph->edges_count, sizeof *rates, compare_rates);
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        *(tern__net_graph_gap(graph, kind, root, rates[middle], gap) ? &high : &low) = middle;
    }
    *needed = rates[low];
    return TERN_OK;
}

int tern__moderate(struct tern__arena *arena, struct tern__net_graph *graph, tern_plan_kind kind,
                   int root)
{
    double needed;
    if (graph->edges_count == 0) {
        return TERN_OK;
    }
    TERN_TRY(find_needed(arena, graph, kind, root, &needed));
    double most = needed * FAST * graph->n * graph->n;
    double least = needed * SLOW;
    for (int edge = 0; edge < graph->edges_count; edge++) {
        struct tern__net_edge *one = &graph->edges[edge];
        if (tern__net_graph_rate(graph, edge) < least) {
            graph->edge_at[one->from * graph->n + one->to] = -1;
            graph->moderated = true;
        }
    }
    for (int r = 0; r < graph->resources_count; r++) {
        if (graph->capacity[r] > most) {
            graph->capacity[r] = most;
            graph->moderated = true;
        }
    }
    graph->reference = graph->moderated ? needed : graph->reference;
    return TERN_OK;
}

// A link that was left out pays as much as the way around it, so that no tree gets shorter by it.
void tern__moderate_prices(const struct tern__net_graph *graph, int64_t *prices)
{
    int n = graph->n;
    int64_t lengths[N * N];
    int64_t distance[N];
    int parent[N];
    tern__net_graph_lengths(graph, prices, lengths);
    for (int edge = 0; edge < graph->edges_count; edge++) {
        const struct tern__net_edge *one = &graph->edges[edge];
        if (graph->edge_at[one->from * n + one->to] < 0) {
            (void)tern__shortest_paths(lengths, n, one->from, parent, distance);
            int64_t around = distance[one->to];
            prices[edge] = around >= 0 && around < TERN__PRICE_MAX ? around : TERN__PRICE_MAX;
        }
    }
}
