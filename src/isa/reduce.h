// SPDX-License-Identifier: Apache-2.0
// Reduce kernels: n sources, taken in their order, to m destinations, element by element.
//
// What they compute, bit for bit on every processor:
//
//   order        acc = source 0; acc = acc op source 1; …; the destinations get acc, rounded once
//   accumulator  f32 for f16 and bf16, else the type itself; integers wrap around
//   max, min     of elements that compare equal (+0 and -0) the one from the earlier source
//   avg          the accumulated sum divided by the number of sources, in the accumulator's type,
//                before it is rounded; of integers the sum in 64 bits, which wraps around, divided
//                towards zero
//   NaN          if the result is one: the positive quiet NaN without payload (f32: 0x7fc00000)
//   minloc,      one of the pairs as it lies in memory, padding and all: of the least (greatest)
//   maxloc       value, NaN before any number, then of the least index, then of the least bytes
//                (the last one first); so no order of the sources matters
//   one source   is copied as it is
//
// A count is of elements; for minloc and maxloc of pairs, which tern/op.h describes. Pointers need
// no alignment. A destination may be one of the sources; any other overlap is the caller's mistake.
// Data path: no allocation, lock, system call or log.
//
// past: results may go past the caches, if the level can, to few destinations that all begin at a
// multiple of TERN__REDUCE_PAST_ALIGN. Whoever observes a flag stored afterwards finds them.
#ifndef TERN_ISA_REDUCE_H
#define TERN_ISA_REDUCE_H

#include <stdbool.h>
#include <stddef.h>

#include "tern/dtype.h"
#include "tern/op.h"

typedef void tern__reduce_fn(char *const *destinations, int destinations_count,
                             const char *const *sources, int sources_count, size_t count,
                             bool past);

#define TERN__REDUCE_PAST_ALIGN 64

enum tern__reduce_level {
    TERN__REDUCE_PORTABLE,
    TERN__REDUCE_AVX2,
    TERN__REDUCE_AVX512,
    TERN__REDUCE_LEVELS,
};

// The kernel for this processor; NULL when there is no such dtype or operation, when the two do not
// go together (and, or, xor of floats), and for TERN_FUNCTION, which isa/reduce_function.h is for.
tern__reduce_fn *tern__reduce_find(tern_dtype dtype, tern_reduce_op op);

// The kernel of a level; also NULL when this processor or this build has not got the level.
tern__reduce_fn *tern__reduce_at(enum tern__reduce_level level, tern_dtype dtype,
                                 tern_reduce_op op);

enum { TERN__REDUCE_DTYPES = 12, TERN__REDUCE_OPS = 10 };
typedef tern__reduce_fn *tern__reduce_row[TERN__REDUCE_OPS];
typedef const tern__reduce_row *tern__reduce_table[TERN__REDUCE_DTYPES];

// What is no matter of vectors, for all levels: averages of integers, and minloc and maxloc where a
// level has none. The tables of the levels have the rest.
extern const tern__reduce_table tern__reduce_scalar;
extern const tern__reduce_table tern__reduce_portable;
#if defined(__x86_64__)
extern const tern__reduce_table tern__reduce_avx2;   // needs AVX2 and F16C
extern const tern__reduce_table tern__reduce_avx512; // needs AVX-512 F, BW, DQ and VL
#endif

// The end of an average of f32 or f64 from n sources whose sum has been made: the bits of avg.
void tern__reduce_divide(tern_dtype dtype, void *to, const void *from, size_t count, int n);

#endif
