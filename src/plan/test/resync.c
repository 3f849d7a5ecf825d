// SPDX-License-Identifier: Apache-2.0
// Posts and waits made anew: which there are then, that what comes of every algorithm and of
// executors' plans is proved as the plan was, and that none of them could go.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/test/mesh.h"
#include "kit.h"
#include "plan/steps.h"
#include "support/interp.h"
#include "support/owners.h"
#include "tern/algo.h"
#include "tern/check.h"
#include "tern/topo.h"

static tern_plan *resync(const tern_plan *plan, bool in_place)
{
    tern_plan *made = NULL;
    if (tern__plan_resync(plan, in_place, &made) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    return made;
}

static void expect(const char *text, const char *wanted)
{
    tern_plan *plan = parse(text);
    tern_plan *made = resync(plan, true);
    assert_text(made, wanted);
    tern_plan_destroy(made);
    tern_plan_destroy(plan);
}

static bool is_proved(const tern_plan *plan, const tern_topo *topo, bool in_place, FILE *findings)
{
    tern_check *check;
    assert_int_equal(in_place ? tern_check_plan_in_place(plan, topo, &check)
                              : tern_check_plan(plan, topo, &check),
                     TERN_OK);
    bool proved = tern_check_proved(check);
    if (!proved && findings != NULL) {
        tern_status_ignore(tern_check_print(check, findings));
    }
    tern_check_destroy(check);
    return proved;
}

static size_t count_signals(const tern_plan *plan)
{
    size_t count = 0;
    for (int rank = 0; rank < tern_plan_get_spec(plan)->nranks; rank++) {
        for (int lane = 0; lane < tern_plan_lane_count(plan, rank); lane++) {
            for (size_t i = 0; i < tern_plan_op_count(plan, rank, lane); i++) {
                tern_plan_op op;
                assert_int_equal(tern_plan_get_op(plan, rank, lane, i, &op), TERN_OK);
                count += op.sources_count == 0;
            }
        }
    }
    return count;
}

// The plan without one of its posts and waits.
static tern_plan *without(const tern_plan *plan, size_t number)
{
    tern_plan *made;
    hand_must(tern_plan_create(tern_plan_get_spec(plan), &made));
    hand_must(tern_plan_need_scratch(made, tern_plan_buffer_bytes(plan, TERN_PLAN_SCRATCH)));
    for (int rank = 0; rank < tern_plan_get_spec(plan)->nranks; rank++) {
        for (int lane = 0; lane < tern_plan_lane_count(plan, rank); lane++) {
            for (size_t i = 0; i < tern_plan_op_count(plan, rank, lane); i++) {
                tern_plan_op op;
                assert_int_equal(tern_plan_get_op(plan, rank, lane, i, &op), TERN_OK);
                if (op.sources_count > 0 || number-- != 0) {
                    hand_must(tern_plan_add(made, rank, lane, &op));
                }
            }
        }
    }
    hand_must(tern_plan_seal(made));
    return made;
}

static void assert_none_can_go(const tern_plan *plan, const tern_topo *topo)
{
    size_t count = count_signals(plan);
    for (size_t i = 0; i < count; i++) {
        tern_plan *mutant = without(plan, i);
        if (is_proved(mutant, topo, true, NULL)) {
            fail_msg("number %zu of %zu posts and waits could go", i, count);
        }
        tern_plan_destroy(mutant);
    }
}

static void assert_runs(const tern_plan *plan, const tern_topo *topo, bool in_place)
{
    char why[256];
    for (uint64_t seed = 1; seed <= 2; seed++) {
        if (!interp_run(plan, topo, seed, why, sizeof why) ||
            (in_place && !interp_run_in_place(plan, topo, seed, seed, why, sizeof why))) {
            fail_msg("seed %llu: %s", (unsigned long long)seed, why);
        }
    }
}

// What comes of a plan, proved as it was, and run.
static void assert_right(const tern_plan *plan, const tern_topo *topo, const char *what,
                         tern_plan **made)
{
    bool in_place = is_proved(plan, topo, true, NULL);
    *made = resync(plan, in_place);
    if (!is_proved(*made, topo, in_place, stderr)) {
        fail_msg("%s over %s", what, tern_topo_text(topo));
    }
    assert_runs(*made, topo, in_place);
}

static void those_of_an_algorithm(const tern_algo_request *request)
{
    tern_plan *plan;
    tern_plan *made;
    if (tern_algo_plan(request, &plan) != TERN_OK) {
        return; // not for these ranks
    }
    assert_right(plan, request->topo, request->algorithm, &made);
    tern_plan_destroy(made);
    tern_plan_destroy(plan);
}

static void every_algorithm_stays_right(void **state)
{
    static const int counts[] = {1, 2, 3, 5, 8};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        tern_topo *topo = mesh(counts[c], NULL);
        for (int kind = 0; kind < TERN_PLAN_BARRIER; kind++) {
            tern_algo_request request = {.kind = (tern_plan_kind)kind,
                                         .topo = topo,
                                         .bytes = 4 * 120 * 7,
                                         .unit = 4,
                                         .order = TERN_ORDER_ANY};
            for (int i = 0; tern_algo_name(request.kind, i) != NULL; i++) {
                request.algorithm = tern_algo_name(request.kind, i);
                those_of_an_algorithm(&request);
            }
        }
        tern_topo_destroy(topo);
    }
}

