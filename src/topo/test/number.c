// SPDX-License-Identifier: Apache-2.0
// Numbers are read by JSON's grammar and written as short as they can be read back.
#include "support/cmocka.h"
#include <limits.h>
#include <math.h>
#include <string.h>

#include "topo/topo.h"

static void whole_numbers_stop_behind_their_digits(void **state)
{
    const char *at = "12x8";
    int value = -1;
    assert_true(tern__topo_read_whole(&at, &value));
    assert_int_equal(value, 12);
    assert_string_equal(at, "x8");
    at = "0";
    assert_true(tern__topo_read_whole(&at, &value));
    assert_int_equal(value, 0);
}

static void whole_numbers_beyond_int_are_its_maximum(void **state)
{
    static const char *const large[] = {"2147483647", "2147483648", "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        const char *at = large[i];
        int value = -1;
        assert_true(tern__topo_read_whole(&at, &value));
        assert_int_equal(value, INT_MAX);
        assert_string_equal(at, "");
    }
    const char *at = "2147483646";
    int value = -1;
    assert_true(tern__topo_read_whole(&at, &value));
    assert_int_equal(value, INT_MAX - 1);
}

static void what_is_no_whole_number_is_refused_and_not_consumed(void **state)
{
    static const char *const bad[] = {"", "-1", "+1", " 1", "01", "00", "x", ".5"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *at = bad[i];
        int value = -7;
        if (tern__topo_read_whole(&at, &value) || at != bad[i] || value != -7) {
            fail_msg("'%s' was taken as %d", bad[i], value);
        }
    }
}

static void numbers_have_the_value_they_state(void **state)
{
    static const struct {
        const char *text;
        double value;
        const char *rest;
    } good[] = {
        {"0", 0, ""},      {"0.5", 0.5, ""},   {"18.3,", 18.3, ","}, {"-2", -2, ""},
        {"1e3", 1000, ""}, {"1E+3", 1000, ""}, {"25e-1", 2.5, ""},   {"1e400", INFINITY, ""},
        {"1e-400", 0, ""}, {"7nan", 7, "nan"}, {"1.5.5", 1.5, ".5"},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        const char *at = good[i].text;
        double value = -77;
        bool read = tern__topo_read_number(&at, &value);
        if (!read || !(value == good[i].value) || strcmp(at, good[i].rest) != 0) {
            fail_msg("'%s' gives %g and leaves '%s'", good[i].text, value, at);
        }
    }
}

static void what_is_no_number_is_refused_and_not_consumed(void **state)
{
    static const char *const bad[] = {"0x10", "",   "nan", "inf", "infinity", " 1", "+1",  ".5",
                                      "1.",   "1e", "1e+", "-",   "--1",      "01", "-01", "1.e5"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *at = bad[i];
        double value = -77;
        if (tern__topo_read_number(&at, &value) || at != bad[i] || !(value == -77)) {
            fail_msg("'%s' was taken as %g", bad[i], value);
        }
    }
}

static void written_numbers_are_short_and_read_back_the_same(void **state)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {{0.5, "0.5"},
                {0.1, "0.1"},
                {2, "2"},
                {1e6, "1e+06"},
                {1.0 / 3, "0.3333333333333333"},
                {0.1 * 3, "0.30000000000000004"},
                {18.3, "18.3"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[32];
        tern__topo_write_number(rows[i].value, text);
        assert_string_equal(text, rows[i].text);
        const char *at = text;
        double again = -1;
        assert_true(tern__topo_read_number(&at, &again));
        assert_true(again == rows[i].value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_stop_behind_their_digits),
        cmocka_unit_test(whole_numbers_beyond_int_are_its_maximum),
        cmocka_unit_test(what_is_no_whole_number_is_refused_and_not_consumed),
        cmocka_unit_test(numbers_have_the_value_they_state),
        cmocka_unit_test(what_is_no_number_is_refused_and_not_consumed),
        cmocka_unit_test(written_numbers_are_short_and_read_back_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
