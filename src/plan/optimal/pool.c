// SPDX-License-Identifier: Apache-2.0
// A tree of the least time has an inward and an outward part, which need not belong together: what
// matters is how much of each a root has. They are matched anew, the flattest of one with the
// deepest of the other, so that no whole is deep. Where sums may be made anywhere, a tree that goes
// out as it comes in may have any root: it takes the fewest rounds with one in its middle.

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/optimal/pool.h"
#include "plan/optimal/price.h"

enum { N = TERN__NET_RANKS_MAX };

// The same links with another root: those on the way from it to the old one turn round.
static void turn(int n, const int *parent, int root, int *turned)
{
    memcpy(turned, parent, (size_t)n * sizeof *turned);
    int before = -1;
    for (int v = root; v >= 0; v = parent[v]) {
        turned[v] = before;
        before = v;
    }
}

static bool can_turn(const struct tern__aim *aim, const struct tern__net_tree *tree)
{
    return aim->commodities[tree->commodity].origin < 0 && aim->inward && !aim->in_sequence &&
           !aim->raw && aim->graph->symmetric &&
           memcmp(tree->in_to, tree->out_from, (size_t)aim->graph->n * sizeof *tree->in_to) == 0;
}

// Adds a tree with each root for which it is flattest.
static int add_flattest(struct tern__arena *arena, const struct tern__aim *aim,
                        struct tern__net_tree *tree, struct tern__trees *pool)
{
    int n = aim->graph->n;
    int least = tree->depth;
    struct tern__net_tree *turned[N] = {NULL};
    for (int root = 0; root < n && can_turn(aim, tree); root++) {
        int parent[N];
        turn(n, tree->in_to, root, parent);
        TERN_TRY(tern__tree_make(arena, aim, tree->commodity, root, parent, parent, &turned[root]));
        least = turned[root]->depth < least ? turned[root]->depth : least;
    }
    for (int root = 0; root < n; root++) {
        if (turned[root] != NULL && turned[root]->depth == least) {
            TERN_TRY(tern__trees_add(arena, aim, pool, turned[root]));
        }
    }
    return tree->depth == least ? tern__trees_add(arena, aim, pool, tree) : TERN_OK;
}

// A part of the trees of a root, and how much of it there is.
struct part {
    const int *parents;
    int depth, index;
    double share;
};

static int compare_depths(const void *a, const void *b)
{
    const struct part *one = a;
    const struct part *other = b;
    return one->depth != other->depth ? one->depth - other->depth : one->index - other->index;
}

static int take_part(struct part *parts, int count, int n, const int *parents, int depth,
                     double share)
{
    for (int i = 0; i < count; i++) {
        if (memcmp(parts[i].parents, parents, (size_t)n * sizeof *parents) == 0) {
            parts[i].share += share;
            return count;
        }
    }
    parts[count] =
        (struct part){.parents = parents, .depth = depth, .index = count, .share = share};
    return count + 1;
}

// Matches the parts of one root anew: the northwest corner rule, from opposite ends.
static int match_root(struct tern__arena *arena, const struct tern__aim *aim,
                      const struct tern__master *master, int root, struct tern__trees *pool)
{
    int n = aim->graph->n;
    struct part *in;
    struct part *out;
    int ins = 0;
    int outs = 0;
    TERN__ARENA_TAKE(arena, in, master->trees.count);
    TERN__ARENA_TAKE(arena, out, master->trees.count);
    for (int i = 0; i < master->trees.count; i++) {
        const struct tern__net_tree *tree = master->trees.at[i];
        if (tree->root == root && master->share[i] > 1e-9) {
            int deepest = 0;
            for (int v = 0; v < n; v++) {
                deepest = tree->level[v] > deepest ? tree->level[v] : deepest;
            }
            ins = take_part(in, ins, n, tree->in_to, deepest, master->share[i]);
            outs = take_part(out, outs, n, tree->out_from, tree->depth - deepest, master->share[i]);
        }
    }
    qsort(in, (size_t)ins, sizeof *in, compare_depths);
    qsort(out, (size_t)outs, sizeof *out, compare_depths);
    for (int i = 0, o = outs - 1; i < ins && o >= 0;) {
        struct tern__net_tree *tree;
        TERN_TRY(tern__tree_make(arena, aim, 0, root, in[i].parents, out[o].parents, &tree));
        TERN_TRY(tern__trees_add(arena, aim, pool, tree));
        double share = in[i].share < out[o].share ? in[i].share : out[o].share;
        in[i].share -= share;
        out[o].share -= share;
        i += in[i].share <= 1e-9;
        o -= out[o].share <= 1e-9;
    }
    return TERN_OK;
}

int tern__pool_make(struct tern__arena *arena, const struct tern__aim *aim,
                    const struct tern__master *master, uint64_t seed, struct tern__trees *pool)
{
    bool both = aim->commodities[0].origin < 0 && aim->inward && !aim->in_sequence;
    *pool = (struct tern__trees){0};
    for (int root = 0; root < aim->graph->n && both; root++) {
        TERN_TRY(match_root(arena, aim, master, root, pool));
    }
    for (int i = 0; i < master->trees.count; i++) {
        if (master->share[i] > 1e-9) {
            TERN_TRY(add_flattest(arena, aim, master->trees.at[i], pool));
        }
    }
    return tern__price_shallow(arena, aim, master->prices, seed, pool);
}

int tern__pool_rounds(const struct tern__aim *aim, const struct tern__trees *pool)
{
    int most = 1;
    for (int c = 0; c < aim->count; c++) {
        int least = 0;
        for (int i = 0; i < pool->count; i++) {
            const struct tern__net_tree *tree = pool->at[i];
            if (tree->commodity == c && (least == 0 || tree->depth < least)) {
                least = tree->depth;
            }
        }
        most = least > most ? least : most;
    }
    return most;
}
