// SPDX-License-Identifier: Apache-2.0
// Between machines: what reads or reduces in the memory of another one is found, and so is who uses
// what may still be on its way. Two machines of two ranks: 0 and 1 on a, 2 and 3 on b.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tern/check.h"
#include "tern/plan.h"

#define GATHER "kind gather\nranks 4\nbytes 32\nunit 4\nalgorithm x\nroot 2\n"
#define CAST "kind broadcast\nranks 4\nbytes 8\nunit 4\nalgorithm x\nroot 0\nscratch 8\n"
#define SUM "kind reduce\nranks 4\nbytes 8\nunit 4\nalgorithm x\nroot 0\nscratch 24\n"

// The report over two machines of two ranks. free() it.
static char *report(const char *head, const char *lanes, bool proved)
{
    char text[2048];
    tern_plan *plan;
    tern_topo *topo;
    tern_check *check;
    char *page = NULL;
    size_t length;
    snprintf(text, sizeof text, "tern-plan 1\n%s%send\n", head, lanes);
    if (tern_plan_parse(text, strlen(text), "t", &plan) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    assert_int_equal(tern_topo_create("machines:2x2", &topo), TERN_OK);
    assert_int_equal(tern_check_plan(plan, topo, &check), TERN_OK);
    FILE *file = open_memstream(&page, &length);
    assert_non_null(file);
    assert_int_equal(tern_check_print(check, file), TERN_OK);
    fclose(file);
    if (tern_check_proved(check) != proved) {
        fail_msg("%s", page);
    }
    size_t others = 0;
    for (int rule = 0; rule < TERN_CHECK_RULES; rule++) {
        others += rule == TERN_CHECK_REACH ? 0 : tern_check_count(check, (tern_check_rule)rule);
    }
    if (others > 0) {
        fail_msg("%s", page);
    }
    tern_check_destroy(check);
    // Without machines it is right.
    assert_int_equal(tern_check_plan(plan, NULL, &check), TERN_OK);
    assert_true(tern_check_proved(check));
    tern_check_destroy(check);
    tern_plan_destroy(plan);
    tern_topo_destroy(topo);
    return page;
}

static void expect(const char *head, const char *lanes, bool proved, const char *words)
{
    char *page = report(head, lanes, proved);
    if (strstr(page, words) == NULL) {
        fail_msg("no '%s' in: %s", words, page);
    }
    free(page);
}

static void proved(const char *head, const char *lanes)
{
    expect(head, lanes, true,
           "reach     proved: no op reads another machine's memory, and what is put there is "
           "awaited there\n");
}

static void refuted(const char *head, const char *lanes, const char *words)
{
    expect(head, lanes, false, words);
}

static void copies_and_posts_to_the_same_rank_are_proved(void **state)
{
    proved(GATHER, "rank 0 lane 0\ncopy @0 8 : 0.in+0 -> 2.out+0\npost @0 rank 2 signal 0\n"
                   "rank 1 lane 0\ncopy @0 8 : 1.in+0 -> 2.out+8\npost @0 rank 2 signal 0\n"
                   "rank 2 lane 0\ncopy @0 8 : 2.in+0 -> 2.out+16\nwait @0 signal 0 count 3\n"
                   "rank 3 lane 0\ncopy @0 8 : 3.in+0 -> 2.out+24\npost @0 rank 2 signal 0\n");
    // On the machine it may be told on: rank 3 learns of it by rank 2.
    proved(CAST, "rank 0 lane 0\ncopy @0 8 : 0.in+0 -> 0.out+0 1.out+0\n"
                 "copy @0 8 : 0.in+0 -> 2.scratch+0\npost @0 rank 1 signal 0\n"
                 "post @0 rank 2 signal 0\n"
                 "rank 1 lane 0\nwait @1 signal 0 count 1\n"
                 "rank 2 lane 0\nwait @1 signal 0 count 1\ncopy @1 8 : 2.scratch+0 -> 2.out+0\n"
                 "post @1 rank 3 signal 0\nwait @2 signal 1 count 1\n"
                 "rank 3 lane 0\nwait @1 signal 0 count 1\n"
                 "copy @1 8 : 2.scratch+0 -> 3.out+0\npost @2 rank 2 signal 1\n");
}

static void reads_and_reduces_between_machines_are_found(void **state)
{
    refuted(CAST,
            "rank 0 lane 0\ncopy @0 8 : 0.in+0 -> 0.out+0\nwait @1 signal 0 count 3\n"
            "rank 1 lane 0\ncopy @0 8 : 0.in+0 -> 1.out+0\npost @0 rank 0 signal 0\n"
            "rank 2 lane 0\ncopy @0 8 : 0.in+0 -> 2.out+0\npost @0 rank 0 signal 0\n"
            "rank 3 lane 0\ncopy @0 8 : 0.in+0 -> 3.out+0\npost @0 rank 0 signal 0\n",
            "reach: rank 3, lane 0, op 0 (copy) reads in of rank 0, which is on machine a and not "
            "on b; who has it can copy it there\n");
    const char *sum = "rank 0 lane 0\ncopy @0 8 : 0.in+0 -> 0.scratch+16\n"
                      "wait @0 signal 0 count 1\nreduce @1 8 : 0.in+0 1.in+0 0.scratch+0 -> "
                      "0.out+0\npost @2 rank 1 signal 0\n"
                      "rank 1 lane 0\nwait @2 signal 0 count 1\n"
                      "rank 2 lane 0\nreduce @0 8 : 2.in+0 3.in+0 -> 0.scratch+0\n"
                      "post @0 rank 0 signal 0\npost @0 rank 3 signal 0\n"
                      "rank 3 lane 0\nwait @2 signal 0 count 1\n";
    refuted(SUM, sum,
            "reach: rank 2, lane 0, op 0 (reduce) reduces into scratch of rank 0, which is on "
            "machine a and not on b; only copies go from machine to machine\n");
}

// What is said of inputs: a copy of each is on every machine.
static void inputs_in_slots_are_everywhere(void **state)
{
    proved("kind broadcast\nranks 4\nbytes 8\nunit 4\nalgorithm x\nroot 0\nslots in\n",
           "rank 0 lane 0\ncopy @0 8 : 0.in+0 -> 0.out+0\n"
           "rank 1 lane 0\ncopy @0 8 : 0.in+0 -> 1.out+0\n"
           "rank 2 lane 0\ncopy @0 8 : 0.in+0 -> 2.out+0\n"
           "rank 3 lane 0\ncopy @0 8 : 0.in+0 -> 3.out+0\n");
}

// Rank 0 puts to rank 2, and says so to somebody else who passes it on.
static void a_post_to_another_rank_says_nothing(void **state)
{
    static const char first[] = "rank 0 lane 0\ncopy @0 8 : 0.in+0 -> 0.out+0 1.out+0\n"
                                "post @0 rank 1 signal 0\n"
                                "copy @0 8 : 0.in+0 -> 2.scratch+0\n";
    static const char last[] =
        "rank 1 lane 0\nwait @0 signal 0 count 1\n"
        "rank 2 lane 0\nwait @1 signal 0 count 1\n"
        "copy @1 8 : 2.scratch+0 -> 2.out+0 3.out+0\npost @2 rank 3 signal 1\n"
        "rank 3 lane 0\nwait @0 signal 0 count 1\npost @0 rank 2 signal 0\n"
        "wait @1 signal 1 count 1\n";
    char lanes[1024];
    // Over rank 3, on the machine of the memory.
    snprintf(lanes, sizeof lanes, "%spost @0 rank 3 signal 0\n%s", first, last);
    refuted(CAST, lanes,
            "reach: rank 0, lane 0, op 2 (copy) puts to rank 2 on machine b, and rank 2, lane 0, "
            "op 1 (copy) reads bytes 0..8 of scratch of rank 2, which may come first: it knows of "
            "no later post of rank 0 to rank 2 (and 1 more that follows from it)\n");
    // The post comes before the put.
    refuted(CAST,
            "rank 0 lane 0\ncopy @0 8 : 0.in+0 -> 0.out+0 1.out+0\npost @0 rank 1 signal 0\n"
            "post @0 rank 2 signal 1\ncopy @0 8 : 0.in+0 -> 2.scratch+0\npost @0 rank 3 signal 0\n"
            "rank 1 lane 0\nwait @0 signal 0 count 1\n"
            "rank 2 lane 0\nwait @1 signal 0 count 1\nwait @1 signal 1 count 1\n"
            "copy @1 8 : 2.scratch+0 -> 2.out+0 3.out+0\npost @2 rank 3 signal 1\n"
            "rank 3 lane 0\nwait @0 signal 0 count 1\npost @0 rank 2 signal 0\n"
            "wait @1 signal 1 count 1\n",
            "it knows of no later post of rank 0 to rank 2");
}

// Another lane of the rank says it: when it comes behind the put, that is enough.
static void lanes_of_a_rank_have_one_stream(void **state)
{
#define HEAD                                                                                       \
    "rank 0 lane 0\ncopy @0 8 : 0.in+0 -> 2.scratch+0\npost @0 rank 0 signal 0\n"                  \
    "wait @0 signal 1 count 1\n"
#define TAIL                                                                                       \
    "rank 1 lane 0\nwait @0 signal 0 count 1\n"                                                    \
    "rank 2 lane 0\nwait @1 signal 0 count 1\n"                                                    \
    "copy @1 8 : 2.scratch+0 -> 2.out+0 3.out+0\npost @2 rank 3 signal 0\n"                        \
    "rank 3 lane 0\nwait @1 signal 0 count 1\n"
    proved(CAST, HEAD "rank 0 lane 1\nwait @0 signal 0 count 1\n"
                      "copy @0 8 : 0.in+0 -> 0.out+0 1.out+0\npost @0 rank 1 signal 0\n"
                      "post @0 rank 2 signal 0\npost @0 rank 0 signal 1\n" TAIL);
}

// Two writes of one rank to the same bytes arrive in their order; nobody waits for the last one.
static void the_end_of_a_rank_waits_for_what_comes(void **state)
{
    static const char lanes[] =
        "rank 0 lane 0\ncopy @0 8 : 0.in+0 -> 0.out+0 1.out+0\npost @0 rank 1 signal 0\n"
        "copy @0 8 : 0.in+0 -> 2.out+0\ncopy @0 8 : 0.in+0 -> 3.out+0\n"
        "post @0 rank 3 signal 0\ncopy @0 8 : 0.in+0 -> 2.out+0\n"
        "post @0 rank 3 signal 0\n"
        "rank 1 lane 0\nwait @0 signal 0 count 1\n"
        "rank 2 lane 0\nwait @0 signal 0 count 1\n"
        "rank 3 lane 0\nwait @0 signal 0 count 2\npost @0 rank 2 signal 0\n";
    refuted(CAST, lanes,
            "reach: rank 0, lane 0, op 5 (copy) puts to rank 2 on machine b, whose lanes may have "
            "ended before it comes: they know of no later post of rank 0 to rank 2\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_and_posts_to_the_same_rank_are_proved),
        cmocka_unit_test(reads_and_reduces_between_machines_are_found),
        cmocka_unit_test(inputs_in_slots_are_everywhere),
        cmocka_unit_test(a_post_to_another_rank_says_nothing),
        cmocka_unit_test(lanes_of_a_rank_have_one_stream),
        cmocka_unit_test(the_end_of_a_rank_waits_for_what_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
