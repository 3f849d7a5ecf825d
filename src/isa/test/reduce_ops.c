// SPDX-License-Identifier: Apache-2.0
// What tern/op.h promises of single elements, at every level of the reduce kernels: NaN, signed
// zeros, infinities, rounding, wrap-around, ties, and which operations there are. The operands are
// written out, the answers too.
#include "support/cmocka.h"
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/half.h"
#include "isa/reduce.h"

enum { SOURCES_MAX = 8 };

typedef struct {
    float value;
    int32_t index;
} float_pair;

typedef struct {
    double value;
    int32_t index;
} double_pair;

// One element of each of n sources, in both the vector and the rest of it: the answer is the same.
static void reduce_one(enum tern__reduce_level level, tern_dtype dtype, tern_reduce_op op,
                       const void *elements, int n, void *to)
{
    enum { COPIES = 131 };
    static char sources[SOURCES_MAX][COPIES * 16];
    static char destination[COPIES * 16];
    const char *from[SOURCES_MAX];
    char *destinations[] = {destination};
    size_t bytes = tern_reduce_element_bytes(dtype, op);
    for (int s = 0; s < n; s++) {
        for (size_t i = 0; i < COPIES; i++) {
            memcpy(&sources[s][i * bytes], (const char *)elements + (size_t)s * bytes, bytes);
        }
        from[s] = sources[s];
    }
    tern__reduce_at(level, dtype, op)(destinations, 1, from, n, COPIES, false);
    for (size_t i = 0; i < COPIES; i++) {
        assert_memory_equal(&destination[i * bytes], destination, bytes);
    }
    memcpy(to, destination, bytes);
}

#define FOR_LEVELS(level)                                                                          \
    for (enum tern__reduce_level level = 0; level < TERN__REDUCE_LEVELS; level++)                  \
        if (tern__reduce_at(level, TERN_F32, TERN_SUM) != NULL)

static void a_nan_of_any_source_is_the_result(void **state)
{
    FOR_LEVELS(level)
    {
        for (int op = TERN_SUM; op <= TERN_AVG; op++) {
            for (int where = 0; where < 3; where++) {
                float values[3] = {1.0f, 2.0f, 3.0f};
                uint16_t halves[3] = {0x3c00, 0x4000, 0x4200};
                uint16_t brains[3] = {0x3f80, 0x4000, 0x4040};
                double doubles[3] = {1.0, 2.0, 3.0};
                uint64_t bits = 0;
                values[where] = tern__f32_from_bits(0xff812345u);
                halves[where] = 0xfc01;
                brains[where] = 0xff81;
                doubles[where] = -(double)NAN;
                reduce_one(level, TERN_F32, (tern_reduce_op)op, values, 3, &bits);
                assert_int_equal(bits, 0x7fc00000u);
                reduce_one(level, TERN_F64, (tern_reduce_op)op, doubles, 3, &bits);
                assert_int_equal(bits, UINT64_C(0x7ff8000000000000));
                bits = 0;
                reduce_one(level, TERN_F16, (tern_reduce_op)op, halves, 3, &bits);
                assert_int_equal(bits, 0x7e00);
                reduce_one(level, TERN_BF16, (tern_reduce_op)op, brains, 3, &bits);
                assert_int_equal(bits, 0x7fc0);
            }
        }
    }
}

static void opposite_infinities_have_no_sum(void **state)
{
    const float values[2] = {INFINITY, -INFINITY};
    FOR_LEVELS(level)
    {
        uint32_t bits;
        reduce_one(level, TERN_F32, TERN_SUM, values, 2, &bits);
        assert_int_equal(bits, 0x7fc00000u);
        reduce_one(level, TERN_F32, TERN_AVG, values, 2, &bits);
        assert_int_equal(bits, 0x7fc00000u);
        reduce_one(level, TERN_F32, TERN_MAX, values, 2, &bits);
        assert_int_equal(bits, 0x7f800000u);
        reduce_one(level, TERN_F32, TERN_MIN, values, 2, &bits);
        assert_int_equal(bits, 0xff800000u);
    }
}

