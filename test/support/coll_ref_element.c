// SPDX-License-Identifier: Apache-2.0
// The naive reference of the collective calls: elements, how they are made and what reductions make
// of them.

#include "coll_ref.h"

#include <math.h>
#include <string.h>

struct ref_function_arg ref_function_args[9][2] = {
    [1] = {{.size_bytes = 1}, {.size_bytes = 1, .exact = true}},
    [2] = {{.size_bytes = 2}, {.size_bytes = 2, .exact = true}},
    [4] = {{.size_bytes = 4}, {.size_bytes = 4, .exact = true}},
    [8] = {{.size_bytes = 8}, {.size_bytes = 8, .exact = true}},
};

static bool is_pair(const struct ref_case *c)
{
    return ref_reduces(c->kind) && (c->op == TERN_MINLOC || c->op == TERN_MAXLOC);
}

static bool is_float(tern_dtype dtype)
{
    return dtype == TERN_F32 || dtype == TERN_F16 || dtype == TERN_BF16 || dtype == TERN_F64;
}

static bool is_signed(tern_dtype dtype)
{
    return dtype == TERN_I8 || dtype == TERN_I16 || dtype == TERN_I32 || dtype == TERN_I64;
}

static size_t value_bytes(tern_dtype dtype)
{
    switch (dtype) {
    case TERN_I8:
    case TERN_U8:
        return 1;
    case TERN_F16:
    case TERN_BF16:
    case TERN_I16:
    case TERN_U16:
        return 2;
    case TERN_F32:
    case TERN_I32:
    case TERN_U32:
        return 4;
    default:
        return 8;
    }
}

size_t ref_element(const struct ref_case *c)
{
    size_t value = value_bytes(c->dtype);
    return is_pair(c) ? (value == 8 ? 16 : 8) : value;
}

static size_t index_at(const struct ref_case *c)
{
    return value_bytes(c->dtype) == 8 ? 8 : 4;
}

// Numbers as elements.

// A number in a format of `digits` significant bits (the leading one included) and normal exponents
// from `least` to `most`: the fraction's bits below the exponent's, to nearest even.
static uint16_t narrow(float value, int digits, int least, int most)
{
    unsigned sign = signbit(value) ? 0x8000u : 0;
    unsigned fraction_bits = (unsigned)digits - 1;
    unsigned infinite = (unsigned)(most - least + 2) << fraction_bits;
    if (isnan(value)) {
        return (uint16_t)(sign | infinite | 1u << (fraction_bits - 1));
    }
    double magnitude = fabs((double)value);
    if (magnitude == 0 || isinf(value)) {
        return (uint16_t)(sign | (magnitude == 0 ? 0 : infinite));
    }
    int exponent = ilogb(magnitude);
    exponent = exponent < least ? least : exponent;
    double steps = rint(ldexp(magnitude, (int)fraction_bits - exponent));
    if (steps >= ldexp(1, digits)) {
        exponent++;
        steps /= 2;
    }
    if (exponent > most) {
        return (uint16_t)(sign | infinite);
    }
    // A subnormal has the least exponent and no leading one; adding carries into the exponent
    // field.
    unsigned bits = ((unsigned)(exponent - least) << fraction_bits) + (unsigned)steps;
    return (uint16_t)(sign | bits);
}

static float widen(uint16_t bits, int digits, int least, int most)
{
    int fraction_bits = digits - 1;
    unsigned fraction = bits & ((1u << fraction_bits) - 1);
    int exponent = (bits & 0x7fff) >> fraction_bits;
    double magnitude;
    if (exponent == most - least + 2) {
        magnitude = fraction != 0 ? (double)NAN : (double)INFINITY;
    } else if (exponent == 0) {
        magnitude = ldexp(fraction, least - fraction_bits);
    } else {
        magnitude = ldexp(fraction + ldexp(1, fraction_bits), exponent - 1 + least - fraction_bits);
    }
    return (float)copysign(magnitude, (bits & 0x8000u) != 0 ? -1.0 : 1.0);
}

#define F16 11, -14, 15
#define BF16 8, -126, 127

static float get_float(tern_dtype dtype, const char *from)
{
    uint16_t half;
    float value;
    if (dtype == TERN_F32) {
        memcpy(&value, from, sizeof value);
        return value;
    }
    memcpy(&half, from, sizeof half);
    return dtype == TERN_F16 ? widen(half, F16) : widen(half, BF16);
}

// The NaN that a reduction gives has no sign and no payload.
static void put_float(tern_dtype dtype, float value, char *to)
{
    value = isnan(value) ? (float)NAN : value;
    if (dtype == TERN_F32) {
        memcpy(to, &value, sizeof value);
        return;
    }
    uint16_t half = dtype == TERN_F16 ? narrow(value, F16) : narrow(value, BF16);
    memcpy(to, &half, sizeof half);
}

