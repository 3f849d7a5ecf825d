// SPDX-License-Identifier: Apache-2.0
// Reduce kernels against a naive loop, bit for bit: every level this processor has, every element
// type and operation, odd counts, odd addresses, every shape of operands, NaN, infinity, -0 and
// subnormals included.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/half.h"
#include "isa/reduce.h"

enum { SOURCES = 11, DESTINATIONS = 7, BYTES = 40000, GUARD = 64 };

static char inputs[SOURCES][BYTES + 2 * GUARD];
static char outputs[DESTINATIONS][BYTES + 2 * GUARD];
static char expected[BYTES];

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

// An element: mostly of moderate size, so that sums and products stay finite; now and then any bits,
// or one of those that compare oddly.
static void put_element(char *to, tern_dtype dtype)
{
    static const float odd[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, -NAN, 1e-42f, -3e-41f};
    uint64_t bits = next_random();
    float value = (float)((int)(bits >> 40) % 4096 - 2048) / 256.0f;
    value = bits % 13 == 0 ? odd[(bits >> 8) % 8] : value;
    double wide = value;
    uint16_t half = tern__f32_to_f16(value);
    uint16_t brain = tern__f32_to_bf16(value);
    bool raw = bits % 17 == 0;
    const void *from = &bits;
    switch (dtype) {
    case TERN_F32:
        from = raw ? from : &value;
        break;
    case TERN_F64:
        from = raw ? from : &wide;
        break;
    case TERN_F16:
        from = raw ? from : &half;
        break;
    case TERN_BF16:
        from = raw ? from : &brain;
        break;
    default:
        break;
    }
    memcpy(to, from, tern_dtype_size(dtype));
}

static void fill_inputs(tern_dtype dtype)
{
    size_t size = tern_dtype_size(dtype);
    for (int s = 0; s < SOURCES; s++) {
        for (size_t at = 0; at + size <= sizeof inputs[s]; at += size) {
            put_element(&inputs[s][at], dtype);
        }
    }
}

// The naive loop over the sources of one element.
#define NAIVE(type, first, get)                                                                    \
    do {                                                                                           \
        type acc = (first);                                                                        \
        for (int s = 1; s < n; s++) {                                                              \
            type next = (get);                                                                     \
            switch (op) {                                                                          \
            case TERN_SUM:                                                                         \
                acc = (type)(acc + next);                                                          \
                break;                                                                             \
            case TERN_PROD:                                                                        \
                acc = (type)(acc * next);                                                          \
                break;                                                                             \
            case TERN_MAX:                                                                         \
                acc = next > acc || next != next ? next : acc;                                     \
                break;                                                                             \
            case TERN_MIN:                                                                         \
                acc = next < acc || next != next ? next : acc;                                     \
                break;                                                                             \
            }                                                                                      \
        }                                                                                          \
        result = acc;                                                                              \
    } while (0)

static float get_float(tern_dtype dtype, const char *from)
{
    uint32_t bits = 0;
    memcpy(&bits, from, tern_dtype_size(dtype));
    return dtype == TERN_F16    ? tern__f16_to_f32((uint16_t)bits)
           : dtype == TERN_BF16 ? tern__bf16_to_f32((uint16_t)bits)
                                : tern__f32_from_bits(bits);
}

static uint64_t get_bits(const char *from, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, from, size);
    return bits;
}

static int64_t get_signed(const char *from, size_t size)
{
    unsigned unused = 64 - 8 * (unsigned)size;
    return (int64_t)(get_bits(from, size) << unused) >> unused;
}

static uint64_t naive_float(tern_dtype dtype, tern_reduce_op op, const char *const *from, int n)
{
    float result;
    NAIVE(float, get_float(dtype, from[0]), get_float(dtype, from[s]));
    uint32_t bits = result != result ? 0x7fc00000u : tern__f32_to_bits(result);
    return dtype == TERN_F16    ? tern__f32_to_f16(tern__f32_from_bits(bits))
           : dtype == TERN_BF16 ? tern__f32_to_bf16(tern__f32_from_bits(bits))
                                : bits;
}

static double get_double(const char *from)
{
    double value;
    memcpy(&value, from, sizeof value);
    return value;
}

static uint64_t naive_double(tern_reduce_op op, const char *const *from, int n)
{
    double result;
    NAIVE(double, get_double(from[0]), get_double(from[s]));
    uint64_t bits;
    memcpy(&bits, &result, sizeof bits);
    return result != result ? UINT64_C(0x7ff8000000000000) : bits;
}

