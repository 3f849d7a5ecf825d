// SPDX-License-Identifier: Apache-2.0
// The program with a row for each resource in each round, its prices, and the search for trees that
// it lacks.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/optimal/arborescence.h"
#include "plan/optimal/generating.h"
#include "plan/optimal/lp.h"

static int row_of(const struct tern__generating *g, int resource, int round)
{
    return (round - 1) * g->resources + resource;
}

int tern__generating_make(struct tern__generating *g)
{
    const struct tern__net_graph *graph = g->aim->graph;
    TERN_TRY(tern__lp_create(&g->lp));
    for (int t = 1; t <= g->k; t++) {
        TERN_TRY(tern__lp_add_column(g->lp, 1, NULL, 0));
    }
    TERN_TRY(tern__lp_add_column(g->lp, 0, NULL, 0));
    for (int t = 1; t <= g->k; t++) {
        for (int r = 0; r < g->resources; r++) {
            struct tern__lp_entry time = {.at = t - 1,
                                          .value = -graph->capacity[r] / graph->reference};
            TERN_TRY(tern__lp_add_row(g->lp, TERN__LP_AT_MOST, 0, &time, 1));
        }
    }
    for (int c = 0; c < g->aim->count; c++) {
        double demand = g->aim->commodities[c].demand;
        TERN_TRY(tern__lp_add_row(g->lp, TERN__LP_EQUAL, demand, NULL, 0));
    }
    return TERN_OK;
}

// A list grows in the arena.
static int append(struct tern__generating *g, struct tern__timed_list *list,
                  const struct tern__timed *timed)
{
    if (list->count == list->room) {
        int room = 2 * list->room + 256;
        struct tern__timed *at;
        TERN__ARENA_TAKE(g->arena, at, room);
        if (list->count > 0) {
            memcpy(at, list->at, (size_t)list->count * sizeof *at);
        }
        list->at = at;
        list->room = room;
    }
    list->at[list->count++] = *timed;
    return TERN_OK;
}

int tern__generating_add(struct tern__generating *g, const struct tern__timed *timed)
{
    int touched = 0;
    int count = 0;
    for (int task = 0; task < 2 * g->n; task++) {
        if (timed->tree->level[task] == 0) {
            continue;
        }
        const struct tern__net_edge *edge =
            &g->aim->graph->edges[tern__tree_edge(g->aim, timed->tree, task)];
        for (int u = 0; u < edge->uses_count; u++) {
            int row = row_of(g, edge->uses[u], timed->when[task]);
            if (g->use[row] == 0) {
                g->touched[touched++] = row;
            }
            g->use[row] += timed->tree->many[task];
        }
    }
    for (int i = 0; i < touched; i++) {
        int row = g->touched[i];
        g->entries[count++] = (struct tern__lp_entry){.at = row, .value = g->use[row]};
        g->use[row] = 0;
    }
    g->entries[count++] = (struct tern__lp_entry){
        .at = g->k * g->resources + timed->tree->commodity,
        .value = 1,
    };
    for (int rank = 0; rank < g->n && g->sparing; rank++) {
        int slots = tern__tree_slots(g->aim, timed->tree, rank);
        if (slots > 0) {
            g->entries[count++] =
                (struct tern__lp_entry){.at = tern__generating_rent(g, rank), .value = slots};
        }
    }
    TERN_TRY(tern__lp_add_column(g->lp, 0, g->entries, count));
    return append(g, &g->columns, timed);
}

// The prices of links from those of resources.
static void set_prices(struct tern__generating *g, const double *dual,
                       struct tern__timed_prices *prices)
{
    const struct tern__net_graph *graph = g->aim->graph;
    size_t n = (size_t)g->n;
    for (int t = 1; t <= g->k; t++) {
        double *there = &g->there[(size_t)t * n * n];
        double *back = &g->back[(size_t)(g->k + 1 - t) * n * n];
        for (size_t i = 0; i < n * n; i++) {
            there[i] = -1;
            back[i] = -1;
        }
        for (int e = 0; e < graph->edges_count; e++) {
            const struct tern__net_edge *edge = &graph->edges[e];
            double sum = 0;
            if (graph->edge_at[edge->from * graph->n + edge->to] < 0) { // left out
                continue;
            }
            for (int u = 0; u < edge->uses_count; u++) {
                sum += dual[row_of(g, edge->uses[u], t)];
            }
            // What comes inward rests at the next rank; in sequence the same rank sends outward.
            double rent = g->aim->in_sequence ? g->rents[edge->from] : 0;
            there[(size_t)edge->from * n + (size_t)edge->to] = sum + rent;
            back[(size_t)edge->to * n + (size_t)edge->from] = sum + g->rents[edge->to];
        }
    }
    *prices =
        (struct tern__timed_prices){.n = g->n, .rounds = g->k, .there = g->there, .back = g->back};
}

static double price_of(const struct tern__generating *g, const struct tern__timed *timed,
                       const double *dual)
{
    double sum = 0;
    for (int rank = 0; rank < g->n && g->sparing; rank++) {
        sum += g->rents[rank] * tern__tree_slots(g->aim, timed->tree, rank);
    }
    for (int task = 0; task < 2 * g->n; task++) {
        if (timed->tree->level[task] > 0) {
            const struct tern__net_edge *edge =
                &g->aim->graph->edges[tern__tree_edge(g->aim, timed->tree, task)];
            for (int u = 0; u < edge->uses_count; u++) {
                sum += timed->tree->many[task] * dual[row_of(g, edge->uses[u], timed->when[task])];
            }
        }
    }
    return sum;
}

