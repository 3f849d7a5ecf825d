// SPDX-License-Identifier: Apache-2.0
// The reduce kernels in vectors of 32 bytes, for AVX2 with F16C.

#include "isa/reduce.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <stdint.h>

#define REDUCE_TARGET __attribute__((target("avx2,f16c")))
#define REDUCE_BYTES 32
#define REDUCE_TABLE tern__reduce_avx2

typedef uint16_t reduce_halves __attribute__((vector_size(16)));
typedef float reduce_floats __attribute__((vector_size(32)));

REDUCE_TARGET static inline reduce_floats reduce_from_f16(reduce_halves halves)
{
    return (reduce_floats)_mm256_cvtph_ps((__m128i)halves);
}

REDUCE_TARGET static inline reduce_halves reduce_to_f16(reduce_floats floats)
{
    return (reduce_halves)_mm256_cvtps_ph((__m256)floats, _MM_FROUND_TO_NEAREST_INT);
}

#include "isa/reduce_kernels.h"

#endif
