// SPDX-License-Identifier: Apache-2.0
// The reductions that are no matter of vectors, or not on every processor, one element at a time:
// averages of integers, minloc and maxloc (reduce_located.h has those of short values in vectors).
// Each function is written for any dtype; the kernels call it with a constant, so that what remains
// of it has no branch on the dtype.

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/memcpy.h"
#include "isa/element_bytes.h"
#include "isa/reduce.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    BLOCK_CELLS = 512,
    EXACT_SOURCES = 1 << 20, // so many sources of 32 bits have a sum that a double holds
};

INLINE uint64_t load_bits(const char *from, size_t bytes)
{
    uint64_t bits = 0;
    memcpy(&bits, from, bytes);
    return bits;
}

// The integer of this dtype in the lowest bits, in 64 bits.
INLINE uint64_t extend(tern_dtype dtype, uint64_t bits)
{
    switch (dtype) {
    case TERN_I8:
        return (uint64_t)(int8_t)bits;
    case TERN_I16:
        return (uint64_t)(int16_t)bits;
    case TERN_I32:
        return (uint64_t)(int32_t)bits;
    default:
        return bits;
    }
}

// A quotient of doubles is never rounded up to the next integer while both are below 2^53 and
// exact: what is cut off is the integer quotient, and takes a tenth of the time.
INLINE uint64_t divide(tern_dtype dtype, uint64_t sum, int n)
{
    if (tern__element_bytes(dtype) <= 4 && n <= EXACT_SOURCES) {
        return (uint64_t)(int64_t)((double)(int64_t)sum / n);
    }
    return dtype == TERN_U64 ? sum / (uint64_t)n : (uint64_t)((int64_t)sum / n);
}

INLINE void average(tern_dtype dtype, char *const *to, int m, const char *const *from, int n,
                    size_t count)
{
    size_t size = tern__element_bytes(dtype);
    uint64_t sums[BLOCK_CELLS];
    char cells[BLOCK_CELLS * sizeof(uint64_t)];
    for (size_t at = 0; at < count; at += BLOCK_CELLS) {
        size_t part = count - at < BLOCK_CELLS ? count - at : BLOCK_CELLS;
        memset(sums, 0, sizeof sums);
        for (int s = 0; s < n; s++) {
            const char *source = from[s] + at * size;
            for (size_t i = 0; i < part; i++) {
                sums[i] += extend(dtype, load_bits(source + i * size, size));
            }
        }
        for (size_t i = 0; i < part; i++) {
            uint64_t quotient = divide(dtype, sums[i], n);
            memcpy(cells + i * size, &quotient, size);
        }
        for (int d = 0; d < m; d++) {
            tern__memcpy(to[d] + at * size, cells, part * size);
        }
    }
}

// A pair as it lies in memory: 8 bytes, of which the upper 4 are the index, or 16, of which the
// next 4 are.
struct pair {
    uint64_t low, high;
};

INLINE struct pair load_pair(size_t bytes, const char *from)
{
    struct pair pair = {load_bits(from, 8), 0};
    pair.high = bytes == 16 ? load_bits(from + 8, 8) : 0;
    return pair;
}

INLINE void store_pair(size_t bytes, char *to, struct pair pair)
{
    memcpy(to, &pair, bytes);
}

INLINE int32_t pair_index(size_t bytes, struct pair pair)
{
    return bytes == 16 ? (int32_t)(uint32_t)pair.high : (int32_t)(uint32_t)(pair.low >> 32);
}

// A float's bits as an integer that is ordered as floats are: -0 equal to +0, and below all a NaN,
// or, where the greatest is wanted, above all. `infinity` is the bits of that.
INLINE int64_t float_key(uint64_t bits, uint64_t infinity, int width, bool greatest)
{
    uint64_t sign = UINT64_C(1) << (width - 1);
    int64_t magnitude = (int64_t)(bits & (sign - 1));
    int64_t key = (bits & sign) != 0 ? -magnitude : magnitude;
    return magnitude <= (int64_t)infinity ? key : greatest ? INT64_MAX : INT64_MIN;
}

// What a value is compared by.
INLINE int64_t value_key(tern_dtype dtype, bool greatest, struct pair pair)
{
    switch (dtype) {
    case TERN_F32:
        return float_key((uint32_t)pair.low, UINT32_C(0x7f800000), 32, greatest);
    case TERN_F16:
        return float_key((uint16_t)pair.low, UINT16_C(0x7c00), 16, greatest);
    case TERN_BF16:
        return float_key((uint16_t)pair.low, UINT16_C(0x7f80), 16, greatest);
    case TERN_F64:
        return float_key(pair.low, UINT64_C(0x7ff0000000000000), 64, greatest);
    case TERN_U8:
        return (uint8_t)pair.low;
    case TERN_U16:
        return (uint16_t)pair.low;
    case TERN_U32:
        return (uint32_t)pair.low;
    case TERN_U64:
        return (int64_t)(pair.low ^ UINT64_C(1) << 63);
    default:
        return (int64_t)extend(dtype, pair.low);
    }
}

