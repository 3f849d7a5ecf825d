// SPDX-License-Identifier: Apache-2.0
// Conversions that round as they are told, against the two values of the dtype that lie next to
// each number: found by looking through all of them.
#include "support/cmocka.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "support/random.h"
#include "tern/tile.h"

enum { NUMBERS = 3000, ROUNDINGS = TERN_ROUND_ODD + 1 };

struct value {
    double number;
    uint16_t bits;
};

static int by_number(const void *a, const void *b)
{
    double left = ((const struct value *)a)->number;
    double right = ((const struct value *)b)->number;
    return left < right ? -1 : left > right;
}

// All finite values from 0 on, in order.
static int all_values(tern_dtype dtype, struct value *values)
{
    int count = 0;
    for (unsigned bits = 0; bits < 0x8000u; bits++) {
        double number = dtype == TERN_F16 ? (double)tern__f16_to_f32((uint16_t)bits)
                                          : (double)tern__bf16_to_f32((uint16_t)bits);
        if (isfinite(number)) {
            values[count++] = (struct value){number, (uint16_t)bits};
        }
    }
    qsort(values, (size_t)count, sizeof values[0], by_number);
    return count;
}

// What a size (0 or more) becomes, as the bits of a value of the dtype.
static uint16_t expected(const struct value *values, int count, double size, bool below,
                         tern_rounding rounding)
{
    int least = 0;
    int most = count - 1;
    const uint16_t infinity = (uint16_t)(values[count - 1].bits + 1);
    while (least < most) { // the greatest value that is no greater
        int middle = (least + most + 1) / 2;
        if (values[middle].number <= size) {
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    double low = values[least].number;
    bool last = least == count - 1;
    double high = last ? 2 * low - values[least - 1].number : values[least + 1].number;
    bool odd = (values[least].bits & 1) != 0;
    if (size == low) {
        return values[least].bits;
    }
    uint16_t up = last ? infinity : values[least + 1].bits;
    double middle = (low + high) / 2;
    bool beyond = size > middle || (size == middle && (rounding == TERN_ROUND_AWAY || odd));
    switch (rounding) {
    case TERN_ROUND_EVEN:
    case TERN_ROUND_AWAY:
        return beyond ? up : values[least].bits;
    case TERN_ROUND_DOWN:
        return below ? up : values[least].bits;
    case TERN_ROUND_UP:
        return below ? values[least].bits : up;
    case TERN_ROUND_ODD:
        return odd || last ? values[least].bits : up;
    default:
        return values[least].bits;
    }
}

static void check_halves(tern_dtype dtype, const struct value *values, int count, const float *from)
{
    static uint16_t to[NUMBERS];
    tern_tile source = tern_tile_2d((void *)from, TERN_F32, 1, NUMBERS);
    tern_tile target = tern_tile_2d(to, dtype, 1, NUMBERS);
    for (int rounding = 0; rounding < ROUNDINGS; rounding++) {
        assert_int_equal(tern_tile_convert_rounded(&target, &source, (tern_rounding)rounding),
                         TERN_OK);
        for (int i = 0; i < NUMBERS; i++) {
            bool below = signbit(from[i]) != 0;
            uint16_t bits =
                expected(values, count, fabs((double)from[i]), below, (tern_rounding)rounding);
            if (to[i] != (bits | (below ? 0x8000 : 0))) {
                fail_msg("%a to %s, rounding %d: %#x, not %#x", (double)from[i],
                         tern_dtype_name(dtype), rounding, to[i], bits);
            }
        }
    }
}

static void floats_become_halves_as_they_are_told(void **state)
{
    static struct value values[0x8000];
    static float from[NUMBERS];
    uint64_t random = 7;
    (void)state;
    for (int which = 0; which < 2; which++) {
        tern_dtype dtype = which == 0 ? TERN_F16 : TERN_BF16;
        int count = all_values(dtype, values);
        for (int i = 0; i < NUMBERS; i++) {
            uint64_t bits = random_next(&random);
            const struct value *one = &values[bits % (uint64_t)(count - 1)];
            // A value, the middle of two, a little beside it, or any number.
            double number = i % 4 == 0   ? one->number
                            : i % 4 == 1 ? (one[0].number + one[1].number) / 2
                            : i % 4 == 2 ? (one[0].number + one[1].number) / 2 * (1 + 0x1p-20)
                                         : ldexp((double)(bits >> 40), (int)(bits % 60) - 50);
            from[i] = (float)((bits >> 32 & 1) != 0 ? -number : number);
        }
        from[0] = 0.0F;
        from[1] = -0.0F;
        from[2] = which == 0 ? 65519 : 0x1.fefffep127F; // too large by less than half a place
        from[3] = which == 0 ? -1e6F : -0x1.fffffep127F;
        check_halves(dtype, values, count, from);
    }
}

static int64_t whole(double number, tern_rounding rounding)
{
    double zero = trunc(number);
    switch (rounding) {
    case TERN_ROUND_AWAY:
        return (int64_t)round(number);
    case TERN_ROUND_DOWN:
        return (int64_t)floor(number);
    case TERN_ROUND_UP:
        return (int64_t)ceil(number);
    case TERN_ROUND_ZERO:
        return (int64_t)zero;
    case TERN_ROUND_ODD:
        return (int64_t)zero + (zero == number || (int64_t)zero % 2 != 0 ? 0 : number < 0 ? -1 : 1);
    default:
        return (int64_t)nearbyint(number);
    }
}

static void floats_become_integers_as_they_are_told(void **state)
{
    static const float from[] = {0,     0.5F,  -0.5F,  1.5F, -1.5F, 2.5F,
                                 -2.5F, 2.25F, -2.75F, 7,    -8,    120.4F};
    enum { COUNT = sizeof from / sizeof from[0] };
    int32_t ints[COUNT];
    int8_t bytes[COUNT];
    (void)state;
    tern_tile source = tern_tile_2d((void *)from, TERN_F32, 1, COUNT);
    tern_tile to_ints = tern_tile_2d(ints, TERN_I32, 1, COUNT);
    tern_tile to_bytes = tern_tile_2d(bytes, TERN_I8, 1, COUNT);
    for (int rounding = 0; rounding < ROUNDINGS; rounding++) {
        tern_rounding how = (tern_rounding)rounding;
        assert_int_equal(tern_tile_convert_rounded(&to_ints, &source, how), TERN_OK);
        assert_int_equal(tern_tile_convert_rounded(&to_bytes, &source, how), TERN_OK);
        for (int i = 0; i < COUNT; i++) {
            assert_int_equal(ints[i], whole((double)from[i], how));
            assert_int_equal(bytes[i], whole((double)from[i], how));
        }
    }
    float wide[3] = {1e30F, -1e30F, NAN};
    source = tern_tile_2d(wide, TERN_F32, 1, 3);
    to_bytes = tern_tile_2d(bytes, TERN_I8, 1, 3);
    assert_int_equal(tern_tile_convert_rounded(&to_bytes, &source, TERN_ROUND_ZERO), TERN_OK);
    assert_true(bytes[0] == 127 && bytes[1] == -128 && bytes[2] == 0);
}

static void integers_become_floats_as_they_are_told(void **state)
{
    // 2^24 + 1 lies between two floats, 2^53 + 1 between two doubles, each in the middle.
    int64_t from[] = {(1 << 24) + 1, -(1 << 24) - 1, (INT64_C(1) << 53) + 1, INT64_MIN, 5};
    static const double wanted[ROUNDINGS][2] = {
        {0x1p24, -0x1p24},     {0x1p24 + 2, -0x1p24 - 2}, {0x1p24, -0x1p24 - 2},
        {0x1p24 + 2, -0x1p24}, {0x1p24, -0x1p24},         {0x1p24 + 2, -0x1p24 - 2},
    };
    static const double larger[ROUNDINGS] = {0x1p53,     0x1p53 + 2, 0x1p53,
                                             0x1p53 + 2, 0x1p53,     0x1p53 + 2};
    float floats[5];
    double doubles[5];
    (void)state;
    tern_tile source = tern_tile_2d(from, TERN_I64, 1, 5);
    tern_tile to_floats = tern_tile_2d(floats, TERN_F32, 1, 5);
    tern_tile to_doubles = tern_tile_2d(doubles, TERN_F64, 1, 5);
    for (int rounding = 0; rounding < ROUNDINGS; rounding++) {
        tern_rounding how = (tern_rounding)rounding;
        assert_int_equal(tern_tile_convert_rounded(&to_floats, &source, how), TERN_OK);
        assert_int_equal(tern_tile_convert_rounded(&to_doubles, &source, how), TERN_OK);
        assert_true((double)floats[0] == wanted[rounding][0]);
        assert_true((double)floats[1] == wanted[rounding][1]);
        assert_true(floats[3] == -0x1p63F && floats[4] == 5 && doubles[4] == 5);
        assert_true(doubles[0] == 0x1p24 + 1 && doubles[2] == larger[rounding]);
    }
    uint32_t unsigned_one = UINT32_MAX;
    source = tern_tile_2d(&unsigned_one, TERN_U32, 1, 1);
    to_floats = tern_tile_2d(floats, TERN_F32, 1, 1);
    assert_int_equal(tern_tile_convert_rounded(&to_floats, &source, TERN_ROUND_ZERO), TERN_OK);
    assert_true(floats[0] == 4294967040.0F);
    uint16_t half;
    tern_tile to_half = tern_tile_2d(&half, TERN_F16, 1, 1);
    assert_int_equal(tern_tile_convert_rounded(&to_half, &source, TERN_ROUND_ZERO), TERN_OK);
    assert_int_equal(half, 0x7bff);
    assert_int_equal(tern_tile_convert_rounded(&to_half, &source, TERN_ROUND_UP), TERN_OK);
    assert_int_equal(half, 0x7c00);
}

static void what_is_exact_stays_and_what_is_wrong_is_refused(void **state)
{
    uint16_t from[4] = {0x3f80, 0xc0a0, 0x7f80, 0x0001}; // 1, -5, infinity, the least
    float to[4];
    (void)state;
    tern_tile source = tern_tile_2d(from, TERN_BF16, 2, 2);
    tern_tile target = tern_tile_2d(to, TERN_F32, 2, 2);
    for (int rounding = 0; rounding < ROUNDINGS; rounding++) {
        assert_int_equal(tern_tile_convert_rounded(&target, &source, (tern_rounding)rounding),
                         TERN_OK);
        assert_true(to[0] == 1 && to[1] == -5 && isinf(to[2]) && to[3] == 0x1p-133F);
    }
    assert_int_equal(tern_tile_convert_rounded(&target, &source, (tern_rounding)6), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "there is no rounding 6"));
    target.data = from;
    assert_int_equal(tern_tile_convert_rounded(&target, &source, TERN_ROUND_UP), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "are the same memory"));
    source.valid_rows = 1;
    target.data = to;
    assert_int_equal(tern_tile_convert_rounded(&target, &source, TERN_ROUND_UP), TERN_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_become_halves_as_they_are_told),
        cmocka_unit_test(floats_become_integers_as_they_are_told),
        cmocka_unit_test(integers_become_floats_as_they_are_told),
        cmocka_unit_test(what_is_exact_stays_and_what_is_wrong_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
