// SPDX-License-Identifier: Apache-2.0
// Elements of any dtype in a type wide enough that one operation on them, rounded to the dtype, is
// the exact one rounded: double for floating point (f32 has less than half of its digits), 64 bits
// for integers.
#ifndef TERN_ISA_WIDE_H
#define TERN_ISA_WIDE_H

#include <stddef.h>
#include <stdint.h>

#include "tern/dtype.h"

enum { TERN__WIDE_COUNT = 256 };

enum tern__wide_kind { TERN__WIDE_FLOAT, TERN__WIDE_SIGNED, TERN__WIDE_UNSIGNED };

union tern__wide {
    double f[TERN__WIDE_COUNT];
    int64_t i[TERN__WIDE_COUNT];
    uint64_t u[TERN__WIDE_COUNT];
};

enum tern__wide_kind tern__wide_kind(tern_dtype dtype);

// `count` elements of `dtype`, `stride` elements apart, at most TERN__WIDE_COUNT.
void tern__wide_load(union tern__wide *wide, tern_dtype dtype, const void *from, int64_t stride,
                     size_t count);

// `kind` is what `wide` holds; tern/tile.h says how that becomes the dtype.
void tern__wide_store(const union tern__wide *wide, enum tern__wide_kind kind, tern_dtype dtype,
                      void *to, int64_t stride, size_t count);

// Rows that lie together: f16 or bf16 to f32 and back, rounded to nearest even; by the processor's
// own instructions where it has them.
void tern__floats_from_halves(float *to, tern_dtype dtype, const void *from, size_t count);
void tern__floats_to_halves(void *to, tern_dtype dtype, const float *from, size_t count);

#endif
