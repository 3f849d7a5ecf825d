// SPDX-License-Identifier: Apache-2.0
// The checker in place: each way to be right with `in` and `out` apart and wrong where they are
// one, and what may look wrong and is right. The interpreter agrees on which ranks may be in place.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/interp.h"
#include "tern/check.h"
#include "tern/plan.h"
#include "tern/status.h"

static tern_plan *parse(const char *text)
{
    tern_plan *plan;
    if (tern_plan_parse(text, strlen(text), "text", &plan) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    return plan;
}

// Whether random schedules find it right with these ranks in place.
static bool runs_right(const tern_plan *plan, uint64_t ranks)
{
    char why[256];
    for (uint64_t seed = 0; seed < 100; seed++) {
        if (!interp_run_in_place(plan, NULL, ranks, seed, why, sizeof why)) {
            return false;
        }
    }
    return true;
}

static void assert_right(const char *text)
{
    tern_plan *plan = parse(text);
    tern_check *check;
    assert_int_equal(tern_check_plan_in_place(plan, NULL, &check), TERN_OK);
    if (!tern_check_proved(check)) {
        tern_status_ignore(tern_check_print(check, stderr)); // the test fails anyway
        fail_msg("not proved in place");
    }
    int nranks = tern_plan_get_spec(plan)->nranks;
    for (uint64_t ranks = 0; ranks < UINT64_C(1) << nranks; ranks++) {
        assert_true(runs_right(plan, ranks));
    }
    tern_check_destroy(check);
    tern_plan_destroy(plan);
}

// Right apart, and the first finding in place is the sentence. With these ranks in place the result
// is wrong; 0: whatever the result.
static void assert_wrong(const char *text, uint64_t ranks, const char *sentence)
{
    tern_plan *plan = parse(text);
    tern_check *check;
    assert_int_equal(tern_check_plan(plan, NULL, &check), TERN_OK);
    assert_true(tern_check_proved(check));
    tern_check_destroy(check);
    assert_int_equal(tern_check_plan_in_place(plan, NULL, &check), TERN_OK);
    assert_false(tern_check_proved(check));
    for (int rule = 0; rule < TERN_CHECK_IN_PLACE; rule++) {
        assert_int_equal(tern_check_count(check, (tern_check_rule)rule), 0);
    }
    assert_string_equal(tern_check_finding(check, TERN_CHECK_IN_PLACE, 0), sentence);
    tern_check_destroy(check);
    assert_true(runs_right(plan, 0));
    assert_true(ranks == 0 || !runs_right(plan, ranks));
    tern_plan_destroy(plan);
}

// A plan for two ranks with a lane each, and its ops.
#define PLAN(kind, bytes, scratch, rank0, rank1)                                                   \
    "tern-plan 1\nkind " kind "\nranks 2\nbytes " #bytes "\nunit 4\nalgorithm test\n" scratch      \
    "rank 0 lane 0\n" rank0 "rank 1 lane 0\n" rank1 "end\n"
#define COPY(bytes, ranges) "copy @0 " #bytes " : " ranges "\n"
#define SUM(bytes, ranges) "reduce @0 " #bytes " : " ranges "\n"
#define POST(rank) "post @0 rank " #rank " signal 0\n"
#define WAIT(count) "wait @0 signal 0 count " #count "\n"

static const char one_shot[] =
    PLAN("all_reduce", 16, "", SUM(16, "0.in+0 1.in+0 -> 0.out+0") POST(1) WAIT(1),
         SUM(16, "0.in+0 1.in+0 -> 1.out+0") POST(0) WAIT(1));

static void a_read_that_races_with_the_overwriting(void **state)
{
    assert_wrong(one_shot, 3,
                 "rank 0, lane 0, op 0 (reduce) uses bytes 0..16 of in of rank 1, rank 1, lane 0, "
                 "op 0 (reduce) overwrites them as out, and nothing orders them");
}

// Rank 1 reads the input of rank 0 after that has stored its sum.
static void a_read_after_the_overwriting(void **state)
{
    assert_wrong(PLAN("all_reduce", 8, "", SUM(8, "0.in+0 1.in+0 -> 0.out+0") POST(1) WAIT(1),
                      WAIT(1) SUM(8, "0.in+0 1.in+0 -> 1.out+0") POST(0)),
                 1,
                 "rank 1, lane 0, op 1 (reduce) uses bytes 0..8 of in of rank 0 after rank 0, lane "
                 "0, op 0 (reduce) has overwritten them as out");
}

// Right apart and with both ranks in place: then each has the other's input, and the sum is the
// same. Wrong with one of them.
static void an_error_that_another_makes_up_for(void **state)
{
    static const char text[] =
        PLAN("all_reduce", 8, "scratch 16\n",
             COPY(8, "0.in+0 -> 0.scratch+0") COPY(8, "1.in+0 -> 0.scratch+8")
                 COPY(8, "0.scratch+8 -> 0.out+0") COPY(8, "0.scratch+0 -> 1.out+0")
                     SUM(8, "0.in+0 1.in+0 -> 0.scratch+0")
                         COPY(8, "0.scratch+0 -> 0.out+0 1.out+0") POST(1),
             WAIT(1));
    assert_wrong(text, 1,
                 "rank 0, lane 0, op 4 (reduce) uses bytes 0..8 of in of rank 0 after rank 0, lane "
                 "0, op 2 (copy) has overwritten them as out");
    tern_plan *plan = parse(text);
    assert_true(runs_right(plan, 3));
    assert_false(runs_right(plan, 2));
    tern_plan_destroy(plan);
}

// A copy may not overlap itself shifted, nor an atomic reduce at all, even if nobody reads the
// result.
static void operands_of_one_op_that_overlap(void **state)
{
    static const char shifted[] =
        PLAN("all_gather", 16, "scratch 8\n",
             COPY(8, "0.in+0 -> 1.out+0 0.scratch+0") POST(1) COPY(8, "0.in+0 -> 0.out+4")
                 COPY(8, "0.scratch+0 -> 0.out+0") COPY(8, "1.in+0 -> 0.out+8") POST(1),
             COPY(8, "1.in+0 -> 1.out+8") WAIT(2));
    assert_wrong(
        shifted, 0,
        "rank 0, lane 0, op 2 (copy): source 0 and destination 0 overlap when rank 0 is in "
        "place");
    static const char atomic[] =
        "tern-plan 1\nkind broadcast\nranks 1\nbytes 4\nunit 4\nalgorithm test\nroot 0\nscratch 4\n"
        "rank 0 lane 0\n"
        "copy @0 4 : 0.in+0 -> 0.out+0 0.scratch+0\n"
        "reduce @0 4 atomic : 0.in+0 -> 0.out+0\n"
        "copy @0 4 : 0.scratch+0 -> 0.out+0\n"
        "end\n";
    assert_wrong(atomic, 0,
                 "rank 0, lane 0, op 1 (reduce): source 0 and destination 0 overlap when rank 0 is "
                 "in place");
}

// The input of rank 1 is the second half of its output: only what is there is shared.
static void what_is_not_shared_may_be_overwritten(void **state)
{
    assert_right(PLAN("all_gather", 16, "", COPY(8, "0.in+0 -> 0.out+0 1.out+0") POST(1) WAIT(1),
                      COPY(8, "1.in+0 -> 1.out+8 0.out+8") POST(0) WAIT(1)));
    assert_wrong(
        PLAN("all_gather", 16, "", COPY(8, "0.in+0 -> 0.out+0 1.out+8") POST(1) WAIT(1),
             WAIT(1) COPY(8, "1.out+8 -> 1.out+0") COPY(8, "1.in+0 -> 1.out+8 0.out+8") POST(0)),
        2,
        "rank 1, lane 0, op 2 (copy) uses bytes 0..8 of in of rank 1 after rank 0, lane 0, "
        "op 0 (copy) has overwritten them as out");
}

// Executors leave out a copy of bytes onto themselves, so others may read them meanwhile.
static void a_copy_onto_itself_is_no_write(void **state)
{
    assert_right(PLAN("all_gather", 16, "",
                      COPY(8, "0.in+0 -> 0.out+0") COPY(8, "1.in+0 -> 0.out+8") POST(1) WAIT(1),
                      COPY(8, "1.in+0 -> 1.out+8") COPY(8, "0.in+0 -> 1.out+0") POST(0) WAIT(1)));
}

// One op reads before it writes, here in the second half of both inputs.
static void an_op_may_overwrite_what_it_reads(void **state)
{
    assert_right(PLAN("reduce_scatter", 16, "",
                      SUM(8, "0.in+0 1.in+0 -> 0.out+0") SUM(8, "0.in+8 1.in+8 -> 1.out+0") POST(1),
                      WAIT(1)));
}

static void assert_report(const char *text, const char *line)
{
    char *report = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&report, &size);
    tern_plan *plan = parse(text);
    tern_check *check;
    assert_non_null(file);
    assert_int_equal(tern_check_plan_in_place(plan, NULL, &check), TERN_OK);
    assert_int_equal(tern_check_print(check, file), TERN_OK);
    fclose(file);
    if (strstr(report, line) == NULL) {
        fail_msg("there is no '%s' in: %s", line, report);
    }
    free(report);
    tern_check_destroy(check);
    tern_plan_destroy(plan);
}

