// SPDX-License-Identifier: Apache-2.0
// Arithmetic on tiles (tern/isa.h): what kernels do between load and store. The meaning is that of
// TADD, TSUB, TMUL, TDIV, TMAX, TMIN, their forms with a scalar, TEXPANDS, TAXPY, TEXP, TCVT,
// TROWSUM, TROWMAX, TROWMIN, TCOLSUM and its like, TROWEXPANDSUB, TCOLEXPANDMUL and their like,
// TSQRT, TRECIP, TNEG, TABS and their like, TCMP, TCMPS, TSEL, TSELS, TCI, TEXTRACT, TINSERT,
// TTRANS, TFILLPAD, TGATHER, TSCATTER, TSORT32, TMRGSORT, TMATMUL and TMATMUL_ACC of the PTO ISA.
//
// What is computed are the valid rows and columns of `to`; the other tiles have at least as many
// valid ones. `to` may be one of the others. Each result is that of the exact operation rounded
// once to the dtype; integers wrap around. Any thread; nothing is written when something is wrong:
// TERN_ERR_ARG.
#ifndef TERN_TILE_H
#define TERN_TILE_H

#include <stddef.h>
#include <stdint.h>

#include "tern/api.h"
#include "tern/isa.h"

TERN_BEGIN_DECLS

// TERN_TILE_ADD, …
typedef enum tern_tile_op {
#define TERN_TILE_OP(NAME, name, value) TERN_TILE_##NAME = value,
#include "tern/tile_op.def"
#undef TERN_TILE_OP
} tern_tile_op;

// to = a op b. One dtype.
TERN_CALL int tern_tile_combine(const tern_tile *to, const tern_tile *a, const tern_tile *b,
                                tern_tile_op op);

// to = from op *scalar, which is an element of the dtype.
TERN_CALL int tern_tile_combine_scalar(const tern_tile *to, const tern_tile *from,
                                       const void *scalar, tern_tile_op op);

// to = *scalar op from.
TERN_CALL int tern_tile_combine_to_scalar(const tern_tile *to, const void *scalar,
                                          const tern_tile *from, tern_tile_op op);

// to = a op b where both have a valid element, and else what the one has; there is one that has all
// that are valid of `to`. The other may have no valid row or column.
TERN_CALL int tern_tile_combine_parts(const tern_tile *to, const tern_tile *a, const tern_tile *b,
                                      tern_tile_op op);

// to = *scalar, everywhere.
TERN_CALL int tern_tile_fill(const tern_tile *to, const void *scalar);

// to += from * *scalar, which is an element of `from`; of floating-point dtypes. `from` may have
// another dtype than `to`. In double, then rounded to `to`.
TERN_CALL int tern_tile_axpy(const tern_tile *to, const tern_tile *from, const void *scalar);

// to = from in the dtype of `to`: to integers rounded to nearest, ties to even, what is too large
// (small) becomes the largest (least), NaN 0; to floating point rounded to nearest; from integers
// to integers modulo 2^bits.
TERN_CALL int tern_tile_convert(const tern_tile *to, const tern_tile *from);

// How what lies between two values of a dtype becomes one of them: the nearer one, ties to the even
// one or away from zero; the lesser, the greater, the one nearer to zero; the one whose last digit
// is odd.
typedef enum tern_rounding {
    TERN_ROUND_EVEN = 0,
    TERN_ROUND_AWAY = 1,
    TERN_ROUND_DOWN = 2,
    TERN_ROUND_UP = 3,
    TERN_ROUND_ZERO = 4,
    TERN_ROUND_ODD = 5,
} tern_rounding;

// The same with a rounding. Floating point that is too large for `to` becomes infinite, or the
// largest finite value where the rounding leads there, as IEEE 754 has it.
TERN_CALL int tern_tile_convert_rounded(const tern_tile *to, const tern_tile *from,
                                        tern_rounding rounding);

// Column 0 of row r of `to` = the valid elements of row r of `from`, added up from the first or
// multiplied (TERN_TILE_ADD, TERN_TILE_MUL; floating point in twice the digits, rounded once), or
// the greatest or least of them. As many rows as `to` has valid ones. One dtype.
TERN_CALL int tern_tile_reduce_rows(const tern_tile *to, const tern_tile *from, tern_tile_op op);

