// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Which of two ways has been faster: the decision alone, with given times.
#include "support/cmocka.h"

#include "coll/call/learned.h"

enum { BEGIN = 10, BOTH = TERN__LEARNED_ROWS * TERN__LEARNED_ROW };

// Calls of one class.
struct run {
    struct tern__learned l;
    uint32_t time; // of the call before, if it was timed
};

// One call; its way.
static bool make(struct run *run, bool guess, const uint32_t times[2], bool counts)
{
    bool timed = counts && run->l.next_timed;
    struct tern__learned_plan plan = {guess, BEGIN, TERN__LEARNED_ROW};
    bool way = tern__learned_decide(&run->l, plan, counts);
    tern__learned_take(&run->l, way, run->time);
    run->time = timed ? times[way] : 0;
    return way;
}

// How many of so many calls go direct.
static int count_direct(struct run *run, bool guess, const uint32_t times[2], int calls)
{
    int direct = 0;
    for (int call = 0; call < calls; call++) {
        direct += make(run, guess, times, true);
    }
    return direct;
}

static void first_the_guess_then_both_then_the_faster_one(void **state)
{
    for (int guess = 0; guess < 2; guess++) {
        for (int faster = 0; faster < 2; faster++) {
            const uint32_t times[2] = {faster != 0 ? 200 : 100, faster != 0 ? 100 : 200};
            struct run run = {0};
            assert_int_equal(count_direct(&run, guess, times, BEGIN), guess != 0 ? BEGIN : 0);
            assert_int_equal(count_direct(&run, guess, times, BOTH), BOTH / 2);
            assert_int_equal(run.l.preferred, faster);
            int direct = count_direct(&run, guess, times, 3000);
            int slower = faster != 0 ? 3000 - direct : direct;
            assert_in_range(slower, TERN__LEARNED_ROW, 12 * TERN__LEARNED_ROW);
        }
    }
}

static void what_becomes_slower_is_left(void **state)
{
    static const uint32_t first[2] = {100, 200};
    static const uint32_t later[2] = {400, 200};
    static const uint32_t last[2] = {400, 2000};
    struct run run = {0};
    count_direct(&run, false, first, 2000);
    assert_false(run.l.preferred);
    count_direct(&run, false, later, 100);
    assert_true(run.l.preferred);
    count_direct(&run, false, last, 100);
    assert_false(run.l.preferred);
}

// Calls that are held up now and then, and ways that are nearly as fast.
static void single_calls_and_little_do_not_matter(void **state)
{
    static const uint32_t usual[2] = {100, 96};
    static const uint32_t held[2] = {5000, 5000};
    struct run run = {0};
    count_direct(&run, false, usual, 100);
    for (int call = 0; call < 5000; call++) {
        make(&run, false, call % 48 == 7 ? held : usual, true);
        assert_false(run.l.preferred);
    }
}

// The call behind a change of ways is not what the way is compared by.
static void calls_behind_a_change_do_not_count(void **state)
{
    struct run run = {0};
    bool before = false;
    int same = 0;
    for (int call = 0; call < 2000; call++) {
        bool way = run.l.next;
        same = way == before ? same + 1 : 1;
        before = way;
        const uint32_t times[2] = {same <= TERN__LEARNED_LEFT ? 9000 : 200,
                                   same <= TERN__LEARNED_LEFT ? 9000 : 100};
        make(&run, false, times, true);
    }
    assert_true(run.l.preferred);
    for (int i = 0; i < TERN__LEARNED_TIMES; i++) {
        assert_int_equal(run.l.times[0][i], 200);
        assert_int_equal(run.l.times[1][i], 100);
    }
}

static void calls_that_are_not_timed_teach_nothing(void **state)
{
    static const uint32_t times[2] = {200, 100};
    struct run run = {0};
    for (int call = 0; call < 500; call++) {
        assert_false(make(&run, false, times, false));
    }
    assert_int_equal(run.l.taken[0] + run.l.taken[1], 0);
    count_direct(&run, false, times, 100);
    for (int call = 0; call < 500; call++) { // but follow what is known
        assert_true(make(&run, false, times, false) || call == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_the_guess_then_both_then_the_faster_one),
        cmocka_unit_test(what_becomes_slower_is_left),
        cmocka_unit_test(single_calls_and_little_do_not_matter),
        cmocka_unit_test(calls_behind_a_change_do_not_count),
        cmocka_unit_test(calls_that_are_not_timed_teach_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
