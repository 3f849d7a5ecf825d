// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 to f32 and back, in portable integer arithmetic; rounding to nearest even, NaN stays
// NaN, overflow goes to infinity, f16 subnormals are kept. IEEE 754-2019, 3.6 and 4.3.
#ifndef TERN_BASE_HALF_H
#define TERN_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float tern__f32_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t tern__f32_to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float tern__bf16_to_f32(uint16_t half)
{
    return tern__f32_from_bits((uint32_t)half << 16);
}

static inline uint16_t tern__f32_to_bf16(float value)
{
    uint32_t bits = tern__f32_to_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)((bits >> 16) | 0x40u); // quiet the NaN, keep its sign and upper payload
    }
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

static inline float tern__f16_to_f32(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 0x1fu;
    uint32_t mantissa = half & 0x3ffu;
    if (exponent == 0x1fu) {
        return tern__f32_from_bits(sign | 0x7f800000u | (mantissa << 13));
    }
    if (exponent == 0) { // zero or subnormal: mantissa * 2^-24, exact in f32
        float magnitude = (float)mantissa * 0x1p-24f;
        return tern__f32_from_bits(sign | tern__f32_to_bits(magnitude));
    }
    return tern__f32_from_bits(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

static inline uint16_t tern__f32_to_f16(float value)
{
    uint32_t bits = tern__f32_to_bits(value);
    uint32_t sign = (bits >> 16) & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
    }
    if (magnitude >= 0x477ff000u) { // rounds to 65536 or above: infinity
        return (uint16_t)(sign | 0x7c00u);
    }
    if (magnitude < 0x38800000u) { // below 2^-14: adding 0.5 leaves round(value * 2^24) at the end
        uint32_t rounded = tern__f32_to_bits(tern__f32_from_bits(magnitude) + 0.5f);
        return (uint16_t)(sign | (rounded - 0x3f000000u));
    }
    uint32_t rebased = magnitude - 0x38000000u;
    return (uint16_t)(sign | ((rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13));
}

#endif