static double get_double(const char *from)
{
    double value;
    memcpy(&value, from, sizeof value);
    return value;
}

static uint64_t get_bits(size_t size, const char *from)
{
    uint64_t bits = 0;
    memcpy(&bits, from, size);
    return bits;
}

// With the sign where the type has one.
static uint64_t get_integer(tern_dtype dtype, const char *from)
{
    size_t size = value_bytes(dtype);
    uint64_t bits = get_bits(size, from);
    bool negative = is_signed(dtype) && (bits >> (8 * size - 1) & 1) != 0;
    return negative && size < 8 ? bits | ~UINT64_C(0) << (8 * size) : bits;
}

// Reductions of one element.

static float fold_float(const struct ref_case *c, const char *const *from)
{
    float sum = get_float(c->dtype, from[0]);
    for (int rank = 1; rank < c->n; rank++) {
        float next = get_float(c->dtype, from[rank]);
        if (c->op == TERN_SUM || c->op == TERN_AVG) {
            sum = sum + next;
        } else if (c->op == TERN_PROD) {
            sum = sum * next;
        } else if (isnan(next) || (c->op == TERN_MAX ? next > sum : next < sum)) {
            sum = next;
        }
    }
    return c->op == TERN_AVG ? sum / (float)c->n : sum;
}

static double fold_double(const struct ref_case *c, const char *const *from)
{
    double sum = get_double(from[0]);
    for (int rank = 1; rank < c->n; rank++) {
        double next = get_double(from[rank]);
        if (c->op == TERN_SUM || c->op == TERN_AVG) {
            sum = sum + next;
        } else if (c->op == TERN_PROD) {
            sum = sum * next;
        } else if (isnan(next) || (c->op == TERN_MAX ? next > sum : next < sum)) {
            sum = next;
        }
    }
    return c->op == TERN_AVG ? sum / c->n : sum;
}

static bool integer_less(tern_dtype dtype, uint64_t a, uint64_t b)
{
    return is_signed(dtype) ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t fold_integer(const struct ref_case *c, const char *const *from)
{
    uint64_t sum = get_integer(c->dtype, from[0]);
    for (int rank = 1; rank < c->n; rank++) {
        uint64_t next = get_integer(c->dtype, from[rank]);
        switch (c->op) {
        case TERN_PROD:
            sum *= next;
            break;
        case TERN_MAX:
            sum = integer_less(c->dtype, sum, next) ? next : sum;
            break;
        case TERN_MIN:
            sum = integer_less(c->dtype, next, sum) ? next : sum;
            break;
        case TERN_AND:
            sum &= next;
            break;
        case TERN_OR:
            sum |= next;
            break;
        case TERN_XOR:
            sum ^= next;
            break;
        default:
            sum += next;
        }
    }
    if (c->op == TERN_AVG) {
        return is_signed(c->dtype) ? (uint64_t)((int64_t)sum / c->n) : sum / (uint64_t)c->n;
    }
    return sum;
}

// -1, 0, 1: the first value is less, equal, greater, as minloc or maxloc see it.
static int compare_values(const struct ref_case *c, const char *a, const char *b)
{
    if (!is_float(c->dtype)) {
        uint64_t x = get_integer(c->dtype, a);
        uint64_t y = get_integer(c->dtype, b);
        return integer_less(c->dtype, x, y) ? -1 : x != y;
    }
    double x = c->dtype == TERN_F64 ? get_double(a) : (double)get_float(c->dtype, a);
    double y = c->dtype == TERN_F64 ? get_double(b) : (double)get_float(c->dtype, b);
    int nan = c->op == TERN_MINLOC ? -1 : 1;
    if (isnan(x) || isnan(y)) {
        return isnan(x) && isnan(y) ? 0 : isnan(x) ? nan : -nan;
    }
    return x < y ? -1 : x > y;
}

static const char *fold_pair(const struct ref_case *c, const char *const *from)
{
    const char *best = from[0];
    size_t size = value_bytes(c->dtype);
    for (int rank = 1; rank < c->n; rank++) {
        int order = compare_values(c, from[rank], best);
        int32_t index;
        int32_t best_index;
        memcpy(&index, from[rank] + index_at(c), sizeof index);
        memcpy(&best_index, best + index_at(c), sizeof best_index);
        // Zeros of two signs and NaNs: of equal pairs the one with the least bits.
        bool least = get_bits(size, from[rank]) < get_bits(size, best);
        bool earlier = index < best_index || (index == best_index && least);
        if (order == (c->op == TERN_MINLOC ? -1 : 1) || (order == 0 && earlier)) {
            best = from[rank];
        }
    }
    return best;
}

void ref_function(void *accumulator, const void *source, size_t count, void *arg)
{
    struct ref_function_arg *with = arg;
    size_t size = with->size_bytes;
    with->misaligned =
        with->misaligned || (uintptr_t)accumulator % size != 0 || (uintptr_t)source % size != 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t a = get_bits(size, (char *)accumulator + i * size);
        uint64_t b = get_bits(size, (const char *)source + i * size);
        uint64_t result = with->exact ? a + b : a * 3 + b;
        memcpy((char *)accumulator + i * size, &result, size);
    }
}

