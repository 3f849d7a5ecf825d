// SPDX-License-Identifier: Apache-2.0
// Two forms of plans. In one, what goes in and out is one schedule. AllReduce over symmetric links
// also has the other, two phases of which the second is the first backwards: half the program, and
// as good where a direction of a link is never worth more than the other. Both are tried with more
// and more rounds, until the last of them is close to what its trees can do or the program gets too
// large. Then the trees of the least time may still do better in many rounds that are all alike
// (pipeline.h), for which no program is needed.

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "plan/optimal/certificate.h"
#include "plan/optimal/generate.h"
#include "plan/optimal/lp.h"
#include "plan/optimal/moderate.h"
#include "plan/optimal/optimal.h"
#include "plan/optimal/pipeline.h"
#include "plan/optimal/pool.h"
#include "plan/optimal/timed.h"
#include "plan/optimal/write.h"

// A form's time over the bound of its trees at which more rounds are not tried: with many, each
// gains little and costs ops.
#define CLOSE 1.0005
#define CLOSE_OF_MANY 1.045
#define SCRATCH_MUCH 1.25 // parts of the plan's bytes

enum {
    ROUNDS_MAX = TERN__ROUNDS_MAX,
    ITERATIONS_MAX = 100, // of the search for trees in time

    MANY_ROUNDS = 8,
    NO_BETTER_MAX = 3,        // plans in a row
    ROUNDS_MAX_BESIDE = 5,    // of a form, where the other one is as good
    COLUMNS_MAX = 4500,       // of the program over amounts
    COLUMNS_MAX_SECOND = 700, // likewise, of the form that is tried second
    COLUMNS_MAX_THIN = 1500,  // up to which plans of fewer ops are looked for
    COLUMNS_MANY = 1500       // of trees in time: beyond, many rounds are rather alike
};

// A form of plans, with its trees.
struct form {
    struct tern__aim aim;
    struct tern__master master;
    struct tern__trees pool;
    double time; // that its trees take, both phases
    int rounds_max, columns_max;
    bool needs_new_trees; // those of the least time did not do for some rounds
    bool one_origin;      // all bytes have it: trees of the least time will do for few rounds, too
    int columns;          // of the last program of trees in time
    bool alike;           // all rounds: the programs have become too large
};

struct tern__optimal {
    struct tern__optimal_goal goal;
    struct tern__arena arena;
    struct tern__net_graph graph;
    struct form forms[2];
    int forms_count;
    struct tern__optimal_news news;
};

static struct tern__patience patience_of(const struct tern__optimal_watch *watch)
{
    return (struct tern__patience){.deadline_ns =
                                       watch->deadline_ns != 0 ? watch->deadline_ns : INT64_MAX,
                                   .stop = watch->stop,
                                   .context = watch->context};
}

// Of a time in bytes of the plan over the fastest link's bandwidth.
static double microseconds(const struct tern__optimal *o, double time)
{
    return time * (double)o->goal.bytes / (o->graph.reference * 1e3);
}

// The trees of the least time.
static int find_trees(struct tern__optimal *o, struct form *form, bool in_sequence,
                      const struct tern__patience *patience)
{
    const struct tern__optimal_goal *goal = &o->goal;
    TERN_TRY(tern__aim_make(&o->arena, &o->graph, goal->kind, goal->root, goal->order, &form->aim));
    form->aim.in_sequence = in_sequence;
    form->aim.patience = patience;
    form->aim.prefixes = form->aim.raw && goal->unit != TERN__UNIT_ROUNDED;
    int status = tern__master_solve(&o->arena, &form->aim, goal->seed, patience, &form->master);
    form->aim.patience = NULL;
    return status;
}

static int make_form(struct tern__optimal *o, bool in_sequence,
                     const struct tern__patience *patience)
{
    struct form *form = &o->forms[o->forms_count];
    TERN_TRY(find_trees(o, form, in_sequence, patience));
    form->aim.patience = patience;
    TERN_TRY(tern__pool_make(&o->arena, &form->aim, &form->master, o->goal.seed, &form->pool));
    form->time = form->master.time * (in_sequence ? 2 : 1);
    form->one_origin = form->aim.count == 1 && form->aim.commodities[0].origin >= 0;
    form->columns_max = COLUMNS_MAX;
    form->rounds_max = ROUNDS_MAX;
    form->aim.patience = NULL;
    o->forms_count++;
    return TERN_OK;
}

