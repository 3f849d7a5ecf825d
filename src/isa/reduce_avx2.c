// SPDX-License-Identifier: Apache-2.0
// The reduce kernels in vectors of 32 bytes, for AVX2 with F16C.

#include "isa/reduce.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define REDUCE_TARGET __attribute__((target("avx2,f16c")))
#define REDUCE_BYTES 32
#define REDUCE_TABLE tern__reduce_avx2
#define REDUCE_STREAM(to, bytes) _mm256_stream_si256(to, (__m256i)(bytes))

#include "isa/reduce_half.h"

// Almost never: one comparison tells it of both vectors.
REDUCE_INLINE struct reduce_pair reduce_clean_pair(struct reduce_pair pair)
{
    __m256 broken = _mm256_cmp_ps((__m256)pair.v[0], (__m256)pair.v[1], _CMP_UNORD_Q);
    if (__builtin_expect(_mm256_movemask_ps(broken) != 0, 0)) {
        pair.v[0] = reduce_clean(pair.v[0]);
        pair.v[1] = reduce_clean(pair.v[1]);
    }
    return pair;
}

REDUCE_INLINE struct reduce_pair reduce_from_f16(const char *from)
{
    const __m128i *halves = (const __m128i *)(const void *)from;
    return (struct reduce_pair){{(reduce_floats)_mm256_cvtph_ps(_mm_loadu_si128(halves)),
                                 (reduce_floats)_mm256_cvtph_ps(_mm_loadu_si128(halves + 1))}};
}

REDUCE_INLINE reduce_halves reduce_to_f16(struct reduce_pair pair)
{
    pair = reduce_clean_pair(pair);
    __m128i low = _mm256_cvtps_ph((__m256)pair.v[0], _MM_FROUND_TO_NEAREST_INT);
    __m128i high = _mm256_cvtps_ph((__m256)pair.v[1], _MM_FROUND_TO_NEAREST_INT);
    return (reduce_halves)_mm256_set_m128i(high, low);
}

// The lower halves and the upper halves of all floats, each in 16 bits, are rounded together:
// (lower + 0x7fff + (upper & 1)) >> 16 is the upper bit of an average, which keeps the carry.
REDUCE_INLINE reduce_halves reduce_to_bf16(struct reduce_pair pair)
{
    pair = reduce_clean_pair(pair);
    __m256i even = (__m256i)pair.v[0];
    __m256i odd = (__m256i)pair.v[1];
    __m256i upper = _mm256_blend_epi16(_mm256_srli_epi32(even, 16), odd, 0xaa);
    __m256i lower = _mm256_blend_epi16(even, _mm256_slli_epi32(odd, 16), 0xaa);
    __m256i last = _mm256_and_si256(upper, _mm256_set1_epi16(1));
    __m256i half = _mm256_add_epi16(last, _mm256_set1_epi16(0x7ffe));
    __m256i carry = _mm256_srli_epi16(_mm256_avg_epu16(lower, half), 15);
    return (reduce_halves)_mm256_add_epi16(upper, carry);
}

#include "isa/reduce_kernels.h"

#endif
