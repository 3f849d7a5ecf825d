// SPDX-License-Identifier: Apache-2.0
// Elements of tiles in other places: transposed, inserted, padded; by indices, and every second or
// fourth of them. Data path: no allocation, lock, system call or log.

#include <string.h>

#include "base/public.h"
#include "isa/tile_side.h"

static int check_size(const char *call, const tern_tile *from, const tern_tile *to)
{
    return tern_dtype_size(from->dtype) == tern_dtype_size(to->dtype)
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: elements of from have %zu bytes, and of 'to' %zu",
                            call, tern_dtype_size(from->dtype), tern_dtype_size(to->dtype));
}

static int check_room(const char *call, const tern_tile *to, int64_t rows, int64_t columns)
{
    return to->rows >= rows && to->columns >= columns
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG,
                            "%s: 'to' has %d rows of %d elements, and %lld of %lld are needed",
                            call, to->rows, to->columns, (long long)rows, (long long)columns);
}

static int check_both(const char *call, const tern_tile *to, const tern_tile *from)
{
    TERN_TRY(tern__side_check(call, "to", to));
    TERN_TRY(tern__side_check(call, "from", from));
    return check_size(call, from, to);
}

// So much of it is written, or may be, whatever is valid.
static tern_tile valid_for(const tern_tile *to, int32_t rows, int32_t columns)
{
    tern_tile tile = *to;
    tile.valid_rows = rows;
    tile.valid_columns = columns;
    return tile;
}

static void copy_element(const struct tern__side *to, int64_t to_row, int64_t to_column,
                         const struct tern__side *from, int64_t row, int64_t column)
{
    memcpy(tern__side_at(to, to_row, to_column), tern__side_at(from, row, column),
           to->element_bytes);
}

static int transpose(const tern_tile *to, const tern_tile *from)
{
    const char *call = "tern_tile_transpose";
    TERN_TRY(check_both(call, to, from));
    TERN_TRY(check_room(call, to, from->valid_columns, from->valid_rows));
    TERN_TRY(tern__side_check_apart(call, "from", from, to));
    tern_tile written = valid_for(to, from->valid_columns, from->valid_rows);
    tern__side_use(&written, from, NULL);
    struct tern__side sides[2] = {tern__side_of(to), tern__side_of(from)};
    for (int64_t row = 0; row < from->valid_rows; row++) {
        for (int64_t column = 0; column < from->valid_columns; column++) {
            copy_element(&sides[0], column, row, &sides[1], row, column);
        }
    }
    return TERN_OK;
}

int tern_tile_transpose(const tern_tile *to, const tern_tile *from)
{
    return TERN__CALL(transpose(to, from));
}

static int insert(const tern_tile *to, const tern_tile *from, int32_t row, int32_t column)
{
    const char *call = "tern_tile_insert";
    TERN_TRY(tern__side_check(call, "to", to));
    TERN_TRY(tern__side_check(call, "from", from));
    TERN_TRY(tern__side_check_within(call, from, row, column, "'to'", to->rows, to->columns));
    if (to->dtype != from->dtype) {
        TERN_TRY(tern__side_check_apart(call, "from", from, to));
    }
    struct tern__side side = tern__side_of(to);
    tern_tile part = valid_for(to, from->valid_rows, from->valid_columns);
    part.data = tern__side_at(&side, row, column);
    tern__tile_copy_part(&part, from, 0, 0);
    return TERN_OK;
}

int tern_tile_insert(const tern_tile *to, const tern_tile *from, int32_t row, int32_t column)
{
    return TERN__CALL(insert(to, from, row, column));
}

static int pad(const tern_tile *to, const tern_tile *from, const void *scalar)
{
    const char *call = "tern_tile_pad";
    uint64_t element;
    TERN_TRY(check_both(call, to, from));
    TERN_TRY(tern__side_check_scalar(call, scalar));
    TERN_TRY(check_room(call, to, from->valid_rows, from->valid_columns));
    struct tern__side sides[2] = {tern__side_of(to), tern__side_of(from)};
    bool in_place = to->data == from->data && sides[0].row == sides[1].row &&
                    sides[0].element == sides[1].element;
    if (!in_place) {
        TERN_TRY(tern__side_check_apart(call, "from", from, to));
    }
    tern_tile written = valid_for(to, to->rows, to->columns);
    tern__side_use(&written, from, NULL);
    struct tern__side same = tern__side_of_scalar(scalar, to->dtype, &element);
    for (int64_t row = 0; row < to->rows; row++) {
        for (int64_t column = 0; column < to->columns; column++) {
            bool valid = row < from->valid_rows && column < from->valid_columns;
            if (!valid || !in_place) {
                copy_element(&sides[0], row, column, valid ? &sides[1] : &same, row, column);
            }
        }
    }
    return TERN_OK;
}