// What the prices prove: where rates were moderated, not what the program says.
static int state_bound(struct tern__optimal *o)
{
    const struct tern__optimal_goal *goal = &o->goal;
    struct tern__net_graph whole;
    o->news.bound_us = microseconds(o, o->forms[0].master.bound);
    if (!o->graph.moderated) {
        return TERN_OK;
    }
    tern__moderate_prices(&o->graph, o->forms[0].master.prices);
    TERN_TRY(tern__net_graph_make(&o->arena, goal->topo, &whole));
    double bound =
        tern__certificate_bound(&whole, o->forms[0].master.prices, goal->kind, goal->root,
                                tern__certificate_narrow(goal->kind, goal->order, goal->unit));
    o->news.bound_us = bound * (double)goal->bytes / (whole.reference * 1e3);
    return TERN_OK;
}

static int read_graph(struct tern__optimal *o)
{
    const struct tern__optimal_goal *goal = &o->goal;
    TERN_TRY(tern__net_graph_make(&o->arena, goal->topo, &o->graph));
    TERN_TRY(tern__net_graph_connects(&o->graph, goal->kind, goal->root));
    return tern__moderate(&o->arena, &o->graph, goal->kind, goal->root);
}

static int solve(struct tern__optimal *o, const struct tern__patience *patience)
{
    const struct tern__optimal_goal *goal = &o->goal;
    TERN_TRY(read_graph(o));
    TERN_TRY(make_form(o, false, patience));
    TERN_TRY(state_bound(o));
    bool phases = goal->kind == TERN_PLAN_ALL_REDUCE && goal->order == TERN_ORDER_ANY &&
                  o->graph.symmetric && o->graph.n > 1;
    if (phases) {
        TERN_TRY(make_form(o, true, patience));
        o->forms[0].columns_max = COLUMNS_MAX_SECOND;
        if (o->forms[1].time <= o->forms[0].time * CLOSE) {
            o->forms[0].rounds_max = ROUNDS_MAX_BESIDE;
        }
    }
    return TERN_OK;
}

// The bound alone; at the deadline, what was proved until then.
static int prove(struct tern__optimal *o, const struct tern__patience *patience)
{
    struct form *form = &o->forms[0];
    TERN_TRY(read_graph(o));
    int status = find_trees(o, form, false, patience);
    bool enough = status == TERN_ERR_TIMEOUT && form->master.bound > 0;
    TERN_TRY(enough ? TERN_OK : status);
    return state_bound(o);
}

static int create(const struct tern__optimal_goal *goal, const struct tern__optimal_watch *watch,
                  int (*fill)(struct tern__optimal *, const struct tern__patience *),
                  struct tern__optimal **optimal)
{
    struct tern__optimal *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a planner");
    }
    made->goal = *goal;
    struct tern__patience patience = patience_of(watch);
    int status = fill(made, &patience);
    if (status != TERN_OK) {
        tern__optimal_destroy(made);
        return status;
    }
    *optimal = made;
    return TERN_OK;
}

int tern__optimal_create(const struct tern__optimal_goal *goal,
                         const struct tern__optimal_watch *watch, struct tern__optimal **optimal)
{
    return create(goal, watch, solve, optimal);
}

int tern__optimal_prove(const struct tern__optimal_goal *goal,
                        const struct tern__optimal_watch *watch, struct tern__optimal **optimal)
{
    return create(goal, watch, prove, optimal);
}

void tern__optimal_destroy(struct tern__optimal *optimal)
{
    if (optimal != NULL) {
        tern__arena_free(&optimal->arena);
        free(optimal);
    }
}

double tern__optimal_bound_us(const struct tern__optimal *optimal)
{
    return optimal->news.bound_us;
}

const int64_t *tern__optimal_prices(const struct tern__optimal *optimal, int *count)
{
    *count = optimal->graph.resources_count;
    return optimal->forms[0].master.prices;
}