static void of_two_zeros_the_first_is_the_larger_and_the_smaller(void **state)
{
    const float values[2] = {-0.0f, 0.0f};
    FOR_LEVELS(level)
    {
        uint32_t bits;
        reduce_one(level, TERN_F32, TERN_MAX, values, 2, &bits);
        assert_int_equal(bits, 0x80000000u);
        reduce_one(level, TERN_F32, TERN_MIN, values, 2, &bits);
        assert_int_equal(bits, 0x80000000u);
    }
}

// 2048 + 1 + 1: in f16 each 1 would be lost; in f32, rounded once, they are not. 256 + 1 + 1 in
// bf16.
static void halves_are_rounded_once(void **state)
{
    const uint16_t halves[3] = {tern__f32_to_f16(2048.0f), tern__f32_to_f16(1.0f),
                                tern__f32_to_f16(1.0f)};
    const uint16_t brains[3] = {tern__f32_to_bf16(256.0f), tern__f32_to_bf16(1.0f),
                                tern__f32_to_bf16(1.0f)};
    FOR_LEVELS(level)
    {
        uint16_t out;
        reduce_one(level, TERN_F16, TERN_SUM, halves, 3, &out);
        assert_int_equal(out, tern__f32_to_f16(2050.0f));
        reduce_one(level, TERN_BF16, TERN_SUM, brains, 3, &out);
        assert_int_equal(out, tern__f32_to_bf16(258.0f));
    }
}

// The sum of the halves is beyond the largest of them; its average is not.
static void an_average_is_rounded_after_the_division(void **state)
{
    const uint16_t halves[3] = {0x7bff, 0x7bff, 0x7bfc}; // 65504, 65504, 65408
    const float thirds[3] = {1.0f, 0.0f, 0.0f};
    const float tiny[2] = {1e-45f, 0.0f}; // half of the least subnormal goes to the even 0
    FOR_LEVELS(level)
    {
        uint16_t half;
        float out;
        reduce_one(level, TERN_F16, TERN_AVG, halves, 3, &half);
        assert_int_equal(half, 0x7bfe); // 65472
        reduce_one(level, TERN_F32, TERN_AVG, thirds, 3, &out);
        assert_true(out == 1.0f / 3.0f);
        reduce_one(level, TERN_F32, TERN_AVG, tiny, 2, &out);
        assert_int_equal(tern__f32_to_bits(out), 0);
    }
}

static void integers_average_in_64_bits_towards_zero(void **state)
{
    const int8_t bytes[3] = {127, 127, 126};
    const int8_t negative[2] = {-1, -2};
    const uint8_t large[2] = {255, 254};
    const int32_t least[2] = {INT32_MIN, INT32_MIN};
    const int64_t wraps[2] = {INT64_MAX, 1}; // to INT64_MIN
    const uint64_t unsigned_wraps[3] = {UINT64_MAX, 1, 7};
    FOR_LEVELS(level)
    {
        int8_t byte;
        uint8_t unsigned_byte;
        int32_t word;
        int64_t wide;
        uint64_t unsigned_wide;
        reduce_one(level, TERN_I8, TERN_AVG, bytes, 3, &byte);
        assert_int_equal(byte, 126);
        reduce_one(level, TERN_I8, TERN_AVG, negative, 2, &byte);
        assert_int_equal(byte, -1);
        reduce_one(level, TERN_U8, TERN_AVG, large, 2, &unsigned_byte);
        assert_int_equal(unsigned_byte, 254);
        reduce_one(level, TERN_I32, TERN_AVG, least, 2, &word);
        assert_int_equal(word, INT32_MIN);
        reduce_one(level, TERN_I64, TERN_AVG, wraps, 2, &wide);
        assert_true(wide == INT64_MIN / 2);
        reduce_one(level, TERN_U64, TERN_AVG, unsigned_wraps, 3, &unsigned_wide);
        assert_true(unsigned_wide == 2);
    }
}

