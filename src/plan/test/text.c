// SPDX-License-Identifier: Apache-2.0
// The text form: what is printed and what is read. The page docs/plan-format.md is held to its
// word; what is refused is in refuse.c.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/test/kit.h"
#include "plan/test/same.h"
#include "support/kinds.h"
#include "tern/plan.h"

// The plan of fused_text.
static tern_plan *fused(void)
{
    tern_plan_spec spec = {
        .kind = TERN_PLAN_ALL_REDUCE, .nranks = 2, .bytes = 16, .unit = 4, .algorithm = "fused"};
    tern_plan *plan;
    assert_int_equal(tern_plan_create(&spec, &plan), TERN_OK);
    for (uint16_t rank = 0; rank < 2; rank++) {
        uint64_t slice = 8u * rank;
        tern_plan_range from[] = {{slice, 0, TERN_PLAN_IN}, {slice, 1, TERN_PLAN_IN}};
        tern_plan_range to[] = {{slice, 0, TERN_PLAN_OUT}, {slice, 1, TERN_PLAN_OUT}};
        tern_plan_op ops[] = {
            {.kind = TERN_PLAN_REDUCE,
             .length = 8,
             .sources = from,
             .sources_count = 2,
             .destinations = to,
             .destinations_count = 2},
            {.kind = TERN_PLAN_POST, .peer = 1 - rank},
            {.kind = TERN_PLAN_WAIT, .count = 1},
        };
        for (int i = 0; i < 3; i++) {
            assert_int_equal(tern_plan_add(plan, rank, 0, &ops[i]), TERN_OK);
        }
    }
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    return plan;
}

static void a_plan_is_printed_canonically(void **state)
{
    tern_plan *plan = fused();
    assert_text(plan, fused_text);
    tern_plan_destroy(plan);
}

static void a_text_becomes_the_plan_that_the_calls_build(void **state)
{
    tern_plan *plan = fused();
    tern_plan *read = parse(fused_text);
    assert_true(same_plans(plan, read));
    tern_plan_destroy(plan);
    tern_plan_destroy(read);
}

static void the_example_of_the_page_is_this_plan(void **state)
{
    FILE *file = fopen(TERN_SOURCE_DIR "/docs/plan-format.md", "r");
    assert_non_null(file);
    static char page[65536];
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    static const char fence[] = "```tern-plan\n";
    char *example = strstr(page, fence);
    assert_non_null(example);
    example += sizeof fence - 1;
    char *end = strstr(example, "```");
    assert_non_null(end);
    *end = '\0';

    tern_plan *plan = fused();
    tern_plan *read = parse(example);
    assert_true(same_plans(plan, read));
    assert_text(plan, example);
    tern_plan_destroy(plan);
    tern_plan_destroy(read);
}

static void comments_blanks_and_tabs_do_not_matter(void **state)
{
    tern_plan *plan = parse(
        "# before\n\n \t \ntern-plan   1# 1\n\tkind all_reduce\nranks 2\nbytes 16\nunit 4\n"
        "algorithm fused\nscratch 0\nrank 0 lane 0 \nreduce @0 8\t: 0.in+0 1.in+0 ->\t0.out+0 1.out+0\n"
        "post @0 rank 1 signal 0\nwait @0 signal 0 count 1\n# -- ; copy\nrank 1 lane 0\n"
        "reduce @0 8 : 0.in+8 1.in+8 -> 0.out+8 1.out+8#x\npost @0 rank 0 signal 0\n"
        "wait @0 signal 0 count 1\nend # of it\n\n# after\n");
    assert_text(plan, fused_text);
    tern_plan_destroy(plan);
}

