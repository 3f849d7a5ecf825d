// SPDX-License-Identifier: Apache-2.0
// f32 and bf16 (element.h). A bf16 is the upper half of an f32; rounding to it adds half of the
// last kept place, minus one when that place is even. The loops have no branch, so that compilers
// turn them into vector code.
#include "element.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint16_t to_bf16(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    uint32_t quiet_nan = (bits >> 16) | 0x40U; // rounding could carry a NaN over into infinity
    return (uint16_t)((bits & 0x7fffffffU) > 0x7f800000U ? quiet_nan : rounded);
}

static float from_bf16(uint16_t element)
{
    return float_of((uint32_t)element << 16);
}

double element_roundoff(tern_dtype dtype)
{
    return dtype == TERN_BF16 ? 0x1p-8 : 0x1p-24;
}

void elements_round(tern_dtype dtype, float *values, size_t count)
{
    if (dtype != TERN_BF16) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        values[i] = from_bf16(to_bf16(values[i]));
    }
}

static void copy(float *to, const float *from, size_t count)
{
    if (to != from) {
        memcpy(to, from, count * sizeof *to);
    }
}

void elements_pack(tern_dtype dtype, const float *values, void *elements, size_t count)
{
    if (dtype == TERN_F32) {
        copy(elements, values, count);
        return;
    }
    assert(dtype == TERN_BF16);
    uint16_t *halves = elements;
    for (size_t i = 0; i < count; i++) {
        halves[i] = to_bf16(values[i]);
    }
}

void elements_unpack(tern_dtype dtype, const void *elements, float *values, size_t count)
{
    if (dtype == TERN_F32) {
        copy(values, elements, count);
        return;
    }
    assert(dtype == TERN_BF16);
    const uint16_t *halves = elements;
    for (size_t i = 0; i < count; i++) {
        values[i] = from_bf16(halves[i]);
    }
}

void elements_add(tern_dtype dtype, float *sums, const void *elements, size_t count)
{
    if (dtype == TERN_F32) {
        const float *values = elements;
        for (size_t i = 0; i < count; i++) {
            sums[i] += values[i];
        }
        return;
    }
    assert(dtype == TERN_BF16);
    const uint16_t *halves = elements;
    for (size_t i = 0; i < count; i++) {
        sums[i] += from_bf16(halves[i]);
    }
}