int tern_tile_pad(const tern_tile *to, const tern_tile *from, const void *scalar)
{
    return TERN__CALL(pad(to, from, scalar));
}

static int64_t index_at(const struct tern__side *index, int64_t row, int64_t column)
{
    union tern__wide wide;
    tern__wide_load(&wide, index->dtype, tern__side_at(index, row, column), 1, 1);
    return wide.i[0];
}

// Each index is that of an element of `tile`, as they lie in memory.
static int check_indices(const char *call, const tern_tile *index, int32_t rows, int32_t columns,
                         const tern_tile *tile)
{
    TERN_TRY(tern__side_check_source(call, "index", index, rows, columns));
    int64_t count = (int64_t)tile->rows * tile->columns;
    struct tern__side side = tern__side_of(index);
    size_t bytes = tern_dtype_size(index->dtype);
    if (tern__wide_kind(index->dtype) == TERN__WIDE_FLOAT || bytes < 2 || bytes > 4) {
        return tern__fail(TERN_ERR_ARG, "%s: index has %s; expected integers of 16 or 32 bits",
                          call, tern_dtype_name(index->dtype));
    }
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t column = 0; column < columns; column++) {
            int64_t n = index_at(&side, row, column);
            if (n < 0 || n >= count) {
                return tern__fail(TERN_ERR_ARG,
                                  "%s: index (%lld, %lld) is %lld, and there are %lld elements",
                                  call, (long long)row, (long long)column, (long long)n,
                                  (long long)count);
            }
        }
    }
    return TERN_OK;
}

static int gather(const tern_tile *to, const tern_tile *from, const tern_tile *index)
{
    const char *call = "tern_tile_gather";
    TERN_TRY(check_both(call, to, from));
    TERN_TRY(tern__side_check_dtype(call, "from", from, to));
    TERN_TRY(check_indices(call, index, to->valid_rows, to->valid_columns, from));
    TERN_TRY(tern__side_check_apart(call, "from", from, to));
    if (to->data != index->data || tern__side_bytes(to) != tern__side_bytes(index)) {
        TERN_TRY(tern__side_check_apart(call, "index", index, to));
    }
    tern__side_use(to, from, index);
    struct tern__side sides[2] = {tern__side_of(to), tern__side_of(index)};
    for (int64_t row = 0; row < to->valid_rows; row++) {
        for (int64_t column = 0; column < to->valid_columns; column++) {
            int64_t n = index_at(&sides[1], row, column);
            memcpy(tern__side_at(&sides[0], row, column),
                   (const char *)from->data + (size_t)n * sides[0].element_bytes,
                   sides[0].element_bytes);
        }
    }
    return TERN_OK;
}

int tern_tile_gather(const tern_tile *to, const tern_tile *from, const tern_tile *index)
{
    return TERN__CALL(gather(to, from, index));
}

static int scatter(const tern_tile *to, const tern_tile *from, const tern_tile *index)
{
    const char *call = "tern_tile_scatter";
    TERN_TRY(check_both(call, to, from));
    TERN_TRY(tern__side_check_dtype(call, "from", from, to));
    TERN_TRY(tern__side_check(call, "index", index));
    TERN_TRY(check_indices(call, index, index->valid_rows, index->valid_columns, to));
    TERN_TRY(tern__side_check_source(call, "from", from, index->valid_rows, index->valid_columns));
    TERN_TRY(tern__side_check_apart(call, "from", from, to));
    TERN_TRY(tern__side_check_apart(call, "index", index, to));
    tern_tile written = valid_for(to, to->rows, to->columns);
    tern__side_use(&written, from, index);
    memset(to->data, 0, tern__side_bytes(to));
    struct tern__side sides[2] = {tern__side_of(from), tern__side_of(index)};
    for (int64_t row = 0; row < index->valid_rows; row++) {
        for (int64_t column = 0; column < index->valid_columns; column++) {
            int64_t n = index_at(&sides[1], row, column);
            memcpy((char *)to->data + (size_t)n * sides[0].element_bytes,
                   tern__side_at(&sides[0], row, column), sides[0].element_bytes);
        }
    }
    return TERN_OK;
}

int tern_tile_scatter(const tern_tile *to, const tern_tile *from, const tern_tile *index)
{
    return TERN__CALL(scatter(to, from, index));
}

