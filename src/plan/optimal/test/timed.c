// SPDX-License-Identifier: Apache-2.0
// The rounds of a given tree are the cheapest, against all that there are; few rounds get the trees
// that they need; and plans have few ops.
#include "support/cmocka.h"

#include <math.h>

#include "nets.h"
#include "plan/optimal/generate.h"
#include "plan/optimal/master.h"
#include "plan/optimal/optimal.h"
#include "plan/optimal/pool.h"
#include "plan/optimal/timed.h"

enum { MOST = 5, ROUNDS = 5 };

// A mesh of up to MOST ranks, its aim, and random prices.
struct setting {
    struct tern__arena arena;
    tern_topo *topo;
    struct tern__net_graph graph;
    struct tern__aim aim;
    struct tern__timed_prices prices;
    double there[(ROUNDS + 1) * MOST * MOST], back[(ROUNDS + 1) * MOST * MOST];
};

static void set_up(struct setting *s, int n, int rounds, tern_order order, uint64_t *seed)
{
    char word[16];
    memset(s, 0, sizeof *s);
    snprintf(word, sizeof word, "mesh:%d", n);
    s->topo = net_of(word);
    assert_int_equal(tern__net_graph_make(&s->arena, s->topo, &s->graph), TERN_OK);
    assert_int_equal(tern__aim_make(&s->arena, &s->graph, TERN_PLAN_ALL_REDUCE, 0, order, &s->aim),
                     TERN_OK);
    for (int t = 1; t <= rounds; t++) {
        for (int i = 0; i < n * n; i++) {
            double price = i / n == i % n ? -1 : (double)random_below(seed, 1000) / 8;
            s->there[t * n * n + i] = price;
            s->back[(rounds + 1 - t) * n * n + i % n * n + i / n] = price;
        }
    }
    s->prices =
        (struct tern__timed_prices){.n = n, .rounds = rounds, .there = s->there, .back = s->back};
}

static void tear_down(struct setting *s)
{
    tern__arena_free(&s->arena);
    tern_topo_destroy(s->topo);
}

// Whether tasks come after those before them; what a byte pays, or below 0.
static double pays(const struct setting *s, const struct tern__net_tree *tree, const int *when)
{
    int n = s->prices.n;
    double sum = 0;
    for (int task = 0; task < 2 * n; task++) {
        int before[MOST];
        int count = tree->level[task] > 0 ? tern__tree_before(&s->aim, tree, task, before) : 0;
        for (int i = 0; i < count; i++) {
            if (when[before[i]] >= when[task]) {
                return -1;
            }
        }
        if (tree->level[task] > 0) {
            int from = task < n ? task : tree->out_from[task - n];
            int to = task < n ? tree->in_to[task] : task - n;
            sum += tree->many[task] * s->there[when[task] * n * n + from * n + to];
        }
    }
    return sum;
}

static double try_all(const struct setting *s, const struct tern__net_tree *tree)
{
    int n = s->prices.n;
    int when[2 * MOST] = {0};
    double least = INFINITY;
    long count = 1;
    for (int task = 0; task < 2 * n; task++) {
        count *= tree->level[task] > 0 ? s->prices.rounds : 1;
    }
    for (long all = 0; all < count; all++) {
        long rest = all;
        for (int task = 0; task < 2 * n; task++) {
            if (tree->level[task] > 0) {
                when[task] = 1 + (int)(rest % s->prices.rounds);
                rest /= s->prices.rounds;
            }
        }
        double price = pays(s, tree, when);
        least = price >= 0 && price < least ? price : least;
    }
    return least;
}

