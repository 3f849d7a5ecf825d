// SPDX-License-Identifier: Apache-2.0
// Parts of vectors, and halves and the floats that they are accumulated in: included by each level
// of the reduce kernels, which has defined REDUCE_TARGET and REDUCE_BYTES, and REDUCE_MASKED if it
// brings reduce_load_part and reduce_store_part itself. A vector of f16 becomes its first and its
// second half of floats; a vector of bf16 its even and its odd elements, since those need no
// shuffling on the way there and back.

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define REDUCE_INLINE REDUCE_TARGET static inline __attribute__((always_inline))

// The one NaN, as a float and as the bits of the halves.
#define REDUCE_NAN_F32 UINT32_C(0x7fc00000)
#define REDUCE_NAN_BF16 UINT16_C(0x7fc0)

typedef uint16_t reduce_halves __attribute__((vector_size(REDUCE_BYTES)));
typedef float reduce_floats __attribute__((vector_size(REDUCE_BYTES)));
typedef uint32_t reduce_words __attribute__((vector_size(REDUCE_BYTES)));
typedef uint8_t reduce_bytes __attribute__((vector_size(REDUCE_BYTES)));
typedef uint8_t reduce_loose __attribute__((vector_size(REDUCE_BYTES), aligned(1), may_alias));

struct reduce_pair {
    reduce_floats v[2];
};

REDUCE_INLINE struct reduce_pair reduce_from_bf16(reduce_halves halves)
{
    reduce_words words = (reduce_words)halves;
    return (struct reduce_pair){{(reduce_floats)(words << 16), //
                                 (reduce_floats)(words & 0xffff0000u)}};
}

// NaN in any form becomes the one NaN.
REDUCE_INLINE reduce_floats reduce_clean(reduce_floats floats)
{
    reduce_words broken = (reduce_words)(floats != floats);
    return (reduce_floats)((broken & REDUCE_NAN_F32) | (~broken & (reduce_words)floats));
}

#ifndef REDUCE_MASKED
// Fewer bytes than a vector has; the rest is 0.
REDUCE_INLINE reduce_bytes reduce_load_part(const char *from, size_t bytes)
{
    reduce_bytes part = {0};
    memcpy(&part, from, bytes);
    return part;
}

REDUCE_INLINE void reduce_store_part(char *to, reduce_bytes part, size_t bytes)
{
    memcpy(to, &part, bytes);
}
#endif
