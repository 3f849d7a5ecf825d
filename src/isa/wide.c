// SPDX-License-Identifier: Apache-2.0
// Elements to wide ones and back. Data path: no allocation, lock, system call or log.

#include "isa/wide.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/half.h"
#include "isa/reduce.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum tern__wide_kind tern__wide_kind(tern_dtype dtype)
{
    switch (dtype) {
    case TERN_F32:
    case TERN_F16:
    case TERN_BF16:
    case TERN_F64:
        return TERN__WIDE_FLOAT;
    case TERN_I8:
    case TERN_I16:
    case TERN_I32:
    case TERN_I64:
        return TERN__WIDE_SIGNED;
    default:
        return TERN__WIDE_UNSIGNED;
    }
}

// FIELD of `wide` from elements of TYPE, by TURN.
#define LOAD(TYPE, FIELD, TURN)                                                                    \
    for (size_t n = 0; n < count; n++) {                                                           \
        wide->FIELD[n] = TURN(((const TYPE *)from)[(int64_t)n * stride]);                          \
    }                                                                                              \
    break

void tern__wide_load(union tern__wide *wide, tern_dtype dtype, const void *from, int64_t stride,
                     size_t count)
{
    switch (dtype) {
    case TERN_F32:
        LOAD(float, f, (double));
    case TERN_F16:
        LOAD(uint16_t, f, (double)tern__f16_to_f32);
    case TERN_BF16:
        LOAD(uint16_t, f, (double)tern__bf16_to_f32);
    case TERN_F64:
        LOAD(double, f, );
    case TERN_I8:
        LOAD(int8_t, i, (int64_t));
    case TERN_I16:
        LOAD(int16_t, i, );
    case TERN_I32:
        LOAD(int32_t, i, );
    case TERN_I64:
        LOAD(int64_t, i, );
    case TERN_U8:
        LOAD(uint8_t, u, );
    case TERN_U16:
        LOAD(uint16_t, u, );
    case TERN_U32:
        LOAD(uint32_t, u, );
    case TERN_U64:
        LOAD(uint64_t, u, );
    default: // only moved: no tile has it
        break;
    }
}

// A double to f16 or bf16 by way of f32 that is rounded to odd, so that the second rounding is the
// only one that counts (Boldo and Melquiond, 2008).
static float to_odd(double value)
{
    float near = (float)value;
    if ((double)near == value || isnan(value) || isinf(near)) {
        return near;
    }
    uint32_t bits = tern__f32_to_bits(near);
    bool beyond = fabs((double)near) > fabs(value); // rounded away from zero
    return tern__f32_from_bits((beyond ? bits - 1 : bits) | 1u);
}

static uint16_t to_f16(double value)
{
    return tern__f32_to_f16(to_odd(value));
}

static uint16_t to_bf16(double value)
{
    return tern__f32_to_bf16(to_odd(value));
}

static int64_t to_signed(double value, int64_t least, int64_t most)
{
    double near = nearbyint(value);
    if (isnan(near)) {
        return 0;
    }
    return near <= (double)least ? least : near >= (double)most ? most : (int64_t)near;
}

static uint64_t to_unsigned(double value, uint64_t most)
{
    double near = nearbyint(value);
    if (!(near > 0)) {
        return 0;
    }
    return near >= (double)most ? most : (uint64_t)near;
}

#define STORE(TYPE, ...)                                                                           \
    for (size_t n = 0; n < count; n++) {                                                           \
        ((TYPE *)to)[(int64_t)n * stride] = (TYPE)(__VA_ARGS__);                                   \
    }                                                                                              \
    break
#define STORE_SIGNED(TYPE, LEAST, MOST)                                                            \
    if (kind == TERN__WIDE_FLOAT) {                                                                \
        STORE(TYPE, to_signed(wide->f[n], LEAST, MOST));                                           \
    } else {                                                                                       \
        STORE(TYPE, wide->u[n]);                                                                   \
    }
#define STORE_UNSIGNED(TYPE, MOST)                                                                 \
    if (kind == TERN__WIDE_FLOAT) {                                                                \
        STORE(TYPE, to_unsigned(wide->f[n], MOST));                                                \
    } else {                                                                                       \
        STORE(TYPE, wide->u[n]);                                                                   \
    }

// Integers with at most 53 digits, rounded to odd where there were more: for what is rounded again.
static int64_t few_digits(int64_t value)
{
    bool many = value >= INT64_C(1) << 53 || value <= -(INT64_C(1) << 53);
    return many && (value & 0x7ff) != 0 ? (value & ~INT64_C(0x7ff)) | 0x800 : value;
}

static double as_f64(const union tern__wide *wide, enum tern__wide_kind kind, size_t n)
{
    switch (kind) {
    case TERN__WIDE_FLOAT:
        return wide->f[n];
    case TERN__WIDE_SIGNED:
        return (double)wide->i[n];
    default:
        return (double)wide->u[n];
    }
}

