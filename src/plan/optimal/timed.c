// SPDX-License-Identifier: Apache-2.0
// A tree is grown from its root by the cheapest link and round (as Prim 1957), then each rank looks
// for a better place with those that it has behind it. An inward part is an outward one over the
// reverse links, back in time.

#include <math.h>

#include "base/error.h"
#include "plan/optimal/arborescence.h"
#include "plan/optimal/timed.h"

enum { N = TERN__NET_RANKS_MAX };

static double uniform(uint64_t *seed)
{
    return (double)(tern__net_random(seed) >> 11) * 0x1p-53;
}

// A tree that grows: of each rank its parent, its round and, where bytes go raw, what its path
// costs.
struct growing {
    const double *price; // there or back
    int n, last;
    bool raw;
    int parent[N], when[N];
    double paid[N];
};

static double price(const struct growing *g, int round, int from, int to)
{
    return g->price[((size_t)round * (size_t)g->n + (size_t)from) * (size_t)g->n + (size_t)to];
}

// Grows all of it; false where a rank cannot be reached in time. `late` is what a round costs.
static bool grow(struct growing *g, int root, int first, double late, uint64_t *seed)
{
    double best[N];
    int by[N];
    int at[N];
    bool in[N];
    for (int v = 0; v < g->n; v++) {
        best[v] = INFINITY;
        in[v] = false;
    }
    g->parent[root] = -1;
    g->when[root] = first - 1;
    g->paid[root] = 0;
    for (int u = root, count = 1;; count++) {
        in[u] = true;
        if (count == g->n) {
            return true;
        }
        int next = -1;
        for (int v = 0; v < g->n; v++) {
            for (int t = g->when[u] + 1; t <= g->last && !in[v]; t++) {
                double p = price(g, t, u, v);
                if (p < 0) {
                    break;
                }
                double key = (g->raw ? g->paid[u] : 0) + p * (1 + 0.1 * uniform(seed)) + late * t;
                if (key < best[v]) {
                    best[v] = key;
                    by[v] = u;
                    at[v] = t;
                }
            }
            next = !in[v] && (next < 0 || best[v] < best[next]) ? v : next;
        }
        if (best[next] == INFINITY) {
            return false;
        }
        g->parent[next] = by[next];
        g->when[next] = at[next];
        g->paid[next] = g->paid[by[next]] + price(g, at[next], by[next], next);
        u = next;
    }
}

static bool lies_behind(const struct growing *g, int rank, int ancestor)
{
    while (rank >= 0 && rank != ancestor) {
        rank = g->parent[rank];
    }
    return rank >= 0;
}

// Finds a better place for a rank, with all behind it; returns whether there is one.
static bool move(struct growing *g, int v)
{
    int before = g->last + 1; // the first round in which it is needed
    for (int w = 0; w < g->n; w++) {
        before = g->parent[w] == v && g->when[w] < before ? g->when[w] : before;
    }
    double best = price(g, g->when[v], g->parent[v], v) - 1e-12;
    bool moved = false;
    for (int u = 0; u < g->n; u++) {
        if (u == v || g->when[u] + 1 >= before || price(g, 1, u, v) < 0 || lies_behind(g, u, v)) {
            continue;
        }
        for (int t = g->when[u] + 1; t < before; t++) {
            if (price(g, t, u, v) < best) {
                best = price(g, t, u, v);
                g->parent[v] = u;
                g->when[v] = t;
                moved = true;
            }
        }
    }
    return moved;
}

static void settle(struct growing *g, int root)
{
    enum { PASSES = 10 };
    bool moved = !g->raw;
    for (int pass = 0; pass < PASSES && moved; pass++) {
        moved = false;
        for (int v = 0; v < g->n; v++) {
            moved = (v != root && move(g, v)) || moved;
        }
    }
}

// One part, in the rounds from first to last.
static bool find_part(const struct tern__aim *aim, const struct tern__timed_prices *prices,
                      bool inward, int root, int first, int last, uint64_t *seed, int *parent)
{
    // Where sums grow on their way, what a rank adds to the price is known at the end alone: it is
    // guessed to be all of its path, or its own link.
    bool raw = inward && aim->raw && !(aim->prefixes && tern__net_random(seed) % 4 != 0);
    struct growing g = {.n = prices->n, .raw = raw};
    g.price = inward ? prices->back : prices->there;
    g.last = inward ? prices->rounds + 1 - first : last;
    int begin = inward ? prices->rounds + 1 - last : first;
    double mean = 0;
    for (int t = begin; t <= g.last; t++) {
        for (int i = 0; i < g.n * g.n; i++) {
            double p = g.price[(size_t)t * (size_t)(g.n * g.n) + (size_t)i];
            mean += p > 0 ? p / (g.n * g.n * (g.last - begin + 1)) : 0;
        }
    }
    double late = tern__net_random(seed) % 2 == 0 ? 0 : mean * uniform(seed) * 0.3;
    if (!grow(&g, root, begin, late, seed) &&
        !grow(&g, root, begin, 2 * prices->rounds * mean + 1e-9, seed)) {
        return false;
    }
    settle(&g, root);
    for (int v = 0; v < g.n; v++) {
        parent[v] = g.parent[v];
    }
    return true;
}

