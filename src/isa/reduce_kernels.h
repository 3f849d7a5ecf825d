// SPDX-License-Identifier: Apache-2.0
// All kernels of one level: included once by each of reduce_portable.c, reduce_avx2.c and
// reduce_avx512.c, which include reduce_half.h first, and define
//
//   REDUCE_TARGET   the function attribute of the level
//   REDUCE_BYTES    bytes of a vector
//   REDUCE_TABLE    the name of the table
//   reduce_from_f16, reduce_to_f16, reduce_to_bf16
//   REDUCE_STREAM   a store past the caches, where there is one
//
// The vectors are those of the compiler (vector_size), so one text serves all levels, and the
// compiler keeps to the arithmetic written here: every level gives the same bits.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/memcpy.h"
#include "isa/reduce.h"

// Measured on a Xeon with page-aligned windows: with more than 8 sources and 8 destinations at a
// time the streams drive each other out of the prefetchers, with fewer the memory has less to do at
// a time.
enum {
    REDUCE_UNROLL = 4,        // vectors of an accumulator in registers
    REDUCE_FEW = 8,           // this many sources are swept together, and destinations
    REDUCE_BLOCK_BYTES = 8192 // of an accumulator in the cache, when there are more than few
};

// Sanitizers do not see such stores.
#if defined(REDUCE_STREAM) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
REDUCE_INLINE bool reduce_streams(char *const *to, int m)
{
    uintptr_t all = 0;
    for (int d = 0; d < m; d++) {
        all |= (uintptr_t)to[d];
    }
    return all % TERN__REDUCE_PAST_ALIGN == 0;
}

REDUCE_INLINE void reduce_stream(char *to, reduce_bytes bytes)
{
    REDUCE_STREAM((void *)to, bytes);
}

REDUCE_INLINE void reduce_stream_end(void)
{
    _mm_sfence(); // such stores are in no order with those of flags
}
#else
REDUCE_INLINE bool reduce_streams(char *const *to, int m)
{
    (void)to;
    (void)m;
    return false;
}

REDUCE_INLINE void reduce_stream(char *to, reduce_bytes bytes)
{
    (void)to;
    (void)bytes;
}

REDUCE_INLINE void reduce_stream_end(void)
{
}
#endif

// [at, at + bytes) of few destinations from bytes in the cache.
REDUCE_INLINE void reduce_spread(char *const *to, int m, const char *block, size_t at, size_t bytes)
{
    size_t i = 0;
    for (; i + REDUCE_BYTES <= bytes; i += REDUCE_BYTES) {
        reduce_loose line = *(const reduce_loose *)(const void *)(block + i);
        for (int d = 0; d < m; d++) {
            *(reduce_loose *)(void *)(to[d] + at + i) = line;
        }
    }
    if (i < bytes) {
        reduce_bytes part = reduce_load_part(block + i, bytes - i);
        for (int d = 0; d < m; d++) {
            reduce_store_part(to[d] + at + i, part, bytes - i);
        }
    }
}

#if REDUCE_BYTES >= 32 // with less, comparisons of 64 bits are no matter of vectors
#define REDUCE_LOCATES
typedef int64_t reduce_longs __attribute__((vector_size(REDUCE_BYTES)));
typedef uint64_t reduce_ulongs __attribute__((vector_size(REDUCE_BYTES)));

// All bytes of a vector, or fewer, where the rest is 0.
REDUCE_INLINE reduce_longs reduce_load_longs(const char *from, size_t bytes)
{
    return bytes == REDUCE_BYTES ? (reduce_longs) * (const reduce_loose *)(const void *)from
                                 : (reduce_longs)reduce_load_part(from, bytes);
}

REDUCE_INLINE void reduce_store_longs(char *to, reduce_longs longs, size_t bytes)
{
    if (bytes == REDUCE_BYTES) {
        *(reduce_loose *)(void *)to = (reduce_loose)longs;
    } else {
        reduce_store_part(to, (reduce_bytes)longs, bytes);
    }
}
#endif

// Whatever wraps around or works on bits does not know the sign.
#define U8_sum I8_sum
#define U8_prod I8_prod
#define U8_and I8_and
#define U8_or I8_or
#define U8_xor I8_xor
#define U16_sum I16_sum
#define U16_prod I16_prod
#define U16_and I16_and
#define U16_or I16_or
#define U16_xor I16_xor
#define U32_sum I32_sum
#define U32_prod I32_prod
#define U32_and I32_and
#define U32_or I32_or
#define U32_xor I32_xor
#define U64_sum I64_sum
#define U64_prod I64_prod
#define U64_and I64_and
#define U64_or I64_or
#define U64_xor I64_xor