static void the_report_says_what_is_wrong(void **state)
{
    char broken[sizeof one_shot];
    assert_report(one_shot, "right, but not in place, for 2 ranks");
    assert_report(one_shot, "\nin place  refuted: 2 findings\n");
    // Without the wait of rank 0, its input may be gone when rank 1 reads it.
    snprintf(broken, sizeof broken, "%s", one_shot);
    char *wait = strstr(broken, "wait");
    memset(wait, ' ', strcspn(wait, "\n"));
    assert_report(broken, "\nin place  not decided");
    // A plan with a wrong sum: nothing can be said about it in place.
    snprintf(broken, sizeof broken, "%s", one_shot);
    memcpy(strstr(broken, "1.in+0"), "0.in+0", 6);
    assert_report(broken, "\nin place  not decided");
    assert_report(broken, "\nrefuted for 2 ranks");
    // Asked for nothing in place, it says nothing.
    tern_plan *plan = parse(one_shot);
    tern_check *check;
    assert_int_equal(tern_check_plan(plan, NULL, &check), TERN_OK);
    assert_true(tern_check_proved(check));
    assert_int_equal(tern_check_count(check, TERN_CHECK_IN_PLACE), 0);
    tern_check_destroy(check);
    tern_plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_that_races_with_the_overwriting),
        cmocka_unit_test(a_read_after_the_overwriting),
        cmocka_unit_test(an_error_that_another_makes_up_for),
        cmocka_unit_test(operands_of_one_op_that_overlap),
        cmocka_unit_test(what_is_not_shared_may_be_overwritten),
        cmocka_unit_test(a_copy_onto_itself_is_no_write),
        cmocka_unit_test(an_op_may_overwrite_what_it_reads),
        cmocka_unit_test(the_report_says_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
