// SPDX-License-Identifier: Apache-2.0
// From one clock to another: answers over an uneven network against clocks that are known, drift,
// what no drift explains, times before and behind, and words.
#include "support/cmocka.h"
#include <string.h>

#include "base/clock.h"
#include "base/clock_line.h"
#include "support/random.h"

static uint64_t seed;

// The other clock: `apart` ahead at 0, and faster by `ppm` millionths.
static int64_t other(int64_t time_ns, int64_t apart_ns, int ppm)
{
    return time_ns + apart_ns + time_ns / 1000000 * ppm;
}

// Round trips of 100 to 400 us that take each way differently long.
static struct tern__clock_point ask(int64_t at_ns, int64_t apart_ns, int ppm)
{
    struct tern__clock_point point = {0};
    for (int i = 0; i < TERN__CLOCK_QUESTIONS; i++) {
        int64_t there_ns = 50000 + (int64_t)(random_next(&seed) % 150000);
        int64_t back_ns = 50000 + (int64_t)(random_next(&seed) % 150000);
        int64_t heard_ns = at_ns + there_ns;
        tern__clock_answer(&point, at_ns, other(heard_ns, apart_ns, ppm), heard_ns + back_ns);
        at_ns = heard_ns + back_ns;
    }
    return point;
}

static int64_t distance(int64_t a, int64_t b)
{
    return a < b ? b - a : a - b;
}

static void times_are_as_exact_as_is_said(void **state)
{
    static const int64_t aparts[] = {0, 3 * TERN_NS_PER_SECOND, -7777777,
                                     INT64_C(400000) * TERN_NS_PER_SECOND};
    static const int drifts[] = {0, 20, -50, 499, -499};
    for (size_t a = 0; a < sizeof aparts / sizeof aparts[0]; a++) {
        for (size_t d = 0; d < sizeof drifts / sizeof drifts[0]; d++) {
            int64_t start_ns = INT64_C(43210) * TERN_NS_PER_SECOND;
            int64_t end_ns = start_ns + 100 * TERN_NS_PER_SECOND;
            struct tern__clock_line line = tern__clock_line(ask(start_ns, aparts[a], drifts[d]),
                                                            ask(end_ns, aparts[a], drifts[d]));
            assert_true(tern__clock_line_known(&line));
            assert_in_range(tern__clock_line_error_ns(&line), 50000, 200000);
            struct tern__clock_line back = tern__clock_line_inverse(&line);
            int64_t before_ns = 0;
            for (int64_t at_ns = start_ns; at_ns <= end_ns; at_ns += TERN_NS_PER_SECOND / 3) {
                int64_t told_ns = tern__clock_line_map(&line, at_ns);
                // A few ns more: a clock that drifts is not even during one question.
                assert_true(distance(told_ns, other(at_ns, aparts[a], drifts[d])) <=
                            tern__clock_line_error_ns(&line) + 2000);
                assert_true(told_ns > before_ns);
                assert_true(distance(tern__clock_line_map(&back, told_ns), at_ns) <= 500);
                before_ns = told_ns;
            }
        }
    }
}

static void the_shortest_round_trip_counts(void **state)
{
    struct tern__clock_point point = {0};
    tern__clock_answer(&point, 1000, 5600, 2000);
    tern__clock_answer(&point, 3000, 7049, 3100);
    tern__clock_answer(&point, 4000, 9000, 5000);
    tern__clock_answer(&point, 6000, 100, 5000); // a clock that goes back says nothing
    assert_int_equal(point.answers, 3);
    assert_int_equal(point.error_ns, 50);
    assert_int_equal(point.at_ns, 3050);
    assert_int_equal(point.offset_ns, 3999);
}

// In a millisecond no clock gains 60 us: one way was slow.
static void what_no_clock_does_is_no_drift(void **state)
{
    struct tern__clock_point begin = {1000000, 5000, 70000, 16};
    struct tern__clock_point end = {2000000, 65000, 20000, 16};
    struct tern__clock_line line = tern__clock_line(begin, end);
    assert_int_equal(tern__clock_line_map(&line, 0), 65000);
    assert_int_equal(tern__clock_line_map(&line, 3000000), 3065000);
    assert_int_equal(tern__clock_line_error_ns(&line), 20000);
    end.offset_ns = 5900; // that it may
    line = tern__clock_line(begin, end);
    assert_int_equal(tern__clock_line_map(&line, 1500000), 1505450);
    assert_int_equal(tern__clock_line_map(&line, 500000), 505000); // before and behind it stays
    assert_int_equal(tern__clock_line_map(&line, 9000000), 9005900);
    assert_int_equal(tern__clock_line_error_ns(&line), 70000);
}

static void one_point_or_none(void **state)
{
    struct tern__clock_point none = {0};
    struct tern__clock_point one = {100, -30, 5, 1};
    struct tern__clock_line line = tern__clock_line(none, none);
    assert_false(tern__clock_line_known(&line));
    assert_int_equal(tern__clock_line_map(&line, 77), 77);
    line = tern__clock_line(one, none);
    assert_int_equal(tern__clock_line_map(&line, 1000), 970);
    line = tern__clock_line(none, one);
    assert_int_equal(tern__clock_line_map(&line, 1000), 970);
}

static void words(void **state)
{
    char text[160];
    struct tern__clock_point begin = {1000, -3000012345678, 21000, 16};
    struct tern__clock_point end = {12300001000, -3000012349000, 20000, 16};
    struct tern__clock_line line = {begin, end};
    tern__clock_line_text(&line, "the head's", text, sizeof text);
    assert_string_equal(text, "3000.012346 s ahead of the head's, to 0.000021 s; it gained "
                              "0.000003 s in 12.3 s");
    struct tern__clock_line back = tern__clock_line_inverse(&line);
    tern__clock_line_text(&back, "it", text, sizeof text);
    assert_string_equal(text, "3000.012346 s behind it, to 0.000021 s; it lost 0.000003 s in 12.3 "
                              "s");
    line.end = line.begin;
    tern__clock_line_text(&line, "it", text, sizeof text);
    assert_string_equal(text, "3000.012346 s ahead of it, to 0.000021 s");
    line = (struct tern__clock_line){0};
    tern__clock_line_text(&line, "it", text, sizeof text);
    assert_string_equal(text, "not known");
}

int main(void)
{
    seed = random_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_as_exact_as_is_said),
        cmocka_unit_test(the_shortest_round_trip_counts),
        cmocka_unit_test(what_no_clock_does_is_no_drift),
        cmocka_unit_test(one_point_or_none),
        cmocka_unit_test(words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
