// SPDX-License-Identifier: Apache-2.0
// Functions of one element, what combines or spreads columns, and what makes one element of many.
// Data path: no allocation, lock, system call or log.

#include <math.h>
#include <string.h>

#include "base/public.h"
#include "isa/tile_side.h"

static void apply_float(double *f, size_t count, tern_tile_function function)
{
    for (size_t n = 0; n < count; n++) {
        switch (function) {
        case TERN_TILE_EXP:
            f[n] = exp(f[n]);
            break;
        case TERN_TILE_SQRT:
            f[n] = sqrt(f[n]);
            break;
        case TERN_TILE_RSQRT:
            f[n] = 1 / sqrt(f[n]);
            break;
        case TERN_TILE_RECIP:
            f[n] = 1 / f[n];
            break;
        case TERN_TILE_LOG:
            f[n] = log(f[n]);
            break;
        case TERN_TILE_ABS:
            f[n] = fabs(f[n]);
            break;
        case TERN_TILE_NEG:
            f[n] = -f[n];
            break;
        default:
            f[n] = f[n] < 0 ? 0 : f[n];
            break;
        }
    }
}

static void apply_integer(union tern__wide *wide, size_t count, bool has_sign,
                          tern_tile_function function)
{
    for (size_t n = 0; n < count; n++) {
        bool below = has_sign && wide->i[n] < 0;
        if (function == TERN_TILE_NOT) {
            wide->u[n] = ~wide->u[n];
        } else if (function == TERN_TILE_NEG || (function == TERN_TILE_ABS && below)) {
            wide->u[n] = 0 - wide->u[n]; // wraps around
        } else if (function == TERN_TILE_RELU && below) {
            wide->u[n] = 0;
        }
    }
}

static int apply(const char *call, const tern_tile *to, const tern_tile *from,
                 tern_tile_function function)
{
    if ((unsigned)function > TERN_TILE_NOT) {
        return tern__fail(TERN_ERR_ARG, "%s: there is no function %d", call, (int)function);
    }
    TERN_TRY(tern__side_check(call, "to", to));
    TERN_TRY(tern__side_check_source(call, "from", from, to->valid_rows, to->valid_columns));
    TERN_TRY(tern__side_check_dtype(call, "from", from, to));
    enum tern__wide_kind kind = tern__wide_kind(to->dtype);
    if (function <= TERN_TILE_LOG) {
        TERN_TRY(tern__side_check_float(call, "to", to));
    }
    if (function == TERN_TILE_NOT) {
        TERN_TRY(tern__side_check_integers(call, "to", to));
    }
    tern__side_use(to, from, NULL);
    struct tern__side sides[2] = {tern__side_of(to), tern__side_of(from)};
    for (int64_t row = 0; row < to->valid_rows; row++) {
        for (int64_t column = 0; column < to->valid_columns; column += TERN__WIDE_COUNT) {
            size_t count = tern__side_chunk(column, to->valid_columns);
            union tern__wide wide;
            tern__wide_load(&wide, from->dtype, tern__side_at(&sides[1], row, column),
                            sides[1].element, count);
            if (kind == TERN__WIDE_FLOAT) {
                apply_float(wide.f, count, function);
            } else {
                apply_integer(&wide, count, kind == TERN__WIDE_SIGNED, function);
            }
            tern__wide_store(&wide, kind, to->dtype, tern__side_at(&sides[0], row, column),
                             sides[0].element, count);
        }
    }
    return TERN_OK;
}

int tern_tile_apply(const tern_tile *to, const tern_tile *from, tern_tile_function function)
{
    return TERN__CALL(apply("tern_tile_apply", to, from, function));
}

int tern_tile_exp(const tern_tile *to, const tern_tile *from)
{
    return TERN__CALL(apply("tern_tile_exp", to, from, TERN_TILE_EXP));
}

