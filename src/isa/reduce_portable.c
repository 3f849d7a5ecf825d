// SPDX-License-Identifier: Apache-2.0
// The reduce kernels in vectors of 16 bytes, which every processor has or the compiler takes apart.

#include <string.h>

#include "base/half.h"
#include "isa/reduce.h"

#define REDUCE_TARGET
#define REDUCE_BYTES 16
#define REDUCE_TABLE tern__reduce_portable

#include "isa/reduce_half.h"

static __attribute__((noinline)) struct reduce_pair reduce_from_f16(const char *from)
{
    uint16_t halves[8];
    float floats[8];
    struct reduce_pair pair;
    memcpy(halves, from, sizeof halves);
    for (int i = 0; i < 8; i++) {
        floats[i] = tern__f16_to_f32(halves[i]);
    }
    memcpy(&pair, floats, sizeof pair);
    return pair;
}

static __attribute__((noinline)) reduce_halves reduce_to_f16(struct reduce_pair pair)
{
    uint16_t halves[8];
    float floats[8];
    reduce_halves joined;
    pair.v[0] = reduce_clean(pair.v[0]);
    pair.v[1] = reduce_clean(pair.v[1]);
    memcpy(floats, &pair, sizeof floats);
    for (int i = 0; i < 8; i++) {
        halves[i] = tern__f32_to_f16(floats[i]);
    }
    memcpy(&joined, halves, sizeof joined);
    return joined;
}

// The bf16 nearest to each, of two the even one, in the upper half of its bits. Not for NaN.
REDUCE_INLINE reduce_words reduce_half_to_bf16(reduce_floats floats)
{
    reduce_words bits = (reduce_words)floats;
    return bits + 0x7fffu + ((bits >> 16) & 1u);
}

REDUCE_INLINE reduce_halves reduce_to_bf16(struct reduce_pair pair)
{
    reduce_words even = reduce_half_to_bf16(reduce_clean(pair.v[0]));
    reduce_words odd = reduce_half_to_bf16(reduce_clean(pair.v[1]));
    return (reduce_halves)((even >> 16) | (odd & 0xffff0000u));
}

#include "isa/reduce_kernels.h"