// How an element in memory becomes one that is accumulated.
#define REDUCE_HALF 1
#define REDUCE_BF16 2

#define TYPE_NAME F32
#define TYPE_PAIR_SHIFT 32
#define TYPE_INFINITY INT64_C(0x7f800000)
#define TYPE_COMMON
#define TYPE_CELL float
#define TYPE_ACC float
#define TYPE_BITS uint32_t
#define TYPE_NAN UINT32_C(0x7fc00000)
#define TYPE_NARROW 0
#include "isa/reduce_type.h"

#define TYPE_NAME F64
#define TYPE_CELL double
#define TYPE_ACC double
#define TYPE_BITS uint64_t
#define TYPE_NAN UINT64_C(0x7ff8000000000000)
#define TYPE_NARROW 0
#include "isa/reduce_type.h"

#define TYPE_NAME F16
#define TYPE_PAIR_SHIFT 48
#define TYPE_INFINITY INT64_C(0x7c00)
#define TYPE_COMMON
#define TYPE_CELL uint16_t
#define TYPE_ACC float
#define TYPE_BITS uint32_t
#define TYPE_NAN UINT32_C(0x7fc00000)
#define TYPE_NARROW REDUCE_HALF
#include "isa/reduce_type.h"

#define TYPE_NAME BF16
#define TYPE_PAIR_SHIFT 48
#define TYPE_INFINITY INT64_C(0x7f80)
#define TYPE_COMMON
#define TYPE_CELL uint16_t
#define TYPE_ACC float
#define TYPE_BITS uint32_t
#define TYPE_NAN UINT32_C(0x7fc00000)
#define TYPE_NARROW REDUCE_BF16
#include "isa/reduce_type.h"

#define TYPE_NAME I8
#define TYPE_PAIR_SHIFT 56
#define TYPE_CELL int8_t
#define TYPE_ACC int8_t
#define TYPE_BITS uint8_t
#define TYPE_NARROW 0
#include "isa/reduce_type.h"

#define TYPE_NAME I16
#define TYPE_PAIR_SHIFT 48
#define TYPE_CELL int16_t
#define TYPE_ACC int16_t
#define TYPE_BITS uint16_t
#define TYPE_NARROW 0
#include "isa/reduce_type.h"

#define TYPE_NAME I32
#define TYPE_PAIR_SHIFT 32
#define TYPE_CELL int32_t
#define TYPE_ACC int32_t
#define TYPE_BITS uint32_t
#define TYPE_NARROW 0
#include "isa/reduce_type.h"

#define TYPE_NAME I64
#define TYPE_CELL int64_t
#define TYPE_ACC int64_t
#define TYPE_BITS uint64_t
#define TYPE_NARROW 0
#include "isa/reduce_type.h"

#define TYPE_NAME U8
#define TYPE_PAIR_SHIFT 56
#define TYPE_UNSIGNED
#define TYPE_CELL uint8_t
#define TYPE_ACC uint8_t
#define TYPE_BITS uint8_t
#define TYPE_NARROW 0
#include "isa/reduce_type.h"

#define TYPE_NAME U16
#define TYPE_PAIR_SHIFT 48
#define TYPE_UNSIGNED
#define TYPE_CELL uint16_t
#define TYPE_ACC uint16_t
#define TYPE_BITS uint16_t
#define TYPE_NARROW 0
#include "isa/reduce_type.h"

#define TYPE_NAME U32
#define TYPE_PAIR_SHIFT 32
#define TYPE_UNSIGNED
#define TYPE_CELL uint32_t
#define TYPE_ACC uint32_t
#define TYPE_BITS uint32_t
#define TYPE_NARROW 0
#include "isa/reduce_type.h"

#define TYPE_NAME U64
#define TYPE_UNSIGNED
#define TYPE_CELL uint64_t
#define TYPE_ACC uint64_t
#define TYPE_BITS uint64_t
#define TYPE_NARROW 0
#include "isa/reduce_type.h"

const tern__reduce_table REDUCE_TABLE = {
#define TERN_DTYPE(name, word, number, size_bytes) [TERN_##name] = &name##_row,
#include "tern/dtype.def"
#undef TERN_DTYPE
};