// As they are, and with their sums fused: with other signals, and none that could go.
static void plans_of_executors_have_only_what_they_need(void **state)
{
    for (int n = 2; n <= 8; n++) {
        for (int cut = 0; cut < (n > 2 ? 2 : 1); cut++) {
            tern_topo *topo = mesh(n, cut != 0 ? "0-1" : NULL);
            tern_plan *plans[2];
            plans[0] = owners_plan(n, cut != 0, 4 * 50001, 4);
            assert_int_equal(tern_plan_fuse(plans[0], &plans[1]), TERN_OK);
            for (int fused = 0; fused < 2; fused++) {
                tern_plan *made;
                assert_right(plans[fused], topo, "owners", &made);
                assert_true(count_signals(made) < count_signals(plans[fused]));
                if (n <= 4) {
                    assert_none_can_go(made, topo);
                }
                tern_plan_destroy(made);
            }
            tern_plan_destroy(plans[0]);
            tern_plan_destroy(plans[1]);
            tern_topo_destroy(topo);
        }
    }
}

// A round trip before, an acknowledgement after, an op of no bytes: one post remains.
static void what_orders_nothing_goes(void **state)
{
    expect(HEAD "rank 0 lane 0\npost @0 rank 0 signal 0\npost @0 rank 1 signal 1\n"
                "wait @0 signal 2 count 1\nwait @0 signal 3 count 1\n"
                "rank 0 lane 1\nwait @0 signal 0 count 1\ncopy @0 0 : 0.in+0 -> 0.out+0\n"
                "post @0 rank 0 signal 2\n"
                "rank 1 lane 0\nwait @0 signal 1 count 1\n"
                "reduce @1 16 : 0.in+0 1.in+0 -> 0.out+0 1.out+0\npost @1 rank 0 signal 3\nend\n",
           HEAD "rank 0 lane 0\nwait @1 signal 0 count 1\n"
                "rank 1 lane 0\nreduce @1 16 : 0.in+0 1.in+0 -> 0.out+0 1.out+0\n"
                "post @1 rank 0 signal 0\nend\n");
}

// Both lanes of rank 1 read what rank 0 has written, which tells them once; rank 0 waits once for
// both.
static void lanes_of_a_rank_share_a_post(void **state)
{
    expect(HEAD "scratch 16\n"
                "rank 0 lane 0\nreduce @0 16 : 0.in+0 1.in+0 -> 0.scratch+0 0.out+0\n"
                "post @0 rank 1 signal 0\npost @0 rank 1 signal 1\n"
                "wait @1 signal 0 count 1\nwait @1 signal 1 count 1\n"
                "rank 1 lane 0\nwait @1 signal 0 count 1\n"
                "copy @1 8 : 0.scratch+0 -> 1.out+0\npost @1 rank 0 signal 0\n"
                "rank 1 lane 1\nwait @1 signal 1 count 1\n"
                "copy @1 8 : 0.scratch+8 -> 1.out+8\npost @1 rank 0 signal 1\nend\n",
           HEAD "scratch 16\n"
                "rank 0 lane 0\nreduce @0 16 : 0.in+0 1.in+0 -> 0.scratch+0 0.out+0\n"
                "post @0 rank 1 signal 0\nwait @1 signal 0 count 2\n"
                "rank 1 lane 0\nwait @1 signal 0 count 1\n"
                "copy @1 8 : 0.scratch+0 -> 1.out+0\npost @1 rank 0 signal 0\n"
                "rank 1 lane 1\nwait @1 signal 0 count 1\n"
                "copy @1 8 : 0.scratch+8 -> 1.out+8\npost @1 rank 0 signal 0\nend\n");
}

