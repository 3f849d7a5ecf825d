// SPDX-License-Identifier: Apache-2.0
// The tables of status codes and element types: numbers that never change, names, and what is said
// of a number or a word that is in neither.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tern/dtype.h"
#include "tern/status.h"

// Written out a second time on purpose: these are promises to who has stored a number.
static const struct {
    int number;
    const char *name;
    const char *text;
} statuses[] = {
    {0, "TERN_OK", "success"},
    {-1, "TERN_ERR_ARG", "invalid argument"},
    {-2, "TERN_ERR_MEMORY", "not enough memory"},
    {-3, "TERN_ERR_SYSTEM", "a system call failed"},
    {-4, "TERN_ERR_TIMEOUT", "the deadline passed"},
    {-5, "TERN_ERR_PEER", "a rank died"},
    {-6, "TERN_ERR_LEFT", "a rank has left the communicator"},
    {-7, "TERN_ERR_MISMATCH", "the ranks disagree"},
    {-8, "TERN_ERR_STATE", "not possible in this state"},
    {-9, "TERN_ERR_LIMIT", "beyond a limit of this build"},
    {-10, "TERN_ERR_REFUSED", "refused by the rendezvous"},
    {-11, "TERN_ERR_CYCLE", "the graph has a cycle"},
    {-12, "TERN_ERR_KERNEL", "a kernel is unknown or failed"},
};

static const struct {
    int number;
    const char *word;
    size_t size_bytes;
} dtypes[] = {
    {0, "f32", 4}, {1, "f16", 2}, {2, "bf16", 2}, {3, "f64", 8}, {4, "i8", 1},   {5, "i16", 2},
    {6, "i32", 4}, {7, "i64", 8}, {8, "u8", 1},   {9, "u16", 2}, {10, "u32", 4}, {11, "u64", 8},
};

enum {
    STATUSES = sizeof statuses / sizeof statuses[0],
    DTYPES = sizeof dtypes / sizeof dtypes[0],
};

static void every_status_has_its_name_and_text(void **state)
{
    for (int i = 0; i < STATUSES; i++) {
        assert_string_equal(tern_status_name(statuses[i].number), statuses[i].name);
        assert_string_equal(tern_status_text(statuses[i].number), statuses[i].text);
    }
    assert_int_equal(TERN_OK, 0);
    assert_int_equal(TERN_ERR_PEER, -5);
    assert_int_equal(TERN_ERR_KERNEL, -12);
}

static void a_number_that_is_no_status_is_said_to_be_none(void **state)
{
    static const int strangers[] = {1, -STATUSES, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(tern_status_name(strangers[i]), "no status of tern");
        assert_string_equal(tern_status_text(strangers[i]), "no status of tern");
    }
}

static void every_dtype_has_its_number_word_and_size(void **state)
{
    for (int i = 0; i < DTYPES; i++) {
        tern_dtype dtype = (tern_dtype)dtypes[i].number;
        assert_int_equal(tern_dtype_size(dtype), dtypes[i].size_bytes);
        assert_string_equal(tern_dtype_name(dtype), dtypes[i].word);
        tern_dtype parsed = (tern_dtype)-1;
        assert_int_equal(tern_dtype_parse(dtypes[i].word, &parsed), TERN_OK);
        assert_int_equal(parsed, dtypes[i].number);
    }
    assert_int_equal(TERN_F32, 0);
    assert_int_equal(TERN_U64, DTYPES - 1);
}

static void a_number_that_is_no_dtype_has_no_size(void **state)
{
    static const int strangers[] = {-1, DTYPES, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(tern_dtype_size((tern_dtype)strangers[i]), 0);
        assert_string_equal(tern_dtype_name((tern_dtype)strangers[i]), "unknown dtype");
    }
}

static void a_word_that_is_no_dtype_is_answered_with_those_that_are(void **state)
{
    static const char *const words[] = {"", "f8", "F32", "f32 ", "f3", "f322", "bf16,f16"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        tern_dtype parsed = TERN_I8;
        assert_int_equal(tern_dtype_parse(words[i], &parsed), TERN_ERR_ARG);
        assert_int_equal(parsed, TERN_I8); // outputs are written on success only
        for (int j = 0; j < DTYPES; j++) {
            assert_non_null(strstr(tern_last_error(), dtypes[j].word));
        }
    }
}

static void parsing_a_dtype_refuses_null(void **state)
{
    tern_dtype parsed = TERN_I8;
    assert_int_equal(tern_dtype_parse(NULL, &parsed), TERN_ERR_ARG);
    assert_int_equal(tern_dtype_parse("f32", NULL), TERN_ERR_ARG);
    assert_int_equal(parsed, TERN_I8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_name_and_text),
        cmocka_unit_test(a_number_that_is_no_status_is_said_to_be_none),
        cmocka_unit_test(every_dtype_has_its_number_word_and_size),
        cmocka_unit_test(a_number_that_is_no_dtype_has_no_size),
        cmocka_unit_test(a_word_that_is_no_dtype_is_answered_with_those_that_are),
        cmocka_unit_test(parsing_a_dtype_refuses_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