// Notes a tree that would shorten the time, with what it is cheaper than what is paid.
static int consider(struct tern__generating *g, const struct tern__timed *timed)
{
    int c = timed->tree->commodity;
    g->cheapest[c] = timed->price < g->cheapest[c] ? timed->price : g->cheapest[c];
    double less = g->paid[c] - price_of(g, timed, g->dual);
    if (less <= 1e-9) {
        return TERN_OK;
    }
    struct tern__timed kept = {.tree = timed->tree, .price = less, .number = g->candidates.count};
    TERN__ARENA_TAKE(g->arena, kept.when, 2 * g->n);
    memcpy(kept.when, timed->when, 2 * (size_t)g->n * sizeof *kept.when);
    return append(g, &g->candidates, &kept);
}

// Other rounds for trees that are known.
static int look_at_known(struct tern__generating *g, const struct tern__timed_prices *prices)
{
    int when[2 * TERN__NET_RANKS_MAX];
    for (int i = 0; i < g->known.count; i++) {
        const struct tern__net_tree *tree = g->known.at[i];
        TERN_TRY(tern__patience_left(g->aim->patience));
        if (tree->depth <= g->k) {
            struct tern__timed timed = {.tree = tree, .when = when};
            timed.price = tern__timed_when(g->aim, prices, tree, when);
            TERN_TRY(consider(g, &timed));
        }
    }
    return TERN_OK;
}

// The best of some tries from one root.
static int look_from(struct tern__generating *g, const struct tern__timed_prices *prices,
                     int commodity, int root)
{
    bool middles = g->aim->inward && g->aim->outward && !g->aim->in_sequence;
    struct tern__timed best = {.price = INFINITY};
    for (int middle = 1; middle <= (middles ? g->k - 1 : 1); middle++) {
        for (int try = 0; try < 2; try++) {
            struct tern__timed found = {0};
            TERN_TRY(tern__timed_find(g->arena, g->aim, prices, commodity, root, middle, &g->seed,
                                      &found));
            best = found.tree != NULL && found.price < best.price ? found : best;
        }
    }
    if (best.tree != NULL && price_of(g, &best, g->dual) < g->paid[commodity] - 1e-9) {
        TERN_TRY(tern__trees_add(g->arena, g->aim, &g->known, (struct tern__net_tree *)best.tree));
    }
    return TERN_OK;
}

static int look_for_new(struct tern__generating *g, const struct tern__timed_prices *prices)
{
    for (int c = 0; c < g->aim->count; c++) {
        int origin = g->aim->commodities[c].origin;
        int last = origin < 0 ? g->n - 1 : origin;
        for (int root = origin < 0 ? 0 : origin; root <= last; root++) {
            TERN_TRY(tern__patience_left(g->aim->patience));
            TERN_TRY(look_from(g, prices, c, root));
        }
    }
    return TERN_OK;
}

static int compare_prices(const void *a, const void *b)
{
    const struct tern__timed *one = a;
    const struct tern__timed *other = b;
    return one->price != other->price ? (one->price < other->price ? 1 : -1)
                                      : one->number - other->number;
}

// One look at some prices; returns how many trees it added.
int tern__generating_look(struct tern__generating *g, const double *dual)
{
    struct tern__timed_prices prices;
    set_prices(g, dual, &prices);
    for (int c = 0; c < g->aim->count; c++) {
        g->cheapest[c] = INFINITY;
    }
    g->candidates.count = 0;
    bool blocks = g->aim->count > 0 && g->aim->commodities[0].destination >= 0;
    if (!blocks) {
        TERN_TRY(look_for_new(g, &prices));
    }
    TERN_TRY(look_at_known(g, &prices));
    if (g->candidates.count > 0) {
        qsort(g->candidates.at, (size_t)g->candidates.count, sizeof *g->candidates.at,
              compare_prices);
    }
    int added = 0;
    for (; added < g->candidates.count && added < 2 * g->n + g->aim->count; added++) {
        TERN_TRY(tern__generating_add(g, &g->candidates.at[added]));
    }
    double bound = 0;
    for (int c = 0; c < g->aim->count; c++) {
        bound += g->aim->commodities[c].demand * g->cheapest[c];
    }
    if (bound > g->bound) {
        g->bound = bound;
        memcpy(g->best, dual, (size_t)(g->k * g->resources) * sizeof *dual);
    }
    return added;
}

void tern__generating_duals(struct tern__generating *g)
{
    for (int i = 0; i < g->k * g->resources; i++) {
        double dual = -tern__lp_dual(g->lp, i);
        g->dual[i] = dual > 0 ? dual : 0;
    }
    for (int c = 0; c < g->aim->count; c++) {
        g->paid[c] = tern__lp_dual(g->lp, g->k * g->resources + c);
    }
    for (int rank = 0; rank < g->n && g->sparing; rank++) {
        double rent = -tern__lp_dual(g->lp, tern__generating_rent(g, rank));
        g->rents[rank] = rent > 0 ? rent : 0;
    }
}

int tern__generating_solve(struct tern__generating *g)
{
    int status = tern__lp_solve(g->lp, g->how->patience);
    bool bad = status == TERN_ERR_STATE; // numbers got bad on the way
    return bad ? tern__lp_solve_afresh(g->lp, g->how->patience) : status;
}