static void add_or_copy(tern_plan *plan, bool adds, tern_plan_range from, tern_plan_range to)
{
    tern_plan_op op = {.kind = adds ? TERN_PLAN_REDUCE : TERN_PLAN_COPY,
                       .flags = adds ? TERN_PLAN_ATOMIC : 0,
                       .round = adds ? 0 : 1,
                       .length = 16,
                       .sources = &from,
                       .sources_count = 1,
                       .destinations = &to,
                       .destinations_count = 1};
    hand_must(tern_plan_add(plan, adds ? from.rank : to.rank, 0, &op));
}

// For each chunk all add to scratch of rank 0, which tells them that they may, and when all have;
// then all read it, and rank 0 waits for that.
static tern_plan *sums_at_rank_0(int n, int chunks)
{
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, n, 16 * (uint64_t)chunks, 4);
    tern_plan_range sum = hand_at(0, TERN_PLAN_SCRATCH, 0);
    hand_must(tern_plan_need_scratch(plan, 16));
    for (int chunk = 0; chunk < chunks; chunk++) {
        uint64_t at = 16 * (uint64_t)chunk;
        uint32_t may = 2 * (uint32_t)chunk;
        hand_copy(plan, 0, 0, hand_at(0, TERN_PLAN_IN, at), sum, 16);
        for (uint32_t step = may; step <= may + 1; step++) {
            for (int rank = 1; rank < n; rank++) {
                hand_post(plan, 0, 0, rank, step);
                hand_wait(plan, rank, 0, step, 1);
                add_or_copy(plan, step == may, step == may ? hand_at(rank, TERN_PLAN_IN, at) : sum,
                            step == may ? sum : hand_at(rank, TERN_PLAN_OUT, at));
                hand_post(plan, rank, 0, 0, step);
            }
            if (step > may) {
                add_or_copy(plan, false, sum, hand_at(0, TERN_PLAN_OUT, at));
            }
            hand_wait(plan, 0, 0, step, (uint32_t)n - 1);
        }
    }
    hand_must(tern_plan_seal(plan));
    return plan;
}

// Rank 0 hears of all who have added, and tells them: for each chunk anew.
static void a_rank_tells_what_several_have_added(void **state)
{
    tern_topo *topo = mesh(4, "1-2");
    for (int chunks = 1; chunks <= 3; chunks++) {
        tern_plan *plan = sums_at_rank_0(4, chunks);
        tern_plan *made;
        assert_right(plan, topo, "sums at rank 0", &made);
        char *text = print(made);
        assert_non_null(strstr(text, "rank 0 lane 1\nwait @0 signal 0 count 3\npost @0 rank 0 "));
        if (chunks == 1) {
            assert_none_can_go(made, topo);
        }
        free(text);
        tern_plan_destroy(made);
        tern_plan_destroy(plan);
    }
    tern_topo_destroy(topo);
}

#define THREE "tern-plan 1\nkind all_reduce\nranks 3\nbytes 16\nunit 4\nalgorithm x\nscratch 16\n"

// Rank 2 overwrites what rank 0 has read, at rank 1, and there is no way from 0 to 2 but over 1.
static void posts_go_where_there_were_some(void **state)
{
    tern_plan *plan =
        parse(THREE "rank 0 lane 0\nreduce @0 16 : 0.in+0 1.in+0 -> 1.scratch+0\n"
                    "post @0 rank 1 signal 0\nwait @0 signal 0 count 1\n"
                    "rank 1 lane 0\nwait @0 signal 0 count 1\npost @0 rank 2 signal 0\n"
                    "wait @1 signal 1 count 1\ncopy @2 16 : 1.scratch+0 -> 1.out+0\n"
                    "copy @2 16 : 1.scratch+0 -> 0.out+0\ncopy @2 16 : 1.scratch+0 -> 2.out+0\n"
                    "post @2 rank 0 signal 0\npost @2 rank 2 signal 1\n"
                    "rank 2 lane 0\nwait @1 signal 0 count 1\n"
                    "reduce @1 16 : 1.scratch+0 2.in+0 -> 1.scratch+0\npost @1 rank 1 signal 1\n"
                    "wait @1 signal 1 count 1\nend\n");
    tern_topo *line = mesh(3, "0-2");
    tern_plan *made;
    assert_right(plan, line, "a line", &made);
    assert_none_can_go(made, line);
    tern_plan_destroy(made);
    tern_plan_destroy(plan);
    tern_topo_destroy(line);
}

