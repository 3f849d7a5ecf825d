// SPDX-License-Identifier: Apache-2.0
// Tune files and rows on which shares are read out of the memory of other ranks: what is read, what
// is refused and with which sentence, and that TERN_DIRECT comes before it.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/tune.h"
#include "support/look.h"

#define HEAD "tern-tune 1\n"
#define GATHER "gather ranks 2 small pull 8192 window direct staged pull 131072"

static void a_row_may_say_from_and_to(void **state)
{
    static const struct {
        const char *words;
        uint64_t from, to;
    } rows[] = {{"", TERN_TUNE_BUILT_IN, 0},
                {" direct off", 0, 0},
                {" direct 1 any", 1, 0},
                {" direct 70000 70000", 70000, 70000},
                {" direct 4096 1099511627776 # x", 4096, UINT64_C(1) << 40}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[200];
        struct tern__tune tune;
        snprintf(text, sizeof text, "%s%s%s\n", HEAD, GATHER, rows[i].words);
        assert_int_equal(tern__tune_parse(text, strlen(text), "t", &tune), TERN_OK);
        const tern_tune_row *row = &tune.entries[0].row;
        assert_true(row->direct_from == rows[i].from && row->direct_to == rows[i].to);
        assert_string_equal(row->staged, "pull");
        tern__tune_free(&tune);
    }
}

// A text, and what must be said about it.
static const struct {
    const char *text, *said;
} damages[] = {
    {HEAD "all_reduce ranks 2 small one_shot 1 window fused staged staged 1024 direct 1 any",
     "t:2:69: all_reduce cannot go 'direct': its calls find out what is faster"},
    {HEAD "barrier ranks 2 small direct 0 window direct staged direct 1024 direct off",
     "t:2:65: barrier cannot go 'direct': it moves nothing"},
    {HEAD "all_to_all ranks 2 small pull 1 window direct staged direct 1024 direct 9 any",
     "t:2:73: nothing can go 'direct': 'direct' and 'direct' do more than to read the inputs"},
    {HEAD GATHER " direkt 5 any", "t:2:65: expected 'direct' or the end of the line, not 'direkt'"},
    {HEAD GATHER " direct", "t:2:71: the line ends; expected: 'off' or bytes of a share"},
    {HEAD GATHER " direct on", "t:2:72: expected 'off' or bytes of a share from 1 to"},
    {HEAD GATHER " direct -1 any", "t:2:72: expected 'off' or bytes of a share from 1 to"},
    {HEAD GATHER " direct 0 any", "t:2:72: expected 'off' or bytes of a share from 1 to"},
    {HEAD GATHER " direct 1099511627777 any", "t:2:72: expected 'off' or bytes of a share from 1"},
    {HEAD GATHER " direct 9", "t:2:73: the line ends; expected: 'any' or bytes of a share"},
    {HEAD GATHER " direct 9 8", "t:2:74: expected 'any' or bytes of a share from 9 to"},
    {HEAD GATHER " direct 9 10 11", "t:2:77: expected the end of the line"},
    {HEAD GATHER " direct off 11", "t:2:76: expected the end of the line"},
};

static void damaged_rows_are_refused_with_the_place(void **state)
{
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct tern__tune tune;
        const char *text = damages[i].text;
        assert_int_equal(tern__tune_parse(text, strlen(text), "t", &tune), TERN_ERR_ARG);
        if (!look_says(damages[i].said)) {
            fail_msg("'%s': '%s', not '%s'", text, tern_last_error(), damages[i].said);
        }
    }
}

static struct tern__choice chosen(int nranks)
{
    struct tern__choice choice;
    assert_int_equal(tern__select(TERN_PLAN_GATHER, nranks, TERN_ORDER_RANK, NULL, &choice),
                     TERN_OK);
    return choice;
}

static void a_row_is_used_and_the_environment_comes_before_it(void **state)
{
    tern_tune_row row;
    assert_int_equal(tern_tune_get_built_in(TERN_PLAN_GATHER, 4, &row), TERN_OK);
    row.direct_from = 5000;
    row.direct_to = 6000;
    assert_int_equal(tern_tune_use(&row, 1), TERN_OK);
    assert_true(chosen(4).direct_from == 5000 && chosen(4).direct_to == 6000);
    assert_false(chosen(4).direct_named);
    setenv("TERN_DIRECT", "100", 1);
    assert_true(chosen(4).direct_from == 100 && chosen(4).direct_to == 0);
    assert_true(chosen(4).direct_named);
    unsetenv("TERN_DIRECT");
    row.direct_from = 0; // off, whatever it would be up to
    assert_int_equal(tern_tune_use(&row, 1), TERN_OK);
    assert_true(chosen(4).direct_from == 0 && chosen(4).direct_to == 0);
}