void ref_reduce_element(const struct ref_case *c, const char *const *from, char *to)
{
    size_t size = ref_element(c);
    if (c->n == 1) {
        memcpy(to, from[0], size);
    } else if (is_pair(c)) {
        memcpy(to, fold_pair(c, from), size);
    } else if (c->op == TERN_FUNCTION) {
        struct ref_function_arg with = {.size_bytes = size, .exact = c->exact};
        uint64_t aligned = get_bits(size, from[0]);
        for (int rank = 1; rank < c->n; rank++) {
            uint64_t next = get_bits(size, from[rank]);
            ref_function(&aligned, &next, 1, &with);
        }
        memcpy(to, &aligned, size);
    } else if (c->dtype == TERN_F64) {
        double value = fold_double(c, from);
        value = isnan(value) ? (double)NAN : value;
        memcpy(to, &value, sizeof value);
    } else if (is_float(c->dtype)) {
        put_float(c->dtype, fold_float(c, from), to);
    } else {
        uint64_t bits = fold_integer(c, from);
        memcpy(to, &bits, size);
    }
}

// Inputs.

// Mostly numbers whose sums and products stay finite and are rounded; now and then those that
// compare oddly, or any bits.
static double any_number(uint64_t hash)
{
    static const double odd[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, -NAN, 1e-42, -3e-41};
    return hash % 61 == 0 ? odd[(hash >> 8) % 8] : ((double)((hash >> 40) % 4096) - 2048) / 256;
}

// Sums of 64 of them, and the products, are exact in every type and order.
static double exact_number(const struct ref_case *c, int rank, uint64_t hash)
{
    if (c->op == TERN_PROD) {
        return rank < 6 && hash % 8 == 0 ? 2 : hash % 3 == 0 && is_signed(c->dtype) ? -1 : 1;
    }
    return (double)((hash >> 8) % 4) - (is_float(c->dtype) || is_signed(c->dtype) ? 1 : 0);
}

void ref_make_element(const struct ref_case *c, int rank, size_t i, char *to)
{
    size_t value = value_bytes(c->dtype);
    uint64_t hash = ref_mix(c->seed, (uint64_t)rank, i);
    // Pairs: few values, so that some are equal and the index decides.
    uint64_t number = is_pair(c) && hash % 3 != 0 ? ref_mix(hash >> 8 & 7, 8, 9) : hash;
    bool raw = !c->exact && (number % 67 == 0 || !is_float(c->dtype));
    if (raw) {
        number = ref_mix(number, 1, 2);
        memcpy(to, &number, value);
    } else {
        double x = c->exact ? exact_number(c, rank, number) : any_number(number);
        float narrower = (float)x;
        int64_t whole = isfinite(x) ? (int64_t)x : 0;
        uint16_t half = c->dtype == TERN_F16    ? narrow(narrower, F16)
                        : c->dtype == TERN_BF16 ? narrow(narrower, BF16)
                                                : 0;
        const void *from = c->dtype == TERN_F64               ? (const void *)&x
                           : c->dtype == TERN_F32             ? (const void *)&narrower
                           : value == 2 && is_float(c->dtype) ? (const void *)&half
                                                              : (const void *)&whole;
        memcpy(to, from, value);
    }
    if (is_pair(c)) {
        int32_t index = (int32_t)(ref_mix(hash, 3, 4) % 9) - 4;
        memset(to + value, 0, ref_element(c) - value);
        memcpy(to + index_at(c), &index, sizeof index);
    }
}

void ref_clean(const struct ref_case *c, void *elements, size_t count)
{
    size_t value = value_bytes(c->dtype);
    size_t size = ref_element(c);
    for (size_t i = 0; is_pair(c) && i < count; i++) {
        char *element = (char *)elements + i * size;
        memset(element + value, 0, index_at(c) - value);
        memset(element + index_at(c) + 4, 0, size - index_at(c) - 4);
    }
}