// Every part of the grammar, as it is printed.
static void all_forms_round_trip(void **state)
{
    static const char *const texts[] = {
        "tern-plan 1\nkind barrier\nranks 1\nbytes 0\nunit 1\nalgorithm custom\nend\n",
        "tern-plan 1\nkind broadcast\nranks 1024\nbytes 281474976710656\nunit 8\n"
        "algorithm A-b_9\nroot 1023\nscratch 281474976710656\n"
        "rank 3 lane 0\nrank 3 lane 1\n"
        "copy @65535 281474976710656 : 1023.scratch+281474976710656 -> 0.in+0 1.out+18\n"
        "rank 3 lane 2\nrank 3 lane 3\n"
        "reduce @10 0 atomic : 0.in+1 -> 0.out+2\n"
        "post @0 rank 1023 signal 1048575\n"
        "wait @0 signal 1048575 count 2147483647\n"
        "rank 1023 lane 0\nwait @0 signal 7 count 1\nend\n",
        "tern-plan 1\nkind reduce_scatter\nranks 3\nbytes 6\nunit 2\nalgorithm x\nend\n",
        "tern-plan 1\nkind all_gather\nranks 3\nbytes 6\nunit 2\nalgorithm x\nend\n",
        ("tern-plan 1\nkind all_to_all\nranks 3\nbytes 6\nunit 2\n"
         "algorithm abcdefghijklmnopqrstuvwxyz01234\nend\n"),
        "tern-plan 1\nkind broadcast\nranks 2\nbytes 1\nunit 1\nalgorithm x\nroot 0\nend\n",
        "tern-plan 1\nkind reduce\nranks 2\nbytes 3\nunit 1\nalgorithm x\nroot 1\nend\n",
        "tern-plan 1\nkind gather\nranks 3\nbytes 6\nunit 2\nalgorithm x\nroot 2\nscratch 2\nend\n",
        "tern-plan 1\nkind scatter\nranks 3\nbytes 6\nunit 2\nalgorithm x\nroot 0\nend\n",
        "tern-plan 1\nkind barrier\nranks 2\nbytes 0\nunit 1\nalgorithm x\nslots in\nend\n",
        "tern-plan 1\nkind reduce\nranks 2\nbytes 3\nunit 1\nalgorithm x\nroot 1\nslots scratch\nend\n",
        "tern-plan 1\nkind all_reduce\nranks 2\nbytes 4\nunit 2\nalgorithm x\nscratch 2\nslots in scratch\nend\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tern_plan *plan = parse(texts[i]);
        assert_text(plan, texts[i]);
        tern_plan_destroy(plan);
    }
}

static void a_small_text_makes_a_small_plan(void **state)
{
    tern_plan *plan = parse(
        "tern-plan 1\nkind all_reduce\nranks 1024\nbytes 281474976710656\nunit 1\nalgorithm x\n"
        "scratch 281474976710656\nrank 1023 lane 0\n"
        "copy @65535 281474976710656 : 0.in+0 -> 0.scratch+281474976710656\n"
        "post @0 rank 0 signal 1048575\nwait @0 signal 1048575 count 2147483647\nend\n");
    assert_in_range(tern_plan_memory(plan), 1, 32768); // 24 bytes a rank
    tern_plan_destroy(plan);
}

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (seed >> 33) % below;
}

// Small or large, seldom in between: digits of all lengths.
static uint64_t draw_bytes(void)
{
    uint64_t wide = draw(UINT64_C(1) << 31) << 18 | draw(1 << 18);
    return draw(8) == 0 ? TERN_PLAN_BYTES_MAX : wide % TERN_PLAN_BYTES_MAX >> draw(48);
}

static void add_drawn(tern_plan *plan, int nranks)
{
    tern_plan_range ranges[16];
    for (int i = 0; i < 16; i++) {
        ranges[i] =
            (tern_plan_range){draw_bytes(), (uint16_t)draw((uint64_t)nranks), (uint16_t)draw(3)};
    }
    tern_plan_op op = {.kind = (tern_plan_op_kind)draw(4), .round = (int)draw(65536) >> draw(17)};
    if (op.kind == TERN_PLAN_COPY || op.kind == TERN_PLAN_REDUCE) {
        op.length = draw_bytes();
        op.sources = ranges;
        op.sources_count = op.kind == TERN_PLAN_COPY ? 1 : 1 + (int)draw(8);
        op.destinations = ranges + 8;
        op.destinations_count = 1 + (int)draw(8);
        op.flags = op.kind == TERN_PLAN_REDUCE && draw(2) == 0 ? TERN_PLAN_ATOMIC : 0;
    } else {
        op.peer = op.kind == TERN_PLAN_POST ? (int)draw((uint64_t)nranks) : 0;
        op.signal = (uint32_t)draw(TERN_PLAN_SIGNALS_MAX) >> draw(21);
        op.count = op.kind == TERN_PLAN_WAIT ? 1 + (uint32_t)(draw(INT32_MAX) >> draw(31)) : 0;
    }
    assert_int_equal(tern_plan_add(plan, (int)draw((uint64_t)nranks), (int)draw(1 + draw(9)), &op),
                     TERN_OK);
}

