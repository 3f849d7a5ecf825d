// SPDX-License-Identifier: Apache-2.0
// The four kernels of one element type at one level: included by reduce_kernels.h once per type, with
//
//   TYPE_NAME    as in tern/dtype.def
//   TYPE_CELL    the element in memory (the bits of a half)
//   TYPE_ACC     what it is accumulated in, TYPE_BITS: an unsigned integer of that size
//   TYPE_NAN     floats only: the bits of the one NaN that results are
//   TYPE_NARROW  0, REDUCE_HALF or REDUCE_BF16: how an accumulator becomes an element
//   TYPE_UNSIGNED  when sum and prod are those of the signed type
//   TYPE_COMMON    when the sum of two sources is worth code of its own
//
// Few sources and destinations: a few vectors at a time, all in registers. Many: a block of the
// accumulator stays in the first-level cache, so that each source is read once, in long runs, and each
// destination is written once.

#define TYPE_PASTE2(a, b) a##_##b
#define TYPE_PASTE(a, b) TYPE_PASTE2(a, b)
#define T(word) TYPE_PASTE(TYPE_NAME, word)

enum {
    T(LANES) = REDUCE_BYTES / sizeof(TYPE_ACC),
    T(BLOCK) = REDUCE_BLOCK_BYTES / sizeof(TYPE_ACC), // a multiple of LANES
};

typedef TYPE_ACC T(vec) __attribute__((vector_size(REDUCE_BYTES), may_alias));
typedef TYPE_BITS T(bits) __attribute__((vector_size(REDUCE_BYTES)));
typedef TYPE_CELL T(cells)
    __attribute__((vector_size(REDUCE_BYTES / sizeof(TYPE_ACC) * sizeof(TYPE_CELL))));

// As it lies in memory: at any address. (A memcpy would go through the stack in halves.)
typedef TYPE_CELL T(loose)
    __attribute__((vector_size(REDUCE_BYTES / sizeof(TYPE_ACC) * sizeof(TYPE_CELL)), aligned(1),
                   may_alias));

REDUCE_INLINE T(vec) T(widen)(T(cells) cells)
{
#if TYPE_NARROW == REDUCE_HALF
    return reduce_from_f16(cells);
#elif TYPE_NARROW == REDUCE_BF16
    return (T(vec))(__builtin_convertvector(cells, T(bits)) << 16);
#else
    return cells;
#endif
}

// Rounds to nearest even, once; a NaN becomes the one NaN.
REDUCE_INLINE T(cells) T(narrow)(T(vec) acc)
{
#ifdef TYPE_NAN
    T(bits) broken = (T(bits))(acc != acc);
    acc = (T(vec))((broken & TYPE_NAN) | (~broken & (T(bits))acc));
#endif
#if TYPE_NARROW == REDUCE_HALF
    return reduce_to_f16(acc);
#elif TYPE_NARROW == REDUCE_BF16
    T(bits) bits = (T(bits))acc;
    return __builtin_convertvector((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16, T(cells));
#else
    return acc;
#endif
}

REDUCE_INLINE T(vec) T(load)(const char *from)
{
    return T(widen)(*(const T(loose) *)(const void *)from);
}

REDUCE_INLINE void T(store)(void *to, T(cells) cells)
{
    *(T(loose) *)to = cells;
}

// Fewer elements than a vector has; the rest is 0.
REDUCE_INLINE T(vec) T(load_part)(const char *from, size_t count)
{
    T(cells) cells = {0};
    memcpy(&cells, from, count * sizeof(TYPE_CELL));
    return T(widen)(cells);
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
        return acc + next;
    case TERN_PROD:
        return acc * next;
    case TERN_MAX:
        return T(pick)((T(bits))(next > acc) | broken, next, acc);
    case TERN_MIN:
        return T(pick)((T(bits))(next < acc) | broken, next, acc);
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
    }
#endif
    return acc;
}

