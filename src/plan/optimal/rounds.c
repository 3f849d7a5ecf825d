// SPDX-License-Identifier: Apache-2.0
// The program: minimise the sum of the rounds' times. Before its level a task has sent nothing, and
// with as many rounds left as must follow it, everything; columns are only what lies between.

#include <string.h>

#include "base/error.h"
#include "plan/optimal/lp.h"
#include "plan/optimal/rounds.h"

enum { NOTHING = -1 }; // no column: what is 0

struct program {
    struct tern__arena *arena;
    const struct tern__aim *aim;
    const struct tern__trees *trees;
    struct tern__lp *lp;
    int n, k, columns;
    const struct tern__rounds_limits *limits;
    int *share; // the column of each tree's share; NOTHING: it is too deep
    int *first; // [tree * 2n + task]: the column of a task's first round
    int *users; // tasks by resource: tree * 2n + task, users_at[r] to users_at[r + 1] - 1
    int *users_at;
    // Of the row under way: the weight of each column, and which have one.
    double *weight;
    bool *listed;
    int *touched;
    int touched_count;
    struct tern__lp_entry *entries;
};

static void put(struct program *p, int column, double weight)
{
    if (column == NOTHING) {
        return;
    }
    if (!p->listed[column]) {
        p->listed[column] = true;
        p->touched[p->touched_count++] = column;
        p->weight[column] = 0;
    }
    p->weight[column] += weight;
}

static int end_row(struct program *p, enum tern__lp_row form, double bound)
{
    int count = 0;
    for (int i = 0; i < p->touched_count; i++) {
        int column = p->touched[i];
        p->listed[column] = false;
        if (p->weight[column] > 1e-12 || p->weight[column] < -1e-12) {
            p->entries[count++] = (struct tern__lp_entry){.at = column, .value = p->weight[column]};
        }
    }
    p->touched_count = 0;
    return count > 0 || form == TERN__LP_EQUAL
               ? tern__lp_add_row(p->lp, form, bound, p->entries, count)
               : TERN_OK;
}

// The column of what a task has sent by the end of a round.
static int sent(const struct program *p, int tree, int task, int round)
{
    const struct tern__net_tree *t = p->trees->at[tree];
    if (round < t->level[task]) {
        return NOTHING;
    }
    return round >= p->k - t->after[task]
               ? p->share[tree]
               : p->first[tree * 2 * p->n + task] + round - t->level[task];
}

static int number_columns(struct program *p)
{
    int tasks = 2 * p->n;
    p->columns = p->k; // the rounds' times
    for (int j = 0; j < p->trees->count; j++) {
        const struct tern__net_tree *tree = p->trees->at[j];
        p->share[j] = tree->depth <= p->k ? p->columns++ : NOTHING;
        for (int task = 0; task < tasks && p->share[j] != NOTHING; task++) {
            p->first[j * tasks + task] = p->columns;
            if (tree->level[task] > 0) {
                p->columns += p->k - tree->after[task] - tree->level[task];
            }
        }
    }
    if (p->columns > p->limits->columns_max) {
        return tern__fail(TERN_ERR_LIMIT,
                          "a plan of %d rounds needs a linear program of %d columns, more than %d",
                          p->k, p->columns, p->limits->columns_max);
    }
    return TERN_OK;
}

static int list_users(struct program *p)
{
    int tasks = 2 * p->n;
    int resources = p->aim->graph->resources_count;
    TERN__ARENA_TAKE(p->arena, p->users_at, resources + 1);
    for (int fill = 0; fill <= 1; fill++) {
        int *at = p->users_at;
        for (int i = 0; i < p->trees->count * tasks; i++) {
            const struct tern__net_tree *tree = p->trees->at[i / tasks];
            if (tree->level[i % tasks] == 0 || p->share[i / tasks] == NOTHING) {
                continue;
            }
            const struct tern__net_edge *edge =
                &p->aim->graph->edges[tern__tree_edge(p->aim, tree, i % tasks)];
            for (int u = 0; u < edge->uses_count; u++) {
                int r = edge->uses[u];
                if (fill) {
                    p->users[--at[r]] = i;
                } else {
                    at[r]++;
                }
            }
        }
        for (int r = 1; r <= resources && !fill; r++) {
            at[r] += at[r - 1];
        }
        if (!fill) {
            TERN__ARENA_TAKE(p->arena, p->users, at[resources]);
        }
    }
    return TERN_OK;
}

