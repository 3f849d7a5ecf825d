// SPDX-License-Identifier: Apache-2.0
// What a plan says of slots is taken for granted, and no more than that: the same plan without the
// line, or with only the other buffer in it, is refuted.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/interp.h"
#include "tern/check.h"
#include "tern/plan.h"

// Three ranks read each other's in; nobody waits until the others have finished with his.
static const char one_shot[] =
    "rank 0 lane 0\nreduce @0 8 : 0.in+0 1.in+0 2.in+0 -> 0.out+0\n"
    "rank 1 lane 0\nreduce @0 8 : 0.in+0 1.in+0 2.in+0 -> 1.out+0\n"
    "rank 2 lane 0\nreduce @0 8 : 0.in+0 1.in+0 2.in+0 -> 2.out+0\nend\n";

// Rank 1 reads the scratch of rank 0, which does not wait for it.
static const char relay[] = "rank 0 lane 0\ncopy @0 8 : 0.in+0 -> 0.scratch+0 0.out+0\n"
                            "post @0 rank 1 signal 0\n"
                            "rank 1 lane 0\nwait @1 signal 0 count 1\n"
                            "copy @1 8 : 0.scratch+0 -> 1.out+0\nend\n";

static tern_plan *parse(const char *head, const char *slots, const char *lanes)
{
    char text[1024];
    tern_plan *plan;
    snprintf(text, sizeof text, "tern-plan 1\n%s%s%s", head, slots, lanes);
    if (tern_plan_parse(text, strlen(text), "t", &plan) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    return plan;
}

// Whether some interleaving shows what is wrong.
static bool shown(const tern_plan *plan)
{
    char why[256];
    for (uint64_t seed = 0; seed < 60; seed++) {
        if (!interp_run(plan, NULL, seed, why, sizeof why)) {
            return true;
        }
    }
    return false;
}

// The report of the plan, which is proved or not; the interpreter must agree. free() it.
static char *report(tern_plan *plan, bool in_place, bool proved)
{
    tern_check *check;
    char *text = NULL;
    size_t length;
    assert_int_equal(in_place ? tern_check_plan_in_place(plan, NULL, &check)
                              : tern_check_plan(plan, NULL, &check),
                     TERN_OK);
    FILE *file = open_memstream(&text, &length);
    assert_non_null(file);
    assert_int_equal(tern_check_print(check, file), TERN_OK);
    fclose(file);
    if (tern_check_proved(check) != proved || shown(plan) == proved) {
        fail_msg("%s", text);
    }
    tern_check_destroy(check);
    tern_plan_destroy(plan);
    return text;
}

static void expect(tern_plan *plan, bool proved, const char *words)
{
    char *text = report(plan, false, proved);
    if (strstr(text, words) == NULL) {
        fail_msg("no '%s' in: %s", words, text);
    }
    free(text);
}

#define REDUCE "kind all_reduce\nranks 3\nbytes 8\nunit 4\nalgorithm x\n"
#define RELAY "kind broadcast\nranks 2\nbytes 8\nunit 4\nalgorithm x\nroot 0\nscratch 8\n"

static void what_lies_in_slots_outlasts_its_rank(void **state)
{
    expect(parse(REDUCE, "slots in\n", one_shot), true, "3 ops, if in lies in slots.");
    expect(parse(REDUCE, "slots in scratch\n", one_shot), true, "if in and scratch lie in slots.");
    expect(parse(RELAY, "slots scratch\n", relay), true, "4 ops, if scratch lies in slots.");
}

static void without_slots_it_is_refuted(void **state)
{
    expect(parse(REDUCE, "", one_shot), false,
           "reads in of rank 0, whose lanes may have ended before");
    expect(parse(REDUCE, "slots scratch\n", one_shot), false, "reads in of rank 0, whose lanes");
    expect(parse(RELAY, "", relay), false, "reads scratch of rank 0, whose lanes");
    expect(parse(RELAY, "slots in\n", relay), false, "reads scratch of rank 0, whose lanes");
}

// The copies of all ranks are there before the first op, so all have begun.
static void inputs_in_slots_are_a_barrier(void **state)
{
    static const char head[] = "kind barrier\nranks 2\nbytes 0\nunit 1\nalgorithm x\n";
    expect(parse(head, "slots in\n", "end\n"), true, "0 ops, if in lies in slots.");
    expect(parse(head, "slots scratch\n", "end\n"), false, "may end before rank 1 has begun");
    expect(parse(head, "", "end\n"), false, "may end before rank 1 has begun");
}

// Slots do not order what is written in the run.
static void a_race_in_slots_is_one(void **state)
{
    static const char lanes[] = "rank 0 lane 0\ncopy @0 8 : 0.in+0 -> 0.scratch+0 0.out+0\n"
                                "rank 1 lane 0\ncopy @1 8 : 0.scratch+0 -> 1.out+0\nend\n";
    expect(parse(RELAY, "slots in scratch\n", lanes), false, "nothing orders them");
}

// A copy is never the memory of out.
static void a_copy_is_not_in_place(void **state)
{
    char *text = report(parse(REDUCE, "slots in\n", one_shot), true, true);
    assert_non_null(strstr(text, "in place  proved"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_in_slots_outlasts_its_rank),
        cmocka_unit_test(without_slots_it_is_refuted),
        cmocka_unit_test(inputs_in_slots_are_a_barrier),
        cmocka_unit_test(a_race_in_slots_is_one),
        cmocka_unit_test(a_copy_is_not_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
