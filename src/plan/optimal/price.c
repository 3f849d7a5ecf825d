// SPDX-License-Identifier: Apache-2.0
// Which tree is the shortest, for each sort of commodity: arborescences out of an origin or, over
// the reverse edges, into it; shortest paths for blocks, and for inputs that go as they are.

#include <math.h>

#include "base/error.h"
#include "plan/optimal/arborescence.h"
#include "plan/optimal/lp.h"
#include "plan/optimal/prefix.h"
#include "plan/optimal/price.h"

enum { N = TERN__NET_RANKS_MAX, PRICE = 1 << 20 };

// How the two parts of a tree are found. Each fills parents, and returns false if it cannot.
struct finder {
    const int64_t *lengths, *reversed;
    bool shortest_paths; // both parts
    double penalty;      // of depth, where a tree is to be shallow; else below 0
    uint64_t seed;
    struct tern__prefix_ways ways; // at these lengths, where sums grow on their way
};

static int64_t part(const struct tern__aim *aim, struct finder *find, bool inward, int root,
                    int *parent)
{
    int n = aim->graph->n;
    const int64_t *lengths = inward ? find->reversed : find->lengths;
    int64_t distance[N];
    if (inward && aim->prefixes && !find->shortest_paths) {
        int64_t length = tern__prefix_length(&find->ways, root);
        if (length >= 0) {
            tern__prefix_tree(&find->ways, root, parent);
        }
        return length;
    }
    if (find->shortest_paths || (inward && aim->raw)) {
        return tern__shortest_paths(lengths, n, root, parent, distance);
    }
    if (find->penalty >= 0) {
        return tern__shallow_tree(lengths, n, root, find->penalty, &find->seed, parent);
    }
    return tern__arborescence(lengths, n, root, parent);
}

// Makes the tree of a commodity that has this root; *least: no tree of it is shorter.
static int make(struct tern__arena *arena, const struct tern__aim *aim, struct finder *find,
                int commodity, int root, struct tern__net_tree **tree, int64_t *least)
{
    int in_to[N];
    int out_from[N];
    bool made = (!aim->inward || aim->in_sequence || part(aim, find, true, root, in_to) >= 0) &&
                (!aim->outward || part(aim, find, false, root, out_from) >= 0);
    if (!made) {
        return tern__fail(TERN_ERR_ARG, "no links connect rank %d with all others", root);
    }
    TERN_TRY(tern__tree_make(arena, aim, commodity, root,
                             aim->inward && !aim->in_sequence ? in_to : NULL,
                             aim->outward ? out_from : NULL, tree));
    *least = tern__tree_length(aim, *tree, find->lengths);
    if (aim->prefixes) { // one tree may not be able to follow the shortest way
        *least = tern__prefix_length(&find->ways, root);
        for (int v = 0; v < aim->graph->n && aim->outward; v++) {
            *least += v != root ? find->lengths[out_from[v] * aim->graph->n + v] : 0;
        }
    }
    return TERN_OK;
}

// The paths to all destinations of one origin.
static int make_paths(struct tern__arena *arena, const struct tern__aim *aim,
                      const int64_t *lengths, int origin, struct tern__trees *trees, int64_t *cost)
{
    int n = aim->graph->n;
    int parent[N];
    int64_t distance[N];
    bool known = false;
    for (int c = 0; c < aim->count; c++) {
        if (aim->commodities[c].origin != origin) {
            continue;
        }
        if (!known) {
            (void)tern__shortest_paths(lengths, n, origin, parent, distance);
            known = true;
        }
        int path[N];
        int to = aim->commodities[c].destination;
        if (distance[to] == TERN__NO_EDGE) {
            return tern__fail(TERN_ERR_ARG, "no links lead from rank %d to rank %d", origin, to);
        }
        for (int v = 0; v < n; v++) {
            path[v] = -1;
        }
        for (int v = to; v != origin; v = parent[v]) {
            path[v] = parent[v];
        }
        struct tern__net_tree *tree;
        TERN_TRY(tern__tree_make(arena, aim, c, origin, NULL, path, &tree));
        TERN_TRY(tern__trees_add(arena, aim, trees, tree));
        cost[c] = distance[to];
    }
    return TERN_OK;
}

// A tree of each commodity, and of each root where any will do.
static int make_all(struct tern__arena *arena, const struct tern__aim *aim, struct finder *find,
                    struct tern__trees *trees, int64_t *cost)
{
    int n = aim->graph->n;
    if (aim->prefixes) {
        tern__prefix_find(find->lengths, n, &find->ways);
    }
    if (aim->count > 0 && aim->commodities[0].destination >= 0) {
        for (int v = 0; v < n; v++) {
            TERN_TRY(tern__patience_left(aim->patience));
            TERN_TRY(make_paths(arena, aim, find->lengths, v, trees, cost));
        }
        return TERN_OK;
    }
    for (int c = 0; c < aim->count; c++) {
        int origin = aim->commodities[c].origin;
        cost[c] = INT64_MAX;
        for (int root = origin < 0 ? 0 : origin; root < (origin < 0 ? n : origin + 1); root++) {
            struct tern__net_tree *tree;
            int64_t least;
            TERN_TRY(tern__patience_left(aim->patience));
            TERN_TRY(make(arena, aim, find, c, root, &tree, &least));
            TERN_TRY(tern__trees_add(arena, aim, trees, tree));
            cost[c] = least < cost[c] ? least : cost[c];
        }
    }
    return TERN_OK;
}

