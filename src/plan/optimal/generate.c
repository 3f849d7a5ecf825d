// SPDX-License-Identifier: Apache-2.0
// As the master program (master.c), with a row for each resource in each round. Trees are looked
// for halfway between the prices of the best bound and the last ones, too. What is found is a
// search's, so that bound is a guess, and says only when to stop.

#include "base/error.h"
#include "plan/optimal/generating.h"

#define GAP 2e-4

static int generate(struct tern__generating *g)
{
    for (int iteration = 0; iteration < g->how->iterations_max; iteration++) {
        TERN_TRY(tern__generating_solve(g));
        tern__generating_duals(g);
        g->time = tern__lp_objective(g->lp);
        int added = 0;
        if (g->time <= g->how->enough || g->bound >= g->time * (1 - GAP)) {
            break;
        }
        if (iteration > 0) {
            for (int i = 0; i < g->k * g->resources; i++) {
                g->halfway[i] = (g->best[i] + g->dual[i]) / 2;
            }
            TERN_TRY(added = tern__generating_look(g, g->halfway));
        }
        if (added == 0) {
            TERN_TRY(added = tern__generating_look(g, g->dual));
        }
        if (added == 0) {
            break;
        }
    }
    return TERN_OK;
}

static int take_amounts(struct tern__generating *g, struct tern__rounds *rounds)
{
    struct tern__trees *trees;
    int count = 0;
    TERN__ARENA_TAKE(g->arena, trees, 1);
    TERN__ARENA_TAKE(g->arena, trees->at, g->columns.count + 1); // NOLINT: of pointers
    *rounds = (struct tern__rounds){.count = g->k,
                                    .trees = trees,
                                    .time = g->time,
                                    .columns = g->columns.count,
                                    .scratch = tern__generating_scratch(g)};
    TERN__ARENA_TAKE(g->arena, rounds->share, g->columns.count + 1);
    TERN__ARENA_TAKE(g->arena, rounds->sent,
                     (size_t)g->columns.count * 2 * (size_t)g->n * (size_t)(g->k + 1));
    for (int i = 0; i < g->columns.count; i++) {
        double share = tern__lp_column(g->lp, tern__generating_column(g, i));
        if (share <= 1e-9) {
            continue;
        }
        const struct tern__timed *timed = &g->columns.at[i];
        for (int task = 0; task < 2 * g->n; task++) {
            double *sent = tern__rounds_sent(rounds, g->n, count, task);
            for (int t = timed->when[task]; t <= g->k && t > 0; t++) {
                sent[t] = share;
            }
        }
        rounds->share[count] = share;
        trees->at[count++] = (struct tern__net_tree *)timed->tree;
    }
    trees->count = count;
    return TERN_OK;
}

static int take_memory(struct tern__generating *g)
{
    size_t rows = (size_t)g->k * (size_t)g->resources + (size_t)g->aim->count;
    size_t square = (size_t)(g->k + 1) * (size_t)g->n * (size_t)g->n;
    TERN__ARENA_TAKE(g->arena, g->dual, rows);
    TERN__ARENA_TAKE(g->arena, g->best, rows);
    TERN__ARENA_TAKE(g->arena, g->halfway, rows);
    TERN__ARENA_TAKE(g->arena, g->there, square);
    TERN__ARENA_TAKE(g->arena, g->back, square);
    TERN__ARENA_TAKE(g->arena, g->paid, g->aim->count + 1);
    TERN__ARENA_TAKE(g->arena, g->cheapest, g->aim->count + 1);
    TERN__ARENA_TAKE(g->arena, g->use, rows + 1);
    TERN__ARENA_TAKE(g->arena, g->touched, rows + 1);
    TERN__ARENA_TAKE(g->arena, g->entries, rows + (size_t)g->n + 1);
    TERN__ARENA_TAKE(g->arena, g->rents, g->n);
    return TERN_OK;
}

// To begin with, the trees of the pool, as early and as late as can be.
static int begin(struct tern__generating *g, const struct tern__trees *pool)
{
    int *reached; // commodities
    TERN__ARENA_TAKE(g->arena, reached, g->aim->count + 1);
    for (int i = 0; i < pool->count; i++) {
        struct tern__net_tree *tree = pool->at[i];
        TERN_TRY(tern__patience_left(g->aim->patience));
        TERN_TRY(tern__trees_add(g->arena, g->aim, &g->known, tree));
        for (int late = 0; late <= 1 && tree->depth <= g->k; late++) {
            struct tern__timed timed = {.tree = tree};
            TERN__ARENA_TAKE(g->arena, timed.when, 2 * g->n);
            for (int task = 0; task < 2 * g->n; task++) {
                bool is = tree->level[task] > 0;
                timed.when[task] = !is ? 0 : late ? g->k - tree->after[task] : tree->level[task];
            }
            TERN_TRY(tern__generating_add(g, &timed));
            reached[tree->commodity]++;
        }
    }
    for (int c = 0; c < g->aim->count; c++) {
        if (reached[c] == 0) {
            return tern__fail(TERN_ERR_LIMIT, "%d rounds are too few: the bytes go further", g->k);
        }
    }
    return TERN_OK;
}

static int solve(struct tern__generating *g, const struct tern__trees *pool,
                 struct tern__rounds *rounds)
{
    TERN_TRY(take_memory(g));
    TERN_TRY(tern__generating_make(g));
    TERN_TRY(begin(g, pool));
    TERN_TRY(generate(g));
    if (tern__generating_scratch(g) > TERN__SCRATCH_ENOUGH * 1.1) {
        TERN_TRY(tern__generating_spare(g));
    }
    return take_amounts(g, rounds);
}

int tern__rounds_generate(struct tern__arena *arena, const struct tern__aim *aim,
                          const struct tern__trees *pool, const struct tern__generation *how,
                          struct tern__rounds *rounds)
{
    struct tern__generating g = {.arena = arena,
                                 .aim = aim,
                                 .how = how,
                                 .n = aim->graph->n,
                                 .k = how->rounds,
                                 .resources = aim->graph->resources_count,
                                 .seed = how->seed};
    int status = solve(&g, pool, rounds);
    tern__lp_destroy(g.lp);
    return status;
}
