// SPDX-License-Identifier: Apache-2.0
// Trees as arrays of parents. What follows from them, levels and crossings, is worked out once.

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "plan/optimal/tree.h"

enum { N = TERN__NET_RANKS_MAX };

static void add_commodity(struct tern__aim *aim, int origin, int destination, double demand)
{
    aim->commodities[aim->count++] =
        (struct tern__commodity){.origin = origin, .destination = destination, .demand = demand};
}

static void add_commodities(struct tern__aim *aim, const tern_kind_facts *facts)
{
    int n = aim->graph->n;
    bool all_in = facts->in == TERN_KIND_ALL;
    bool all_out = facts->out == TERN_KIND_ALL;
    if (aim->kind == TERN_PLAN_ALL_REDUCE) {
        add_commodity(aim, -1, -1, 1);
    } else if (!all_in && !all_out) { // all bytes of the root, or their sum
        add_commodity(aim, aim->root, -1, 1);
    } else if (all_in != all_out && facts->root == TERN_KIND_ROOT_NONE) { // each has a share
        for (int v = 0; v < n; v++) {
            add_commodity(aim, v, -1, 1.0 / n);
        }
    } else {
        for (int from = 0; from < n; from++) {
            for (int to = 0; to < n; to++) {
                bool wanted = facts->root == TERN_KIND_ROOT_NONE ||
                              (facts->root == TERN_KIND_ROOT_TO ? to : from) == aim->root;
                if (from != to && wanted) {
                    add_commodity(aim, from, to, 1.0 / n);
                }
            }
        }
    }
}

int tern__aim_make(struct tern__arena *arena, const struct tern__net_graph *graph,
                   tern_plan_kind kind, int root, tern_order order, struct tern__aim *aim)
{
    const tern_kind_facts *facts = tern_coll_kind_facts(kind);
    if (facts->in == TERN_KIND_NONE) {
        return tern__fail(TERN_ERR_ARG, "the planner has no plans for %s: it moves no bytes",
                          facts->word);
    }
    *aim = (struct tern__aim){.graph = graph,
                              .kind = kind,
                              .root = root,
                              .inward = facts->sums,
                              .outward = !facts->sums || kind == TERN_PLAN_ALL_REDUCE,
                              .raw = facts->sums && order == TERN_ORDER_RANK};
    TERN__ARENA_TAKE(arena, aim->commodities, graph->n * graph->n);
    add_commodities(aim, facts);
    return TERN_OK;
}

// Ranks of one part by depth: each after its parent.
static int by_depth(int n, const int *parent, int *order)
{
    int depth[N];
    int count = 0;
    for (int v = 0; v < n; v++) {
        depth[v] = 0;
        for (int u = v; parent[u] >= 0; u = parent[u]) {
            depth[v]++;
        }
    }
    for (int d = 0; d < n; d++) {
        for (int v = 0; v < n; v++) {
            if (depth[v] == d) {
                order[count++] = v;
            }
        }
    }
    return count;
}

// The inputs of a set of ranks, when those of the first ranks go as one sum.
static int carried(const struct tern__aim *aim, uint64_t set, int head)
{
    int count = __builtin_popcountll(set);
    return !aim->raw ? 1 : aim->prefixes && head > 0 ? count - head + 1 : count;
}

// Levels, deepest first; returns the level of the last one to reach the root.
static int level_inward(const struct tern__aim *aim, struct tern__net_tree *tree, const int *order)
{
    int n = aim->graph->n;
    int deepest = 0;
    uint64_t set[N]; // ranks whose inputs come through
    static_assert(N <= 64, "a bit for each rank");
    for (int i = n - 1; i >= 0; i--) {
        int v = order[i];
        int level = 0;
        set[v] = UINT64_C(1) << v;
        for (int u = 0; u < n; u++) {
            if (tree->in_to[u] == v) {
                set[v] |= set[u];
                level = tree->level[u] > level ? tree->level[u] : level;
            }
        }
        tree->head[v] = set[v] == UINT64_MAX ? N : __builtin_ctzll(~set[v]);
        if (tree->in_to[v] >= 0) {
            tree->many[v] = carried(aim, set[v], tree->head[v]);
            tree->level[v] = level + 1;
        } else if (level > deepest) {
            deepest = level;
        }
    }
    return deepest;
}