int tern__price(struct tern__arena *arena, const struct tern__aim *aim, const int64_t *prices,
                struct tern__trees *trees, int64_t *cost)
{
    int n = aim->graph->n;
    int64_t lengths[N * N];
    int64_t reversed[N * N];
    tern__net_graph_lengths(aim->graph, prices, lengths);
    tern__reverse_lengths(lengths, n, reversed);
    struct finder find = {.lengths = lengths, .reversed = reversed, .penalty = -1};
    return make_all(arena, aim, &find, trees, cost);
}

// Lengths as if each byte paid the time that it takes on the slowest resource of its link.
static void plain_lengths(const struct tern__aim *aim, int64_t *lengths)
{
    const struct tern__net_graph *graph = aim->graph;
    for (int i = 0; i < graph->n * graph->n; i++) {
        lengths[i] = TERN__NO_EDGE;
        if (graph->edge_at[i] >= 0) {
            double rate = tern__net_graph_rate(graph, graph->edge_at[i]);
            double length = PRICE * graph->reference / rate;
            lengths[i] = length < 1e12 ? (int64_t)fmax(length, 1) : INT64_C(1000000000000);
        }
    }
}

int tern__price_seeds(struct tern__arena *arena, const struct tern__aim *aim, uint64_t seed,
                      struct tern__trees *trees)
{
    enum { TRIES = 4 };
    int n = aim->graph->n;
    int64_t plain[N * N];
    int64_t lengths[N * N];
    int64_t reversed[N * N];
    int64_t *cost;
    TERN__ARENA_TAKE(arena, cost, aim->count + 1);
    plain_lengths(aim, plain);
    struct finder find = {.lengths = lengths,
                          .reversed = reversed,
                          .shortest_paths = true,
                          .penalty = -1};
    bool paths = aim->count > 0 && aim->commodities[0].destination >= 0;
    for (int try = 0; try < TRIES + (paths ? 0 : n); try++) {
        for (int i = 0; i < n * n; i++) {
            lengths[i] = plain[i];
            if (lengths[i] == TERN__NO_EDGE) {
                continue;
            }
            int64_t percent = (int64_t)(tern__net_random(&seed) % 1024) - 512;
            lengths[i] += lengths[i] / 50 * percent / 512;
            if (try >= TRIES && (i / n == try - TRIES || i % n == try - TRIES)) {
                lengths[i] /= 4; // through this rank
            }
        }
        tern__reverse_lengths(lengths, n, reversed);
        TERN_TRY(make_all(arena, aim, &find, trees, cost));
    }
    return TERN_OK;
}

int tern__price_shallow(struct tern__arena *arena, const struct tern__aim *aim,
                        const int64_t *prices, uint64_t seed, struct tern__trees *trees)
{
    static const double penalties[] = {.02, .1, .3};
    int n = aim->graph->n;
    int64_t lengths[N * N];
    int64_t reversed[N * N];
    int64_t *cost;
    TERN__ARENA_TAKE(arena, cost, aim->count + 1);
    tern__net_graph_lengths(aim->graph, prices, lengths);
    tern__reverse_lengths(lengths, n, reversed);
    double mean = 0;
    for (int i = 0; i < n * n; i++) {
        mean += lengths[i] == TERN__NO_EDGE ? 0 : (double)lengths[i];
    }
    mean /= aim->graph->edges_count > 0 ? aim->graph->edges_count : 1;
    bool paths = aim->raw || (aim->count > 0 && aim->commodities[0].destination >= 0);
    struct finder find = {.lengths = lengths, .reversed = reversed, .seed = seed};
    for (size_t i = 0; i < sizeof penalties / sizeof *penalties; i++) {
        find.penalty = penalties[i] * mean;
        int64_t hop = i > 0 ? llround((penalties[i] - penalties[i - 1]) * mean)
                            : llround(penalties[i] * mean);
        for (int edge = 0; edge < n * n && paths; edge++) {
            lengths[edge] += lengths[edge] == TERN__NO_EDGE ? 0 : hop;
            reversed[edge] += reversed[edge] == TERN__NO_EDGE ? 0 : hop;
        }
        TERN_TRY(make_all(arena, aim, &find, trees, cost));
    }
    return TERN_OK;
}
