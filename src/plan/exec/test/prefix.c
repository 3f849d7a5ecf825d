// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 120, ctest-threads: none
// Searched plans whose sums grow on their way, on ranks in a row: proved to add inputs in rank
// order in several sums, and executed bit for bit as one sum of all inputs. Elements of two bytes,
// which may be f16, are summed once.
#include "plan/exec/test/kit.h"
#include "tern/algo.h"
#include "tern/check.h"

enum { COUNT = 8 * 3 * 5 * 4001, RUNS = 3 };

// A search that ends after some plans.
static void count_plans(void *context, const tern_search_news *news)
{
    *(int *)context -= news->best_us > 0 && news->rounds > 0;
}

static bool are_enough(void *context)
{
    return *(int *)context <= 0;
}

// Ranks in a row: each has links to its neighbours alone. Or two hosts with one uplink each.
static tern_plan *search(int n, bool hosts, uint32_t unit, tern_check_order *order)
{
    char word[32];
    char cut[16];
    tern_topo *topo;
    snprintf(word, sizeof word, hosts ? "hosts:2x%d@25" : "ring:%d", hosts ? n / 2 : n);
    snprintf(cut, sizeof cut, "0-%d", n - 1);
    hand_must(tern_topo_create(word, &topo));
    if (!hosts && n > 2) {
        hand_must(tern_topo_cut(topo, cut));
    }
    int plans = n < 8 ? 20 : 6;
    tern_search few = {.seed = 1, .stop = are_enough, .progress = count_plans, .context = &plans};
    tern_algo_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                 .topo = topo,
                                 .bytes = COUNT * unit,
                                 .unit = unit,
                                 .algorithm = TERN_ALGO_OPTIMAL,
                                 .search = &few};
    tern_plan *plan = NULL;
    int status = tern_algo_plan(&request, &plan);
    if (status == TERN_ERR_STATE) {
        fprintf(stderr, "%s\n", tern_last_error());
        exit(77);
    }
    hand_must(status);
    tern_check *check;
    hand_must(tern_check_plan(plan, topo, &check));
    assert_true(tern_check_proved(check));
    *order = tern_check_sum_order(check);
    tern_check_destroy(check);
    tern_topo_destroy(topo);
    return plan;
}

static int run(tern_comm *comm, void *arg)
{
    const tern_plan *plan = arg;
    struct kit_bench bench;
    tern_exec_options options = {.dtype = TERN_F32};
    int n = tern_comm_size(comm);
    CHECK(kit_open(comm, plan, options, &bench) == 0);
    for (int i = 0; i < RUNS; i++) {
        kit_fill(&bench, i, tern_comm_rank(comm), COUNT, false);
        kit_dawdle(i, tern_comm_rank(comm));
        CHECK(tern_exec_run(bench.exec) == TERN_OK);
        CHECK(kit_compare(&bench, i, n, COUNT, false) == 0);
    }
    return kit_close(&bench);
}

static void sums_on_the_way_have_the_bits_of_one(void **state)
{
    static const int counts[] = {2, 3, 5, 8};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (int hosts = 0; hosts <= (counts[i] == 8); hosts++) {
            tern_check_order order;
            tern_plan *plan = search(counts[i], hosts, sizeof(float), &order);
            // Two have one sum; of three in a row the middle one can make it as soon.
            assert_true(order == TERN_CHECK_ORDER_CHAIN ? counts[i] > 2 : counts[i] < 5);
            assert_true(ranks_run_comm(counts[i], run, plan, 100));
            tern_plan_destroy(plan);
        }
    }
}

static void two_bytes_are_summed_once(void **state)
{
    for (int n = 3; n <= 6; n++) {
        tern_check_order order;
        tern_plan_destroy(search(n, n % 2 == 0, 2, &order));
        assert_int_equal(order, TERN_CHECK_ORDER_RANK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_on_the_way_have_the_bits_of_one),
        cmocka_unit_test(two_bytes_are_summed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
