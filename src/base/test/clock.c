// SPDX-License-Identifier: Apache-2.0
// The clock: deadlines never overflow, and their milliseconds for poll(2) never end too early.
#include "support/cmocka.h"
#include "base/clock.h"

static void the_clock_never_runs_back(void **state)
{
    int64_t before = tern__now_ns();
    for (int i = 0; i < 100000; i++) {
        int64_t now = tern__now_ns();
        assert_true(now >= before);
        before = now;
    }
}

static void a_deadline_lies_its_duration_ahead(void **state)
{
    int64_t before = tern__now_ns();
    int64_t deadline = tern__deadline_after(TERN_NS_PER_SECOND);
    int64_t after = tern__now_ns();
    assert_true(deadline >= before + TERN_NS_PER_SECOND);
    assert_true(deadline <= after + TERN_NS_PER_SECOND);
}

static void an_endless_deadline_does_not_overflow(void **state)
{
    assert_true(tern__deadline_after(INT64_MAX) == INT64_MAX);
    assert_true(tern__deadline_after(INT64_MAX - 1) == INT64_MAX);
    assert_int_equal(tern__deadline_ms(INT64_MAX, 1000), 1000);
}

static void a_negative_duration_counts_as_none(void **state)
{
    int64_t before = tern__now_ns();
    int64_t deadline = tern__deadline_after(INT64_MIN);
    assert_true(deadline >= before && deadline <= tern__now_ns());
}

static void milliseconds_are_rounded_up_and_limited(void **state)
{
    int64_t now = tern__now_ns();
    assert_int_equal(tern__deadline_ms(now - 1, 1000), 0);
    assert_int_equal(tern__deadline_ms(0, 1000), 0);
    assert_int_equal(tern__deadline_ms(now + 3600 * TERN_NS_PER_SECOND, 500), 500);
    assert_int_equal(tern__deadline_ms(now + 3600 * TERN_NS_PER_SECOND, 0), 0);
    // Rounded up: after that many milliseconds the deadline has passed.
    int64_t deadline = tern__now_ns() + 3600 * TERN_NS_PER_SECOND + 500000;
    int64_t before = tern__now_ns();
    int ms = tern__deadline_ms(deadline, INT32_MAX);
    assert_true(tern__now_ns() + ms * TERN_NS_PER_MS >= deadline);
    assert_true(before + (ms - 1) * TERN_NS_PER_MS <= deadline);
}

static void a_timespec_holds_the_same_duration(void **state)
{
    static const int64_t durations[] = {0, 1, 999999999, 1000000000, 1234567890123, INT64_MAX};
    for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++) {
        struct timespec spec = tern__timespec(durations[i]);
        assert_true(spec.tv_nsec >= 0 && spec.tv_nsec < TERN_NS_PER_SECOND);
        assert_true((int64_t)spec.tv_sec * TERN_NS_PER_SECOND + spec.tv_nsec == durations[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_never_runs_back),
        cmocka_unit_test(a_deadline_lies_its_duration_ahead),
        cmocka_unit_test(an_endless_deadline_does_not_overflow),
        cmocka_unit_test(a_negative_duration_counts_as_none),
        cmocka_unit_test(milliseconds_are_rounded_up_and_limited),
        cmocka_unit_test(a_timespec_holds_the_same_duration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