static void sums_and_products_wrap_around(void **state)
{
    const int8_t bytes[2] = {127, 2};
    const int64_t wide[2] = {INT64_MAX, 2};
    FOR_LEVELS(level)
    {
        int8_t byte;
        int64_t out;
        reduce_one(level, TERN_I8, TERN_SUM, bytes, 2, &byte);
        assert_int_equal(byte, -127);
        reduce_one(level, TERN_I8, TERN_PROD, bytes, 2, &byte);
        assert_int_equal(byte, -2);
        reduce_one(level, TERN_I64, TERN_SUM, wide, 2, &out);
        assert_true(out == INT64_MIN + 1);
        reduce_one(level, TERN_I64, TERN_PROD, wide, 2, &out);
        assert_true(out == -2);
    }
}

static void bits_are_combined_bit_by_bit(void **state)
{
    const uint8_t values[3] = {0xf5, 0x9c, 0xd1};
    FOR_LEVELS(level)
    {
        uint8_t out;
        reduce_one(level, TERN_U8, TERN_AND, values, 3, &out);
        assert_int_equal(out, 0x90);
        reduce_one(level, TERN_I8, TERN_OR, values, 3, &out);
        assert_int_equal(out, 0xfd);
        reduce_one(level, TERN_U8, TERN_XOR, values, 3, &out);
        assert_int_equal(out, 0xb8);
    }
}

// Every order of the sources gives the pair number `wanted`.
static void check_float_pairs(tern_reduce_op op, const float_pair *pairs, int n, int wanted)
{
    FOR_LEVELS(level)
    {
        for (int turn = 0; turn < 2 * n; turn++) {
            float_pair turned[SOURCES_MAX];
            float_pair out;
            for (int s = 0; s < n; s++) {
                turned[s] = pairs[turn < n ? (s + turn) % n : (2 * n - 1 - s + turn) % n];
            }
            reduce_one(level, TERN_F32, op, turned, n, &out);
            assert_memory_equal(&out, &pairs[wanted], sizeof out);
        }
    }
}

static void of_equal_values_the_least_index_is_located(void **state)
{
    const float_pair pairs[] = {{2.0f, 9}, {5.0f, 8}, {2.0f, 4}, {5.0f, -3}, {2.0f, 6}};
    const float_pair zeros[] = {{0.0f, 2}, {-0.0f, 1}, {0.0f, 3}};
    check_float_pairs(TERN_MINLOC, pairs, 5, 2);
    check_float_pairs(TERN_MAXLOC, pairs, 5, 3);
    check_float_pairs(TERN_MINLOC, zeros, 3, 1);
    check_float_pairs(TERN_MAXLOC, zeros, 3, 1);
}

static void a_nan_is_located_before_any_number(void **state)
{
    const float_pair pairs[] = {{-INFINITY, 0}, {NAN, 7},  {INFINITY, 1},
                                {-NAN, 5},      {1.0f, 2}, {NAN, 6}};
    check_float_pairs(TERN_MINLOC, pairs, 6, 3);
    check_float_pairs(TERN_MAXLOC, pairs, 6, 3);
    check_float_pairs(TERN_MINLOC, &pairs[2], 1, 0);
}