// What a byte pays on a task and those that lie behind it, away from the root, by the task's round.
struct paying {
    const struct tern__aim *aim;
    const struct tern__timed_prices *prices;
    const struct tern__net_tree *tree;
    double least[2 * N][TERN__ROUNDS_MAX + 2]; // in this round or farther from the root's
    int best[2 * N][TERN__ROUNDS_MAX + 2];
};

static int next_of(const struct paying *p, int task)
{
    int n = p->prices->n;
    return task < n ? p->tree->in_to[task] : p->tree->out_from[task - n];
}

// The order of tasks from the farthest on: inward by level, outward the other way.
static void pay(struct paying *p, int task)
{
    int n = p->prices->n;
    int k = p->prices->rounds;
    bool inward = task < n;
    int rank = task % n;
    int next = next_of(p, task);
    double *least = p->least[task];
    least[inward ? 0 : k + 1] = INFINITY;
    for (int i = 1; i <= k; i++) {
        int t = inward ? i : k + 1 - i;
        int before = inward ? t - 1 : t + 1;
        size_t at = ((size_t)(k + 1 - i) * (size_t)n + (size_t)next) * (size_t)n + (size_t)rank;
        double price = inward ? p->prices->back[at] : p->prices->there[at];
        double sum = price * p->tree->many[task];
        for (int v = 0; v < n; v++) {
            int child = inward ? v : n + v;
            sum += p->tree->level[child] > 0 && next_of(p, child) == rank ? p->least[child][before]
                                                                          : 0;
        }
        bool better = sum < least[before];
        least[t] = better ? sum : least[before];
        p->best[task][t] = better ? t : p->best[task][before];
    }
}

static void assign(const struct paying *p, int task, int round, int *when)
{
    int n = p->prices->n;
    bool inward = task < n;
    when[task] = p->best[task][round];
    for (int v = 0; v < n; v++) {
        int child = inward ? v : n + v;
        if (p->tree->level[child] > 0 && next_of(p, child) == task % n) {
            assign(p, child, when[task] + (inward ? -1 : 1), when);
        }
    }
}

// What the root's tasks pay when its sum is complete after round `middle`.
static double pay_root(const struct paying *p, int middle)
{
    int n = p->prices->n;
    double sum = 0;
    for (int task = 0; task < 2 * n; task++) {
        if (p->tree->level[task] > 0 && next_of(p, task) == p->tree->root) {
            sum += p->least[task][task < n ? middle : middle + 1];
        }
    }
    return sum;
}

double tern__timed_when(const struct tern__aim *aim, const struct tern__timed_prices *prices,
                        const struct tern__net_tree *tree, int *when)
{
    struct paying p;
    int n = prices->n;
    p.aim = aim;
    p.prices = prices;
    p.tree = tree;
    for (int level = 1; level <= tree->depth; level++) {
        for (int v = 0; v < n; v++) {
            if (tree->level[v] == level) {
                pay(&p, v);
            }
            if (tree->level[n + v] == tree->depth + 1 - level) {
                pay(&p, n + v);
            }
        }
    }
    int middle = 0;
    for (int m = 1; m <= prices->rounds; m++) {
        middle = pay_root(&p, m) < pay_root(&p, middle) ? m : middle;
    }
    for (int task = 0; task < 2 * n; task++) {
        when[task] = 0;
    }
    for (int task = 0; task < 2 * n; task++) {
        if (tree->level[task] > 0 && next_of(&p, task) == tree->root) {
            assign(&p, task, task < n ? middle : middle + 1, when);
        }
    }
    return pay_root(&p, middle);
}

int tern__timed_find(struct tern__arena *arena, const struct tern__aim *aim,
                     const struct tern__timed_prices *prices, int commodity, int root, int middle,
                     uint64_t *seed, struct tern__timed *found)
{
    int in_to[N];
    int out_from[N];
    bool in = aim->inward && !aim->in_sequence;
    int last = aim->outward && in ? middle : prices->rounds;
    int first = in ? middle + 1 : 1;
    found->tree = NULL;
    if ((in && !find_part(aim, prices, true, root, 1, last, seed, in_to)) ||
        (aim->outward &&
         !find_part(aim, prices, false, root, first, prices->rounds, seed, out_from))) {
        return TERN_OK;
    }
    struct tern__net_tree *tree;
    TERN_TRY(tern__tree_make(arena, aim, commodity, root, in ? in_to : NULL,
                             aim->outward ? out_from : NULL, &tree));
    TERN__ARENA_TAKE(arena, found->when, 2 * prices->n);
    found->tree = tree;
    found->price = tern__timed_when(aim, prices, tree, found->when);
    return TERN_OK;
}
