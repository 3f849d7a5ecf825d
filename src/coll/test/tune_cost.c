// SPDX-License-Identifier: Apache-2.0
// The rows of a tune file about what ops cost: read, refused, printed, and what lies between them.
#include "support/cmocka.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coll/tune.h"
#include "tern/comm.h"

#define HEAD "tern-tune 1\n"
#define ROW "all_reduce ranks 2 small one_shot 4096 window fused staged staged 65536\n"
#define COST "cost ranks 2 processors 2 begin 310 meet 290 op 41 post 152 wake 0\n"
#define RATES                                                                                      \
    "rate 65536 copy 60000 fresh 8000 reduce 20000 30000 60000 60000\n"                            \
    "rate 262144 copy 15000 fresh 2000 reduce 5000 7500 15000 15000\n"

static int parse(const char *text, struct tern__tune *tune)
{
    return tern__tune_parse(text, strlen(text), "t", tune);
}

static void costs_are_read_beside_rows(void **state)
{
    struct tern__tune tune;
    (void)state;
    assert_int_equal(parse(HEAD COST RATES ROW
                           "cost ranks 8 processors 2 begin 0 meet 0 op 0 post 0 wake 7 # none\n",
                           &tune),
                     TERN_OK);
    assert_int_equal(tune.count, 1);
    assert_int_equal(tune.costs_count, 2);
    const tern_tune_cost *cost = &tune.costs[0];
    assert_true(cost->nranks == 2 && cost->processors == 2 && cost->rates_count == 2);
    assert_true(cost->begin_us == 0.31 && cost->meet_us == 0.29 && cost->op_us == 0.041 &&
                cost->post_us == 0.152 && cost->wake_us == 0);
    assert_true(cost->rates[1].reduce_GBps[1] == 7.5 && cost->rates[0].copy_GBps == 60);
    assert_true(tune.costs[1].nranks == 8 && tune.costs[1].wake_us == 0.007);
    char lines[TERN_TUNE_COST_BYTES];
    assert_int_equal(tern_tune_print_cost(cost, lines, sizeof lines), strlen(COST RATES));
    assert_string_equal(lines, COST RATES);
    assert_int_equal(tern_tune_print_cost(cost, NULL, 0), strlen(COST RATES));
    tern__tune_free(&tune);
}

static void between_two_rates_is_a_line_of_logarithms(void **state)
{
    struct tern__tune tune;
    (void)state;
    assert_int_equal(parse(HEAD COST RATES, &tune), TERN_OK);
    assert_true(tern_tune_rate_at(tune.costs, 1).copy_GBps == 60);
    assert_true(tern_tune_rate_at(tune.costs, 65536).copy_GBps == 60);
    assert_true(fabs(tern_tune_rate_at(tune.costs, 131072).copy_GBps - 30) < 1e-9);
    assert_true(fabs(tern_tune_rate_at(tune.costs, 131072).fresh_GBps - 4) < 1e-9);
    assert_true(fabs(tern_tune_rate_at(tune.costs, 131072).reduce_GBps[0] - 10) < 1e-9);
    assert_true(tern_tune_rate_at(tune.costs, UINT64_C(1) << 40).copy_GBps == 15);
    tern__tune_free(&tune);
}

static void assert_refused(const char *text, const char *sentence)
{
    struct tern__tune tune;
    assert_int_equal(parse(text, &tune), TERN_ERR_ARG);
    if (strstr(tern_last_error(), sentence) == NULL) {
        fail_msg("'%s' does not say: %s", tern_last_error(), sentence);
    }
}

static void wrong_rows_are_sentences(void **state)
{
    (void)state;
    assert_refused(HEAD RATES, "t:2:1: a rate stands behind the 'cost'");
    assert_refused(HEAD COST COST, "t:3:1: there are costs of 2 ranks already");
    assert_refused(HEAD COST RATES RATES, "t:5:1: rates are ascending");
    assert_refused(HEAD "cost ranks 65 ", "t:2:12: expected a number of ranks from 1 to 64");
    assert_refused(HEAD "cost ranks 2 op 1", "t:2:14: expected 'processors', not 'op'");
    assert_refused(HEAD "cost ranks 2 processors 2 begin 310 meet 290 op 1.5",
                   "expected nanoseconds");
    assert_refused(HEAD COST "rate 1 copy 0", "expected MB/s from 1");
    assert_refused(HEAD COST "rate 1 copy 1 fresh 1 reduce 1 1 1 1 1",
                   "expected the end of the line");
    assert_refused(HEAD COST "rate 1 copy 1 fresh 1 reduce 1 1 1", "the line ends; expected: MB/s");
}

// The file that TERN_TUNE names is read at the first question of a process.
static void what_was_not_measured_is_said(void **state)
{
    tern_tune_cost cost;
    (void)state;
    setenv("TERN_TUNE", "", 1);
    assert_int_equal(tern_tune_get_cost(3, &cost), TERN_ERR_STATE);
    assert_non_null(strstr(tern_last_error(), "'tern tune -p 3'"));
    assert_int_equal(tern_tune_get_cost(0, &cost), TERN_ERR_ARG);
    assert_int_equal(tern_tune_get_cost(3, NULL), TERN_ERR_ARG);
    int count;
    assert_int_equal(tern_tune_load_costs(NULL, NULL, &count), TERN_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_are_read_beside_rows),
        cmocka_unit_test(between_two_rates_is_a_line_of_logarithms),
        cmocka_unit_test(wrong_rows_are_sentences),
        cmocka_unit_test(what_was_not_measured_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