// Of the rank count that asks, and not of the row's.
static void what_a_row_leaves_out_is_built_in(void **state)
{
    tern_tune_row row;
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        assert_int_equal(tern_tune_get_built_in((tern_plan_kind)kind, 1, &row), TERN_OK);
        row.direct_from = tern__choice_reads(row.kind) ? TERN_TUNE_BUILT_IN : 0;
        row.chunk_bytes = 1024;
        assert_int_equal(tern_tune_use(&row, 1), TERN_OK);
        for (int n = 1; n <= 8; n++) {
            struct tern__choice built_in;
            struct tern__choice choice;
            tern__tune_built_in(row.kind, n, &built_in);
            assert_int_equal(tern__select(row.kind, n, TERN_ORDER_RANK, NULL, &choice), TERN_OK);
            assert_true(choice.chunk_bytes == 1024);
            assert_true(choice.direct_from == built_in.direct_from);
            assert_true(choice.direct_to == built_in.direct_to);
        }
    }
}

// A row may say 'direct' of algorithms with which a call would go direct, and of no others; what
// tern tune asks for the second and writes the first.
static void what_can_go_direct_may_say_so(void **state)
{
    int can = 0;
    int cannot = 0;
    for (int k = 0; k < TERN_PLAN_KINDS; k++) {
        tern_plan_kind kind = (tern_plan_kind)k;
        const char *window;
        const char *staged;
        for (int w = 0; tern__choice_reads(kind) && (window = tern_algo_name(kind, w)) != NULL;
             w++) {
            for (int s = 0; (staged = tern_algo_name(kind, s)) != NULL; s++) {
                for (int n = 2; n <= 8; n++) {
                    tern_tune_row row;
                    assert_int_equal(tern_tune_get_built_in(kind, n, &row), TERN_OK);
                    snprintf(row.window, sizeof row.window, "%s", window);
                    snprintf(row.staged, sizeof row.staged, "%s", staged);
                    row.small_bytes = 0;
                    row.direct_from = 0;
                    row.direct_to = 0;
                    if (tern_tune_use(&row, 1) != TERN_OK) {
                        continue;
                    }
                    tern_coll_choice choice;
                    tern_coll call = {.kind = (tern_coll_kind)kind,
                                      .count = 1 << 20,
                                      .dtype = TERN_F32};
                    setenv("TERN_DIRECT", "1", 1);
                    assert_int_equal(tern_coll_select(&call, n, 0, &choice), TERN_OK);
                    unsetenv("TERN_DIRECT");
                    bool goes = strcmp(choice.way, "direct") == 0;
                    row.direct_from = 1;
                    int status = tern_tune_use(&row, 1);
                    if (status != (goes ? TERN_OK : TERN_ERR_ARG)) {
                        fail_msg("%s, %d ranks, window %s, staged %s: goes %s, the row is %s",
                                 tern_plan_kind_name(kind), n, window, staged, choice.way,
                                 status == TERN_OK ? "used" : tern_last_error());
                    }
                    can += goes;
                    cannot += !goes;
                }
            }
        }
    }
    assert_true(can > 50 && cannot > 50);
}

static void rows_of_sums_are_refused(void **state)
{
    tern_tune_row row;
    assert_int_equal(tern_tune_get_built_in(TERN_PLAN_ALL_REDUCE, 4, &row), TERN_OK);
    row.direct_from = 1;
    assert_int_equal(tern_tune_use(&row, 1), TERN_ERR_ARG);
    assert_true(look_says("all_reduce cannot go 'direct'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_may_say_from_and_to),
        cmocka_unit_test(damaged_rows_are_refused_with_the_place),
        cmocka_unit_test(a_row_is_used_and_the_environment_comes_before_it),
        cmocka_unit_test(what_a_row_leaves_out_is_built_in),
        cmocka_unit_test(what_can_go_direct_may_say_so),
        cmocka_unit_test(rows_of_sums_are_refused),
    };
    setenv("TERN_TUNE", "", 1);
    unsetenv("TERN_ALGO");
    unsetenv("TERN_DIRECT");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