// Row r of `to` = row r of `a` op the first element of row r of `column`, which needs one valid
// column. One dtype.
TERN_CALL int tern_tile_combine_rows(const tern_tile *to, const tern_tile *a,
                                     const tern_tile *column, tern_tile_op op);

// Column c of row r of `to` = that of `a` op element c % n of row r of `part`, which has n valid
// columns, of at most 32 bytes together. One dtype.
TERN_CALL int tern_tile_combine_repeated(const tern_tile *to, const tern_tile *a,
                                         const tern_tile *part, tern_tile_op op);

// The same of columns: row 0 of `to` = all valid rows of `from`, one after the other, in as many
// columns as `to` has valid ones; and column c of `to` = column c of `a` op element c of row 0 of
// `row`.
TERN_CALL int tern_tile_reduce_columns(const tern_tile *to, const tern_tile *from, tern_tile_op op);
TERN_CALL int tern_tile_combine_columns(const tern_tile *to, const tern_tile *a,
                                        const tern_tile *row, tern_tile_op op);

// Every element of row r of `to` = the first one of row r of `column`; and every one of column c
// that of row 0 of `row`. One dtype.
TERN_CALL int tern_tile_spread_rows(const tern_tile *to, const tern_tile *column);
TERN_CALL int tern_tile_spread_columns(const tern_tile *to, const tern_tile *row);

// The valid elements of `to`, row by row: *first, which is an element of the dtype, and 1 more for
// each (down: 1 less).
TERN_CALL int tern_tile_count(const tern_tile *to, const void *first, int down);

// TERN_TILE_EXP, …
typedef enum tern_tile_function {
#define TERN_TILE_FUNCTION(NAME, name, value) TERN_TILE_##NAME = value,
#include "tern/tile_function.def"
#undef TERN_TILE_FUNCTION
} tern_tile_function;

// to = function(from), as the C library has it, rounded to the dtype: one of floating point, for
// ABS, NEG and RELU any, and for NOT one of integers.
TERN_CALL int tern_tile_apply(const tern_tile *to, const tern_tile *from,
                              tern_tile_function function);
TERN_CALL int tern_tile_exp(const tern_tile *to, const tern_tile *from);

// Masks: bit c % 8 of byte c / 8 of row r of `mask` says whether a[r][c] compares so with b[r][c]
// (with *scalar, an element of the dtype), for the valid elements of `a`; the bits behind them in
// the last byte are 0. `mask` holds integers, row after row, in memory of its own; it
// needs as many rows and bytes, whichever of its elements are valid. NaN is unequal to all.
TERN_CALL int tern_tile_compare(const tern_tile *mask, const tern_tile *a, const tern_tile *b,
                                tern_cmp cmp);
TERN_CALL int tern_tile_compare_scalar(const tern_tile *mask, const tern_tile *a,
                                       const void *scalar, tern_cmp cmp);

// to = a where the bit of `mask` is set, else b (*scalar, an element of the dtype). One dtype.
TERN_CALL int tern_tile_select(const tern_tile *to, const tern_tile *mask, const tern_tile *a,
                               const tern_tile *b);
TERN_CALL int tern_tile_select_scalar(const tern_tile *to, const tern_tile *mask,
                                      const tern_tile *a, const void *scalar);

// to = the part of `from` whose first element is (row, column). One dtype.
TERN_CALL int tern_tile_extract(const tern_tile *to, const tern_tile *from, int32_t row,
                                int32_t column);

// The part of `to` whose first element is (row, column) = the valid elements of `from`, in the
// dtype of `to`. It lies within the rows and columns of `to`, whichever are valid; so it is in all
// that follows here, where `to` has elements of as many bytes, and none in common with `from`.
TERN_CALL int tern_tile_insert(const tern_tile *to, const tern_tile *from, int32_t row,
                               int32_t column);

// to[c][r] = from[r][c], for the valid elements of `from`.
TERN_CALL int tern_tile_transpose(const tern_tile *to, const tern_tile *from);

// All rows and columns of `to` = the valid elements of `from`, and *scalar, an element of the dtype
// of `to`, where there are none. `to` may be where `from` is, when its rows are as long.
TERN_CALL int tern_tile_pad(const tern_tile *to, const tern_tile *from, const void *scalar);