// Both read the input of the other before they overwrite their own with the sum; if that is another
// place, they may do so at once.
static void what_is_right_in_place_stays_so(void **state)
{
#define BOTH(sum_0, sum_1)                                                                         \
    HEAD "scratch 16\nrank 0 lane 0\ncopy @0 16 : 1.in+0 -> 0.scratch+0\n"                         \
         "post @0 rank 1 signal 0\n" sum_0 "rank 1 lane 0\ncopy @0 16 : 0.in+0 -> 1.scratch+0\n"   \
         "post @0 rank 0 signal 0\n" sum_1 "end\n"
#define HEAR "wait @1 signal 0 count 1\n"
#define SUM_0 "reduce @1 16 : 0.in+0 0.scratch+0 -> 0.out+0\n"
#define SUM_1 "reduce @1 16 : 1.scratch+0 1.in+0 -> 1.out+0\n"
    tern_plan *plan = parse(BOTH(HEAR SUM_0, HEAR SUM_1));
    tern_plan *made = resync(plan, true);
    assert_text(made, BOTH(HEAR SUM_0, HEAR SUM_1));
    tern_plan_destroy(made);
    made = resync(plan, false);
    assert_text(made, BOTH(SUM_0 HEAR, SUM_1 HEAR));
    tern_plan_destroy(made);
    tern_plan_destroy(plan);
}

static void refuse(const char *text, const char *sentence)
{
    tern_plan *plan = parse(text);
    tern_plan *made = NULL;
    assert_int_equal(tern__plan_resync(plan, false, &made), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), sentence));
    assert_null(made);
    tern_plan_destroy(plan);
}

static void what_cannot_be_made_anew_is_refused(void **state)
{
    refuse("tern-plan 1\nkind barrier\nranks 2\nbytes 0\nunit 1\nalgorithm x\nend\n",
           "a barrier moves nothing");
    refuse(LANE "wait @0 signal 0 count 1\nend\n", "1 lanes of the plan 'fused' wait");
    refuse(LANE "copy @0 16 : 0.in+0 -> 0.out+0\nrank 1 lane 0\ncopy @0 16 : 1.in+0 -> 0.out+0\n"
                "end\n",
           "conflicting transfers of ranks 0 and 1");
}

// By tern_check_quicken: what is no better, what cannot be, and what is not right.
static void the_plan_itself_stays(const char *text, int status)
{
    tern_plan *plan = parse(text);
    const tern_plan *before = plan;
    assert_int_equal(tern_check_quicken(&plan, NULL), status);
    assert_ptr_equal(plan, before);
    tern_plan_destroy(plan);
}

static void what_is_no_better_stays(void **state)
{
    the_plan_itself_stays(fused_text, TERN_OK);
    the_plan_itself_stays("tern-plan 1\nkind barrier\nranks 1\nbytes 0\nunit 1\nalgorithm x\nend\n",
                          TERN_OK);
    the_plan_itself_stays(LANE "copy @0 16 : 0.in+0 -> 0.out+0\nend\n", TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "the plan 'fused' is refuted"));
    assert_int_equal(tern_check_quicken(NULL, NULL), TERN_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_orders_nothing_goes),
        cmocka_unit_test(lanes_of_a_rank_share_a_post),
        cmocka_unit_test(a_rank_tells_what_several_have_added),
        cmocka_unit_test(posts_go_where_there_were_some),
        cmocka_unit_test(what_is_right_in_place_stays_so),
        cmocka_unit_test(plans_of_executors_have_only_what_they_need),
        cmocka_unit_test(every_algorithm_stays_right),
        cmocka_unit_test(what_cannot_be_made_anew_is_refused),
        cmocka_unit_test(what_is_no_better_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
