// SPDX-License-Identifier: Apache-2.0
// The operands of arithmetic on tiles: checked, and as rows of elements.
#ifndef TERN_ISA_TILE_SIDE_H
#define TERN_ISA_TILE_SIDE_H

#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "isa/check.h"
#include "isa/view.h"
#include "isa/wide.h"
#include "tern/tile.h"

// One operand, as rows.
struct tern__side {
    char *data;
    tern_dtype dtype;
    size_t element_bytes;
    int64_t row, element; // strides
};

static inline struct tern__side tern__side_of(const tern_tile *tile)
{
    struct tern__side side = {.data = tile->data,
                              .dtype = tile->dtype,
                              .element_bytes = tern_dtype_size(tile->dtype)};
    tern__tile_strides(tile, &side.row, &side.element);
    return side;
}

// A scalar, as a tile of as many equal elements as one likes.
static inline struct tern__side tern__side_of_scalar(const void *scalar, tern_dtype dtype,
                                                     uint64_t *element)
{
    struct tern__side side = {.data = (char *)element,
                              .dtype = dtype,
                              .element_bytes = tern_dtype_size(dtype)};
    memcpy(element, scalar, side.element_bytes);
    return side; // strides 0
}

static inline char *tern__side_at(const struct tern__side *side, int64_t row, int64_t column)
{
    return side->data + (row * side->row + column * side->element) * (int64_t)side->element_bytes;
}

static inline int tern__side_check(const char *call, const char *name, const tern_tile *tile)
{
    TERN_TRY(tile != NULL ? tern__dtype_check_number(call, name, tile->dtype) : TERN_OK);
    return tern__tile_check(call, name, tile, tile != NULL ? tile->dtype : TERN_F32);
}

static inline int tern__side_check_source(const char *call, const char *name, const tern_tile *from,
                                          int32_t rows, int32_t columns)
{
    TERN_TRY(tern__side_check(call, name, from));
    if (from->valid_rows < rows || from->valid_columns < columns) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: %s has %d valid rows of %d elements, and %d of %d are needed", call,
                          name, from->valid_rows, from->valid_columns, rows, columns);
    }
    return TERN_OK;
}

// Whether the valid part of `part` has room from (row, column) on in rows x columns of `name`.
static inline int tern__side_check_within(const char *call, const tern_tile *part, int32_t row,
                                          int32_t column, const char *name, int32_t rows,
                                          int32_t columns)
{
    return row >= 0 && column >= 0 && row <= rows - part->valid_rows &&
                   column <= columns - part->valid_columns
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG,
                            "%s: %d rows of %d elements from (%d, %d) on are not within the %d "
                            "rows of %d of %s",
                            call, part->valid_rows, part->valid_columns, row, column, rows, columns,
                            name);
}

static inline int tern__side_check_dtype(const char *call, const char *name, const tern_tile *from,
                                         const tern_tile *to)
{
    return from->dtype == to->dtype
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: %s has %s, and 'to' %s", call, name,
                            tern_dtype_name(from->dtype), tern_dtype_name(to->dtype));
}

// The same of two sources.
static inline int tern__side_check_same(const char *call, const char *name, const tern_tile *one,
                                        const char *other_name, const tern_tile *other)
{
    return one->dtype == other->dtype
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: %s has %s, and %s %s", call, name,
                            tern_dtype_name(one->dtype), other_name, tern_dtype_name(other->dtype));
}

static inline size_t tern__side_chunk(int64_t column, int64_t columns)
{
    int64_t rest = columns - column;
    return (size_t)(rest < TERN__WIDE_COUNT ? rest : TERN__WIDE_COUNT);
}

// Checking mode: what reads which tile and writes which.
static inline void tern__side_use(const tern_tile *to, const tern_tile *a, const tern_tile *b)
{
    if (tern__checking()) {
        tern__watch_tile("an operation on tiles", a, false);
        if (b != NULL) {
            tern__watch_tile("an operation on tiles", b, false);
        }
        tern__watch_tile("an operation on tiles", to, true);
    }
}

static inline size_t tern__side_bytes(const tern_tile *tile)
{
    return (size_t)tile->rows * (size_t)tile->columns * tern_dtype_size(tile->dtype);
}

static inline int tern__side_check_apart(const char *call, const char *name, const tern_tile *from,
                                         const tern_tile *to)
{
    const char *a = from->data;
    const char *b = to->data;
    return a >= b + tern__side_bytes(to) || b >= a + tern__side_bytes(from)
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: 'to' overlaps %s", call, name);
}

// A third source.
static inline void tern__side_read(const tern_tile *from)
{
    if (tern__checking()) {
        tern__watch_tile("an operation on tiles", from, false);
    }
}

static inline int tern__side_check_float(const char *call, const char *name, const tern_tile *tile)
{
    return tern__wide_kind(tile->dtype) == TERN__WIDE_FLOAT
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: %s has %s; expected floating point", call, name,
                            tern_dtype_name(tile->dtype));
}

static inline int tern__side_check_integers(const char *call, const char *name,
                                            const tern_tile *tile)
{
    return tern__wide_kind(tile->dtype) != TERN__WIDE_FLOAT
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: %s has %s; expected integers", call, name,
                            tern_dtype_name(tile->dtype));
}

static inline int tern__side_check_op(const char *call, tern_tile_op op, const tern_tile *to)
{
    if ((unsigned)op > TERN_TILE_SHR) {
        return tern__fail(TERN_ERR_ARG, "%s: there is no operation %d", call, (int)op);
    }
    TERN_TRY(tern__side_check(call, "to", to));
    return op >= TERN_TILE_AND ? tern__side_check_integers(call, "to", to) : TERN_OK;
}

static inline int tern__side_check_reduction(const char *call, tern_tile_op op)
{
    return op == TERN_TILE_ADD || op == TERN_TILE_MUL || op == TERN_TILE_MAX || op == TERN_TILE_MIN
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: there are add, mul, max and min, not %d", call,
                            (int)op);
}

static inline int tern__side_check_scalar(const char *call, const void *scalar)
{
    return scalar != NULL ? TERN_OK : tern__fail(TERN_ERR_ARG, "%s: scalar must not be NULL", call);
}

// to = the part of `from` at (row, column), in the dtype of `to`. (tile.c)
void tern__tile_copy_part(const tern_tile *to, const tern_tile *from, int32_t row, int32_t column);

// a[n] = a[n] op b[n]. (tile.c)
void tern__wide_op(union tern__wide *a, const union tern__wide *b, enum tern__wide_kind kind,
                   tern_tile_op op, size_t count);

#endif