static uint64_t naive_integer(tern_dtype dtype, tern_reduce_op op, const char *const *from, int n)
{
    size_t size = tern_dtype_size(dtype);
    bool is_signed = dtype >= TERN_I8 && dtype <= TERN_I64;
    if (is_signed && (op == TERN_MAX || op == TERN_MIN)) {
        int64_t result;
        NAIVE(int64_t, get_signed(from[0], size), get_signed(from[s], size));
        return (uint64_t)result;
    }
    uint64_t result;
    NAIVE(uint64_t, get_bits(from[0], size), get_bits(from[s], size));
    return result; // its low bytes are those of arithmetic that wraps around
}

static void expect(tern_dtype dtype, tern_reduce_op op, const char *const *from, int n,
                   size_t count)
{
    size_t size = tern_dtype_size(dtype);
    for (size_t i = 0; i < count; i++) {
        const char *elements[SOURCES];
        for (int s = 0; s < n; s++) {
            elements[s] = from[s] + i * size;
        }
        uint64_t bits = n == 1               ? get_bits(elements[0], size)
                        : dtype == TERN_F64  ? naive_double(op, elements, n)
                        : dtype <= TERN_BF16 ? naive_float(dtype, op, elements, n)
                                             : naive_integer(dtype, op, elements, n);
        memcpy(&expected[i * size], &bits, size);
    }
}

struct shape {
    int n, m;
    size_t count;
    size_t shift; // bytes past an aligned address; each operand one more
    int in_place; // this source is the first destination; -1: none
};

static void check_shape(enum tern__reduce_level level, tern_dtype dtype, tern_reduce_op op,
                        const struct shape *shape)
{
    tern__reduce_fn *reduce = tern__reduce_at(level, dtype, op);
    assert_non_null(reduce);
    const char *from[SOURCES];
    char *to[DESTINATIONS];
    size_t bytes = shape->count * tern_dtype_size(dtype);
    for (int s = 0; s < shape->n; s++) {
        from[s] = inputs[s] + (shape->shift != 0 ? shape->shift + (size_t)s : 0);
    }
    for (int d = 0; d < shape->m; d++) {
        to[d] = outputs[d] + GUARD / 2 + (shape->shift != 0 ? shape->shift + (size_t)d : 0);
        memset(to[d] - GUARD / 2, 0x5a, bytes + GUARD);
    }
    expect(dtype, op, from, shape->n, shape->count);
    if (shape->in_place >= 0) {
        memcpy(to[0], from[shape->in_place], bytes);
        from[shape->in_place] = to[0];
    }
    reduce(to, shape->m, from, shape->n, shape->count);
    for (int d = 0; d < shape->m; d++) {
        if (memcmp(to[d], expected, bytes) != 0) {
            size_t i = 0;
            while (to[d][i] == expected[i]) {
                i++;
            }
            fail_msg(
                "level %d, %s, op %d, %d sources, %d destinations, %zu elements, shift %zu, in "
                "place %d: destination %d differs at byte %zu",
                (int)level, tern_dtype_name(dtype), (int)op, shape->n, shape->m, shape->count,
                shape->shift, shape->in_place, d, i);
        }
        for (size_t i = 0; i < GUARD / 2; i++) {
            if (to[d][bytes + i] != 0x5a || to[d][-1 - (ptrdiff_t)i] != 0x5a) {
                fail_msg("level %d, %s, op %d: wrote beside its %zu bytes", (int)level,
                         tern_dtype_name(dtype), (int)op, bytes);
            }
        }
    }
}

typedef void (*shape_user)(enum tern__reduce_level level, tern_dtype dtype, tern_reduce_op op);

static void for_all(shape_user use)
{
    for (int level = 0; level < TERN__REDUCE_LEVELS; level++) {
        if (tern__reduce_at((enum tern__reduce_level)level, TERN_F32, TERN_SUM) == NULL) {
            print_message("this processor has not got level %d: left out\n", level);
            continue;
        }
        for (int dtype = 0; dtype < TERN__REDUCE_DTYPES; dtype++) {
            fill_inputs((tern_dtype)dtype);
            for (int op = 0; op < TERN__REDUCE_OPS; op++) {
                use((enum tern__reduce_level)level, (tern_dtype)dtype, (tern_reduce_op)op);
            }
        }
    }
}

