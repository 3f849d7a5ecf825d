// SPDX-License-Identifier: Apache-2.0
// Staging: what is copied, who waits for it, and what the ops read then.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "plan/steps.h"

static void expect(const char *text, struct tern__staging how, const char *wanted)
{
    tern_plan *plan = parse(text);
    tern_plan *staged;
    if (tern__plan_stage(plan, &how, &staged) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    assert_text(staged, wanted);
    tern_plan_destroy(staged);
    tern_plan_destroy(plan);
}

// Both read both inputs: each copies its own first.
static void inputs_are_copied_and_all_meet(void **state)
{
    expect(HEAD "slots in\n"
                "rank 0 lane 0\nreduce @0 16 : 0.in+0 1.in+0 -> 0.out+0\n"
                "rank 1 lane 0\nreduce @0 16 : 0.in+0 1.in+0 -> 1.out+0\nend\n",
           (struct tern__staging){0},
           HEAD "scratch 64\nslots scratch\n"
                "rank 0 lane 0\ncopy @0 16 : 0.in+0 -> 0.scratch+0\n"
                "post @0 rank 1 signal 0\nwait @0 signal 0 count 1\n"
                "reduce @1 16 : 0.scratch+0 1.scratch+0 -> 0.out+0\n"
                "rank 1 lane 0\ncopy @0 16 : 1.in+0 -> 1.scratch+0\n"
                "post @0 rank 0 signal 0\nwait @0 signal 0 count 1\n"
                "reduce @1 16 : 0.scratch+0 1.scratch+0 -> 1.out+0\nend\n");
}

// Rank 1 reads two stretches of rank 0's input that touch, and one further on; rank 0 reads its own
// where it lies, and so does rank 1.
static void only_what_others_read_is_copied(void **state)
{
    expect(HEAD "rank 0 lane 0\ncopy @0 8 : 0.in+0 -> 0.out+0\n"
                "rank 1 lane 0\ncopy @0 4 : 0.in+4 -> 1.out+0\ncopy @0 4 : 0.in+0 -> 1.out+4\n"
                "copy @0 4 : 0.in+12 -> 1.out+8\ncopy @0 4 : 1.in+0 -> 1.out+12\n"
                "post @0 rank 0 signal 2\nend\n",
           (struct tern__staging){.own_in = true},
           HEAD "scratch 64\n"
                "rank 0 lane 0\ncopy @0 8 : 0.in+0 -> 0.scratch+0\n"
                "copy @0 4 : 0.in+12 -> 0.scratch+12\n"
                "post @0 rank 1 signal 3\nwait @0 signal 3 count 1\n"
                "copy @1 8 : 0.in+0 -> 0.out+0\n"
                "rank 1 lane 0\npost @0 rank 0 signal 3\nwait @0 signal 3 count 1\n"
                "copy @1 4 : 0.scratch+4 -> 1.out+0\ncopy @1 4 : 0.scratch+0 -> 1.out+4\n"
                "copy @1 4 : 0.scratch+12 -> 1.out+8\ncopy @1 4 : 1.in+0 -> 1.out+12\n"
                "post @1 rank 0 signal 2\nend\n");
}

// Lanes but the first wait for their own rank's copy, too, and out is copied when all have ended.
static void lanes_and_outputs(void **state)
{
    static const char head[] = "tern-plan 1\nkind broadcast\nranks 1\nbytes 8\nunit 4\n"
                               "algorithm x\nroot 0\n";
    char text[512];
    char wanted[768];
    snprintf(text, sizeof text,
             "%sscratch 4\nrank 0 lane 0\ncopy @0 4 : 0.in+0 -> 0.scratch+0 0.out+0\n"
             "rank 0 lane 1\ncopy @0 4 : 0.in+4 -> 0.out+4\nend\n",
             head);
    snprintf(wanted, sizeof wanted,
             "%sscratch 136\nrank 0 lane 0\ncopy @0 8 : 0.in+0 -> 0.scratch+0\n"
             "post @0 rank 0 signal 0\nwait @0 signal 0 count 1\n"
             "copy @1 4 : 0.scratch+0 -> 0.scratch+64 0.scratch+128\n"
             "wait @0 signal 1 count 1\ncopy @2 8 : 0.scratch+128 -> 0.out+0\n"
             "rank 0 lane 1\nwait @0 signal 0 count 1\n"
             "copy @1 4 : 0.scratch+4 -> 0.scratch+132\npost @0 rank 0 signal 1\nend\n",
             head);
    expect(text, (struct tern__staging){.out = true}, wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_are_copied_and_all_meet),
        cmocka_unit_test(only_what_others_read_is_copied),
        cmocka_unit_test(lanes_and_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
