// SPDX-License-Identifier: Apache-2.0
// Destroyed plans, topologies and checks: every call that takes one refuses it with a sentence, or,
// where it returns a number, says that there is nothing.
#include "support/cmocka.h"
#include <string.h>

#include "support/look.h"
#include "tern/algo.h"
#include "tern/check.h"
#include "tern/summary.h"

#define REFUSED(call, sentence) assert_true(says(call, TERN_ERR_ARG, sentence))

static tern_plan *make_plan(tern_topo **topo)
{
    tern_plan *plan;
    assert_int_equal(tern_topo_create("mesh:4", topo), TERN_OK);
    tern_algo_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                 .topo = *topo,
                                 .bytes = 4096,
                                 .unit = 4};
    assert_int_equal(tern_algo_plan(&request, &plan), TERN_OK);
    return plan;
}

static void a_destroyed_plan(void **state)
{
    static const char sentence[] = "this plan has been destroyed";
    tern_topo *topo;
    tern_check *check;
    tern_summary summary;
    tern_plan_op op = {.kind = TERN_PLAN_POST};
    char *text;
    size_t length;
    tern_plan *fused;
    tern_plan *plan = make_plan(&topo);
    assert_int_equal(tern_plan_destroy(plan), TERN_OK);
    REFUSED(tern_plan_destroy(plan), sentence);
    REFUSED(tern_plan_need_scratch(plan, 8), sentence);
    REFUSED(tern_plan_add(plan, 0, 0, &op), sentence);
    REFUSED(tern_plan_seal(plan), sentence);
    REFUSED(tern_plan_get_op(plan, 0, 0, 0, &op), sentence);
    REFUSED(tern_plan_print(plan, &text, &length), sentence);
    REFUSED(tern_plan_save(plan, "/dev/null"), sentence);
    REFUSED(tern_plan_fuse(plan, &fused), sentence);
    REFUSED(tern_check_plan(plan, topo, &check), sentence);
    REFUSED(tern_check_quicken(&plan, topo), sentence);
    REFUSED(tern_summary_make(plan, topo, &summary), sentence);
    assert_null(tern_plan_get_spec(plan));
    assert_int_equal(tern_plan_buffer_bytes(plan, TERN_PLAN_IN), 0);
    assert_int_equal(tern_plan_lane_count(plan, 0), 0);
    assert_int_equal(tern_plan_op_count(plan, 0, 0), 0);
    assert_int_equal(tern_plan_signal_count(plan, 0), 0);
    assert_int_equal(tern_plan_round_count(plan), 0);
    assert_int_equal(tern_plan_total_ops(plan), 0);
    assert_int_equal(tern_plan_memory(plan), 0);
    assert_int_equal(tern_topo_destroy(topo), TERN_OK);
}

static void a_destroyed_topology(void **state)
{
    static const char sentence[] = "this topology has been destroyed";
    tern_topo *topo;
    tern_check *check;
    tern_summary summary;
    tern_plan *plan = make_plan(&topo);
    assert_int_equal(tern_topo_destroy(topo), TERN_OK);
    tern_algo_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                 .topo = topo,
                                 .bytes = 4096,
                                 .unit = 4};
    tern_plan *other;
    REFUSED(tern_topo_destroy(topo), sentence);
    REFUSED(tern_topo_cut(topo, "0-1"), sentence);
    REFUSED(tern_topo_slow(topo, "0-1=0.5"), sentence);
    REFUSED(tern_algo_plan(&request, &other), sentence);
    REFUSED(tern_check_plan(plan, topo, &check), sentence);
    REFUSED(tern_summary_make(plan, topo, &summary), sentence);
    assert_int_equal(tern_topo_size(topo), 0);
    assert_int_equal(tern_topo_link_count(topo), 0);
    assert_false(tern_topo_link(topo, 0, 1, NULL));
    assert_string_equal(tern_topo_text(topo), "");
    request.topo = (const tern_topo *)(const void *)plan;
    REFUSED(tern_algo_plan(&request, &other), "topo is a plan, not a topology");
    assert_int_equal(tern_plan_destroy(plan), TERN_OK);
}

static void a_destroyed_check(void **state)
{
    tern_topo *topo;
    tern_check *check;
    tern_plan *plan = make_plan(&topo);
    assert_int_equal(tern_check_plan(plan, topo, &check), TERN_OK);
    assert_true(tern_check_proved(check));
    assert_int_equal(tern_check_destroy(check), TERN_OK);
    REFUSED(tern_check_destroy(check), "this check has been destroyed");
    REFUSED(tern_check_print(check, stdout), "this check has been destroyed");
    assert_false(tern_check_proved(check));
    assert_int_equal(tern_check_count(check, TERN_CHECK_RACE), 0);
    assert_null(tern_check_finding(check, TERN_CHECK_RACE, 0));
    assert_int_equal(tern_check_sum_order(check), TERN_CHECK_ORDER_NONE);
    assert_int_equal(tern_plan_destroy(plan), TERN_OK);
    assert_int_equal(tern_topo_destroy(topo), TERN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_destroyed_plan),
        cmocka_unit_test(a_destroyed_topology),
        cmocka_unit_test(a_destroyed_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
