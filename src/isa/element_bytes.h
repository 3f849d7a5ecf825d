// SPDX-License-Identifier: Apache-2.0
// The bytes of an element that the chip computes with.
#ifndef TERN_ISA_ELEMENT_BYTES_H
#define TERN_ISA_ELEMENT_BYTES_H

#include <stddef.h>

#include "tern/dtype.h"

// 0 of a dtype that is only moved, and of none.
static inline __attribute__((always_inline)) size_t tern__element_bytes(tern_dtype dtype)
{
    switch ((int)dtype) {
#define TERN_DTYPE(name, word, number, size_bytes)                                                 \
    case TERN_##name:                                                                              \
        return size_bytes;
#include "tern/dtype.def"
#undef TERN_DTYPE
    default:
        return 0;
    }
}

#endif