// What a search has under way.
struct search {
    struct tern__optimal *optimal;
    const struct tern__optimal_watch *watch;
    struct tern__patience patience; // of the watch
    int (*visit)(void *context, tern_plan **plan, double us);
    void *context;
    int plans;
};

// A plan under way; its time over the bound of its trees in `over`.
struct making {
    int rounds;
    tern_plan *plan;
    double us, over;
};

// Amounts over few trees, in nearly the same time: trees with small shares cost more, twice over.
static int thin_out(struct form *form, struct tern__arena *arena, struct tern__rounds_limits limits,
                    struct tern__rounds *amounts)
{
    for (int pass = 0; pass < 3; pass++) {
        struct tern__rounds thinner;
        limits.thin = amounts;
        if (tern__rounds_solve(arena, &form->aim, amounts->trees, amounts->count, &limits,
                               &thinner) != TERN_OK ||
            thinner.time > amounts->time * (1 + 1e-4)) {
            break; // what there is will do
        }
        *amounts = thinner;
    }
    return TERN_OK;
}

// A plan of amounts, with the lesser number of ops.
static int write_plan(const struct tern__optimal *o, const struct form *form,
                      struct tern__arena *arena, const struct tern__rounds *amounts,
                      tern_plan **plan, double *us)
{
    struct tern__schedule schedule;
    tern_plan *made;
    TERN_TRY(
        tern__schedule_make(arena, &form->aim, amounts, o->goal.bytes / o->goal.unit, &schedule));
    TERN_TRY(tern__schedule_write(arena, &schedule, o->goal.unit, &made));
    if (*plan != NULL && tern_plan_total_ops(*plan) <= tern_plan_total_ops(made)) {
        return tern_plan_destroy(made);
    }
    (void)tern_plan_destroy(*plan);
    *plan = made;
    *us = tern__schedule_time(&schedule) * o->goal.unit / (o->graph.reference * 1e3);
    return TERN_OK;
}

// Plans of more rounds begin with these trees, too.
static int keep_trees(struct tern__optimal *o, struct form *form, const struct tern__trees *used)
{
    for (int i = 0; i < used->count; i++) {
        struct tern__net_tree *tree;
        TERN_TRY(tern__tree_make(&o->arena, &form->aim, used->at[i]->commodity, used->at[i]->root,
                                 used->at[i]->in_to, used->at[i]->out_from, &tree));
        TERN_TRY(tern__trees_add(&o->arena, &form->aim, &form->pool, tree));
    }
    return TERN_OK;
}

// Of a pool, the trees that amounts have; those of plans that take more rounds.
static int keep_used(struct tern__optimal *o, struct form *form, const struct tern__rounds *amounts)
{
    struct tern__trees used = {0};
    for (int i = 0; i < form->pool.count; i++) {
        if (amounts->share[i] > 1e-9 || form->pool.at[i]->depth > amounts->count) {
            TERN_TRY(tern__trees_add(&o->arena, &form->aim, &used, form->pool.at[i]));
        }
    }
    form->pool = used;
    return TERN_OK;
}

// Of the rank that needs the most, in parts of the plan's bytes.
static double scratch_of(const struct form *form, const struct tern__rounds *amounts)
{
    double most = 0;
    for (int rank = 0; rank < form->aim.graph->n; rank++) {
        double sum = 0;
        for (int i = 0; i < form->pool.count; i++) {
            sum += amounts->share[i] * tern__tree_slots(&form->aim, form->pool.at[i], rank);
        }
        most = fmax(most, sum);
    }
    return most;
}

// A plan on the trees of the pool; *done says whether it is as good as need be.
static int make_on_pool(const struct search *s, struct form *form, struct tern__arena *arena,
                        struct making *m, bool *done)
{
    struct tern__optimal *o = s->optimal;
    struct tern__rounds_limits limits = {.patience = &s->patience,
                                         .columns_max = form->columns_max};
    struct tern__rounds amounts;
    if (form->needs_new_trees) {
        return TERN_OK;
    }
    int status = tern__rounds_solve(arena, &form->aim, &form->pool, m->rounds, &limits, &amounts);
    if (status == TERN_ERR_LIMIT && !form->one_origin) {
        return TERN_OK;
    }
    TERN_TRY(status);
    m->over = form->master.time > 0 ? amounts.time / form->master.time : 1;
    *done = form->one_origin || (m->over <= CLOSE && scratch_of(form, &amounts) <= SCRATCH_MUCH);
    if (!*done) {
        return TERN_OK;
    }
    TERN_TRY(write_plan(o, form, arena, &amounts, &m->plan, &m->us));
    limits.columns_max = COLUMNS_MAX_THIN;
    TERN_TRY(thin_out(form, arena, limits, &amounts));
    TERN_TRY(write_plan(o, form, arena, &amounts, &m->plan, &m->us));
    return form->one_origin ? keep_used(o, form, &amounts) : TERN_OK;
}

