// SPDX-License-Identifier: Apache-2.0
// The kernels of one element type at one level: included by reduce_kernels.h once per type, with
//
//   TYPE_NAME    as in tern/dtype.def
//   TYPE_CELL    the element in memory (the bits of a half)
//   TYPE_ACC     what it is accumulated in, TYPE_BITS: an unsigned integer of that size
//   TYPE_NAN     floats only: the bits of the one NaN that results are
//   TYPE_NARROW  0, REDUCE_HALF or REDUCE_BF16: how an accumulator becomes an element
//   TYPE_UNSIGNED  when all but max and min are those of the signed type
//   TYPE_COMMON    when the sum of two sources is worth code of its own
//   TYPE_PAIR_SHIFT, TYPE_INFINITY  as in reduce_located.h
//
// Few sources and destinations: a few vectors at a time, all in registers. Many: a block of the
// accumulator stays in the first-level cache, and sources and destinations come a few at a time,
// since no processor follows dozens of streams at once.

#define TYPE_PASTE2(a, b) a##_##b
#define TYPE_PASTE(a, b) TYPE_PASTE2(a, b)
#define T(word) TYPE_PASTE(TYPE_NAME, word)

// A vector of elements in memory is this many vectors of the accumulator.
#if TYPE_NARROW
#define TYPE_VECTORS 2
#else
#define TYPE_VECTORS 1
#endif

typedef TYPE_ACC T(vec) __attribute__((vector_size(REDUCE_BYTES), may_alias));
typedef TYPE_BITS T(bits) __attribute__((vector_size(REDUCE_BYTES)));
typedef TYPE_CELL T(cells) __attribute__((vector_size(REDUCE_BYTES)));

// As it lies in memory: at any address. (A memcpy would go through the stack in halves.)
typedef TYPE_CELL T(loose) __attribute__((vector_size(REDUCE_BYTES), aligned(1), may_alias));

#if TYPE_NARROW
typedef struct reduce_pair T(wide);
#else
typedef struct {
    T(vec) v[1];
} T(wide);
#endif

enum { T(BLOCK) = REDUCE_BLOCK_BYTES / sizeof(T(wide)) };

REDUCE_INLINE T(wide) T(load)(const char *from)
{
#if TYPE_NARROW == REDUCE_HALF
    return reduce_from_f16(from);
#elif TYPE_NARROW == REDUCE_BF16
    return reduce_from_bf16(*(const T(loose) *)(const void *)from);
#else
    return (T(wide)){{*(const T(loose) *)(const void *)from}};
#endif
}

// Fewer bytes than a vector has; the rest is 0.
REDUCE_INLINE T(wide) T(load_part)(const char *from, size_t bytes)
{
    reduce_bytes cells = reduce_load_part(from, bytes);
    return T(load)((const char *)&cells);
}

REDUCE_INLINE void T(store)(char *to, T(cells) cells)
{
    *(T(loose) *)(void *)to = cells;
}

// Rounds to nearest even, once; a NaN becomes the one NaN.
REDUCE_INLINE T(cells) T(narrow)(T(wide) acc)
{
#if TYPE_NARROW == REDUCE_HALF
    return reduce_to_f16(acc);
#elif TYPE_NARROW == REDUCE_BF16
    return reduce_to_bf16(acc);
#elif defined(TYPE_NAN)
    T(bits) broken = (T(bits))(acc.v[0] != acc.v[0]);
    return (T(cells))((broken & TYPE_NAN) | (~broken & (T(bits))acc.v[0]));
#else
    return acc.v[0];
#endif
}

// b where the mask is set, a elsewhere.
REDUCE_INLINE T(vec) T(pick)(T(bits) mask, T(vec) b, T(vec) a)
{
    return (T(vec))((mask & (T(bits))b) | (~mask & (T(bits))a));
}

REDUCE_INLINE T(vec) T(apply)(tern_reduce_op op, T(vec) acc, T(vec) next)
{
#ifdef TYPE_NAN
    T(bits) broken = (T(bits))(next != next); // and a NaN in acc compares false: it stays
    switch (op) {
    case TERN_SUM:
    case TERN_AVG:
        return acc + next;
    case TERN_PROD:
        return acc * next;
    case TERN_MAX:
        return T(pick)((T(bits))(next > acc) | broken, next, acc);
    case TERN_MIN:
        return T(pick)((T(bits))(next < acc) | broken, next, acc);
    default:
        return acc;
    }
#else
    switch (op) {
    case TERN_SUM:
        return (T(vec))((T(bits))acc + (T(bits))next);
    case TERN_PROD:
        return (T(vec))((T(bits))acc * (T(bits))next);
    case TERN_MAX:
        return T(pick)((T(bits))(next > acc), next, acc);
    case TERN_MIN:
        return T(pick)((T(bits))(next < acc), next, acc);
    case TERN_AND:
        return acc & next;
    case TERN_OR:
        return acc | next;
    case TERN_XOR:
        return acc ^ next;
    default:
        return acc;
    }
#endif
}

