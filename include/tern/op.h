// SPDX-License-Identifier: Apache-2.0
// What a reduction does with the elements of several ranks. Sources are combined one by one in the
// order given (rank order, unless a caller allows another), f16 and bf16 in f32, and rounded once
// at the end.
#ifndef TERN_OP_H
#define TERN_OP_H

#include <stddef.h>

#include "tern/api.h"
#include "tern/dtype.h"

TERN_BEGIN_DECLS

// sum, prod, max, min   integers wrap around. A NaN among the sources gives the NaN without a
//                       payload; of equal zeros max and min take the earlier one. A single source
//                       is copied.
// avg                   the sum divided by the number of sources before it is rounded; integers are
//                       summed in 64 bits and divided towards zero.
// and, or, xor          bitwise, integers only.
// minloc, maxloc        elements are pairs, struct { T value; int32_t index; } as C lays it out (8
//                       bytes, 16 when T has 8): the pair with the least (greatest) value, of equal
//                       values the one with the least index, of equal indices the one whose bits,
//                       as an unsigned number, are least. A NaN counts as less (greater) than any
//                       number.
// function              the caller's: accumulator = accumulator op source.
typedef enum tern_reduce_op {
#define TERN_REDUCE_OP(name, word, number) TERN_##name = (number),
#include "tern/op.def"
#undef TERN_REDUCE_OP
} tern_reduce_op;

// accumulator[i] = accumulator[i] op source[i] for `count` elements; aligned as the dtype, called
// with the sources in rank order, in blocks of any length, on the thread that makes the call. It
// must give the same result on every rank, and must not call tern.
typedef void tern_reduce_function(void *accumulator, const void *source, size_t count, void *arg);

// The word of an operation ("maxloc"); "unknown op" otherwise.
TERN_API const char *tern_reduce_op_name(tern_reduce_op op);

// The operation of a word. TERN_ERR_ARG, with the words that exist, when there is none.
TERN_CALL int tern_reduce_op_parse(const char *word, tern_reduce_op *op);

// Bytes of an element of this dtype under this operation: of a pair for minloc and maxloc. 0 when
// the two do not go together (and, or, xor of floats; of dtypes that are only moved all but
// function) or do not exist.
TERN_API size_t tern_reduce_element_bytes(tern_dtype dtype, tern_reduce_op op);

TERN_END_DECLS

#endif