// Whether b is to be taken rather than a. All comparisons are made: a branch would be guessed
// wrong.
INLINE bool better(tern_dtype dtype, bool greatest, size_t bytes, struct pair a, struct pair b)
{
    int64_t key_a = value_key(dtype, greatest, a);
    int64_t key_b = value_key(dtype, greatest, b);
    int32_t index_a = pair_index(bytes, a);
    int32_t index_b = pair_index(bytes, b);
    bool first = greatest ? key_b > key_a : key_b < key_a;
    bool last = (b.high < a.high) | ((b.high == a.high) & (b.low < a.low));
    return first | ((key_a == key_b) & ((index_b < index_a) | ((index_a == index_b) & last)));
}

INLINE void locate(tern_dtype dtype, bool greatest, char *const *to, int m, const char *const *from,
                   int n, size_t count)
{
    const size_t bytes = tern__element_bytes(dtype) == 8 ? 16 : 8;
    for (size_t i = 0; i < count; i++) {
        struct pair acc = load_pair(bytes, from[0] + i * bytes);
        for (int s = 1; s < n; s++) {
            struct pair next = load_pair(bytes, from[s] + i * bytes);
            bool take = better(dtype, greatest, bytes, acc, next);
            acc.low = take ? next.low : acc.low;
            acc.high = take ? next.high : acc.high;
        }
        for (int d = 0; d < m; d++) {
            store_pair(bytes, to[d] + i * bytes, acc);
        }
    }
}

static void copy_all(char *const *to, int m, const char *from, size_t bytes)
{
    for (int d = 0; d < m; d++) {
        tern__memmove(to[d], from, bytes);
    }
}

#define AVERAGE(name)                                                                              \
    static void name##_avg(char *const *to, int m, const char *const *from, int n, size_t count,   \
                           bool past)                                                              \
    {                                                                                              \
        (void)past;                                                                                \
        if (n == 1) {                                                                              \
            copy_all(to, m, from[0], tern__element_bytes(TERN_##name) * count);                    \
        } else {                                                                                   \
            average(TERN_##name, to, m, from, n, count);                                           \
        }                                                                                          \
    }

AVERAGE(I8)
AVERAGE(I16)
AVERAGE(I32)
AVERAGE(I64)
AVERAGE(U8)
AVERAGE(U16)
AVERAGE(U32)
AVERAGE(U64)

// The averages of floats are a matter of vectors.
#define F32_avg NULL
#define F16_avg NULL
#define BF16_avg NULL
#define F64_avg NULL

#define TERN_DTYPE(name, word, number, size_bytes)                                                 \
    static void name##_minloc(char *const *to, int m, const char *const *from, int n,              \
                              size_t count, bool past)                                             \
    {                                                                                              \
        (void)past;                                                                                \
        locate(TERN_##name, false, to, m, from, n, count);                                         \
    }                                                                                              \
    static void name##_maxloc(char *const *to, int m, const char *const *from, int n,              \
                              size_t count, bool past)                                             \
    {                                                                                              \
        (void)past;                                                                                \
        locate(TERN_##name, true, to, m, from, n, count);                                          \
    }                                                                                              \
    static const tern__reduce_row name##_row = {                                                   \
        [TERN_AVG] = name##_avg, [TERN_MINLOC] = name##_minloc, [TERN_MAXLOC] = name##_maxloc};
#include "tern/dtype.def"
#undef TERN_DTYPE

const tern__reduce_table tern__reduce_scalar = {
#define TERN_DTYPE(name, word, number, size_bytes) [TERN_##name] = &name##_row,
#include "tern/dtype.def"
#undef TERN_DTYPE
};

#define DIVIDE(type)                                                                               \
    for (size_t i = 0; i < count; i++) {                                                           \
        type value;                                                                                \
        memcpy(&value, (const char *)from + i * sizeof value, sizeof value);                       \
        value /= (type)n;                                                                          \
        memcpy((char *)to + i * sizeof value, &value, sizeof value);                               \
    }

void tern__reduce_divide(tern_dtype dtype, void *to, const void *from, size_t count, int n)
{
    if (dtype == TERN_F64) {
        DIVIDE(double)
    } else {
        DIVIDE(float)
    }
}