static void rounds_of_a_tree_are_the_cheapest(void **state)
{
    uint64_t seed = random_seed();
    for (int run = 0; run < 60; run++) {
        struct setting s;
        int n = 2 + (int)random_below(&seed, 3); // 2 to 4: 5^6 ways
        set_up(&s, n, 4 + run % 2, run % 3 == 0 ? TERN_ORDER_RANK : TERN_ORDER_ANY, &seed);
        struct tern__timed found = {0};
        int root = (int)random_below(&seed, (uint64_t)n);
        assert_int_equal(tern__timed_find(&s.arena, &s.aim, &s.prices, 0, root, 2, &seed, &found),
                         TERN_OK);
        assert_non_null(found.tree);
        double paid = pays(&s, found.tree, found.when);
        assert_true(fabs(paid - found.price) < 1e-9);
        assert_true(fabs(paid - try_all(&s, found.tree)) < 1e-9);
        tear_down(&s);
    }
}

// A slow link: the trees of the least time go through more rounds than there need be.
static void trees_are_found_for_few_rounds(void **state)
{
    struct tern__arena arena = {0};
    struct tern__net_graph graph;
    struct tern__aim aim;
    struct tern__master master;
    struct tern__trees pool;
    tern_topo *topo = net_of("mesh:8 0-1=0.5");
    assert_int_equal(tern__net_graph_make(&arena, topo, &graph), TERN_OK);
    assert_int_equal(tern__aim_make(&arena, &graph, TERN_PLAN_ALL_REDUCE, 0, TERN_ORDER_ANY, &aim),
                     TERN_OK);
    aim.in_sequence = true;
    assert_int_equal(tern__master_solve(&arena, &aim, 1, NULL, &master), TERN_OK);
    assert_int_equal(tern__pool_make(&arena, &aim, &master, 1, &pool), TERN_OK);
    struct tern__generation how = {.rounds = 2,
                                   .enough = master.time * (1 + 1e-6),
                                   .iterations_max = 100,
                                   .seed = 1,
                                   .patience = NULL};
    struct tern__rounds rounds;
    assert_int_equal(tern__rounds_generate(&arena, &aim, &pool, &how, &rounds), TERN_OK);
    assert_true(fabs(2 * rounds.time - 14.0 / 55) < 1e-6);
    double total = 0;
    for (int i = 0; i < rounds.trees->count; i++) {
        total += rounds.share[i];
        assert_true(rounds.trees->at[i]->depth <= 2);
    }
    assert_true(fabs(total - 1) < 1e-6);
    how.patience = &(struct tern__patience){.deadline_ns = 1};
    assert_int_equal(tern__rounds_generate(&arena, &aim, &pool, &how, &rounds), TERN_ERR_TIMEOUT);
    tern__arena_free(&arena);
    tern_topo_destroy(topo);
}

static int least_ops(void *context, tern_plan **plan, double us)
{
    double *least = context; // the bound, then the ops of plans that reach it
    if (us <= least[0] * (1 + 1e-5) && (double)tern_plan_total_ops(*plan) < least[1]) {
        least[1] = (double)tern_plan_total_ops(*plan);
    }
    return TERN_OK;
}

// As few ops as a person needs for it, or nearly: `cut_optimal` has 822.
static void one_cut_takes_few_ops(void **state)
{
    static const struct tern__optimal_watch unwatched = {0};
    tern_topo *topo = net_of("mesh:8 0-1");
    struct tern__optimal_goal goal = {
        .topo = topo, .order = TERN_ORDER_ANY, .bytes = 64 << 20, .unit = 4, .seed = 1};
    struct tern__optimal *optimal;
    assert_int_equal(tern__optimal_create(&goal, &unwatched, &optimal), TERN_OK);
    double least[] = {tern__optimal_bound_us(optimal), INFINITY};
    assert_int_equal(tern__optimal_search(optimal, &unwatched, least_ops, least), TERN_OK);
    assert_true(least[1] <= 900);
    tern__optimal_destroy(optimal);
    tern_topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_of_a_tree_are_the_cheapest),
        cmocka_unit_test(trees_are_found_for_few_rounds),
        cmocka_unit_test(one_cut_takes_few_ops),
    };
    return cmocka_run_group_tests(tests, without_solver, NULL);
}
