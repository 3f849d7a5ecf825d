// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// f16 and bf16 conversions, against oracles that share nothing with them: the compiler's own
// _Float16 (a software routine of its run-time library) and exact arithmetic in double. Into f32:
// every value. Out of f32: every value at which the result changes with its neighbours, which
// decides a monotonic function everywhere, and a sweep over the whole range.
#include "support/cmocka.h"
#include <math.h>
#include <stdbool.h>

#include "base/half.h"

enum { HALVES = 65536 };

// sign * mantissa * 2^exponent of a format with these field widths, by definition.
static double value_of(uint32_t bits, int exponent_bits, int mantissa_bits)
{
    uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
    int exponent = (int)(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    double sign = (bits >> (mantissa_bits + exponent_bits)) != 0 ? -1 : 1;
    int bias = (1 << (exponent_bits - 1)) - 1;
    if (exponent == (1 << exponent_bits) - 1) {
        return mantissa != 0 ? NAN : sign * INFINITY;
    }
    double scaled = exponent == 0 ? mantissa : mantissa + (1u << mantissa_bits);
    return sign * ldexp(scaled, (exponent == 0 ? 1 : exponent) - bias - mantissa_bits);
}

// Nearest to x among the values of a format, ties to the even mantissa; x is not NaN.
static uint16_t nearest(double x, int exponent_bits, int mantissa_bits)
{
    uint32_t sign = signbit(x) ? 1u << (exponent_bits + mantissa_bits) : 0;
    uint32_t low = 0;
    uint32_t high = ((1u << exponent_bits) - 1) << mantissa_bits; // infinity
    double size = fabs(x);
    if (isinf(x)) {
        return (uint16_t)(sign | high);
    }
    // The largest finite value is followed by a power of two that rounds to infinity.
    double beyond = ldexp(1, 1 << (exponent_bits - 1));
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (value_of(middle, exponent_bits, mantissa_bits) <= size) {
            low = middle;
        } else {
            high = middle;
        }
    }
    double above = value_of(high, exponent_bits, mantissa_bits);
    above = isinf(above) ? beyond : above;
    double to_low = size - value_of(low, exponent_bits, mantissa_bits);
    double to_high = above - size;
    bool up = to_high < to_low || (to_high == to_low && (low & 1) != 0);
    return (uint16_t)(sign | (up ? high : low));
}

static bool same_float(float a, double b)
{
    return isnan(b) ? isnan(a) : (double)a == b && !signbit(a) == !signbit(b);
}

static void every_f16_becomes_its_value(void **state)
{
    for (uint32_t bits = 0; bits < HALVES; bits++) {
        float got = tern__f16_to_f32((uint16_t)bits);
        double want = value_of(bits, 5, 10);
        if (!same_float(got, want)) {
            fail_msg("f16 0x%04x became %a, not %a", bits, (double)got, want);
        }
    }
}

static void every_bf16_becomes_its_value(void **state)
{
    for (uint32_t bits = 0; bits < HALVES; bits++) {
        float got = tern__bf16_to_f32((uint16_t)bits);
        double want = value_of(bits, 8, 7);
        if (!same_float(got, want)) {
            fail_msg("bf16 0x%04x became %a, not %a", bits, (double)got, want);
        }
    }
}

static void every_f16_survives_the_way_there_and_back(void **state)
{
    for (uint32_t bits = 0; bits < HALVES; bits++) {
        uint32_t want = isnan(value_of(bits, 5, 10)) ? bits | 0x200u : bits; // NaN becomes quiet
        assert_int_equal(tern__f32_to_f16(tern__f16_to_f32((uint16_t)bits)), want);
    }
}

static void every_bf16_survives_the_way_there_and_back(void **state)
{
    for (uint32_t bits = 0; bits < HALVES; bits++) {
        uint32_t want = isnan(value_of(bits, 8, 7)) ? bits | 0x40u : bits;
        assert_int_equal(tern__f32_to_bf16(tern__bf16_to_f32((uint16_t)bits)), want);
    }
}

typedef uint16_t (*narrow)(float value);

// The midpoint between each pair of neighbours, and the f32 values on both sides of it.
static void check_boundaries(narrow convert, int exponent_bits, int mantissa_bits)
{
    uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
    uint32_t sign = 1u << (exponent_bits + mantissa_bits);
    for (uint32_t bits = 0; bits < infinity; bits++) {
        double low = value_of(bits, exponent_bits, mantissa_bits);
        double high = bits + 1 == infinity ? ldexp(1, 1 << (exponent_bits - 1))
                                           : value_of(bits + 1, exponent_bits, mantissa_bits);
        float middle = (float)(low + (high - low) / 2);
        assert_true((double)middle == low + (high - low) / 2);
        assert_int_equal(convert(middle), (bits & 1) != 0 ? bits + 1 : bits);
        assert_int_equal(convert(-middle), sign | ((bits & 1) != 0 ? bits + 1 : bits));
        assert_int_equal(convert(nextafterf(middle, 0)), bits);
        assert_int_equal(convert(-nextafterf(middle, 0)), sign | bits);
        assert_int_equal(convert(nextafterf(middle, INFINITY)), bits + 1);
        assert_int_equal(convert(-nextafterf(middle, INFINITY)), sign | (bits + 1));
    }
}