REDUCE_INLINE T(wide) T(combine)(tern_reduce_op op, T(wide) acc, T(wide) next)
{
    for (int v = 0; v < TYPE_VECTORS; v++) {
        acc.v[v] = T(apply)(op, acc.v[v], next.v[v]);
    }
    return acc;
}

// What the accumulator of all n sources becomes in memory.
REDUCE_INLINE T(cells) T(finish)(tern_reduce_op op, T(wide) acc, int n)
{
#ifdef TYPE_NAN
    TYPE_ACC divisor = (TYPE_ACC)n;
    TYPE_ACC factor = 1 / divisor;
    for (int v = 0; v < TYPE_VECTORS && op == TERN_AVG; v++) {
        // The same bits when n is a power of 2, and many times as fast.
        acc.v[v] = (n & (n - 1)) == 0 ? acc.v[v] * factor : acc.v[v] / divisor;
    }
#else
    (void)op;
    (void)n;
#endif
    return T(narrow)(acc);
}

// So many vectors, from byte `at` on, of all sources to all destinations. Loops over operands stay
// loops: gcc would write them out eight times, which is no faster and the half of all code here.
REDUCE_INLINE void T(step)(tern_reduce_op op, char *const *to, int m, const char *const *from,
                           int n, size_t at, const size_t vectors, bool past)
{
    T(wide) acc[REDUCE_UNROLL / TYPE_VECTORS];
    T(cells) cells[REDUCE_UNROLL / TYPE_VECTORS];
    for (size_t u = 0; u < vectors; u++) {
        acc[u] = T(load)(from[0] + at + u * REDUCE_BYTES);
    }
#pragma GCC unroll 1
    for (int s = 1; s < n; s++) {
        for (size_t u = 0; u < vectors; u++) {
            acc[u] = T(combine)(op, acc[u], T(load)(from[s] + at + u * REDUCE_BYTES));
        }
    }
    for (size_t u = 0; u < vectors; u++) {
        cells[u] = T(finish)(op, acc[u], n);
    }
#pragma GCC unroll 1
    for (int d = 0; d < m; d++) {
        for (size_t u = 0; u < vectors; u++) {
            if (past) {
                reduce_stream(to[d] + at + u * REDUCE_BYTES, (reduce_bytes)cells[u]);
            } else {
                T(store)(to[d] + at + u * REDUCE_BYTES, cells[u]);
            }
        }
    }
}

// All bytes of few sources to few destinations, through registers.
REDUCE_INLINE void T(sweep)(tern_reduce_op op, char *const *to, int m, const char *const *from,
                            int n, size_t bytes, bool past)
{
    const size_t vectors = REDUCE_UNROLL / TYPE_VECTORS;
    size_t at = 0;
    for (; at + vectors * REDUCE_BYTES <= bytes; at += vectors * REDUCE_BYTES) {
        T(step)(op, to, m, from, n, at, vectors, past);
    }
    for (; at + REDUCE_BYTES <= bytes; at += REDUCE_BYTES) {
        T(step)(op, to, m, from, n, at, 1, past);
    }
    if (at < bytes) {
        size_t part = bytes - at;
        T(wide) acc = T(load_part)(from[0] + at, part);
#pragma GCC unroll 1
        for (int s = 1; s < n; s++) {
            acc = T(combine)(op, acc, T(load_part)(from[s] + at, part));
        }
        T(cells) cells = T(finish)(op, acc, n);
#pragma GCC unroll 1
        for (int d = 0; d < m; d++) {
            reduce_store_part(to[d] + at, (reduce_bytes)cells, part);
        }
    }
    if (past) {
        reduce_stream_end();
    }
}

