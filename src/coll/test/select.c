// SPDX-License-Identifier: Apache-2.0
// Which algorithm is selected, and the sentences of those that cannot be.
#include "support/cmocka.h"
#include <stdio.h>
#include <string.h>

#include "support/topo.h"
#include "tern/algo.h"

static void assert_selected(tern_topo *topo, tern_plan_kind kind, uint64_t bytes, tern_order order,
                            const char *wanted)
{
    tern_plan *plan;
    if (tern_algo_plan(&(tern_algo_request){.kind = kind,
                                            .topo = topo,
                                            .bytes = bytes,
                                            .unit = 4,
                                            .order = order},
                       &plan) < 0) {
        fail_msg("%s", tern_last_error());
    }
    assert_string_equal(tern_plan_get_spec(plan)->algorithm, wanted);
    tern_plan_destroy(plan);
}

static void assert_refused(const tern_algo_request *request, const char *sentence)
{
    tern_plan *plan = NULL;
    assert_int_equal(tern_algo_plan(request, &plan), TERN_ERR_ARG);
    assert_null(plan);
    assert_string_equal(tern_last_error(), sentence);
}

static void healthy_mesh(void **state)
{
    tern_topo *topo = topo_make("mesh:8");
    assert_selected(topo, TERN_PLAN_ALL_REDUCE, 8, TERN_ORDER_RANK, "one_shot");
    assert_selected(topo, TERN_PLAN_ALL_REDUCE, UINT64_C(1) << 30, TERN_ORDER_RANK, "fused");
    assert_selected(topo, TERN_PLAN_ALL_REDUCE, UINT64_C(1) << 30, TERN_ORDER_ANY, "fused");
    assert_selected(topo, TERN_PLAN_ALL_GATHER, 1 << 20, TERN_ORDER_RANK, "direct");
    assert_selected(topo, TERN_PLAN_BARRIER, 0, TERN_ORDER_RANK, "direct");
    tern_topo_destroy(topo);
}

// Two rounds against four: S beta = 30 alpha for the relay, 27 alpha for the optimal plan.
static void cut_mesh_changes_where_it_should(void **state)
{
    tern_topo *topo = topo_make_cut("mesh:8", "0-1");
    tern_link link;
    assert_true(tern_topo_link(topo, 0, 2, &link));
    double alpha_bytes = link.latency_us * link.bandwidth_GBps * 1e3;
    // Whole 16 KiB for each of the 6 owners, so that no rounding blurs the picture.
    uint64_t grain = 6 * 16384;
    uint64_t at_27 = (uint64_t)(27 * alpha_bytes) / grain * grain;
    uint64_t at_30 = (uint64_t)(30 * alpha_bytes) / grain * grain;
    assert_true(at_27 > grain);
    assert_selected(topo, TERN_PLAN_ALL_REDUCE, 8, TERN_ORDER_RANK, "cut_small");
    assert_selected(topo, TERN_PLAN_ALL_REDUCE, at_27 - grain, TERN_ORDER_ANY, "cut_owners");
    assert_selected(topo, TERN_PLAN_ALL_REDUCE, at_27 + 2 * grain, TERN_ORDER_ANY, "cut_optimal");
    assert_selected(topo, TERN_PLAN_ALL_REDUCE, at_30 - grain, TERN_ORDER_RANK, "cut_owners");
    assert_selected(topo, TERN_PLAN_ALL_REDUCE, at_30 + 2 * grain, TERN_ORDER_RANK, "cut_relay");
    tern_topo_destroy(topo);
}

static void slow_link_is_avoided(void **state)
{
    tern_topo *topo = topo_make("mesh:8");
    assert_int_equal(tern_topo_slow(topo, "4-6=0.01"), TERN_OK);
    assert_selected(topo, TERN_PLAN_ALL_REDUCE, UINT64_C(1) << 30, TERN_ORDER_RANK, "cut_relay");
    assert_selected(topo, TERN_PLAN_ALL_REDUCE, UINT64_C(1) << 30, TERN_ORDER_ANY, "cut_optimal");
    tern_topo_destroy(topo);
}

static void shared_memory_takes_one_pass_at_every_size(void **state)
{
    tern_topo *topo = topo_make("this");
    assert_selected(topo, TERN_PLAN_ALL_REDUCE, 4, TERN_ORDER_RANK, "fused");
    assert_selected(topo, TERN_PLAN_ALL_REDUCE, 1 << 26, TERN_ORDER_ANY, "fused");
    uint64_t share = 4 * (uint64_t)tern_topo_size(topo);
    for (uint64_t bytes = share; bytes <= share << 20; bytes <<= 10) {
        assert_selected(topo, TERN_PLAN_REDUCE_TO_ROOT, bytes, TERN_ORDER_RANK, "fused");
        assert_selected(topo, TERN_PLAN_BROADCAST, bytes, TERN_ORDER_RANK, "fused");
        assert_selected(topo, TERN_PLAN_REDUCE_SCATTER, bytes, TERN_ORDER_ANY, "direct");
        assert_selected(topo, TERN_PLAN_ALL_GATHER, bytes, TERN_ORDER_RANK, "direct");
        assert_selected(topo, TERN_PLAN_ALL_TO_ALL, bytes, TERN_ORDER_RANK, "direct");
        assert_selected(topo, TERN_PLAN_GATHER, bytes, TERN_ORDER_RANK, "direct");
        assert_selected(topo, TERN_PLAN_SCATTER, bytes, TERN_ORDER_RANK, "direct");
    }
    tern_topo_destroy(topo);
}

