// SPDX-License-Identifier: Apache-2.0
// Element types of buffers. Little endian, naturally aligned; f16 is IEEE 754 binary16, bf16 the
// upper half of a binary32. bool, c64, c128 (pairs of f32 and of f64), f8e4m3 and f8e5m2 are only
// moved, by collective calls and messages: there are no sums of them, no tiles and no put_add.
#ifndef TERN_DTYPE_H
#define TERN_DTYPE_H

#include <stddef.h>

#include "tern/api.h"

TERN_BEGIN_DECLS

typedef enum tern_dtype {
#define TERN_DTYPE_MOVED TERN_DTYPE
#define TERN_DTYPE(name, word, number, size_bytes) TERN_##name = (number),
#include "tern/dtype.def"
#undef TERN_DTYPE
} tern_dtype;

// Size of one element in bytes; 0 when dtype is none of the table.
TERN_API size_t tern_dtype_size(tern_dtype dtype);

// The word of a dtype ("bf16"), as commands and files spell it; "unknown dtype" otherwise.
TERN_API const char *tern_dtype_name(tern_dtype dtype);

// The dtype of a word. TERN_ERR_ARG, with the words that exist, when there is none.
TERN_CALL int tern_dtype_parse(const char *word, tern_dtype *dtype);

TERN_END_DECLS

#endif
