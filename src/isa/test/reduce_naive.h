// SPDX-License-Identifier: Apache-2.0
// Elements to reduce, and what must come of them: a naive loop over the sources of one element,
// written from tern/op.h and not from the kernels. Included by the tests of the reduce kernels.
#ifndef TERN_ISA_TEST_REDUCE_NAIVE_H
#define TERN_ISA_TEST_REDUCE_NAIVE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/half.h"
#include "support/random.h"
#include "tern/op.h"

enum { NAIVE_ELEMENT_MAX = 16 };

static uint64_t random_state = 88172645463325252u;

static inline bool is_float(tern_dtype dtype)
{
    return dtype <= TERN_F64;
}

static inline bool is_signed(tern_dtype dtype)
{
    return dtype >= TERN_I8 && dtype <= TERN_I64;
}

static inline bool is_pair(tern_reduce_op op)
{
    return op == TERN_MINLOC || op == TERN_MAXLOC;
}

static inline void put_float(char *to, tern_dtype dtype, float value)
{
    double wide = value;
    uint16_t half = tern__f32_to_f16(value);
    uint16_t brain = tern__f32_to_bf16(value);
    const void *from = dtype == TERN_F32   ? (const void *)&value
                       : dtype == TERN_F64 ? (const void *)&wide
                       : dtype == TERN_F16 ? (const void *)&half
                                           : (const void *)&brain;
    memcpy(to, from, tern_dtype_size(dtype));
}

static const float odd_floats[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, -NAN, 1e-42f, -3e-41f};

// Floats are mostly of moderate size, so that sums and products stay finite; now and then any bits,
// or one of those that compare oddly. Integers are any bits.
static inline void put_value(char *to, tern_dtype dtype)
{
    uint64_t bits = random_next(&random_state);
    if (!is_float(dtype) || bits % 17 == 0) {
        memcpy(to, &bits, tern_dtype_size(dtype));
    } else if (bits % 13 == 0) {
        put_float(to, dtype, odd_floats[(bits >> 8) % 8]);
    } else {
        put_float(to, dtype, (float)((int)(bits >> 40) % 4096 - 2048) / 256.0f);
    }
}

// Pairs of few values and few indices, so that ties are common; any padding.
static inline void put_pair(char *to, tern_dtype dtype)
{
    uint64_t bits = random_next(&random_state);
    uint64_t padding[2] = {random_next(&random_state), random_next(&random_state)};
    int64_t small = (int64_t)(bits >> 32) % 3 - 1;
    int32_t index = (int32_t)(bits >> 8 & 3) - 1;
    size_t bytes = tern_reduce_element_bytes(dtype, TERN_MINLOC);
    memcpy(to, padding, bytes);
    if (bits % 5 == 0) {
        put_value(to, dtype);
    } else if (is_float(dtype)) {
        put_float(to, dtype, bits % 3 == 0 ? odd_floats[(bits >> 16) % 8] : (float)small);
    } else {
        memcpy(to, &small, tern_dtype_size(dtype));
    }
    memcpy(to + bytes / 2, &index, sizeof index);
}

static inline void put_element(char *to, tern_dtype dtype, tern_reduce_op op)
{
    if (is_pair(op)) {
        put_pair(to, dtype);
    } else {
        put_value(to, dtype);
    }
}

#define NAIVE(type, first, get)                                                                    \
    do {                                                                                           \
        type acc = (first);                                                                        \
        for (int s = 1; s < n; s++) {                                                              \
            type next = (get);                                                                     \
            switch (op) {                                                                          \
            case TERN_SUM:                                                                         \
            case TERN_AVG:                                                                         \
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
            default:                                                                               \
                break;                                                                             \
            }                                                                                      \
        }                                                                                          \
        result = acc;                                                                              \
    } while (0)

static inline float get_float(tern_dtype dtype, const char *from)
{
    uint32_t bits = 0;
    memcpy(&bits, from, tern_dtype_size(dtype));
    return dtype == TERN_F16    ? tern__f16_to_f32((uint16_t)bits)
           : dtype == TERN_BF16 ? tern__bf16_to_f32((uint16_t)bits)
                                : tern__f32_from_bits(bits);
}

static inline uint64_t get_bits(const char *from, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, from, size);
    return bits;
}

static inline int64_t get_signed(const char *from, size_t size)
{
    unsigned unused = 64 - 8 * (unsigned)size;
    return (int64_t)(get_bits(from, size) << unused) >> unused;
}