static tern_plan *drawn(void)
{
    static const char *const names[] = {NULL, "a", "Two-Step_9", "abcdefghijklmnopqrstuvwxyz01234"};
    tern_plan_spec spec = {.kind = (tern_plan_kind)draw(TERN_PLAN_KINDS),
                           .nranks = 1 + (int)draw(1 + draw(TERN_PLAN_RANKS_MAX)),
                           .unit = 1u << draw(4),
                           .algorithm = names[draw(4)],
                           .slots = (draw(2) != 0 ? TERN_PLAN_IN_SLOTS : 0) |
                                    (draw(2) != 0 ? TERN_PLAN_SCRATCH_SLOTS : 0)};
    spec.bytes =
        spec.kind == TERN_PLAN_BARRIER ? 0 : draw(1 << 20) * spec.unit * (uint64_t)spec.nranks;
    spec.root = kind_has_root(spec.kind) ? (int)draw((uint64_t)spec.nranks) : 0;
    tern_plan *plan;
    assert_int_equal(tern_plan_create(&spec, &plan), TERN_OK);
    assert_int_equal(tern_plan_need_scratch(plan, draw(2) == 0 ? 0 : draw_bytes()), TERN_OK);
    for (uint64_t ops = draw(1 + draw(300)); ops > 0; ops--) {
        add_drawn(plan, spec.nranks);
    }
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    return plan;
}

static void drawn_plans_round_trip(void **state)
{
    for (uint64_t i = 0; i < 300; i++) {
        seed = i;
        tern_plan *plan = drawn();
        char *text = print(plan);
        tern_plan *again = parse(text);
        if (!same_plans(plan, again)) {
            fail_msg("the plan of seed %d changed", (int)i);
        }
        assert_text(again, text);
        // Nothing is reserved for what is not there.
        assert_true(tern_plan_memory(again) <= tern_plan_memory(plan) + 65536);
        free(text);
        tern_plan_destroy(plan);
        tern_plan_destroy(again);
    }
}

static void wrong_calls_are_refused(void **state)
{
    tern_plan_spec spec = {.kind = TERN_PLAN_ALL_REDUCE, .nranks = 1, .unit = 1};
    tern_plan *open;
    assert_int_equal(tern_plan_create(&spec, &open), TERN_OK);
    char *text = NULL;
    size_t length = 7;
    assert_int_equal(tern_plan_print(open, &text, &length), TERN_ERR_STATE);
    assert_string_equal(tern_last_error(), "tern_plan_print: the plan must be sealed first");
    assert_int_equal(tern_plan_print(NULL, &text, &length), TERN_ERR_ARG);
    assert_int_equal(tern_plan_print(open, NULL, &length), TERN_ERR_ARG);
    assert_int_equal(tern_plan_print(open, &text, NULL), TERN_ERR_ARG);
    assert_null(text);
    assert_int_equal(length, 7);
    assert_int_equal(tern_plan_parse(NULL, 0, "t", &open), TERN_ERR_ARG);
    assert_int_equal(tern_plan_parse("", 0, "t", NULL), TERN_ERR_ARG);
    tern_plan_destroy(open);
    tern_plan *plan = NULL;
    assert_int_equal(tern_plan_parse("x\n", 2, NULL, &plan), TERN_ERR_ARG);
    assert_string_equal(tern_last_error(), "text:1:1: expected 'tern-plan', found 'x'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_printed_canonically),
        cmocka_unit_test(a_text_becomes_the_plan_that_the_calls_build),
        cmocka_unit_test(the_example_of_the_page_is_this_plan),
        cmocka_unit_test(comments_blanks_and_tabs_do_not_matter),
        cmocka_unit_test(all_forms_round_trip),
        cmocka_unit_test(a_small_text_makes_a_small_plan),
        cmocka_unit_test(drawn_plans_round_trip),
        cmocka_unit_test(wrong_calls_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
