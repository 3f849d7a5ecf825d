// SPDX-License-Identifier: Apache-2.0
// Column generation. The duals of the program are prices of resources; the shortest trees at these
// prices are the columns that it lacks, and their lengths bound the time from below. Duals jump
// from one round to the next, so trees are looked for halfway between the best prices so far and
// the last ones; the end is made with the last ones, since halfway a tree may look too long.

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "plan/optimal/lp.h"
#include "plan/optimal/master.h"
#include "plan/optimal/price.h"

#define GAP_SMOOTH 2e-4 // the smoothed part ends here
#define GAP_END 1e-9

enum { ITERATIONS_MAX = 5000, PRICE_BITS = 36 };

struct search {
    struct tern__arena *arena;
    const struct tern__aim *aim;
    struct tern__master *master;
    struct tern__lp *lp;
    int columns;         // trees that the program has
    double *dual, *best; // prices, as the program has them
    double *use;
    int64_t *prices, *cost;
    struct tern__lp_entry *entries;
};

static double capacity(const struct search *s, int resource)
{
    return s->aim->graph->capacity[resource] / s->aim->graph->reference;
}

// Column 0 is the time; rows are resources, then commodities.
static int make_program(struct search *s)
{
    int resources = s->aim->graph->resources_count;
    TERN_TRY(tern__lp_create(&s->lp));
    TERN_TRY(tern__lp_add_column(s->lp, 1, NULL, 0));
    for (int r = 0; r < resources; r++) {
        struct tern__lp_entry time = {.at = 0, .value = -capacity(s, r)};
        TERN_TRY(tern__lp_add_row(s->lp, TERN__LP_AT_MOST, 0, &time, 1));
    }
    for (int c = 0; c < s->aim->count; c++) {
        double demand = s->aim->commodities[c].demand;
        TERN_TRY(tern__lp_add_row(s->lp, TERN__LP_EQUAL, demand, NULL, 0));
    }
    return TERN_OK;
}

static int add_columns(struct search *s)
{
    int resources = s->aim->graph->resources_count;
    for (; s->columns < s->master->trees.count; s->columns++) {
        const struct tern__net_tree *tree = s->master->trees.at[s->columns];
        int count = 0;
        memset(s->use, 0, (size_t)resources * sizeof *s->use);
        tern__tree_use(s->aim, tree, s->use);
        for (int r = 0; r < resources; r++) {
            if (s->use[r] > 0) {
                s->entries[count++] = (struct tern__lp_entry){.at = r, .value = s->use[r]};
            }
        }
        s->entries[count++] =
            (struct tern__lp_entry){.at = resources + tree->commodity, .value = 1};
        TERN_TRY(tern__lp_add_column(s->lp, 0, s->entries, count));
    }
    return TERN_OK;
}

// The bound that prices prove, when the shortest trees are as long as cost[] says.
static double proved(const struct search *s)
{
    double total = 0;
    double paid = 0;
    for (int c = 0; c < s->aim->count; c++) {
        total += s->aim->commodities[c].demand * (double)s->cost[c];
    }
    for (int r = 0; r < s->aim->graph->resources_count; r++) {
        paid += capacity(s, r) * (double)s->prices[r];
    }
    return paid > 0 ? total / paid : 0;
}

// Whole prices from those of the program, the greatest 2^PRICE_BITS.
static void round_prices(struct search *s, const double *dual)
{
    double most = 0;
    int resources = s->aim->graph->resources_count;
    for (int r = 0; r < resources; r++) {
        most = dual[r] > most ? dual[r] : most;
    }
    for (int r = 0; r < resources; r++) {
        s->prices[r] = most > 0 ? llround(ldexp(dual[r] / most, PRICE_BITS)) : 0;
    }
}

// The prices of the program, and the time. Where links are symmetric, prices can be so too.
static void take_duals(struct search *s)
{
    const struct tern__net_graph *graph = s->aim->graph;
    bool both = graph->symmetric && s->aim->inward && s->aim->outward && !s->aim->in_sequence &&
                !s->aim->raw;
    for (int r = 0; r < graph->resources_count; r++) {
        double dual = -tern__lp_dual(s->lp, r);
        s->dual[r] = dual > 0 ? dual : 0;
    }
    for (int r = 0; both && r < graph->resources_count; r++) {
        int mirror = graph->mirror[r];
        if (mirror > r) {
            s->dual[r] = s->dual[mirror] = (s->dual[r] + s->dual[mirror]) / 2;
        }
    }
    s->master->time = tern__lp_column(s->lp, 0);
}

