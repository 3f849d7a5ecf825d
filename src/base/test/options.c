// SPDX-License-Identifier: Apache-2.0
// Options: whole numbers are read strictly, and so is TERN_TIMEOUT; a damaged one is an error with
// a sentence, never a silent default.
#include "support/cmocka.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/options.h"
#include "tern/comm.h"
#include "tern/status.h"

static int64_t timeout_with(const char *text, int64_t given_ns)
{
    int64_t timeout_ns = -77;
    if (text != NULL) {
        setenv("TERN_TIMEOUT", text, 1);
    } else {
        unsetenv("TERN_TIMEOUT");
    }
    int status = tern__timeout_option(given_ns, &timeout_ns);
    if (status != TERN_OK) {
        assert_int_equal(timeout_ns, -77); // outputs are written on success only
        return status;
    }
    return timeout_ns;
}

static void a_given_timeout_wins(void **state)
{
    assert_int_equal(timeout_with("5", 1), 1);
    assert_int_equal(timeout_with("nonsense", 250), 250);
    assert_int_equal(timeout_with(NULL, INT64_MAX), INT64_MAX);
}

static void without_any_the_timeout_is_60_seconds(void **state)
{
    assert_int_equal(timeout_with(NULL, 0), INT64_C(60000000000));
    assert_int_equal(timeout_with("", 0), INT64_C(60000000000));
}

static void the_environment_is_read_in_seconds(void **state)
{
    assert_int_equal(timeout_with("60", 0), INT64_C(60000000000));
    assert_int_equal(timeout_with("0.5", 0), INT64_C(500000000));
    assert_int_equal(timeout_with("0.25", 0), INT64_C(250000000));
    assert_int_equal(timeout_with(".5", 0), INT64_C(500000000));
    assert_int_equal(timeout_with("1000000000", 0), INT64_C(1000000000000000000));
    assert_int_equal(timeout_with("0.0000000001", 0), 1); // never rounds down to none
}

static void the_silence_of_a_machine_is_read_alike(void **state)
{
    int64_t silent_ns;
    unsetenv("TERN_NET_TIMEOUT");
    assert_int_equal(tern__net_timeout_option(&silent_ns), TERN_OK);
    assert_int_equal(silent_ns, INT64_C(1000000000));
    setenv("TERN_NET_TIMEOUT", "2.5", 1);
    assert_int_equal(tern__net_timeout_option(&silent_ns), TERN_OK);
    assert_int_equal(silent_ns, INT64_C(2500000000));
    setenv("TERN_NET_TIMEOUT", "0", 1);
    assert_int_equal(tern__net_timeout_option(&silent_ns), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "TERN_NET_TIMEOUT is '0'"));
    unsetenv("TERN_NET_TIMEOUT");
}

static void a_damaged_environment_is_refused_with_its_text(void **state)
{
    static const char *const bad[] = {"0",    "0.0", "-1",   "-0.5", "nan",  "inf", "infinity",
                                      "1e10", "5s",  "5 ",   " 5",   "fast", "1,5", "--1",
                                      "0x10", ".",   "1..5", "1.5.", "5\n",  "+5",  "1000000001"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t status = timeout_with(bad[i], 0);
        if (status != TERN_ERR_ARG) {
            fail_msg("TERN_TIMEOUT='%s' gives %lld", bad[i], (long long)status);
        }
        assert_non_null(strstr(tern_last_error(), "TERN_TIMEOUT is '"));
        assert_non_null(strstr(tern_last_error(), bad[i]));
    }
}

static void never_is_a_deadline_that_does_not_come(void **state)
{
    assert_true(timeout_with("never", 0) == TERN_TIMEOUT_NEVER);
    assert_int_equal(timeout_with("never", 5), 5);
    assert_true(timeout_with("5", TERN_TIMEOUT_NEVER) == TERN_TIMEOUT_NEVER);
    assert_int_equal(timeout_with("Never", 0), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "never"));
    assert_true(tern__deadline_after(TERN_TIMEOUT_NEVER) == INT64_MAX);
}

static void a_negative_timeout_is_refused(void **state)
{
    assert_int_equal(timeout_with(NULL, -1), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "-1"));
    assert_int_equal(timeout_with(NULL, INT64_MIN), TERN_ERR_ARG);
}