static int combine_columns(const tern_tile *to, const tern_tile *a, const tern_tile *row,
                           tern_tile_op op)
{
    const char *call = "tern_tile_combine_columns";
    TERN_TRY(tern__side_check_op(call, op, to));
    TERN_TRY(tern__side_check_source(call, "a", a, to->valid_rows, to->valid_columns));
    TERN_TRY(tern__side_check_source(call, "row", row, 1, to->valid_columns));
    TERN_TRY(tern__side_check_dtype(call, "a", a, to));
    TERN_TRY(tern__side_check_dtype(call, "row", row, to));
    tern__side_use(to, a, row);
    struct tern__side sides[3] = {tern__side_of(to), tern__side_of(a), tern__side_of(row)};
    enum tern__wide_kind kind = tern__wide_kind(to->dtype);
    for (int64_t column = 0; column < to->valid_columns; column += TERN__WIDE_COUNT) {
        size_t count = tern__side_chunk(column, to->valid_columns);
        union tern__wide same; // `row` may be `to`
        tern__wide_load(&same, row->dtype, tern__side_at(&sides[2], 0, column), sides[2].element,
                        count);
        for (int64_t r = 0; r < to->valid_rows; r++) {
            union tern__wide left;
            tern__wide_load(&left, a->dtype, tern__side_at(&sides[1], r, column), sides[1].element,
                            count);
            tern__wide_op(&left, &same, kind, op, count);
            tern__wide_store(&left, kind, to->dtype, tern__side_at(&sides[0], r, column),
                             sides[0].element, count);
        }
    }
    return TERN_OK;
}

int tern_tile_combine_columns(const tern_tile *to, const tern_tile *a, const tern_tile *row,
                              tern_tile_op op)
{
    return TERN__CALL(combine_columns(to, a, row, op));
}

// The valid elements of a row, as element 0 of `sum`.
static void reduce_row(union tern__wide *sum, const struct tern__side *from, int64_t row,
                       int64_t columns, tern_tile_op op)
{
    enum tern__wide_kind kind = tern__wide_kind(from->dtype);
    for (int64_t column = 0; column < columns; column += TERN__WIDE_COUNT) {
        size_t count = tern__side_chunk(column, columns);
        union tern__wide more;
        tern__wide_load(&more, from->dtype, tern__side_at(from, row, column), from->element, count);
        for (size_t n = 0; n < count; n++) {
            if (column == 0 && n == 0) {
                sum->u[0] = more.u[0];
            } else {
                union tern__wide one;
                one.u[0] = more.u[n];
                tern__wide_op(sum, &one, kind, op, 1);
            }
        }
    }
}

static int reduce_rows(const tern_tile *to, const tern_tile *from, tern_tile_op op)
{
    const char *call = "tern_tile_reduce_rows";
    TERN_TRY(tern__side_check(call, "to", to));
    TERN_TRY(tern__side_check_source(call, "from", from, to->valid_rows, 1));
    TERN_TRY(tern__side_check_dtype(call, "from", from, to));
    TERN_TRY(tern__side_check_reduction(call, op));
    tern__side_use(to, from, NULL);
    struct tern__side sides[2] = {tern__side_of(to), tern__side_of(from)};
    for (int64_t row = 0; row < to->valid_rows; row++) {
        union tern__wide sum;
        reduce_row(&sum, &sides[1], row, from->valid_columns, op);
        tern__wide_store(&sum, tern__wide_kind(to->dtype), to->dtype,
                         tern__side_at(&sides[0], row, 0), 1, 1);
    }
    return TERN_OK;
}

int tern_tile_reduce_rows(const tern_tile *to, const tern_tile *from, tern_tile_op op)
{
    return TERN__CALL(reduce_rows(to, from, op));
}

