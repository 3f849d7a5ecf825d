// SPDX-License-Identifier: Apache-2.0
// The reduce kernels in vectors of 64 bytes, for AVX-512 with F, BW, DQ and VL.

#include "isa/reduce.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <stdint.h>

#define REDUCE_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define REDUCE_BYTES 64
#define REDUCE_TABLE tern__reduce_avx512

typedef uint16_t reduce_halves __attribute__((vector_size(32)));
typedef float reduce_floats __attribute__((vector_size(64)));

REDUCE_TARGET static inline reduce_floats reduce_from_f16(reduce_halves halves)
{
    return (reduce_floats)_mm512_cvtph_ps((__m256i)halves);
}

REDUCE_TARGET static inline reduce_halves reduce_to_f16(reduce_floats floats)
{
    return (reduce_halves)_mm512_cvtps_ph((__m512)floats, _MM_FROUND_TO_NEAREST_INT);
}

#include "isa/reduce_kernels.h"

#endif