static void f16_rounds_to_nearest_even_at_every_boundary(void **state)
{
    check_boundaries(tern__f32_to_f16, 5, 10);
}

static void bf16_rounds_to_nearest_even_at_every_boundary(void **state)
{
    check_boundaries(tern__f32_to_bf16, 8, 7);
}

static void f16_agrees_with_the_compiler_over_the_whole_range(void **state)
{
#ifdef __FLT16_MAX__
    for (uint64_t at = 0; at < UINT64_C(1) << 32; at += 509) { // a prime
        float value = tern__f32_from_bits((uint32_t)at);
        _Float16 want = (_Float16)value;
        uint16_t bits;
        memcpy(&bits, &want, sizeof bits);
        uint16_t got = tern__f32_to_f16(value);
        if (isnan(value) ? (got & 0x7e00u) != 0x7e00u || got >> 15 != bits >> 15 : got != bits) {
            fail_msg("f32 0x%08x became 0x%04x, not 0x%04x", (uint32_t)at, got, bits);
        }
    }
#else
    print_message("skipped: this compiler has no _Float16\n");
    skip();
#endif
}

static void bf16_agrees_with_exact_arithmetic_over_the_whole_range(void **state)
{
    for (uint64_t at = 0; at < UINT64_C(1) << 32; at += 8191) { // a prime
        float value = tern__f32_from_bits((uint32_t)at);
        uint16_t got = tern__f32_to_bf16(value);
        if (isnan(value) ? (got & 0x7fc0u) != 0x7fc0u || got >> 15 != at >> 31
                         : got != nearest((double)value, 8, 7)) {
            fail_msg("f32 0x%08x became 0x%04x", (uint32_t)at, got);
        }
    }
}

static void every_nan_stays_nan_with_its_sign(void **state)
{
    // The payloads that lie only in the bits that are cut off, which truncation would turn into
    // infinity, are the lowest ones.
    for (uint32_t payload = 1; payload < 0x800000u; payload += payload < 0x20000u ? 1 : 511) {
        for (uint32_t sign = 0; sign <= 1; sign++) {
            float value = tern__f32_from_bits(sign << 31 | 0x7f800000u | payload);
            uint16_t f16 = tern__f32_to_f16(value);
            uint16_t bf16 = tern__f32_to_bf16(value);
            assert_true((f16 & 0x7fffu) > 0x7c00u && f16 >> 15 == sign);
            assert_true((bf16 & 0x7fffu) > 0x7f80u && bf16 >> 15 == sign);
        }
    }
}

static void limits_are_exact(void **state)
{
    assert_int_equal(tern__f32_to_f16(65504.0f), 0x7bff);   // the largest
    assert_int_equal(tern__f32_to_f16(65519.996f), 0x7bff); // still below the midpoint
    assert_int_equal(tern__f32_to_f16(65520.0f), 0x7c00);   // the midpoint: infinity
    assert_int_equal(tern__f32_to_f16(0x1p-24f), 0x0001);   // the smallest subnormal
    assert_int_equal(tern__f32_to_f16(0x1p-25f), 0x0000);   // a tie: to even
    assert_int_equal(tern__f32_to_f16(0x1.000002p-25f), 0x0001);
    assert_int_equal(tern__f32_to_f16(0x1.ff4p-15f), 0x03fe); // a tie: to even
    assert_int_equal(tern__f32_to_f16(0x1.ff8p-15f), 0x03ff); // the largest subnormal
    assert_int_equal(tern__f32_to_f16(0x1.ffcp-15f), 0x0400); // a tie into the normal numbers
    assert_int_equal(tern__f32_to_f16(0x1p-149f), 0x0000);
    assert_int_equal(tern__f32_to_f16(-0.0f), 0x8000);
    assert_int_equal(tern__f32_to_bf16(0x1.fep127f), 0x7f7f); // the largest
    assert_int_equal(tern__f32_to_bf16(0x1.ffp127f), 0x7f80); // a tie: infinity
    assert_int_equal(tern__f32_to_bf16(0x1p-149f), 0x0000);
    assert_int_equal(tern__f32_to_bf16(0x1p-133f), 0x0001); // the smallest subnormal
    assert_int_equal(tern__f32_to_bf16(-0.0f), 0x8000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_f16_becomes_its_value),
        cmocka_unit_test(every_bf16_becomes_its_value),
        cmocka_unit_test(every_f16_survives_the_way_there_and_back),
        cmocka_unit_test(every_bf16_survives_the_way_there_and_back),
        cmocka_unit_test(f16_rounds_to_nearest_even_at_every_boundary),
        cmocka_unit_test(bf16_rounds_to_nearest_even_at_every_boundary),
        cmocka_unit_test(f16_agrees_with_the_compiler_over_the_whole_range),
        cmocka_unit_test(bf16_agrees_with_exact_arithmetic_over_the_whole_range),
        cmocka_unit_test(every_nan_stays_nan_with_its_sign),
        cmocka_unit_test(limits_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