static int reduce_columns(const tern_tile *to, const tern_tile *from, tern_tile_op op)
{
    const char *call = "tern_tile_reduce_columns";
    TERN_TRY(tern__side_check(call, "to", to));
    TERN_TRY(tern__side_check_source(call, "from", from, 1, to->valid_columns));
    TERN_TRY(tern__side_check_dtype(call, "from", from, to));
    TERN_TRY(tern__side_check_reduction(call, op));
    if (to->valid_rows < 1) {
        return tern__fail(TERN_ERR_ARG, "%s: 'to' has no valid row for the result", call);
    }
    tern__side_use(to, from, NULL);
    struct tern__side sides[2] = {tern__side_of(to), tern__side_of(from)};
    enum tern__wide_kind kind = tern__wide_kind(to->dtype);
    for (int64_t column = 0; column < to->valid_columns; column += TERN__WIDE_COUNT) {
        size_t count = tern__side_chunk(column, to->valid_columns);
        union tern__wide sum;
        tern__wide_load(&sum, from->dtype, tern__side_at(&sides[1], 0, column), sides[1].element,
                        count);
        for (int64_t row = 1; row < from->valid_rows; row++) {
            union tern__wide more;
            tern__wide_load(&more, from->dtype, tern__side_at(&sides[1], row, column),
                            sides[1].element, count);
            tern__wide_op(&sum, &more, kind, op, count);
        }
        tern__wide_store(&sum, kind, to->dtype, tern__side_at(&sides[0], 0, column),
                         sides[0].element, count);
    }
    return TERN_OK;
}

int tern_tile_reduce_columns(const tern_tile *to, const tern_tile *from, tern_tile_op op)
{
    return TERN__CALL(reduce_columns(to, from, op));
}

static int spread(const tern_tile *to, const tern_tile *from, bool rows)
{
    const char *call = rows ? "tern_tile_spread_rows" : "tern_tile_spread_columns";
    TERN_TRY(tern__side_check(call, "to", to));
    TERN_TRY(tern__side_check_source(call, "from", from, rows ? to->valid_rows : 1,
                                     rows ? 1 : to->valid_columns));
    TERN_TRY(tern__side_check_dtype(call, "from", from, to));
    tern__side_use(to, from, NULL);
    struct tern__side sides[2] = {tern__side_of(to), tern__side_of(from)};
    for (int64_t row = 0; row < to->valid_rows; row++) {
        for (int64_t column = 0; column < to->valid_columns; column++) {
            memmove(tern__side_at(&sides[0], row, column),
                    tern__side_at(&sides[1], rows ? row : 0, rows ? 0 : column),
                    sides[0].element_bytes);
        }
    }
    return TERN_OK;
}

int tern_tile_spread_rows(const tern_tile *to, const tern_tile *column)
{
    return TERN__CALL(spread(to, column, true));
}

int tern_tile_spread_columns(const tern_tile *to, const tern_tile *row)
{
    return TERN__CALL(spread(to, row, false));
}

static int count_up(const tern_tile *to, const void *first, bool down)
{
    const char *call = "tern_tile_count";
    union tern__wide value;
    TERN_TRY(tern__side_check(call, "to", to));
    TERN_TRY(tern__side_check_scalar(call, first));
    tern__side_use(to, to, NULL);
    struct tern__side side = tern__side_of(to);
    enum tern__wide_kind kind = tern__wide_kind(to->dtype);
    tern__wide_load(&value, to->dtype, first, 0, 1);
    const union tern__wide from = value;
    for (int64_t row = 0; row < to->valid_rows; row++) {
        for (int64_t column = 0; column < to->valid_columns; column++) {
            int64_t n = row * to->valid_columns + column;
            n = down ? -n : n;
            if (kind == TERN__WIDE_FLOAT) {
                value.f[0] = from.f[0] + (double)n;
            } else {
                value.u[0] = from.u[0] + (uint64_t)n;
            }
            tern__wide_store(&value, kind, to->dtype, tern__side_at(&side, row, column), 1, 1);
        }
    }
    return TERN_OK;
}

int tern_tile_count(const tern_tile *to, const void *first, int down)
{
    return TERN__CALL(count_up(to, first, down != 0));
}
