// SPDX-License-Identifier: Apache-2.0
// Fusing: which copies and adds become one reduce, what stays as it is, and that the result is
// proved.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "tern/check.h"

static void expect(const char *text, const char *wanted)
{
    tern_plan *plan = parse(text);
    tern_plan *fused;
    if (tern_plan_fuse(plan, &fused) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    assert_text(fused, wanted);
    tern_plan_destroy(fused);
    tern_plan_destroy(plan);
}

static void assert_proved(const char *text)
{
    tern_plan *plan = parse(text);
    tern_check *check;
    assert_int_equal(tern_check_plan_in_place(plan, NULL, &check), TERN_OK);
    assert_true(tern_check_proved(check));
    assert_int_equal(tern_check_sum_order(check), TERN_CHECK_ORDER_RANK);
    tern_check_destroy(check);
    tern_plan_destroy(plan);
}

// Rank 1 owns the sum. SCRATCH, OWN and COPIES are lines of its own place.
#define SUM(scratch, own, add, last, read)                                                         \
    HEAD scratch "rank 0 lane 0\nwait @0 signal 0 count 1\n" add                                   \
                 "post @0 rank 1 signal 0\nwait @1 signal 1 count 1\n" read                        \
                 "post @1 rank 1 signal 1\nrank 1 lane 0\n" own                                    \
                 "post @0 rank 0 signal 0\nwait @0 signal 0 count 1\n"                             \
                 "post @1 rank 0 signal 1\n" last "wait @1 signal 1 count 1\nend\n"

static void a_sum_becomes_one_reduce(void **state)
{
    static const char fused[] =
        SUM("", "reduce @0 16 : 0.in+0 1.in+0 -> 0.out+0 1.out+0\n", "", "", "");
    expect(SUM("scratch 16\n", "copy @0 16 : 1.in+0 -> 1.scratch+0\n",
               "reduce @0 16 atomic : 0.in+0 -> 1.scratch+0\n",
               "copy @1 16 : 1.scratch+0 -> 1.out+0\n", "copy @1 16 : 1.scratch+0 -> 0.out+0\n"),
           fused);
    assert_proved(fused);
}

// Half of it: the sum stays where it is.
static void what_else_reads_the_sum_finds_it(void **state)
{
    expect(SUM("scratch 16\n", "copy @0 16 : 1.in+0 -> 1.scratch+0\n",
               "reduce @0 16 atomic : 0.in+0 -> 1.scratch+0\n",
               "copy @1 16 : 1.scratch+0 -> 1.out+0\n",
               "copy @1 8 : 1.scratch+0 -> 0.out+0\ncopy @1 8 : 1.scratch+8 -> 0.out+8\n"),
           SUM("scratch 16\n", "reduce @0 16 : 0.in+0 1.in+0 -> 1.scratch+0 1.out+0\n", "", "",
               "copy @1 8 : 1.scratch+0 -> 0.out+0\ncopy @1 8 : 1.scratch+8 -> 0.out+8\n"));
}

// Two sums, one after the other, in the same scratch: the k-th add is of the k-th.
static void chunks_are_fused_one_by_one(void **state)
{
    static const char fused[] =
        HEAD "rank 0 lane 0\nwait @0 signal 0 count 1\npost @0 rank 1 signal 0\n"
             "wait @0 signal 0 count 2\npost @0 rank 1 signal 0\nwait @0 signal 0 count 3\n"
             "rank 1 lane 0\nreduce @0 8 : 0.in+0 1.in+0 -> 0.out+0 1.out+0\n"
             "post @0 rank 0 signal 0\nwait @0 signal 0 count 1\n"
             "reduce @0 8 : 0.in+8 1.in+8 -> 0.out+8 1.out+8\n"
             "post @0 rank 0 signal 0\nwait @0 signal 0 count 2\n"
             "post @0 rank 0 signal 0\nend\n";
    expect(HEAD "scratch 8\n"
                "rank 0 lane 0\nwait @0 signal 0 count 1\n"
                "reduce @0 8 atomic : 0.in+0 -> 1.scratch+0\npost @0 rank 1 signal 0\n"
                "wait @0 signal 0 count 2\n"
                "reduce @0 8 atomic : 0.in+8 -> 1.scratch+0\npost @0 rank 1 signal 0\n"
                "wait @0 signal 0 count 3\n"
                "rank 1 lane 0\ncopy @0 8 : 1.in+0 -> 1.scratch+0\npost @0 rank 0 signal 0\n"
                "wait @0 signal 0 count 1\ncopy @0 8 : 1.scratch+0 -> 1.out+0\n"
                "copy @0 8 : 1.scratch+0 -> 0.out+0\n"
                "copy @0 8 : 1.in+8 -> 1.scratch+0\npost @0 rank 0 signal 0\n"
                "wait @0 signal 0 count 2\ncopy @0 8 : 1.scratch+0 -> 1.out+8\n"
                "copy @0 8 : 1.scratch+0 -> 0.out+8\npost @0 rank 0 signal 0\nend\n",
           fused);
    assert_proved(fused);
}

// A rank may add in several lanes: each adds to each sum once.
static void lanes_of_a_rank_add_each_for_itself(void **state)
{
#define THREE "tern-plan 1\nkind all_reduce\nranks 3\nbytes 16\nunit 4\nalgorithm x\n"
#define TOLD                                                                                       \
    "post @0 rank 0 signal 0\npost @0 rank 0 signal 1\nwait @0 signal 0 count 2\n"                 \
    "post @1 rank 0 signal 2\npost @1 rank 2 signal 0\nrank 2 lane 0\nwait @1 signal 0 count 1\nend\n"
    expect(THREE "scratch 16\nrank 0 lane 0\nwait @0 signal 0 count 1\n"
                 "reduce @0 16 atomic : 0.in+0 -> 1.scratch+0\npost @0 rank 1 signal 0\n"
                 "wait @1 signal 2 count 1\n"
                 "rank 0 lane 1\nwait @0 signal 1 count 1\n"
                 "reduce @0 16 atomic : 2.in+0 -> 1.scratch+0\npost @0 rank 1 signal 0\n"
                 "rank 1 lane 0\ncopy @0 16 : 1.in+0 -> 1.scratch+0\n"
                 "copy @1 16 : 1.scratch+0 -> 1.out+0\n" TOLD,
           THREE "rank 0 lane 0\nwait @0 signal 0 count 1\npost @0 rank 1 signal 0\n"
                 "wait @1 signal 2 count 1\n"
                 "rank 0 lane 1\nwait @0 signal 1 count 1\npost @0 rank 1 signal 0\n"
                 "rank 1 lane 0\nreduce @0 16 : 0.in+0 1.in+0 2.in+0 -> 1.out+0\n" TOLD);
}

static void the_rest_stays(void **state)
{
    static const char *const texts[] = {
        // Added is a copy of an input, not an input.
        SUM("scratch 32\n", "copy @0 16 : 1.in+0 -> 1.scratch+0\n",
            "copy @0 16 : 0.in+0 -> 0.scratch+16\n"
            "reduce @0 16 atomic : 0.scratch+16 -> 1.scratch+0\n",
            "copy @1 16 : 1.scratch+0 -> 1.out+0\n", "copy @1 16 : 1.scratch+0 -> 0.out+0\n"),
        // Twice, to a sum that is begun once.
        SUM("scratch 16\n", "copy @0 16 : 1.in+0 -> 1.scratch+0\n",
            "reduce @0 16 atomic : 0.in+0 -> 1.scratch+0\n"
            "reduce @0 16 atomic : 0.in+0 -> 1.scratch+0\n",
            "copy @1 16 : 1.scratch+0 -> 1.out+0\n", "copy @1 16 : 1.scratch+0 -> 0.out+0\n"),
        // Begun by two lanes.
        SUM("scratch 16\n", "copy @0 16 : 1.in+0 -> 1.scratch+0\n",
            "copy @0 16 : 0.in+0 -> 1.scratch+0\nreduce @0 16 atomic : 0.in+0 -> 1.scratch+0\n", "",
            "copy @1 16 : 1.scratch+0 -> 0.out+0\n"),
        // Added by halves, begun as a whole.
        SUM("scratch 16\n", "copy @0 16 : 1.in+0 -> 1.scratch+0\n",
            "reduce @0 8 atomic : 0.in+0 -> 1.scratch+0\n"
            "reduce @0 8 atomic : 0.in+8 -> 1.scratch+8\n",
            "copy @1 16 : 1.scratch+0 -> 1.out+0\n", "copy @1 16 : 1.scratch+0 -> 0.out+0\n"),
        // No copy begins it.
        SUM("", "", "reduce @0 16 atomic : 0.in+0 -> 1.out+0\n", "", ""),
        fused_text,
        HEAD "end\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        expect(texts[i], texts[i]);
    }
}

static void what_is_no_plan_is_refused(void **state)
{
    tern_plan_spec spec = {.kind = TERN_PLAN_ALL_REDUCE, .nranks = 2, .bytes = 16, .unit = 4};
    tern_plan *plan;
    tern_plan *fused = NULL;
    assert_int_equal(tern_plan_create(&spec, &plan), TERN_OK);
    assert_int_equal(tern_plan_fuse(plan, &fused), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "must be sealed"));
    assert_int_equal(tern_plan_fuse(NULL, &fused), TERN_ERR_ARG);
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    assert_int_equal(tern_plan_fuse(plan, NULL), TERN_ERR_ARG);
    assert_null(fused);
    tern_plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_becomes_one_reduce),
        cmocka_unit_test(what_else_reads_the_sum_finds_it),
        cmocka_unit_test(chunks_are_fused_one_by_one),
        cmocka_unit_test(lanes_of_a_rank_add_each_for_itself),
        cmocka_unit_test(the_rest_stays),
        cmocka_unit_test(what_is_no_plan_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
