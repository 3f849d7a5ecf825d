// SPDX-License-Identifier: Apache-2.0
// minloc and maxloc of values of up to 4 bytes, whose pairs are 8: included by reduce_type.h, for a
// type that has TYPE_PAIR_SHIFT, what is above its value in 64 bits, and, of floats,
// TYPE_INFINITY, the bits of that. A pair as it lies in memory is one integer of 64 bits, with the
// index in its upper half. From it comes another one, the key, by which pairs are compared: the
// value in its upper half, the index in its lower one. (reduce_scalar.c has the others.)

// The integers are ordered as the values are: -0 equal to +0, and a NaN beyond all. Of equal values
// the pair with the lower index has the better key.
REDUCE_INLINE reduce_longs T(key)(bool greatest, reduce_longs pairs)
{
    reduce_longs value = (reduce_longs)((reduce_ulongs)pairs << TYPE_PAIR_SHIFT);
    reduce_longs index = (reduce_longs)((reduce_ulongs)pairs >> 32);
#if defined(TYPE_NAN)
    reduce_longs sign = value < 0; // all bits, or none
    reduce_longs magnitude = value & INT64_MAX;
    reduce_longs broken = magnitude > (TYPE_INFINITY << TYPE_PAIR_SHIFT);
    value = (magnitude ^ sign) - sign;
    value = (value & ~broken) | (broken & (greatest ? INT64_MAX - UINT32_MAX : INT64_MIN));
#elif defined(TYPE_UNSIGNED)
    value ^= INT64_MIN;
#endif
    return value | (index ^ (greatest ? INT32_MAX : INT64_C(1) << 31));
}

// The better ones of two, and their keys. Of pairs with equal keys, which may be different zeros,
// NaNs or padding, the lower bits: any order of sources gives the same. Their index is the same.
REDUCE_INLINE void T(choose)(bool greatest, reduce_longs *best, reduce_longs *key,
                             reduce_longs next)
{
    reduce_longs next_key = T(key)(greatest, next);
    reduce_longs take = greatest ? next_key > *key : next_key < *key;
    take |= (next_key == *key) & (next < *best);
    *best = (take & next) | (~take & *best);
    *key = (take & next_key) | (~take & *key);
}

REDUCE_INLINE void T(locate)(bool greatest, char *const *to, int m, const char *const *from, int n,
                             size_t count)
{
    size_t bytes = count * sizeof(int64_t);
    for (size_t at = 0; at < bytes; at += REDUCE_BYTES) {
        size_t part = bytes - at < REDUCE_BYTES ? bytes - at : REDUCE_BYTES;
        reduce_longs best = reduce_load_longs(from[0] + at, part);
        reduce_longs key = T(key)(greatest, best);
#pragma GCC unroll 1
        for (int s = 1; s < n; s++) {
            T(choose)(greatest, &best, &key, reduce_load_longs(from[s] + at, part));
        }
#pragma GCC unroll 1
        for (int d = 0; d < m; d++) {
            reduce_store_longs(to[d] + at, best, part);
        }
    }
}

#define TYPE_LOCATED(word, greatest)                                                               \
    REDUCE_TARGET static void T(word)(char *const *to, int m, const char *const *from, int n,      \
                                      size_t count, bool past)                                     \
    {                                                                                              \
        (void)past;                                                                                \
        T(locate)(greatest, to, m, from, n, count);                                                \
    }

TYPE_LOCATED(minloc, false)
TYPE_LOCATED(maxloc, true)

#undef TYPE_LOCATED