// Padding belongs to the pair that is taken. A double's pair has 4 bytes of it at the end, an
// int8_t's 3 in the middle.
static void the_padding_of_a_pair_stays_with_it(void **state)
{
    struct {
        int64_t value;
        int32_t index;
        uint32_t padding;
    } wide[3] = {{-5, 1, 0x11111111}, {INT64_MIN, 3, 0x22222222}, {INT64_MAX, 2, 0x33333333}}, one;
    struct {
        int8_t value;
        uint8_t padding[3];
        int32_t index;
    } narrow[2] = {{-1, {1, 2, 3}, 1}, {1, {4, 5, 6}, 2}}, other;
    static_assert(sizeof wide[0] == sizeof(double_pair), "as C lays out a pair of 8 bytes");
    FOR_LEVELS(level)
    {
        reduce_one(level, TERN_I64, TERN_MINLOC, wide, 3, &one);
        assert_memory_equal(&one, &wide[1], sizeof one);
        reduce_one(level, TERN_U64, TERN_MINLOC, wide, 3, &one);
        assert_memory_equal(&one, &wide[2], sizeof one);
        reduce_one(level, TERN_I8, TERN_MAXLOC, narrow, 2, &other);
        assert_memory_equal(&other, &narrow[1], sizeof other);
        reduce_one(level, TERN_U8, TERN_MAXLOC, narrow, 2, &other);
        assert_memory_equal(&other, &narrow[0], sizeof other);
    }
}

static void one_source_is_copied_as_it_is(void **state)
{
    const uint16_t nan = 0xfd01; // and not made the one NaN
    const uint32_t wide = 0xff812345u;
    FOR_LEVELS(level)
    {
        for (int op = TERN_SUM; op <= TERN_AVG; op++) {
            uint16_t half;
            uint32_t word;
            reduce_one(level, TERN_F16, (tern_reduce_op)op, &nan, 1, &half);
            assert_int_equal(half, nan);
            reduce_one(level, TERN_F32, (tern_reduce_op)op, &wide, 1, &word);
            assert_int_equal(word, wide);
        }
    }
}

static void unknown_types_and_operations_have_no_kernel(void **state)
{
    assert_null(tern__reduce_find((tern_dtype)12, TERN_SUM));
    assert_null(tern__reduce_find((tern_dtype)-1, TERN_SUM));
    assert_null(tern__reduce_find(TERN_F32, (tern_reduce_op)11));
    assert_null(tern__reduce_find(TERN_F32, (tern_reduce_op)-1));
    assert_null(tern__reduce_at(TERN__REDUCE_LEVELS, TERN_F32, TERN_SUM));
}

static void a_kernel_exists_where_an_element_has_bytes(void **state)
{
    for (int dtype = 0; dtype < TERN__REDUCE_DTYPES; dtype++) {
        for (int op = 0; op < TERN__REDUCE_OPS; op++) {
            size_t bytes = tern_reduce_element_bytes((tern_dtype)dtype, (tern_reduce_op)op);
            FOR_LEVELS(level)
            {
                tern__reduce_fn *found =
                    tern__reduce_at(level, (tern_dtype)dtype, (tern_reduce_op)op);
                assert_int_equal(found != NULL, bytes != 0);
            }
        }
        assert_null(tern__reduce_find((tern_dtype)dtype, TERN_FUNCTION));
    }
    assert_null(tern__reduce_find(TERN_BF16, TERN_XOR));
    assert_non_null(tern__reduce_find(TERN_U16, TERN_XOR));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nan_of_any_source_is_the_result),
        cmocka_unit_test(opposite_infinities_have_no_sum),
        cmocka_unit_test(of_two_zeros_the_first_is_the_larger_and_the_smaller),
        cmocka_unit_test(halves_are_rounded_once),
        cmocka_unit_test(an_average_is_rounded_after_the_division),
        cmocka_unit_test(integers_average_in_64_bits_towards_zero),
        cmocka_unit_test(sums_and_products_wrap_around),
        cmocka_unit_test(bits_are_combined_bit_by_bit),
        cmocka_unit_test(of_equal_values_the_least_index_is_located),
        cmocka_unit_test(a_nan_is_located_before_any_number),
        cmocka_unit_test(the_padding_of_a_pair_stays_with_it),
        cmocka_unit_test(one_source_is_copied_as_it_is),
        cmocka_unit_test(unknown_types_and_operations_have_no_kernel),
        cmocka_unit_test(a_kernel_exists_where_an_element_has_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