// Levels from the root on; returns how many there are behind `base`.
static int level_outward(int n, struct tern__net_tree *tree, const int *order, int base)
{
    int deepest = 0;
    for (int i = 0; i < n; i++) {
        int v = order[i];
        if (tree->out_from[v] >= 0) {
            int before = tree->level[n + tree->out_from[v]];
            tree->level[n + v] = (before > 0 ? before : base) + 1;
            tree->many[n + v] = 1;
            deepest = tree->level[n + v] - base > deepest ? tree->level[n + v] - base : deepest;
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        int v = order[i];
        int parent = tree->out_from[v];
        if (parent >= 0 && tree->after[n + v] + 1 > tree->after[n + parent]) {
            tree->after[n + parent] = tree->after[n + v] + 1;
        }
    }
    return deepest;
}

int tern__tree_make(struct tern__arena *arena, const struct tern__aim *aim, int commodity, int root,
                    const int *in_to, const int *out_from, struct tern__net_tree **tree)
{
    int n = aim->graph->n;
    int order[N];
    struct tern__net_tree *made;
    TERN__ARENA_TAKE(arena, made, 1);
    made->commodity = commodity;
    made->root = root;
    TERN__ARENA_TAKE(arena, made->in_to, 9 * n);
    made->out_from = made->in_to + n;
    made->level = made->in_to + 2 * n;
    made->after = made->in_to + 4 * n;
    made->many = made->in_to + 6 * n;
    made->head = made->in_to + 8 * n;
    for (int v = 0; v < n; v++) {
        made->in_to[v] = in_to != NULL ? in_to[v] : -1;
        made->out_from[v] = out_from != NULL ? out_from[v] : -1;
    }
    (void)by_depth(n, made->in_to, order);
    int base = level_inward(aim, made, order);
    int in_order[N];
    memcpy(in_order, order, sizeof in_order);
    (void)by_depth(n, made->out_from, order);
    int deepest = level_outward(n, made, order, base);
    for (int i = 0; i < n; i++) {
        int v = in_order[i];
        int next = made->in_to[v];
        if (next >= 0) {
            made->after[v] = made->in_to[next] >= 0 ? made->after[next] + 1 : deepest;
        }
    }
    made->after[n + root] = 0;
    made->depth = base + deepest;
    *tree = made;
    return TERN_OK;
}

int tern__tree_edge(const struct tern__aim *aim, const struct tern__net_tree *tree, int task)
{
    int n = aim->graph->n;
    return task < n ? aim->graph->edge_at[task * n + tree->in_to[task]]
                    : aim->graph->edge_at[tree->out_from[task - n] * n + task - n];
}

int tern__tree_before(const struct tern__aim *aim, const struct tern__net_tree *tree, int task,
                      int *tasks)
{
    int n = aim->graph->n;
    int count = 0;
    int parent = task >= n ? tree->out_from[task - n] : -1;
    if (parent >= 0 && tree->level[n + parent] > 0) {
        tasks[count++] = n + parent;
        return count;
    }
    int rank = task < n ? task : tree->root; // sums that are complete where it begins
    for (int u = 0; u < n; u++) {
        if (tree->in_to[u] == rank) {
            tasks[count++] = u;
        }
    }
    return count;
}

void tern__tree_use(const struct tern__aim *aim, const struct tern__net_tree *tree, double *use)
{
    for (int task = 0; task < 2 * aim->graph->n; task++) {
        if (tree->level[task] > 0) {
            const struct tern__net_edge *edge =
                &aim->graph->edges[tern__tree_edge(aim, tree, task)];
            for (int i = 0; i < edge->uses_count; i++) {
                use[edge->uses[i]] += tree->many[task];
            }
        }
    }
}

int tern__tree_slots(const struct tern__aim *aim, const struct tern__net_tree *tree, int rank)
{
    int destination = aim->commodities[tree->commodity].destination;
    const int *next = aim->in_sequence ? tree->out_from : tree->in_to;
    int count = 0;
    if (destination >= 0) {
        return rank != destination && tree->out_from[rank] >= 0;
    }
    for (int v = 0; v < aim->graph->n && aim->inward; v++) {
        count += next[v] == rank ? (aim->raw ? tree->many[v] : 1) : 0;
    }
    return count;
}

bool tern__tree_same(const struct tern__aim *aim, const struct tern__net_tree *a,
                     const struct tern__net_tree *b)
{
    return a->commodity == b->commodity && a->root == b->root &&
           memcmp(a->in_to, b->in_to, 2 * (size_t)aim->graph->n * sizeof *a->in_to) == 0;
}

int64_t tern__tree_length(const struct tern__aim *aim, const struct tern__net_tree *tree,
                          const int64_t *lengths)
{
    int64_t total = 0;
    for (int task = 0; task < 2 * aim->graph->n; task++) {
        if (tree->level[task] > 0) {
            const struct tern__net_edge *edge =
                &aim->graph->edges[tern__tree_edge(aim, tree, task)];
            total += tree->many[task] * lengths[edge->from * aim->graph->n + edge->to];
        }
    }
    return total;
}

// The place in a list's table where a tree is, or would be.
static int *place_of(const struct tern__aim *aim, const struct tern__trees *trees,
                     const struct tern__net_tree *tree)
{
    uint64_t hash = (uint64_t)tree->commodity;
    uint64_t places = 2 * (uint64_t)trees->room;
    for (int i = 0; i < 2 * aim->graph->n; i++) {
        hash = (hash ^ (uint64_t)(tree->in_to[i] + 1)) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    uint64_t at = hash % places;
    while (trees->table[at] != 0 && !tern__tree_same(aim, trees->at[trees->table[at] - 1], tree)) {
        at = (at + 1) % places;
    }
    return &trees->table[at];
}

static int grow(struct tern__arena *arena, const struct tern__aim *aim, struct tern__trees *trees)
{
    struct tern__trees grown = {.count = trees->count, .room = 2 * trees->room + 64};
    TERN__ARENA_TAKE(arena, grown.at, grown.room);
    TERN__ARENA_TAKE(arena, grown.table, 2 * grown.room);
    for (int i = 0; i < trees->count; i++) {
        grown.at[i] = trees->at[i];
        *place_of(aim, &grown, grown.at[i]) = i + 1;
    }
    *trees = grown;
    return TERN_OK;
}

int tern__trees_add(struct tern__arena *arena, const struct tern__aim *aim,
                    struct tern__trees *trees, struct tern__net_tree *tree)
{
    if (trees->count == trees->room) {
        TERN_TRY(grow(arena, aim, trees));
    }
    int *place = place_of(aim, trees, tree);
    if (*place != 0) {
        return 0;
    }
    trees->at[trees->count++] = tree;
    *place = trees->count;
    return 1;
}
