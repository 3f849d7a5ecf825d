// SPDX-License-Identifier: Apache-2.0
// Trimming: what goes, what stays, and which plans are refused.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "plan/steps.h"

static void expect(const char *text, const char *wanted)
{
    tern_plan *plan = parse(text);
    tern_plan *trimmed;
    if (tern__plan_trim(plan, &trimmed) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    assert_text(trimmed, wanted);
    tern_plan_destroy(trimmed);
    tern_plan_destroy(plan);
}

static void refuse(const char *text)
{
    tern_plan *plan = parse(text);
    tern_plan *trimmed = NULL;
    assert_false(tern__plan_pulls(plan));
    assert_int_equal(tern__plan_trim(plan, &trimmed), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "cannot run on slots"));
    assert_null(trimmed);
    tern_plan_destroy(plan);
}

// Both read both inputs, and wait for each other at the end.
static void signals_at_the_end_go(void **state)
{
    expect(HEAD "rank 0 lane 0\nreduce @0 16 : 0.in+0 1.in+0 -> 0.out+0\n"
                "post @0 rank 1 signal 0\nwait @0 signal 0 count 1\n"
                "rank 1 lane 0\nreduce @0 16 : 0.in+0 1.in+0 -> 1.out+0\n"
                "post @0 rank 0 signal 0\nwait @0 signal 0 count 1\nend\n",
           HEAD "slots in\n"
                "rank 0 lane 0\nreduce @0 16 : 0.in+0 1.in+0 -> 0.out+0\n"
                "rank 1 lane 0\nreduce @0 16 : 0.in+0 1.in+0 -> 1.out+0\nend\n");
}

// Rank 1 waits for what it copies then; rank 0 waits only for the end.
static void signals_before_a_transfer_stay(void **state)
{
    expect(HEAD "scratch 16\n"
                "rank 0 lane 0\nreduce @0 16 : 0.in+0 1.in+0 -> 0.scratch+0 0.out+0\n"
                "post @0 rank 1 signal 3\nwait @1 signal 0 count 1\n"
                "rank 1 lane 0\nwait @1 signal 3 count 1\ncopy @1 16 : 0.scratch+0 -> 1.out+0\n"
                "post @1 rank 0 signal 0\nend\n",
           HEAD
           "scratch 16\nslots in scratch\n"
           "rank 0 lane 0\nreduce @0 16 : 0.in+0 1.in+0 -> 0.scratch+0 0.out+0\n"
           "post @0 rank 1 signal 3\n"
           "rank 1 lane 0\nwait @1 signal 3 count 1\ncopy @1 16 : 0.scratch+0 -> 1.out+0\nend\n");
}

// What rank 0 waits for in its lane 0, before a post that rank 1 needs, is needed too; its posts go
// through lane 1, whose number stays.
static void what_a_needed_post_waits_for_stays(void **state)
{
    static const char rest[] = "rank 0 lane 0\nwait @0 signal 1 count 1\npost @0 rank 1 signal 0\n"
                               "rank 0 lane 1\ncopy @0 16 : 0.in+0 -> 0.scratch+0\n"
                               "post @0 rank 0 signal 1\n"
                               "rank 1 lane 0\nwait @0 signal 0 count 1\n"
                               "copy @0 16 : 0.scratch+0 -> 1.out+0\nend\n";
    char text[512];
    char wanted[512];
    snprintf(text, sizeof text, "%sscratch 16\n%s", HEAD, rest);
    snprintf(wanted, sizeof wanted, "%sscratch 16\nslots in scratch\n%s", HEAD, rest);
    expect(text, wanted);
}

static void a_barrier_is_left_to_the_slots(void **state)
{
#define BARRIER "tern-plan 1\nkind barrier\nranks 2\nbytes 0\nunit 1\nalgorithm x\n"
    expect(BARRIER "rank 0 lane 0\npost @0 rank 1 signal 0\nwait @0 signal 0 count 1\n"
                   "rank 1 lane 0\npost @0 rank 0 signal 0\nwait @0 signal 0 count 1\nend\n",
           BARRIER "slots in\nend\n");
}

static void plans_that_push_are_refused(void **state)
{
    refuse(fused_text);                                    // writes out
    refuse(LANE "copy @0 16 : 1.out+0 -> 0.out+0\nend\n"); // reads out
    refuse(HEAD "scratch 16\nrank 0 lane 0\ncopy @0 16 : 0.in+0 -> 1.scratch+0\nend\n");
    refuse(LANE "reduce @0 16 atomic : 0.in+0 -> 0.out+0\nend\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_at_the_end_go),
        cmocka_unit_test(signals_before_a_transfer_stay),
        cmocka_unit_test(what_a_needed_post_waits_for_stays),
        cmocka_unit_test(a_barrier_is_left_to_the_slots),
        cmocka_unit_test(plans_that_push_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