// What a task sends goes up, and what it has sent has come to its rank a round before.
static int add_task_rows(struct program *p, int j, int task)
{
    const struct tern__net_tree *tree = p->trees->at[j];
    int before[TERN__NET_RANKS_MAX];
    int count = tern__tree_before(p->aim, tree, task, before);
    int last = p->k - tree->after[task];
    for (int round = tree->level[task]; round <= last; round++) {
        if (round > tree->level[task]) {
            put(p, sent(p, j, task, round), 1);
            put(p, sent(p, j, task, round - 1), -1);
            TERN_TRY(end_row(p, TERN__LP_AT_LEAST, 0));
        }
        for (int i = 0; i < count; i++) {
            int came = sent(p, j, before[i], round - 1);
            if (came != p->share[j]) {
                put(p, came, 1);
                put(p, sent(p, j, task, round), -1);
                TERN_TRY(end_row(p, TERN__LP_AT_LEAST, 0));
            }
        }
    }
    return TERN_OK;
}

static int add_resource_row(struct program *p, int resource, int round)
{
    int tasks = 2 * p->n;
    const struct tern__net_graph *graph = p->aim->graph;
    for (int i = p->users_at[resource]; i < p->users_at[resource + 1]; i++) {
        int j = p->users[i] / tasks;
        int task = p->users[i] % tasks;
        double many = p->trees->at[j]->many[task];
        put(p, sent(p, j, task, round), many);
        put(p, sent(p, j, task, round - 1), -many);
    }
    put(p, round - 1, -graph->capacity[resource] / graph->reference);
    return end_row(p, TERN__LP_AT_MOST, 0);
}

static int add_rows(struct program *p)
{
    for (int j = 0; j < p->trees->count; j++) {
        TERN_TRY(tern__patience_left(p->limits->patience));
        for (int task = 0; task < 2 * p->n && p->share[j] != NOTHING; task++) {
            if (p->trees->at[j]->level[task] > 0) {
                TERN_TRY(add_task_rows(p, j, task));
            }
        }
    }
    for (int r = 0; r < p->aim->graph->resources_count; r++) {
        TERN_TRY(tern__patience_left(p->limits->patience));
        for (int round = 1; round <= p->k; round++) {
            if (p->users_at[r + 1] > p->users_at[r]) {
                TERN_TRY(add_resource_row(p, r, round));
            }
        }
    }
    for (int c = 0; c < p->aim->count; c++) {
        for (int j = 0; j < p->trees->count; j++) {
            if (p->trees->at[j]->commodity == c) {
                put(p, p->share[j], 1);
            }
        }
        if (p->touched_count == 0) {
            return tern__fail(TERN_ERR_LIMIT, "%d rounds are too few: the bytes go further", p->k);
        }
        TERN_TRY(end_row(p, TERN__LP_EQUAL, p->aim->commodities[c].demand));
    }
    return TERN_OK;
}

static double cost_of(double amount)
{
    return 1e-6 / (amount + 1e-3);
}