static void whole_numbers_are_read(void **state)
{
    static const struct {
        const char *text;
        long value;
    } good[] = {{"0", 0}, {"7", 7}, {"-3", -3}, {"0012", 12}, {"100", 100}, {"-100", -100}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        long value = 12345;
        assert_int_equal(tern__parse_integer(good[i].text, -100, 100, &value), 0);
        assert_int_equal(value, good[i].value);
    }
    long value;
    assert_int_equal(tern__parse_integer("9223372036854775807", LONG_MIN, LONG_MAX, &value), 0);
    assert_true(value == LONG_MAX);
    assert_int_equal(tern__parse_integer("-9223372036854775808", LONG_MIN, LONG_MAX, &value), 0);
    assert_true(value == LONG_MIN);
}

static void anything_but_a_whole_number_in_range_is_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "-",
                                      "+5",
                                      " 5",
                                      "5 ",
                                      "5x",
                                      "x",
                                      "0x5",
                                      "1.0",
                                      "1e1",
                                      "- 5",
                                      "--5",
                                      "101",
                                      "-101",
                                      "\t5",
                                      "5\n",
                                      "9223372036854775808",
                                      "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        long value = 12345;
        if (tern__parse_integer(bad[i], -100, 100, &value) != -1) {
            fail_msg("'%s' was taken for %ld", bad[i], value);
        }
        assert_int_equal(value, 12345);
    }
    long value = 12345;
    assert_int_equal(tern__parse_integer(NULL, -100, 100, &value), -1);
    assert_int_equal(tern__parse_integer("9223372036854775808", LONG_MIN, LONG_MAX, &value), -1);
    assert_int_equal(tern__parse_integer("-9223372036854775809", LONG_MIN, LONG_MAX, &value), -1);
    assert_int_equal(value, 12345);
}

static void parts_of_a_core_have_three_words(void **state)
{
    static const struct {
        const char *word;
        enum tern__dump core;
    } words[] = {{"", TERN__DUMP_OWN},
                 {"own", TERN__DUMP_OWN},
                 {"all", TERN__DUMP_ALL},
                 {"none", TERN__DUMP_NONE}};
    enum tern__dump core = TERN__DUMP_NONE;
    unsetenv("TERN_CORE");
    assert_int_equal(tern__dump_option(&core), TERN_OK);
    assert_int_equal(core, TERN__DUMP_OWN);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        setenv("TERN_CORE", words[i].word, 1);
        assert_int_equal(tern__dump_option(&core), TERN_OK);
        assert_int_equal(core, words[i].core);
    }
    setenv("TERN_CORE", "everything", 1);
    assert_int_equal(tern__dump_option(&core), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "TERN_CORE is 'everything'"));
    unsetenv("TERN_CORE");
}

static void direct_is_on_or_off_or_a_size(void **state)
{
    static const struct {
        const char *text;
        uint64_t from;
    } rows[] = {{"", TERN__DIRECT_ON},
                {"on", TERN__DIRECT_ON},
                {"off", TERN__DIRECT_OFF},
                {"1", 1},
                {"65536", 65536}};
    static const char *const wrong[] = {"0", "-1", "yes", "64K", "on ", "99999999999999999999"};
    uint64_t from = 77;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        setenv("TERN_DIRECT", rows[i].text, 1);
        assert_int_equal(tern__direct_option(&from), TERN_OK);
        assert_true(from == rows[i].from);
    }
    from = 77;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        setenv("TERN_DIRECT", wrong[i], 1);
        assert_int_equal(tern__direct_option(&from), TERN_ERR_ARG);
        assert_non_null(strstr(tern_last_error(), wrong[i]));
        assert_true(from == 77);
    }
    unsetenv("TERN_DIRECT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_given_timeout_wins),
        cmocka_unit_test(without_any_the_timeout_is_60_seconds),
        cmocka_unit_test(the_environment_is_read_in_seconds),
        cmocka_unit_test(the_silence_of_a_machine_is_read_alike),
        cmocka_unit_test(a_damaged_environment_is_refused_with_its_text),
        cmocka_unit_test(never_is_a_deadline_that_does_not_come),
        cmocka_unit_test(a_negative_timeout_is_refused),
        cmocka_unit_test(whole_numbers_are_read),
        cmocka_unit_test(anything_but_a_whole_number_in_range_is_refused),
        cmocka_unit_test(parts_of_a_core_have_three_words),
        cmocka_unit_test(direct_is_on_or_off_or_a_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