// block = block op source, or, to begin with, block = source; for few sources.
REDUCE_INLINE void T(gather)(tern_reduce_op op, T(wide) * block, bool begin,
                             const char *const *from, int n, size_t at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += REDUCE_BYTES) {
        size_t part = bytes - i;
        bool whole = part >= REDUCE_BYTES;
        T(wide) acc;
        int s = 0;
        if (begin) {
            const char *first = from[s++] + at + i;
            acc = whole ? T(load)(first) : T(load_part)(first, part);
        } else {
            acc = block[i / REDUCE_BYTES];
        }
#pragma GCC unroll 1
        for (; s < n; s++) {
            const char *next = from[s] + at + i;
            acc = T(combine)(op, acc, whole ? T(load)(next) : T(load_part)(next, part));
        }
        block[i / REDUCE_BYTES] = acc;
    }
}

REDUCE_INLINE void T(by_blocks)(tern_reduce_op op, char *const *to, int m, const char *const *from,
                                int n, size_t bytes)
{
    T(wide) block[T(BLOCK)];
    _Alignas(64) char cells[sizeof block / TYPE_VECTORS];
    for (size_t at = 0; at < bytes; at += sizeof cells) {
        size_t part = bytes - at < sizeof cells ? bytes - at : sizeof cells;
        for (int s = 0; s < n; s += REDUCE_FEW) {
            int few = n - s < REDUCE_FEW ? n - s : REDUCE_FEW;
            T(gather)(op, block, s == 0, from + s, few, at, part);
        }
        for (size_t i = 0; i < part; i += REDUCE_BYTES) {
            T(store)(cells + i, T(finish)(op, block[i / REDUCE_BYTES], n));
        }
        for (int d = 0; d < m; d += REDUCE_FEW) {
            reduce_spread(to + d, m - d < REDUCE_FEW ? m - d : REDUCE_FEW, cells, at, part);
        }
    }
}

REDUCE_INLINE void T(reduce)(tern_reduce_op op, char *const *to, int m, const char *const *from,
                             int n, size_t count, bool past)
{
    size_t bytes = count * sizeof(TYPE_CELL);
    if (n == 1) {
        for (int d = 0; d < m; d++) {
            tern__memmove(to[d], from[0], bytes);
        }
#ifdef TYPE_COMMON
    } else if (op == TERN_SUM && n == 2 && m == 2) {
        T(sweep)(op, to, 2, from, 2, bytes, past && reduce_streams(to, 2));
#endif
    } else if (n <= REDUCE_FEW && m <= REDUCE_FEW) {
        T(sweep)(op, to, m, from, n, bytes, past && reduce_streams(to, m));
    } else {
        T(by_blocks)(op, to, m, from, n, bytes);
    }
}

#define TYPE_KERNEL(word, op)                                                                      \
    REDUCE_TARGET static void T(word)(char *const *to, int m, const char *const *from, int n,      \
                                      size_t count, bool past)                                     \
    {                                                                                              \
        T(reduce)(op, to, m, from, n, count, past);                                                \
    }

TYPE_KERNEL(max, TERN_MAX)
TYPE_KERNEL(min, TERN_MIN)
#ifndef TYPE_UNSIGNED
TYPE_KERNEL(sum, TERN_SUM)
TYPE_KERNEL(prod, TERN_PROD)
#ifdef TYPE_NAN
TYPE_KERNEL(avg, TERN_AVG)
#else
TYPE_KERNEL(and, TERN_AND)
TYPE_KERNEL(or, TERN_OR)
TYPE_KERNEL(xor, TERN_XOR)
#endif
#endif

#if defined(TYPE_PAIR_SHIFT) && defined(REDUCE_LOCATES)
#define TYPE_LOCATES
#include "isa/reduce_located.h"
#endif

static const tern__reduce_row T(row) = {
    [TERN_SUM] = T(sum),       [TERN_PROD] = T(prod),     [TERN_MAX] = T(max), [TERN_MIN] = T(min),
#ifdef TYPE_NAN
    [TERN_AVG] = T(avg),
#else
    [TERN_AND] = T(and), [TERN_OR] = T(or),     [TERN_XOR] = T(xor),
#endif
#ifdef TYPE_LOCATES
    [TERN_MINLOC] = T(minloc), [TERN_MAXLOC] = T(maxloc),
#endif
};

#undef TYPE_KERNEL
#undef T
#undef TYPE_PASTE
#undef TYPE_PASTE2
#undef TYPE_VECTORS
#undef TYPE_NAME
#undef TYPE_CELL
#undef TYPE_ACC
#undef TYPE_BITS
#undef TYPE_NAN
#undef TYPE_NARROW
#undef TYPE_UNSIGNED
#undef TYPE_COMMON
#undef TYPE_PAIR_SHIFT
#undef TYPE_INFINITY
#undef TYPE_LOCATES