// What is little costs much, so that it goes to where more is: trees, and parts that are sent in
// one round.
static int set_costs(struct program *p, const struct tern__rounds *amounts)
{
    double *costs;
    TERN__ARENA_TAKE(p->arena, costs, p->columns);
    for (int j = 0; j < p->trees->count; j++) {
        const struct tern__net_tree *tree = p->trees->at[j];
        if (p->share[j] == NOTHING) {
            continue;
        }
        costs[p->share[j]] += cost_of(amounts->share[j]);
        for (int task = 0; task < 2 * p->n; task++) {
            const double *already = tern__rounds_sent(amounts, p->n, j, task);
            for (int round = 1; round <= p->k && tree->level[task] > 0; round++) {
                double cost = cost_of(already[round] - already[round - 1]);
                int column = sent(p, j, task, round);
                int before = sent(p, j, task, round - 1);
                if (column != before) {
                    costs[column] += cost;
                    costs[before != NOTHING ? before : 0] -= before != NOTHING ? cost : 0;
                }
            }
        }
    }
    for (int i = p->k; i < p->columns; i++) {
        tern__lp_set_cost(p->lp, i, costs[i]);
    }
    return TERN_OK;
}

static int add_scratch_rows(struct program *p)
{
    for (int rank = 0; rank < p->n && p->limits->scratch > 0; rank++) {
        for (int j = 0; j < p->trees->count; j++) {
            put(p, p->share[j], tern__tree_slots(p->aim, p->trees->at[j], rank));
        }
        TERN_TRY(end_row(p, TERN__LP_AT_MOST, p->limits->scratch));
    }
    return TERN_OK;
}

static int take_amounts(struct program *p, struct tern__rounds *rounds)
{
    int tasks = 2 * p->n;
    TERN__ARENA_TAKE(p->arena, rounds->share, p->trees->count);
    TERN__ARENA_TAKE(p->arena, rounds->sent, p->trees->count * tasks * (p->k + 1));
    for (int j = 0; j < p->trees->count; j++) {
        if (p->share[j] == NOTHING) {
            continue;
        }
        rounds->share[j] = tern__lp_column(p->lp, p->share[j]);
        for (int task = 0; task < tasks; task++) {
            double *amounts = tern__rounds_sent(rounds, p->n, j, task);
            for (int round = 1; round <= p->k && p->trees->at[j]->level[task] > 0; round++) {
                int column = sent(p, j, task, round);
                amounts[round] = column == NOTHING ? 0 : tern__lp_column(p->lp, column);
            }
        }
    }
    for (int round = 0; round < p->k; round++) {
        rounds->time += tern__lp_column(p->lp, round);
    }
    rounds->columns = p->columns;
    return TERN_OK;
}

static int solve(struct program *p, struct tern__rounds *rounds)
{
    TERN__ARENA_TAKE(p->arena, p->share, p->trees->count);
    TERN__ARENA_TAKE(p->arena, p->first, p->trees->count * 2 * p->n);
    TERN_TRY(number_columns(p));
    TERN__ARENA_TAKE(p->arena, p->weight, p->columns);
    TERN__ARENA_TAKE(p->arena, p->listed, p->columns);
    TERN__ARENA_TAKE(p->arena, p->touched, p->columns);
    TERN__ARENA_TAKE(p->arena, p->entries, p->columns);
    TERN_TRY(list_users(p));
    TERN_TRY(tern__lp_create(&p->lp));
    for (int i = 0; i < p->columns; i++) {
        TERN_TRY(tern__lp_add_column(p->lp, i < p->k ? 1 : 0, NULL, 0));
    }
    TERN_TRY(add_rows(p));
    TERN_TRY(add_scratch_rows(p));
    if (p->limits->thin != NULL) {
        TERN_TRY(set_costs(p, p->limits->thin));
    }
    TERN_TRY(tern__lp_solve_afresh(p->lp, p->limits->patience));
    return take_amounts(p, rounds);
}

int tern__rounds_solve(struct tern__arena *arena, const struct tern__aim *aim,
                       const struct tern__trees *trees, int count,
                       const struct tern__rounds_limits *limits, struct tern__rounds *rounds)
{
    *rounds = (struct tern__rounds){.count = count, .trees = trees};
    struct program program = {.arena = arena,
                              .aim = aim,
                              .trees = trees,
                              .n = aim->graph->n,
                              .k = count,
                              .limits = limits};
    int status = solve(&program, rounds);
    tern__lp_destroy(program.lp);
    return status;
}
