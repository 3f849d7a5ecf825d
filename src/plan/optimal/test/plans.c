// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 120
// Plans of the planner, each proved by the checker: all kinds, both orders, on topologies of many
// sorts, of odd sizes and units; never better than the bound, and the same when made again. With
// TERN_TEST_LONG=1 searches go to their ends, on more topologies.
#include "support/cmocka.h"

#include <math.h>

#include "base/clock.h"
#include "nets.h"
#include "plan/optimal/optimal.h"
#include "tern/check.h"

static const struct tern__optimal_watch unwatched = {0};

enum { PLANS_SHORT = 4 }; // of a search that need not reach anything

static bool is_long(void)
{
    return getenv("TERN_TEST_LONG") != NULL;
}

// What a search has shown.
struct shown {
    const tern_topo *topo;
    const struct tern__optimal_goal *goal;
    double bound_us, best_us;
    int plans, plans_max; // 0: all
};

static int prove(void *context, tern_plan **plan, double us)
{
    struct shown *shown = context;
    tern_check *check = NULL;
    bool in_place = shown->goal->kind != TERN_PLAN_ALL_TO_ALL;
    int status = in_place ? tern_check_plan_in_place(*plan, shown->topo, &check)
                          : tern_check_plan(*plan, shown->topo, &check);
    assert_int_equal(status, TERN_OK);
    if (!tern_check_proved(check)) {
        assert_int_equal(tern_check_print(check, stderr), TERN_OK);
        fail_msg("%s of %llu bytes on %s is refuted", tern_plan_kind_name(shown->goal->kind),
                 (unsigned long long)shown->goal->bytes, tern_topo_text(shown->topo));
    }
    if (shown->goal->order == TERN_ORDER_RANK &&
        tern_check_sum_order(check) != TERN_CHECK_ORDER_NONE) {
        tern_check_order order = tern_check_sum_order(check);
        bool chain = order == TERN_CHECK_ORDER_CHAIN && shown->goal->unit != 2;
        assert_true(order == TERN_CHECK_ORDER_RANK || chain);
    }
    tern_check_destroy(check);
    if (!(us >= shown->bound_us * (1 - 1e-6))) {
        fail_msg("%s of %llu bytes on %s takes %.9g us, less than the bound, %.9g us",
                 tern_plan_kind_name(shown->goal->kind), (unsigned long long)shown->goal->bytes,
                 tern_topo_text(shown->topo), us, shown->bound_us);
    }
    shown->best_us = shown->plans++ == 0 || us < shown->best_us ? us : shown->best_us;
    return shown->plans == shown->plans_max ? TERN_ERR_INTERRUPTED : TERN_OK;
}

// Returns the share of the bound that is reached.
static double reach(const tern_topo *topo, tern_plan_kind kind, tern_order order, uint64_t bytes,
                    uint32_t unit, int plans_max)
{
    struct tern__optimal_goal goal = {.topo = topo,
                                      .kind = kind,
                                      .root = tern_topo_size(topo) - 1,
                                      .order = order,
                                      .bytes = bytes,
                                      .unit = unit,
                                      .seed = 1};
    if (tern_coll_kind_facts(kind)->root == TERN_KIND_ROOT_NONE) {
        goal.root = 0;
    }
    struct tern__optimal *optimal;
    if (tern__optimal_create(&goal, &unwatched, &optimal) != TERN_OK) {
        fail_msg("%s on %s: %s", tern_plan_kind_name(kind), tern_topo_text(topo),
                 tern_last_error());
    }
    struct shown shown = {.topo = topo,
                          .goal = &goal,
                          .bound_us = tern__optimal_bound_us(optimal),
                          .plans_max = plans_max};
    if (tern__optimal_search(optimal, &unwatched, prove, &shown) != TERN_OK) {
        fail_msg("%s on %s: %s", tern_plan_kind_name(kind), tern_topo_text(topo),
                 tern_last_error());
    }
    assert_true(shown.plans > 0);
    tern__optimal_destroy(optimal);
    return shown.best_us > 0 ? shown.bound_us / shown.best_us : 1;
}

static void search(const tern_topo *topo, tern_plan_kind kind, tern_order order, uint64_t bytes,
                   uint32_t unit)
{
    (void)reach(topo, kind, order, bytes, unit, is_long() ? 0 : PLANS_SHORT);
}