// A plan on trees for these rounds.
static int make_on_new_trees(const struct search *s, struct form *form, struct tern__arena *arena,
                             struct making *m)
{
    struct tern__optimal *o = s->optimal;
    struct tern__rounds_limits limits = {
        .patience = &s->patience,
        .columns_max = o->forms_count > 1 ? COLUMNS_MAX_THIN : 2 * COLUMNS_MAX_THIN,
    };
    struct tern__generation how = {.rounds = m->rounds,
                                   .enough = form->master.time * (1 + 1e-6),
                                   .iterations_max = ITERATIONS_MAX,
                                   .seed = o->goal.seed,
                                   .patience = &s->patience};
    struct tern__rounds amounts;
    struct tern__rounds thinner;
    struct tern__trees used = {0};
    double before = m->over;
    TERN_TRY(tern__rounds_generate(arena, &form->aim, &form->pool, &how, &amounts));
    form->columns = amounts.columns;
    m->over = form->master.time > 0 ? amounts.time / form->master.time : 1;
    form->needs_new_trees = form->needs_new_trees || m->over < before * (1 - 1e-3);
    TERN_TRY(write_plan(o, form, arena, &amounts, &m->plan, &m->us));
    for (int i = 0; i < amounts.trees->count; i++) {
        TERN_TRY(tern__trees_add(arena, &form->aim, &used, amounts.trees->at[i]));
    }
    double scratch = fmax(amounts.scratch, TERN__SCRATCH_ENOUGH);
    limits.scratch = scratch * (1 + 1e-6);
    if (tern__rounds_solve(arena, &form->aim, &used, m->rounds, &limits, &thinner) == TERN_OK &&
        thinner.time <= amounts.time * (1 + 1e-6)) {
        TERN_TRY(write_plan(o, form, arena, &thinner, &m->plan, &m->us));
        TERN_TRY(thin_out(form, arena, limits, &thinner));
        TERN_TRY(write_plan(o, form, arena, &thinner, &m->plan, &m->us));
    }
    return keep_trees(o, form, &used);
}

static int make_pipeline(const struct tern__optimal *o, const struct form *form,
                         struct tern__arena *arena, struct making *m)
{
    struct tern__rounds amounts;
    TERN_TRY(tern__pipeline_make(arena, &form->aim, &form->master, m->rounds, &amounts));
    TERN_TRY(write_plan(o, form, arena, &amounts, &m->plan, &m->us));
    m->over = form->time > 0 ? m->us / microseconds(o, form->time) : 1;
    return TERN_OK;
}

static int make_plan(const struct search *s, struct form *form, struct tern__arena *arena,
                     struct making *m)
{
    bool done = false;
    if (form->alike) {
        return make_pipeline(s->optimal, form, arena, m);
    }
    TERN_TRY(make_on_pool(s, form, arena, m, &done));
    return done ? TERN_OK : make_on_new_trees(s, form, arena, m);
}

static int try_rounds(struct search *s, struct form *form, struct tern__arena *arena, int rounds,
                      double *over)
{
    struct tern__optimal *o = s->optimal;
    struct making making = {.rounds = rounds};
    int status = make_plan(s, form, arena, &making);
    *over = making.over;
    if (status == TERN_OK) {
        double us = making.us;
        s->plans++;
        o->news.best_us = o->news.best_us > 0 && o->news.best_us < us ? o->news.best_us : us;
        status = s->visit(s->context, &making.plan, us);
    }
    (void)tern_plan_destroy(making.plan);
    return status;
}