static void few_links(void **state)
{
    tern_topo *topo = topo_make("ring:6");
    assert_selected(topo, TERN_PLAN_ALL_REDUCE, 1 << 28, TERN_ORDER_ANY, "ring");
    assert_selected(topo, TERN_PLAN_BROADCAST, 1 << 20, TERN_ORDER_RANK, "tree");
    assert_selected(topo, TERN_PLAN_BARRIER, 0, TERN_ORDER_RANK, "tree");
    tern_topo_destroy(topo);
}

static void large_barrier_spares_posts(void **state)
{
    tern_topo *topo = topo_make("mesh:1024");
    assert_selected(topo, TERN_PLAN_BARRIER, 0, TERN_ORDER_RANK, "dissemination");
    tern_topo_destroy(topo);
}

static void those_around_a_cut_are_called_so(void **state)
{
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        const char *name;
        for (int i = 0; (name = tern_algo_name((tern_plan_kind)kind, i)) != NULL; i++) {
            assert_int_equal(tern_algo_around_cut((tern_plan_kind)kind, i),
                             strncmp(name, "cut_", 4) == 0);
        }
    }
    assert_false(tern_algo_around_cut(TERN_PLAN_ALL_REDUCE, -1));
    assert_false(tern_algo_around_cut(TERN_PLAN_ALL_REDUCE, 99));
}

static void sentences(void **state)
{
    tern_topo *topo = topo_make_cut("mesh:5", "0-1");
    tern_algo_request request = {
        .kind = TERN_PLAN_ALL_REDUCE, .topo = topo, .bytes = 64, .unit = 4, .algorithm = "magic"};
    assert_refused(
        &request,
        "there is no algorithm 'magic' for all_reduce; there are fused, one_shot, "
        "two_shot, staged, cut_small, cut_owners, cut_relay, cut_optimal, halving_doubling, "
        "ring, tree, one, one_sums, chain, two, two_raw, optimal");
    request.algorithm = "fused";
    assert_refused(&request,
                   "fused cannot do this all_reduce over mesh:5 --cut 0-1: it needs every "
                   "link, and there is no 0>1, 1>0");
    request.algorithm = "ring";
    assert_refused(&request,
                   "ring cannot do this all_reduce: its sums are not in the order of the ranks; "
                   ".order = TERN_ORDER_ANY (--order any) allows that");
    request.order = TERN_ORDER_ANY;
    request.algorithm = "cut_optimal";
    assert_refused(
        &request,
        "cut_optimal cannot do this all_reduce: it needs 6 ranks or more, and there are 5");
    request.algorithm = NULL;
    request.kind = TERN_PLAN_ALL_TO_ALL;
    request.bytes = 40;
    request.order = TERN_ORDER_RANK;
    assert_refused(
        &request,
        "no algorithm for all_to_all with sums in rank order fits mesh:5 --cut "
        "0-1: direct: it needs every link, and there is no 0>1, 1>0; pull: it needs every "
        "link, and there is no 0>1, 1>0");
    assert_int_equal(tern_topo_cut(topo, "2-3"), TERN_OK);
    request.kind = TERN_PLAN_ALL_REDUCE;
    request.algorithm = "cut_relay";
    assert_refused(&request, "cut_relay cannot do this all_reduce over mesh:5 --cut 0-1 --cut 2-3: "
                             "it works around one pair of ranks, and links of more are missing");
    tern_topo_destroy(topo);
}

static void wrong_requests(void **state)
{
    tern_plan *plan;
    tern_topo *topo = topo_make("mesh:3");
    tern_algo_request request = {.kind = TERN_PLAN_ALL_GATHER,
                                 .topo = topo,
                                 .bytes = 64,
                                 .unit = 4};
    assert_int_equal(tern_algo_plan(&request, &plan), TERN_ERR_ARG); // 64 is no multiple of 12
    request.bytes = 48;
    request.unit = 3;
    assert_int_equal(tern_algo_plan(&request, &plan), TERN_ERR_ARG);
    request.unit = 4;
    request.order = (tern_order)7;
    assert_int_equal(tern_algo_plan(&request, &plan), TERN_ERR_ARG);
    request.order = TERN_ORDER_RANK;
    request.kind = (tern_plan_kind)77;
    assert_int_equal(tern_algo_plan(&request, &plan), TERN_ERR_ARG);
    request.kind = TERN_PLAN_BROADCAST;
    request.root = 3;
    assert_int_equal(tern_algo_plan(&request, &plan), TERN_ERR_ARG);
    assert_int_equal(tern_algo_plan(NULL, &plan), TERN_ERR_ARG);
    assert_int_equal(tern_algo_plan(&request, NULL), TERN_ERR_ARG);
    assert_null(tern_algo_name(TERN_PLAN_BARRIER, -1));
    assert_null(tern_algo_text((tern_plan_kind)77, 0));
    tern_topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(healthy_mesh),
        cmocka_unit_test(cut_mesh_changes_where_it_should),
        cmocka_unit_test(slow_link_is_avoided),
        cmocka_unit_test(shared_memory_takes_one_pass_at_every_size),
        cmocka_unit_test(few_links),
        cmocka_unit_test(large_barrier_spares_posts),
        cmocka_unit_test(those_around_a_cut_are_called_so),
        cmocka_unit_test(sentences),
        cmocka_unit_test(wrong_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