// Whether a tree would shorten the time: it is shorter than what its commodity pays.
static bool improves(struct search *s, const struct tern__net_tree *tree)
{
    int resources = s->aim->graph->resources_count;
    double length = 0;
    memset(s->use, 0, (size_t)resources * sizeof *s->use);
    tern__tree_use(s->aim, tree, s->use);
    for (int r = 0; r < resources; r++) {
        length += s->use[r] * -tern__lp_dual(s->lp, r);
    }
    return length < tern__lp_dual(s->lp, resources + tree->commodity) - 1e-11;
}

// Looks for trees at some prices; returns how many new ones improve, and raises the bound.
static int look(struct search *s, const double *dual)
{
    struct tern__trees found = {0};
    int added = 0;
    round_prices(s, dual);
    TERN_TRY(tern__price(s->arena, s->aim, s->prices, &found, s->cost));
    double bound = proved(s);
    if (bound > s->master->bound) {
        size_t resources = (size_t)s->aim->graph->resources_count;
        s->master->bound = bound;
        memcpy(s->best, dual, resources * sizeof *s->best);
        memcpy(s->master->prices, s->prices, resources * sizeof *s->prices);
    }
    for (int i = 0; i < found.count; i++) {
        if (improves(s, found.at[i])) {
            int status = tern__trees_add(s->arena, s->aim, &s->master->trees, found.at[i]);
            TERN_TRY(status);
            added += status;
        }
    }
    return added;
}

// One round; returns how many trees it added.
static int step(struct search *s, bool smooth)
{
    double halfway[s->aim->graph->resources_count + 1];
    int added = 0;
    if (smooth) {
        for (int r = 0; r < s->aim->graph->resources_count; r++) {
            halfway[r] = (s->best[r] + s->dual[r]) / 2;
        }
        TERN_TRY(added = look(s, halfway));
    }
    return added > 0 ? added : look(s, s->dual);
}

static int generate(struct search *s, const struct tern__patience *patience)
{
    struct tern__master *m = s->master;
    bool smooth = false; // in the first round there is nothing between which to be
    while (m->iterations < ITERATIONS_MAX) {
        TERN_TRY(add_columns(s));
        int status = tern__lp_solve(s->lp, patience);
        if (status == TERN_ERR_STATE) { // numbers got bad on the way
            status = tern__lp_solve_afresh(s->lp, patience);
        }
        TERN_TRY(status);
        take_duals(s);
        int added = step(s, smooth);
        TERN_TRY(added);
        m->iterations++;
        double gap = (m->time - m->bound) / m->time;
        smooth = gap > GAP_SMOOTH;
        if (added == 0 || gap < GAP_END) {
            break;
        }
    }
    return TERN_OK;
}

// Of all best shares those with few rounds.
static int take_shares(struct search *s, const struct tern__patience *patience)
{
    struct tern__master *m = s->master;
    for (int i = 0; i < s->columns; i++) {
        tern__lp_set_cost(s->lp, 1 + i, 1e-5 * m->trees.at[i]->depth);
    }
    TERN_TRY(tern__lp_solve(s->lp, patience));
    TERN__ARENA_TAKE(s->arena, m->share, m->trees.count);
    for (int i = 0; i < s->columns; i++) {
        m->share[i] = tern__lp_column(s->lp, 1 + i);
    }
    return TERN_OK;
}

static int solve(struct search *s, uint64_t seed, const struct tern__patience *patience)
{
    int resources = s->aim->graph->resources_count;
    TERN__ARENA_TAKE(s->arena, s->dual, resources);
    TERN__ARENA_TAKE(s->arena, s->best, resources);
    TERN__ARENA_TAKE(s->arena, s->use, resources);
    TERN__ARENA_TAKE(s->arena, s->prices, resources);
    TERN__ARENA_TAKE(s->arena, s->master->prices, resources);
    TERN__ARENA_TAKE(s->arena, s->cost, s->aim->count + 1);
    TERN__ARENA_TAKE(s->arena, s->entries, resources + 1);
    TERN_TRY(tern__price_seeds(s->arena, s->aim, seed, &s->master->trees));
    TERN_TRY(make_program(s));
    TERN_TRY(generate(s, patience));
    return take_shares(s, patience);
}

int tern__master_solve(struct tern__arena *arena, const struct tern__aim *aim, uint64_t seed,
                       const struct tern__patience *patience, struct tern__master *master)
{
    *master = (struct tern__master){0};
    struct search search = {.arena = arena, .aim = aim, .master = master};
    int status = solve(&search, seed, patience);
    tern__lp_destroy(search.lp);
    return status;
}