static void tell(const struct search *s, int rounds)
{
    struct tern__optimal_news *news = &s->optimal->news;
    news->rounds = rounds;
    if (s->watch->progress != NULL) {
        s->watch->progress(s->watch->context, news);
    }
}

// Whether so many rounds that are alike take less than the best plan so far.
static bool is_pipeline_better(const struct tern__optimal *o, const struct form *form, int rounds)
{
    struct tern__arena arena = {0};
    struct tern__rounds amounts;
    bool made = tern__pipeline_make(&arena, &form->aim, &form->master, rounds, &amounts) == TERN_OK;
    double us = made ? microseconds(o, amounts.time) * (form->aim.in_sequence ? 2 : 1) : 0;
    tern__arena_free(&arena);
    return made && (o->news.best_us <= 0 || us < o->news.best_us);
}

// More rounds in another program, or from now on alike.
static int next_rounds(const struct tern__optimal *o, struct form *form, int rounds)
{
    do {
        rounds += rounds < MANY_ROUNDS ? 1 : rounds / (form->one_origin ? 2 : 4);
        form->alike = form->alike || (rounds > MANY_ROUNDS && form->columns > COLUMNS_MANY &&
                                      is_pipeline_better(o, form, form->rounds_max));
    } while (form->alike && rounds <= form->rounds_max && !is_pipeline_better(o, form, rounds));
    return rounds;
}

static int try_form(struct search *s, struct form *form)
{
    form->aim.patience = &s->patience;
    form->columns = 0;
    form->alike = false;
    int rounds = tern__pool_rounds(&form->aim, &form->pool);
    int no_better = 0;
    while (rounds <= form->rounds_max && no_better < NO_BETTER_MAX) {
        TERN_TRY(tern__patience_left(&s->patience));
        if (s->watch->worth != NULL && !s->watch->worth(s->watch->context, rounds)) {
            return TERN_OK;
        }
        tell(s, rounds);
        struct tern__arena arena = {0};
        double over = 0;
        int status = try_rounds(s, form, &arena, rounds, &over);
        tern__arena_free(&arena);
        if (status == TERN_ERR_STATE && !form->alike) { // bad numbers: these need no program
            form->alike = true;
            rounds = next_rounds(s->optimal, form, rounds);
            continue;
        }
        if (status == TERN_ERR_LIMIT && s->plans > 0) { // the program has become too large
            return TERN_OK;
        }
        TERN_TRY(status);
        no_better = status > 0 ? no_better + 1 : 0;
        if (over <= (rounds > MANY_ROUNDS ? CLOSE_OF_MANY : CLOSE)) {
            return TERN_OK;
        }
        rounds = next_rounds(s->optimal, form, rounds);
    }
    return TERN_OK;
}

int tern__optimal_search(struct tern__optimal *optimal, const struct tern__optimal_watch *watch,
                         int (*visit)(void *context, tern_plan **plan, double us), void *context)
{
    struct search search = {.optimal = optimal,
                            .watch = watch,
                            .patience = patience_of(watch),
                            .visit = visit,
                            .context = context};
    int status = TERN_OK;
    for (int i = optimal->forms_count - 1; i >= 0 && status >= 0; i--) {
        status = try_form(&search, &optimal->forms[i]);
        optimal->forms[i].aim.patience = NULL;
    }
    bool enough = status == TERN_ERR_TIMEOUT || status == TERN_ERR_INTERRUPTED;
    tell(&search, 0);
    return enough && search.plans > 0 ? TERN_OK : status;
}

struct best {
    tern_plan *plan;
    double us;
};

static int keep_best(void *context, tern_plan **plan, double us)
{
    struct best *best = context;
    if (best->plan == NULL || us < best->us * (1 - 1e-9)) {
        (void)tern_plan_destroy(best->plan);
        best->plan = *plan;
        best->us = us;
        *plan = NULL;
    }
    return TERN_OK;
}

int tern__optimal_best(struct tern__optimal *optimal, const struct tern__optimal_watch *watch,
                       tern_plan **plan, double *us)
{
    struct best best = {0};
    int status = tern__optimal_search(optimal, watch, keep_best, &best);
    if (status != TERN_OK) {
        (void)tern_plan_destroy(best.plan);
        return status;
    }
    *plan = best.plan;
    *us = best.us;
    return TERN_OK;
}