// By indices, of 16 or 32 bits, of elements as they lie in memory, rows * columns of them. Gather:
// to[r][c] = element index[r][c] of `from`, for what is valid of `to`, which may be where `index`
// is. Scatter: element index[r][c] of `to` = from[r][c], for what is valid of `index`, row after
// row; all other elements of `to` become 0. One dtype.
TERN_CALL int tern_tile_gather(const tern_tile *to, const tern_tile *from, const tern_tile *index);
TERN_CALL int tern_tile_scatter(const tern_tile *to, const tern_tile *from, const tern_tile *index);

// Of the valid elements of `from` columns first, first + step, …, row after row and one after the
// other in the memory of `to`, of which whole rows are valid; or its rows first, first + step, …
// The other way about: columns (rows) first, first + step, … of `to` = those of `from`, and all
// other elements 0.
TERN_CALL int tern_tile_take_columns(const tern_tile *to, const tern_tile *from, int32_t step,
                                     int32_t first);
TERN_CALL int tern_tile_take_rows(const tern_tile *to, const tern_tile *from, int32_t step,
                                  int32_t first);
TERN_CALL int tern_tile_set_columns(const tern_tile *to, const tern_tile *from, int32_t step,
                                    int32_t first);
TERN_CALL int tern_tile_set_rows(const tern_tile *to, const tern_tile *from, int32_t step,
                                 int32_t first);

// Pairs of 8 bytes, 2 elements of TERN_F32 or 4 of TERN_F16: a value, behind one of TERN_F16 two
// bytes of 0, and an index of 32 bits. They are in rows, the greatest value first and NaN last.
//
// Row r of `to` = the pairs of from[r][c] and index[r][c], for the valid columns of `from`; each 32
// of them, from the first on, are sorted, of equal values the lesser index first. An index of one
// valid row serves all rows. Nothing of `to` lies where the others do, here and in what follows.
TERN_CALL int tern_tile_sort(const tern_tile *to, const tern_tile *from, const tern_tile *index);

// `to` = the pairs of the first rows of 2 to 4 tiles, merged, as many as it has valid ones; of
// equal values that of the earlier tile first. With `stop` no more are merged when a tile has none
// left. taken[i]: how many of tile i were merged, also beyond the end of `to`; NULL: nobody asks.
TERN_CALL int tern_tile_merge(const tern_tile *to, const tern_tile *from, int count, int stop,
                              int64_t taken[]);

// The same of blocks of `length` elements, a multiple of 64, of the first row of one tile: each
// four of them, sorted, become one. At most 255 times four, and a multiple of that.
TERN_CALL int tern_tile_merge_blocks(const tern_tile *to, const tern_tile *from, int32_t length);

// to = a b, or to += a b: a has M valid rows of K, b K of N, `to` M of N. `a` and `b` of one dtype:
// TERN_F16, TERN_BF16 or TERN_F32 into TERN_F32, or TERN_I8 into TERN_I32. Sums are in the dtype of
// `to`, in an order that is not defined, unlike all else here: by OpenBLAS where this machine has
// it, on one thread.
TERN_CALL int tern_tile_matmul(const tern_tile *to, const tern_tile *a, const tern_tile *b,
                               int accumulate);

// Element `index` of a tile's rows * columns, as it lies in memory, and of a tensor in global
// memory: `index` elements behind its first one, within what its shape and strides reach.
// *element has the dtype. TERN_ERR_ARG outside of these, and for a tensor on another machine.
// Loads and stores do the same faster; but checking mode (docs/pto.md) sees these calls alone,
// and GetValue and SetValue of kernels become them when it is on: what tern_tile_is_checked
// says, 1 or 0, all the time.
TERN_CALL int tern_tile_get(const tern_tile *tile, int64_t index, void *element);
TERN_CALL int tern_tile_set(const tern_tile *tile, int64_t index, const void *element);
TERN_CALL int tern_tensor_get_element(const tern_tensor *tensor, int64_t index, void *element);
TERN_CALL int tern_tensor_set_element(const tern_tensor *tensor, int64_t index,
                                      const void *element);
TERN_API int tern_tile_is_checked(void);

TERN_END_DECLS

#endif
