// SPDX-License-Identifier: Apache-2.0
// The table of operations: numbers that never change, words, bytes of an element, and what is said
// of a number or a word that is not in it.
#include "support/cmocka.h"
#include <stdio.h>
#include <string.h>

#include "tern/op.h"
#include "tern/status.h"

// Written out a second time on purpose: these are promises to who has stored a number.
static const char *const words[] = {"sum", "prod", "max",    "min",    "avg",     "and",
                                    "or",  "xor",  "minloc", "maxloc", "function"};

enum { OPS = sizeof words / sizeof words[0], NUMBERS = 12, DTYPES = 17 };

static void every_op_has_its_number_and_word(void **state)
{
    for (int i = 0; i < OPS; i++) {
        tern_reduce_op op = (tern_reduce_op)-1;
        assert_string_equal(tern_reduce_op_name((tern_reduce_op)i), words[i]);
        assert_int_equal(tern_reduce_op_parse(words[i], &op), TERN_OK);
        assert_int_equal(op, i);
    }
    assert_int_equal(TERN_SUM, 0);
    assert_int_equal(TERN_MAX, 2);
    assert_int_equal(TERN_MIN, 3);
    assert_int_equal(TERN_FUNCTION, OPS - 1);
}

static void a_number_that_is_no_op_is_said_to_be_none(void **state)
{
    static const int strangers[] = {-1, OPS, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(tern_reduce_op_name((tern_reduce_op)strangers[i]), "unknown op");
        assert_int_equal(tern_reduce_element_bytes(TERN_I32, (tern_reduce_op)strangers[i]), 0);
    }
}

static void a_word_that_is_no_op_is_answered_with_those_that_are(void **state)
{
    static const char *const strangers[] = {"", "SUM", "sum ", "su", "summ", "sum,prod", "mean"};
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        tern_reduce_op op = TERN_XOR;
        char sentence[256];
        assert_int_equal(tern_reduce_op_parse(strangers[i], &op), TERN_ERR_ARG);
        assert_int_equal(op, TERN_XOR); // outputs are written on success only
        snprintf(sentence, sizeof sentence,
                 "'%s' is no operation; there are sum, prod, max, min, avg, and, or, xor, minloc, "
                 "maxloc, function",
                 strangers[i]);
        assert_string_equal(tern_last_error(), sentence);
    }
}

static void parsing_an_op_refuses_null(void **state)
{
    tern_reduce_op op = TERN_XOR;
    assert_int_equal(tern_reduce_op_parse(NULL, &op), TERN_ERR_ARG);
    assert_int_equal(tern_reduce_op_parse("sum", NULL), TERN_ERR_ARG);
    assert_int_equal(op, TERN_XOR);
}

// What the compiler makes of the pairs that tern/op.h describes.
#define PAIR(type)                                                                                 \
    sizeof(struct {                                                                                \
        type value;                                                                                \
        int32_t index;                                                                             \
    })

static void elements_have_the_bytes_of_their_dtype_or_of_their_pair(void **state)
{
    static const size_t pairs[NUMBERS] = {PAIR(float),    PAIR(uint16_t), PAIR(uint16_t),
                                         PAIR(double),   PAIR(int8_t),   PAIR(int16_t),
                                         PAIR(int32_t),  PAIR(int64_t),  PAIR(uint8_t),
                                         PAIR(uint16_t), PAIR(uint32_t), PAIR(uint64_t)};
    for (int i = 0; i < NUMBERS; i++) {
        tern_dtype dtype = (tern_dtype)i;
        size_t size = tern_dtype_size(dtype);
        size_t bitwise = i <= TERN_F64 ? 0 : size; // the floats come first
        const size_t expected[OPS] = {size,    size,    size,     size,     size, bitwise,
                                      bitwise, bitwise, pairs[i], pairs[i], size};
        for (int op = 0; op < OPS; op++) {
            assert_int_equal(tern_reduce_element_bytes(dtype, (tern_reduce_op)op), expected[op]);
        }
    }
}

static void what_is_only_moved_has_elements_for_the_callers_function_alone(void **state)
{
    for (int i = NUMBERS; i < DTYPES; i++) {
        for (int op = 0; op < OPS; op++) {
            size_t expected = op == TERN_FUNCTION ? tern_dtype_size((tern_dtype)i) : 0;
            assert_int_equal(tern_reduce_element_bytes((tern_dtype)i, (tern_reduce_op)op),
                             expected);
        }
    }
}

static void a_dtype_that_does_not_exist_has_no_elements(void **state)
{
    static const int strangers[] = {-1, DTYPES, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < 4; i++) {
        for (int op = 0; op < OPS; op++) {
            assert_int_equal(tern_reduce_element_bytes((tern_dtype)strangers[i],
                                                       (tern_reduce_op)op),
                             0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_its_number_and_word),
        cmocka_unit_test(a_number_that_is_no_op_is_said_to_be_none),
        cmocka_unit_test(a_word_that_is_no_op_is_answered_with_those_that_are),
        cmocka_unit_test(parsing_an_op_refuses_null),
        cmocka_unit_test(elements_have_the_bytes_of_their_dtype_or_of_their_pair),
        cmocka_unit_test(what_is_only_moved_has_elements_for_the_callers_function_alone),
        cmocka_unit_test(a_dtype_that_does_not_exist_has_no_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