static double as_odd(const union tern__wide *wide, enum tern__wide_kind kind, size_t n)
{
    switch (kind) {
    case TERN__WIDE_FLOAT:
        return wide->f[n];
    case TERN__WIDE_SIGNED:
        return (double)few_digits(wide->i[n]);
    default:
        return (double)(wide->u[n] >> 63 != 0 ? (wide->u[n] | 0x800) & ~UINT64_C(0x7ff)
                                              : (uint64_t)few_digits(wide->i[n]));
    }
}

static float as_f32(const union tern__wide *wide, enum tern__wide_kind kind, size_t n)
{
    switch (kind) {
    case TERN__WIDE_FLOAT:
        return (float)wide->f[n];
    case TERN__WIDE_SIGNED:
        return (float)wide->i[n];
    default:
        return (float)wide->u[n];
    }
}

void tern__wide_store(const union tern__wide *wide, enum tern__wide_kind kind, tern_dtype dtype,
                      void *to, int64_t stride, size_t count)
{
    switch (dtype) {
    case TERN_F32:
        STORE(float, as_f32(wide, kind, n));
    case TERN_F16:
        STORE(uint16_t, to_f16(as_odd(wide, kind, n)));
    case TERN_BF16:
        STORE(uint16_t, to_bf16(as_odd(wide, kind, n)));
    case TERN_F64:
        STORE(double, as_f64(wide, kind, n));
    case TERN_I8:
        STORE_SIGNED(int8_t, INT8_MIN, INT8_MAX);
        break;
    case TERN_I16:
        STORE_SIGNED(int16_t, INT16_MIN, INT16_MAX);
        break;
    case TERN_I32:
        STORE_SIGNED(int32_t, INT32_MIN, INT32_MAX);
        break;
    case TERN_I64:
        STORE_SIGNED(int64_t, INT64_MIN, INT64_MAX);
        break;
    case TERN_U8:
        STORE_UNSIGNED(uint8_t, UINT8_MAX);
        break;
    case TERN_U16:
        STORE_UNSIGNED(uint16_t, UINT16_MAX);
        break;
    case TERN_U32:
        STORE_UNSIGNED(uint32_t, UINT32_MAX);
        break;
    case TERN_U64:
        STORE_UNSIGNED(uint64_t, UINT64_MAX);
        break;
    default:
        break;
    }
}

#if defined(__x86_64__)
#define WITH_F16C __attribute__((target("avx2,f16c")))

static bool has_f16c(void)
{
    return tern__reduce_at(TERN__REDUCE_AVX2, TERN_F16, TERN_SUM) != NULL;
}

// As many as there are vectors of; returns how many that was.
WITH_F16C static size_t load_vectors(float *to, const uint16_t *from, size_t count)
{
    size_t n = 0;
    for (; n + 8 <= count; n += 8) {
        __m128i halves = _mm_loadu_si128((const __m128i *)(const void *)(from + n));
        _mm256_storeu_ps(to + n, _mm256_cvtph_ps(halves));
    }
    return n;
}

WITH_F16C static size_t store_vectors(uint16_t *to, const float *from, size_t count)
{
    size_t n = 0;
    for (; n + 8 <= count; n += 8) {
        __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + n), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((__m128i *)(void *)(to + n), halves);
    }
    return n;
}
#else
static bool has_f16c(void)
{
    return false;
}

static size_t load_vectors(float *to, const uint16_t *from, size_t count)
{
    (void)to, (void)from, (void)count;
    return 0;
}

static size_t store_vectors(uint16_t *to, const float *from, size_t count)
{
    (void)to, (void)from, (void)count;
    return 0;
}
#endif

void tern__floats_from_halves(float *to, tern_dtype dtype, const void *from, size_t count)
{
    const uint16_t *halves = from;
    if (dtype == TERN_BF16) {
        for (size_t n = 0; n < count; n++) {
            to[n] = tern__bf16_to_f32(halves[n]);
        }
        return;
    }
    for (size_t n = has_f16c() ? load_vectors(to, halves, count) : 0; n < count; n++) {
        to[n] = tern__f16_to_f32(halves[n]);
    }
}

void tern__floats_to_halves(void *to, tern_dtype dtype, const float *from, size_t count)
{
    uint16_t *halves = to;
    if (dtype == TERN_BF16) {
        for (size_t n = 0; n < count; n++) {
            halves[n] = tern__f32_to_bf16(from[n]);
        }
        return;
    }
    for (size_t n = has_f16c() ? store_vectors(halves, from, count) : 0; n < count; n++) {
        halves[n] = tern__f32_to_f16(from[n]);
    }
}