static int check_every(const char *call, int32_t step, int32_t first)
{
    return step >= 1 && first >= 0 && first < step
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: there is no element %d of every %d", call, first,
                            step);
}

// first, first + step, … below `all`.
static int64_t count_every(int64_t all, int32_t step, int32_t first)
{
    return all > first ? (all - first + step - 1) / step : 0;
}

static int take_columns(const tern_tile *to, const tern_tile *from, int32_t step, int32_t first)
{
    const char *call = "tern_tile_take_columns";
    TERN_TRY(check_both(call, to, from));
    TERN_TRY(check_every(call, step, first));
    TERN_TRY(tern__side_check_apart(call, "from", from, to));
    int64_t taken = from->valid_rows * count_every(from->valid_columns, step, first);
    if (taken > (int64_t)to->rows * to->columns || to->order != TERN_TILE_ROW_MAJOR ||
        to->valid_columns != to->columns) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: %lld elements need a tile of whole rows, and 'to' has %d rows of %d "
                          "elements, of which %d are valid",
                          call, (long long)taken, to->rows, to->columns, to->valid_columns);
    }
    tern_tile written =
        valid_for(to, (int32_t)((taken + to->columns - 1) / to->columns), to->columns);
    tern__side_use(&written, from, NULL);
    struct tern__side sides[2] = {tern__side_of(to), tern__side_of(from)};
    int64_t n = 0;
    for (int64_t row = 0; row < from->valid_rows; row++) {
        for (int64_t column = first; column < from->valid_columns; column += step) {
            copy_element(&sides[0], 0, n++, &sides[1], row, column);
        }
    }
    return TERN_OK;
}

int tern_tile_take_columns(const tern_tile *to, const tern_tile *from, int32_t step, int32_t first)
{
    return TERN__CALL(take_columns(to, from, step, first));
}

static int take_rows(const tern_tile *to, const tern_tile *from, int32_t step, int32_t first)
{
    const char *call = "tern_tile_take_rows";
    TERN_TRY(check_both(call, to, from));
    TERN_TRY(check_every(call, step, first));
    TERN_TRY(tern__side_check_apart(call, "from", from, to));
    int64_t rows = count_every(from->valid_rows, step, first);
    TERN_TRY(check_room(call, to, rows, from->valid_columns));
    tern_tile written = valid_for(to, (int32_t)(rows > 0 ? rows : 1), from->valid_columns);
    tern__side_use(&written, from, NULL);
    struct tern__side sides[2] = {tern__side_of(to), tern__side_of(from)};
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t column = 0; column < from->valid_columns; column++) {
            copy_element(&sides[0], row, column, &sides[1], first + row * step, column);
        }
    }
    return TERN_OK;
}

int tern_tile_take_rows(const tern_tile *to, const tern_tile *from, int32_t step, int32_t first)
{
    return TERN__CALL(take_rows(to, from, step, first));
}

// `rows` and `columns`: how far apart the elements of `from` come to lie.
static int set_every(const char *call, const tern_tile *to, const tern_tile *from,
                     const int32_t apart[2], const int32_t first[2])
{
    TERN_TRY(check_both(call, to, from));
    TERN_TRY(check_every(call, apart[0], first[0]));
    TERN_TRY(check_every(call, apart[1], first[1]));
    TERN_TRY(tern__side_check_apart(call, "from", from, to));
    TERN_TRY(check_room(call, to, (int64_t)from->valid_rows * apart[0],
                        (int64_t)from->valid_columns * apart[1]));
    tern_tile written = valid_for(to, to->rows, to->columns);
    tern__side_use(&written, from, NULL);
    memset(to->data, 0, tern__side_bytes(to));
    struct tern__side sides[2] = {tern__side_of(to), tern__side_of(from)};
    for (int64_t row = 0; row < from->valid_rows; row++) {
        for (int64_t column = 0; column < from->valid_columns; column++) {
            copy_element(&sides[0], row * apart[0] + first[0], column * apart[1] + first[1],
                         &sides[1], row, column);
        }
    }
    return TERN_OK;
}

int tern_tile_set_columns(const tern_tile *to, const tern_tile *from, int32_t step, int32_t first)
{
    return TERN__CALL(
        set_every("tern_tile_set_columns", to, from, (int32_t[]){1, step}, (int32_t[]){0, first}));
}

int tern_tile_set_rows(const tern_tile *to, const tern_tile *from, int32_t step, int32_t first)
{
    return TERN__CALL(
        set_every("tern_tile_set_rows", to, from, (int32_t[]){step, 1}, (int32_t[]){first, 0}));
}