static inline uint64_t naive_float(tern_dtype dtype, tern_reduce_op op, const char *const *from,
                                   int n)
{
    float result;
    NAIVE(float, get_float(dtype, from[0]), get_float(dtype, from[s]));
    result = op == TERN_AVG ? result / (float)n : result;
    uint32_t bits = result != result ? 0x7fc00000u : tern__f32_to_bits(result);
    return dtype == TERN_F16    ? tern__f32_to_f16(tern__f32_from_bits(bits))
           : dtype == TERN_BF16 ? tern__f32_to_bf16(tern__f32_from_bits(bits))
                                : bits;
}

static inline double get_double(const char *from)
{
    double value;
    memcpy(&value, from, sizeof value);
    return value;
}

static inline uint64_t naive_double(tern_reduce_op op, const char *const *from, int n)
{
    double result;
    NAIVE(double, get_double(from[0]), get_double(from[s]));
    result = op == TERN_AVG ? result / (double)n : result;
    uint64_t bits;
    memcpy(&bits, &result, sizeof bits);
    return result != result ? UINT64_C(0x7ff8000000000000) : bits;
}

static inline uint64_t naive_average(tern_dtype dtype, const char *const *from, int n)
{
    size_t size = tern_dtype_size(dtype);
    uint64_t sum = 0;
    for (int s = 0; s < n; s++) {
        sum += is_signed(dtype) ? (uint64_t)get_signed(from[s], size) : get_bits(from[s], size);
    }
    return is_signed(dtype) ? (uint64_t)((int64_t)sum / n) : sum / (uint64_t)n;
}

static inline uint64_t naive_bitwise(tern_dtype dtype, tern_reduce_op op, const char *const *from,
                                     int n)
{
    size_t size = tern_dtype_size(dtype);
    uint64_t acc = get_bits(from[0], size);
    for (int s = 1; s < n; s++) {
        uint64_t next = get_bits(from[s], size);
        acc = op == TERN_AND ? acc & next : op == TERN_OR ? acc | next : acc ^ next;
    }
    return acc;
}

static inline uint64_t naive_integer(tern_dtype dtype, tern_reduce_op op, const char *const *from,
                                     int n)
{
    size_t size = tern_dtype_size(dtype);
    if (op == TERN_AVG) {
        return naive_average(dtype, from, n);
    }
    if (op == TERN_AND || op == TERN_OR || op == TERN_XOR) {
        return naive_bitwise(dtype, op, from, n);
    }
    if (is_signed(dtype) && (op == TERN_MAX || op == TERN_MIN)) {
        int64_t result;
        NAIVE(int64_t, get_signed(from[0], size), get_signed(from[s], size));
        return (uint64_t)result;
    }
    uint64_t result;
    NAIVE(uint64_t, get_bits(from[0], size), get_bits(from[s], size));
    return result; // its low bytes are those of arithmetic that wraps around
}

// The value of a pair, of any dtype, exactly: 64 bits of an integer fit.
static inline long double pair_value(tern_dtype dtype, const char *pair)
{
    size_t size = tern_dtype_size(dtype);
    return dtype == TERN_F64  ? (long double)get_double(pair)
           : is_float(dtype)  ? (long double)get_float(dtype, pair)
           : is_signed(dtype) ? (long double)get_signed(pair, size)
                              : (long double)get_bits(pair, size);
}

// Whether pair b goes before pair a.
static inline bool naive_before(tern_dtype dtype, tern_reduce_op op, const char *b, const char *a)
{
    size_t bytes = tern_reduce_element_bytes(dtype, op);
    long double x = pair_value(dtype, a);
    long double y = pair_value(dtype, b);
    if (isnan(x) != isnan(y)) {
        return isnan(y);
    }
    if (!isnan(x) && x != y) {
        return op == TERN_MINLOC ? y < x : y > x;
    }
    int64_t i = get_signed(a + bytes / 2, 4);
    int64_t j = get_signed(b + bytes / 2, 4);
    if (i != j) {
        return j < i;
    }
    for (size_t k = bytes; k-- > 0;) {
        if (a[k] != b[k]) {
            return (uint8_t)b[k] < (uint8_t)a[k];
        }
    }
    return false;
}

// The element that `n` elements reduce to.
static inline void naive_reduce(tern_dtype dtype, tern_reduce_op op, const char *const *from, int n,
                                char *to)
{
    size_t bytes = tern_reduce_element_bytes(dtype, op);
    const char *best = from[0];
    for (int s = 1; s < n && is_pair(op); s++) {
        best = naive_before(dtype, op, from[s], best) ? from[s] : best;
    }
    if (n == 1 || is_pair(op)) {
        memcpy(to, best, bytes);
        return;
    }
    uint64_t bits = dtype == TERN_F64 ? naive_double(op, from, n)
                    : is_float(dtype) ? naive_float(dtype, op, from, n)
                                      : naive_integer(dtype, op, from, n);
    memcpy(to, &bits, bytes);
}

#endif
