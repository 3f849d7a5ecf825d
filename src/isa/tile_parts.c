// SPDX-License-Identifier: Apache-2.0
// Two tiles of which one is valid where the other is not. Data path: no allocation, lock, system
// call or log.

#include <string.h>

#include "base/public.h"
#include "isa/tile_side.h"

// Without valid elements it is a tile, too.
static int check_part(const char *call, const char *name, const tern_tile *part,
                      const tern_tile *to)
{
    if (part == NULL) {
        return tern__side_check(call, name, part);
    }
    tern_tile checked = *part;
    checked.valid_rows = part->valid_rows == 0 ? 1 : part->valid_rows;
    checked.valid_columns = part->valid_columns == 0 ? 1 : part->valid_columns;
    TERN_TRY(tern__side_check(call, name, &checked));
    return tern__side_check_dtype(call, name, part, to);
}

static bool covers(const tern_tile *part, const tern_tile *to)
{
    return part->valid_rows >= to->valid_rows && part->valid_columns >= to->valid_columns;
}

static int check_parts(const char *call, const tern_tile *to, const tern_tile *a,
                       const tern_tile *b, tern_tile_op op)
{
    TERN_TRY(tern__side_check_op(call, op, to));
    TERN_TRY(check_part(call, "a", a, to));
    TERN_TRY(check_part(call, "b", b, to));
    return covers(a, to) || covers(b, to)
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG,
                            "%s: a has %d valid rows of %d elements, b %d of %d, and one of them "
                            "must have the %d of %d of 'to'",
                            call, a->valid_rows, a->valid_columns, b->valid_rows, b->valid_columns,
                            to->valid_rows, to->valid_columns);
}

// How many elements of the row of `to` are valid in this tile.
static int64_t valid_in(const tern_tile *part, const tern_tile *to, int64_t row)
{
    if (row >= part->valid_rows) {
        return 0;
    }
    return part->valid_columns < to->valid_columns ? part->valid_columns : to->valid_columns;
}

static void copy_rest(const struct tern__side *to, const struct tern__side *from, int64_t row,
                      int64_t first, int64_t end)
{
    for (int64_t column = first; column < end; column++) {
        memmove(tern__side_at(to, row, column), tern__side_at(from, row, column),
                to->element_bytes);
    }
}

static void combine_start(const struct tern__side sides[3], int64_t row, int64_t columns,
                          tern_tile_op op)
{
    tern_dtype dtype = sides[0].dtype;
    enum tern__wide_kind kind = tern__wide_kind(dtype);
    for (int64_t column = 0; column < columns; column += TERN__WIDE_COUNT) {
        size_t count = tern__side_chunk(column, columns);
        union tern__wide left;
        union tern__wide right;
        tern__wide_load(&left, dtype, tern__side_at(&sides[1], row, column), sides[1].element,
                        count);
        tern__wide_load(&right, dtype, tern__side_at(&sides[2], row, column), sides[2].element,
                        count);
        tern__wide_op(&left, &right, kind, op, count);
        tern__wide_store(&left, kind, dtype, tern__side_at(&sides[0], row, column),
                         sides[0].element, count);
    }
}

static void watch_part(const tern_tile *part)
{
    if (part->valid_rows > 0 && part->valid_columns > 0) {
        tern__side_read(part);
    }
}

static int combine_parts(const tern_tile *to, const tern_tile *a, const tern_tile *b,
                         tern_tile_op op)
{
    TERN_TRY(check_parts("tern_tile_combine_parts", to, a, b, op));
    watch_part(a);
    watch_part(b);
    tern__side_use(to, covers(a, to) ? a : b, NULL);
    struct tern__side sides[3] = {tern__side_of(to), tern__side_of(a), tern__side_of(b)};
    for (int64_t row = 0; row < to->valid_rows; row++) {
        int64_t in_a = valid_in(a, to, row);
        int64_t in_b = valid_in(b, to, row);
        int64_t both = in_a < in_b ? in_a : in_b;
        combine_start(sides, row, both, op);
        copy_rest(&sides[0], in_a > in_b ? &sides[1] : &sides[2], row, both, to->valid_columns);
    }
    return TERN_OK;
}

int tern_tile_combine_parts(const tern_tile *to, const tern_tile *a, const tern_tile *b,
                            tern_tile_op op)
{
    return TERN__CALL(combine_parts(to, a, b, op));
}