static const tern_plan_kind kinds[] = {
    TERN_PLAN_ALL_REDUCE, TERN_PLAN_REDUCE_SCATTER, TERN_PLAN_ALL_GATHER, TERN_PLAN_BROADCAST,
    TERN_PLAN_ALL_TO_ALL, TERN_PLAN_REDUCE_TO_ROOT, TERN_PLAN_GATHER,     TERN_PLAN_SCATTER,
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void all_kinds_on_all_sorts(void **state)
{
    static const char *const nets[] = {"mesh:1",
                                       "mesh:2",
                                       "mesh:5 0-1",
                                       "ring:3",
                                       "mesh:4 0-1=0.3",
                                       "hosts:2x2",
                                       "mesh:5 0-1 0-2 3>4",
                                       "mesh:5 0>1",
                                       "ring:6",
                                       "mesh:6 0-1 0-2 3>4"};
    size_t count = sizeof nets / sizeof *nets - (is_long() ? 0 : 3);
    static const uint32_t units[] = {1, 2, 4, 8};
    for (size_t i = 0; i < count; i++) {
        tern_topo *topo = net_of(nets[i]);
        uint64_t n = (uint64_t)tern_topo_size(topo);
        for (int k = 0; k < KINDS; k++) {
            uint32_t unit = units[(i + (size_t)k) % 4];
            tern_order order = (i + (size_t)k) % 2 == 0 ? TERN_ORDER_RANK : TERN_ORDER_ANY;
            search(topo, kinds[k], order, n * unit * 9973, unit);
            search(topo, kinds[k], order, n * unit, unit); // an element or a share
        }
        tern_topo_destroy(topo);
    }
}

static void machines_only_copy_between_them(void **state)
{
    tern_topo *topo = net_of("machines:1+2+2");
    for (int k = 0; k < KINDS; k++) {
        search(topo, kinds[k], TERN_ORDER_ANY, 5 * 4 * 1001, 4);
        search(topo, kinds[k], TERN_ORDER_RANK, 5 * 4 * 1001, 4);
    }
    tern_topo_destroy(topo);
}

static void random_ones(void **state)
{
    uint64_t seed = random_seed();
    for (int run = 0; run < (is_long() ? 60 : 12); run++) {
        int n = 2 + (int)random_below(&seed, 4); // programs grow fast
        tern_topo *topo = net_random(n, run % 2 == 0, run % 4 < 2, &seed);
        uint64_t elements = random_below(&seed, 3) == 0 ? 1 + random_below(&seed, 40) : 123457;
        search(topo, kinds[random_below(&seed, KINDS)],
               run % 3 == 0 ? TERN_ORDER_RANK : TERN_ORDER_ANY, elements * (uint64_t)n * 4, 4);
        tern_topo_destroy(topo);
    }
}

// The bound is reached where it is known that it can be.
// Numbers with which a program loses its way, or goes round in circles.
static void rates_of_many_powers_of_ten(void **state)
{
    static const double ends[] = {1e-6, 1e9};
    uint64_t seed = random_seed();
    for (int run = 0; run < (is_long() ? 200 : 16); run++) {
        int n = 2 + (int)random_below(&seed, 3);
        double rates[16] = {0};
        for (int i = 0; i < n * n; i++) {
            bool ring = i % n == (i / n + 1) % n;
            double any = pow(10, -6 + (double)random_below(&seed, 1501) / 100);
            double rate = run % 2 == 0 ? ends[random_below(&seed, 2)] : any;
            rates[i] = ring || random_below(&seed, 3) > 0 ? rate : 0;
        }
        tern_topo *topo = net_of_matrix(n, rates);
        search(topo, kinds[random_below(&seed, KINDS)],
               run % 3 == 0 ? TERN_ORDER_RANK : TERN_ORDER_ANY, (uint64_t)n * 4000, 4);
        tern_topo_destroy(topo);
    }
    tern_topo *topo = net_of_matrix(2, (const double[]){0, ends[1], ends[0], 0});
    assert_true(reach(topo, TERN_PLAN_ALL_REDUCE, TERN_ORDER_ANY, 8000, 4, 0) > 0.999);
    tern_topo_destroy(topo);
}

static void bounds_are_reached(void **state)
{
    static const struct {
        const char *net;
        tern_plan_kind kind;
        tern_order order;
        double share;
    } known[] = {
        {"mesh:8", TERN_PLAN_ALL_REDUCE, TERN_ORDER_ANY, 1},
        {"mesh:8 0-1", TERN_PLAN_ALL_REDUCE, TERN_ORDER_ANY, 1},
        {"mesh:8 0-1 2-3", TERN_PLAN_ALL_REDUCE, TERN_ORDER_ANY, 1},
        {"mesh:8 0>1", TERN_PLAN_ALL_REDUCE, TERN_ORDER_ANY, 1},
        {"ring:8", TERN_PLAN_ALL_REDUCE, TERN_ORDER_ANY, 1},
        {"mesh:8", TERN_PLAN_ALL_REDUCE, TERN_ORDER_RANK, 1},
        {"mesh:8 0-1", TERN_PLAN_ALL_GATHER, TERN_ORDER_ANY, 1},
        {"mesh:8 0-1", TERN_PLAN_REDUCE_SCATTER, TERN_ORDER_ANY, 1},
        {"mesh:8 0-1", TERN_PLAN_ALL_TO_ALL, TERN_ORDER_ANY, 1},
        {"mesh:6 0-1", TERN_PLAN_BROADCAST, TERN_ORDER_ANY, 0.95},
        {"mesh:6 0-1", TERN_PLAN_REDUCE_TO_ROOT, TERN_ORDER_ANY, 0.95},
        {"hosts:2x3@25", TERN_PLAN_ALL_REDUCE, TERN_ORDER_RANK, 0.95}, // sums grow on their way
        {"mesh:8 0-1", TERN_PLAN_ALL_REDUCE, TERN_ORDER_RANK, 0.99},   // seconds
    };
    size_t count = sizeof known / sizeof *known - (is_long() ? 0 : 1);
    for (size_t i = 0; i < count; i++) {
        tern_topo *topo = net_of(known[i].net);
        double share = reach(topo, known[i].kind, known[i].order, UINT64_C(4) * 8 * 1000003, 4, 0);
        if (share < known[i].share * (1 - 1e-4)) {
            fail_msg("%s on %s reaches %.4f of the bound, not %.4f",
                     tern_plan_kind_name(known[i].kind), tern_topo_text(topo), share,
                     known[i].share);
        }
        tern_topo_destroy(topo);
    }
}

static void the_same_goal_gives_the_same_plan(void **state)
{
    tern_topo *topo = net_of("mesh:4 0-1 2>3");
    struct tern__optimal_goal goal = {.topo = topo, .bytes = 4 * 4 * 1009, .unit = 4, .seed = 7};
    char *texts[2];
    for (int i = 0; i < 2; i++) {
        struct tern__optimal *optimal;
        tern_plan *plan;
        double us;
        size_t length;
        assert_int_equal(tern__optimal_create(&goal, &unwatched, &optimal), TERN_OK);
        assert_int_equal(tern__optimal_best(optimal, &unwatched, &plan, &us), TERN_OK);
        assert_int_equal(tern_plan_print(plan, &texts[i], &length), TERN_OK);
        tern_plan_destroy(plan);
        tern__optimal_destroy(optimal);
    }
    assert_string_equal(texts[0], texts[1]);
    free(texts[0]);
    free(texts[1]);
    tern_topo_destroy(topo);
}

static int told;

static void count_news(void *context, const struct tern__optimal_news *news)
{
    assert_ptr_equal(context, &told);
    assert_true(news->bound_us > 0);
    told++;
}

static bool stop_at_third(void *context)
{
    return told >= 3;
}

// Stopped, a search keeps what it has; with nothing, it says so.
static void searches_can_be_ended(void **state)
{
    tern_topo *topo = net_of("mesh:8 0-1 0-2 0-3");
    struct tern__optimal_goal goal = {
        .topo = topo, .bytes = 8 * 4 * 1009, .unit = 4, .order = TERN_ORDER_ANY, .seed = 1};
    struct tern__optimal_watch watch = {.stop = stop_at_third,
                                        .progress = count_news,
                                        .context = &told};
    struct tern__optimal *optimal;
    tern_plan *plan = NULL;
    double us;
    assert_int_equal(tern__optimal_create(&goal, &watch, &optimal), TERN_OK);
    assert_int_equal(tern__optimal_best(optimal, &watch, &plan, &us), TERN_OK);
    tern_plan_destroy(plan);
    assert_int_equal(tern__optimal_best(optimal, &watch, &plan, &us), TERN_ERR_INTERRUPTED);
    watch.stop = NULL;
    watch.deadline_ns = 1;
    assert_int_equal(tern__optimal_best(optimal, &watch, &plan, &us), TERN_ERR_TIMEOUT);
    tern__optimal_destroy(optimal);
    assert_int_equal(tern__optimal_create(&goal, &watch, &optimal), TERN_ERR_TIMEOUT);
    tern_topo_destroy(topo);
}

static void wrong_goals_get_a_sentence(void **state)
{
    struct tern__optimal *optimal = NULL;
    tern_topo *topo = net_of("mesh:3 0>1 2>1");
    struct tern__optimal_goal goal = {.topo = topo, .bytes = 12, .unit = 4, .seed = 1};
    assert_int_equal(tern__optimal_create(&goal, &unwatched, &optimal), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "no links lead from rank 0 to rank 1"));
    tern_topo_destroy(topo);
    topo = net_of("mesh:100");
    goal.topo = topo;
    assert_int_equal(tern__optimal_create(&goal, &unwatched, &optimal), TERN_ERR_LIMIT);
    tern_topo_destroy(topo);
    topo = net_of("mesh:3");
    goal.topo = topo;
    goal.kind = TERN_PLAN_BARRIER;
    assert_int_equal(tern__optimal_create(&goal, &unwatched, &optimal), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "moves no bytes"));
    tern_topo_destroy(topo);
    assert_null(optimal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_on_all_sorts),
        cmocka_unit_test(machines_only_copy_between_them),
        cmocka_unit_test(random_ones),
        cmocka_unit_test(rates_of_many_powers_of_ten),
        cmocka_unit_test(bounds_are_reached),
        cmocka_unit_test(the_same_goal_gives_the_same_plan),
        cmocka_unit_test(searches_can_be_ended),
        cmocka_unit_test(wrong_goals_get_a_sentence),
    };
    return cmocka_run_group_tests(tests, without_solver, NULL);
}
