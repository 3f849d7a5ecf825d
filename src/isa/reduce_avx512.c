// SPDX-License-Identifier: Apache-2.0
// The reduce kernels in vectors of 64 bytes, for AVX-512 with F, BW, DQ and VL.

#include "isa/reduce.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define REDUCE_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define REDUCE_BYTES 64
#define REDUCE_TABLE tern__reduce_avx512
#define REDUCE_MASKED
#define REDUCE_STREAM(to, bytes) _mm512_stream_si512(to, (__m512i)(bytes))

#include "isa/reduce_half.h"

// Fewer bytes than a vector has; the rest is 0. A copy in memory would cost what 20 vectors do.
REDUCE_INLINE reduce_bytes reduce_load_part(const char *from, size_t bytes)
{
    return (reduce_bytes)_mm512_maskz_loadu_epi8((UINT64_C(1) << bytes) - 1, from);
}

REDUCE_INLINE void reduce_store_part(char *to, reduce_bytes part, size_t bytes)
{
    _mm512_mask_storeu_epi8(to, (UINT64_C(1) << bytes) - 1, (__m512i)part);
}

REDUCE_INLINE struct reduce_pair reduce_from_f16(const char *from)
{
    const __m256i *halves = (const __m256i *)(const void *)from;
    return (struct reduce_pair){{(reduce_floats)_mm512_cvtph_ps(_mm256_loadu_si256(halves)),
                                 (reduce_floats)_mm512_cvtph_ps(_mm256_loadu_si256(halves + 1))}};
}

REDUCE_INLINE __m256i reduce_half_to_f16(reduce_floats floats)
{
    __mmask16 broken = _mm512_cmp_ps_mask((__m512)floats, (__m512)floats, _CMP_UNORD_Q);
    __m512i nan = _mm512_set1_epi32((int)REDUCE_NAN_F32);
    __m512i clean = _mm512_mask_mov_epi32((__m512i)floats, broken, nan);
    return _mm512_cvtps_ph((__m512)clean, _MM_FROUND_TO_NEAREST_INT);
}

REDUCE_INLINE reduce_halves reduce_to_f16(struct reduce_pair pair)
{
    __m512i low = _mm512_castsi256_si512(reduce_half_to_f16(pair.v[0]));
    return (reduce_halves)_mm512_inserti64x4(low, reduce_half_to_f16(pair.v[1]), 1);
}

// bits + 0x7fff, and 1 more where the last bit that stays is set.
REDUCE_INLINE __m512i reduce_half_to_bf16(__m512i bits)
{
    __mmask16 odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x10000));
    __m512i sum = _mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff));
    return _mm512_mask_sub_epi32(sum, odd, sum, _mm512_set1_epi32(-1));
}

REDUCE_INLINE reduce_halves reduce_to_bf16(struct reduce_pair pair)
{
    __mmask16 whole = _mm512_cmp_ps_mask((__m512)pair.v[0], (__m512)pair.v[0], _CMP_ORD_Q);
    __mmask16 broken = _mm512_cmp_ps_mask((__m512)pair.v[1], (__m512)pair.v[1], _CMP_UNORD_Q);
    __m512i even = reduce_half_to_bf16((__m512i)pair.v[0]);
    __m512i odd = reduce_half_to_bf16((__m512i)pair.v[1]);
    even = _mm512_mask_srli_epi32(_mm512_set1_epi32(REDUCE_NAN_BF16), whole, even, 16);
    odd = _mm512_mask_mov_epi32(odd, broken, _mm512_set1_epi32((int)REDUCE_NAN_F32));
    // (odd & upper) | even
    return (reduce_halves)_mm512_ternarylogic_epi32(odd, _mm512_set1_epi32((int)0xffff0000u), even,
                                                    0xea);
}

#include "isa/reduce_kernels.h"

#endif