// Elements [at, at + count) of all sources to all destinations, through registers.
REDUCE_INLINE void T(sweep)(tern_reduce_op op, char *const *to, int m, const char *const *from,
                            int n, size_t count)
{
    size_t i = 0;
    size_t cell = sizeof(TYPE_CELL);
    for (; i + REDUCE_UNROLL * T(LANES) <= count; i += REDUCE_UNROLL * T(LANES)) {
        T(vec) acc[REDUCE_UNROLL];
        T(cells) cells[REDUCE_UNROLL];
        for (size_t u = 0; u < REDUCE_UNROLL; u++) {
            acc[u] = T(load)(from[0] + (i + u * T(LANES)) * cell);
        }
        for (int s = 1; s < n; s++) {
            for (size_t u = 0; u < REDUCE_UNROLL; u++) {
                acc[u] = T(apply)(op, acc[u], T(load)(from[s] + (i + u * T(LANES)) * cell));
            }
        }
        for (size_t u = 0; u < REDUCE_UNROLL; u++) {
            cells[u] = T(narrow)(acc[u]);
        }
        for (int d = 0; d < m; d++) {
            for (size_t u = 0; u < REDUCE_UNROLL; u++) {
                T(store)(to[d] + (i + u * T(LANES)) * cell, cells[u]);
            }
        }
    }
    for (; i < count; i += T(LANES)) {
        size_t part = count - i < T(LANES) ? count - i : T(LANES);
        T(vec) acc = T(load_part)(from[0] + i * cell, part);
        for (int s = 1; s < n; s++) {
            acc = T(apply)(op, acc, T(load_part)(from[s] + i * cell, part));
        }
        T(cells) cells = T(narrow)(acc);
        for (int d = 0; d < m; d++) {
            memcpy(to[d] + i * cell, &cells, part * cell);
        }
    }
}

// acc = acc op source, or, to begin with, acc = source; for few sources.
REDUCE_INLINE void T(gather)(tern_reduce_op op, TYPE_ACC *block, bool begin,
                             const char *const *from, int n, size_t at, size_t count)
{
    size_t cell = sizeof(TYPE_CELL);
    for (size_t i = 0; i < count; i += T(LANES)) {
        size_t part = count - i < T(LANES) ? count - i : T(LANES);
        bool whole = part == T(LANES);
        T(vec) acc;
        int s = 0;
        if (begin) {
            const char *first = from[s++] + (at + i) * cell;
            acc = whole ? T(load)(first) : T(load_part)(first, part);
        } else {
            acc = *(const T(vec) *)(const void *)(block + i);
        }
        for (; s < n; s++) {
            const char *next = from[s] + (at + i) * cell;
            acc = T(apply)(op, acc, whole ? T(load)(next) : T(load_part)(next, part));
        }
        *(T(vec) *)(void *)(block + i) = acc;
    }
}

REDUCE_INLINE void T(by_blocks)(tern_reduce_op op, char *const *to, int m, const char *const *from,
                                int n, size_t count)
{
    _Alignas(64) TYPE_ACC block[T(BLOCK)];
    _Alignas(64) TYPE_CELL cells[T(BLOCK)];
    for (size_t at = 0; at < count; at += T(BLOCK)) {
        size_t part = count - at < T(BLOCK) ? count - at : T(BLOCK);
        T(gather)(op, block, true, from, n < REDUCE_FEW ? n : REDUCE_FEW, at, part);
        for (int s = REDUCE_FEW; s < n; s += REDUCE_FEW) {
            int few = n - s < REDUCE_FEW ? n - s : REDUCE_FEW;
            T(gather)(op, block, false, from + s, few, at, part);
        }
        for (size_t i = 0; i < part; i += T(LANES)) {
            T(store)(cells + i, T(narrow)(*(const T(vec) *)(const void *)(block + i)));
        }
        for (int d = 0; d < m; d++) {
            memcpy(to[d] + at * sizeof(TYPE_CELL), cells, part * sizeof(TYPE_CELL));
        }
    }
}

REDUCE_INLINE void T(reduce)(tern_reduce_op op, char *const *to, int m, const char *const *from,
                             int n, size_t count)
{
    if (n == 1) {
        for (int d = 0; d < m; d++) {
            memmove(to[d], from[0], count * sizeof(TYPE_CELL));
        }
#ifdef TYPE_COMMON
    } else if (op == TERN_SUM && n == 2 && m == 2) {
        T(sweep)(op, to, 2, from, 2, count);
#endif
    } else if (n <= REDUCE_FEW && m <= REDUCE_FEW) {
        T(sweep)(op, to, m, from, n, count);
    } else {
        T(by_blocks)(op, to, m, from, n, count);
    }
}

#define TYPE_KERNEL(word, op)                                                                      \
    REDUCE_TARGET static void T(word)(char *const *to, int m, const char *const *from, int n,      \
                                      size_t count)                                                \
    {                                                                                              \
        T(reduce)(op, to, m, from, n, count);                                                      \
    }

#ifndef TYPE_UNSIGNED
TYPE_KERNEL(sum, TERN_SUM)
TYPE_KERNEL(prod, TERN_PROD)
#endif
TYPE_KERNEL(max, TERN_MAX)
TYPE_KERNEL(min, TERN_MIN)

#undef TYPE_KERNEL
#undef T
#undef TYPE_PASTE
#undef TYPE_PASTE2
#undef TYPE_NAME
#undef TYPE_CELL
#undef TYPE_ACC
#undef TYPE_BITS
#undef TYPE_NAN
#undef TYPE_NARROW
#undef TYPE_UNSIGNED
#undef TYPE_COMMON
