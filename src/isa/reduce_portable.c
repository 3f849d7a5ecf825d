// SPDX-License-Identifier: Apache-2.0
// The reduce kernels in vectors of 16 bytes, which every processor has or the compiler takes apart.

#include "base/half.h"
#include "isa/reduce.h"

#define REDUCE_TARGET
#define REDUCE_BYTES 16
#define REDUCE_TABLE tern__reduce_portable

typedef uint16_t reduce_halves __attribute__((vector_size(8)));
typedef float reduce_floats __attribute__((vector_size(16)));

static inline reduce_floats reduce_from_f16(reduce_halves halves)
{
    reduce_floats floats;
    for (int i = 0; i < 4; i++) {
        floats[i] = tern__f16_to_f32(halves[i]);
    }
    return floats;
}

static inline reduce_halves reduce_to_f16(reduce_floats floats)
{
    reduce_halves halves;
    for (int i = 0; i < 4; i++) {
        halves[i] = tern__f32_to_f16(floats[i]);
    }
    return halves;
}

#include "isa/reduce_kernels.h"