static void use_counts(enum tern__reduce_level level, tern_dtype dtype, tern_reduce_op op)
{
    for (size_t count = 0; count <= 70; count++) {
        struct shape shape = {.n = 2, .m = 2, .count = count, .shift = count % 5, .in_place = -1};
        check_shape(level, dtype, op, &shape);
        shape.n = 1 + (int)(count % SOURCES);
        shape.m = 1 + (int)(count % DESTINATIONS);
        check_shape(level, dtype, op, &shape);
    }
}

static void counts_from_0_to_70(void **state)
{
    for_all(use_counts);
}

static void use_operands(enum tern__reduce_level level, tern_dtype dtype, tern_reduce_op op)
{
    for (int n = 1; n <= SOURCES; n += n < 5 ? 1 : 2) {
        for (int m = 1; m <= DESTINATIONS; m += m < 5 ? 1 : 2) {
            struct shape shape = {.n = n, .m = m, .count = 301, .shift = 3, .in_place = -1};
            check_shape(level, dtype, op, &shape);
        }
    }
}

static void every_number_of_operands(void **state)
{
    for_all(use_operands);
}

static void use_large(enum tern__reduce_level level, tern_dtype dtype, tern_reduce_op op)
{
    size_t all = BYTES / tern_dtype_size(dtype);
    struct shape shapes[] = {
        {.n = 2, .m = 2, .count = all, .shift = 0, .in_place = 0},
        {.n = 2, .m = 1, .count = all - 1, .shift = 7, .in_place = 1},
        {.n = SOURCES, .m = 3, .count = all - 5, .shift = 1, .in_place = SOURCES - 1},
        {.n = 6, .m = DESTINATIONS, .count = all - 3, .shift = 0, .in_place = 2},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        check_shape(level, dtype, op, &shapes[i]);
    }
}

static void many_blocks_and_in_place(void **state)
{
    for_all(use_large);
}

static void a_nan_of_any_source_is_the_result(void **state)
{
    for (int op = 0; op < TERN__REDUCE_OPS; op++) {
        for (int where = 0; where < 3; where++) {
            float values[3] = {1.0f, 2.0f, 3.0f};
            values[where] = -NAN;
            float out = 0.0f;
            const char *from[] = {(char *)&values[0], (char *)&values[1], (char *)&values[2]};
            char *to[] = {(char *)&out};
            tern__reduce_find(TERN_F32, (tern_reduce_op)op)(to, 1, from, 3, 1);
            assert_int_equal(tern__f32_to_bits(out), 0x7fc00000u);
        }
    }
}

static void of_two_zeros_the_first_is_the_larger_and_the_smaller(void **state)
{
    float plus = 0.0f;
    float minus = -0.0f;
    float out = 1.0f;
    const char *from[] = {(char *)&minus, (char *)&plus};
    char *to[] = {(char *)&out};
    tern__reduce_find(TERN_F32, TERN_MAX)(to, 1, from, 2, 1);
    assert_int_equal(tern__f32_to_bits(out), 0x80000000u);
    tern__reduce_find(TERN_F32, TERN_MIN)(to, 1, from, 2, 1);
    assert_int_equal(tern__f32_to_bits(out), 0x80000000u);
}

// 2048 + 1 + 1: in f16 each 1 would be lost; in f32, rounded once, they are not.
static void halves_are_rounded_once(void **state)
{
    uint16_t values[3] = {tern__f32_to_f16(2048.0f), tern__f32_to_f16(1.0f),
                          tern__f32_to_f16(1.0f)};
    uint16_t out = 0;
    const char *from[] = {(char *)&values[0], (char *)&values[1], (char *)&values[2]};
    char *to[] = {(char *)&out};
    tern__reduce_find(TERN_F16, TERN_SUM)(to, 1, from, 3, 1);
    assert_int_equal(out, tern__f32_to_f16(2050.0f));
}

static void unknown_types_and_operations_have_no_kernel(void **state)
{
    assert_null(tern__reduce_find((tern_dtype)12, TERN_SUM));
    assert_null(tern__reduce_find((tern_dtype)-1, TERN_SUM));
    assert_null(tern__reduce_find(TERN_F32, (tern_reduce_op)4));
    assert_null(tern__reduce_at(TERN__REDUCE_LEVELS, TERN_F32, TERN_SUM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_from_0_to_70),
        cmocka_unit_test(every_number_of_operands),
        cmocka_unit_test(many_blocks_and_in_place),
        cmocka_unit_test(a_nan_of_any_source_is_the_result),
        cmocka_unit_test(of_two_zeros_the_first_is_the_larger_and_the_smaller),
        cmocka_unit_test(halves_are_rounded_once),
        cmocka_unit_test(unknown_types_and_operations_have_no_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
