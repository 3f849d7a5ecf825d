// SPDX-License-Identifier: Apache-2.0
// Arithmetic on tiles, a row at a time: sums, products, greatest and least by the reduce kernels
// where a row lies together, all else through wide elements. Data path: no allocation, lock, system
// call or log.

#include "tern/tile.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/memcpy.h"
#include "base/public.h"
#include "isa/check.h"
#include "isa/reduce.h"
#include "isa/view.h"
#include "isa/wide.h"

// One operand, as rows.
struct side {
    char *data;
    tern_dtype dtype;
    size_t element_bytes;
    int64_t row, element; // strides
};

static struct side side_of(const tern_tile *tile)
{
    struct side side = {.data = tile->data,
                        .dtype = tile->dtype,
                        .element_bytes = tern_dtype_size(tile->dtype)};
    tern__tile_strides(tile, &side.row, &side.element);
    return side;
}

static char *at(const struct side *side, int64_t row, int64_t column)
{
    return side->data + (row * side->row + column * side->element) * (int64_t)side->element_bytes;
}

static int check_tile(const char *call, const char *name, const tern_tile *tile)
{
    TERN_TRY(tile != NULL ? tern__dtype_check_number(call, name, tile->dtype) : TERN_OK);
    return tern__tile_check(call, name, tile, tile != NULL ? tile->dtype : TERN_F32);
}

static int check_source(const char *call, const char *name, const tern_tile *from, int32_t rows,
                        int32_t columns)
{
    TERN_TRY(check_tile(call, name, from));
    if (from->valid_rows < rows || from->valid_columns < columns) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: %s has %d valid rows of %d elements, and %d of %d are needed", call,
                          name, from->valid_rows, from->valid_columns, rows, columns);
    }
    return TERN_OK;
}

static int check_dtype(const char *call, const char *name, const tern_tile *from,
                       const tern_tile *to)
{
    return from->dtype == to->dtype
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: %s has %s, and 'to' %s", call, name,
                            tern_dtype_name(from->dtype), tern_dtype_name(to->dtype));
}

static int check_op(const char *call, tern_tile_op op)
{
    return (unsigned)op <= TERN_TILE_MIN
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: there is no operation %d", call, (int)op);
}

static double float_op(double a, double b, tern_tile_op op)
{
    switch (op) {
    case TERN_TILE_ADD:
        return a + b;
    case TERN_TILE_SUB:
        return a - b;
    case TERN_TILE_MUL:
        return a * b;
    case TERN_TILE_DIV:
        return a / b;
    case TERN_TILE_MAX:
        return b > a || b != b ? b : a;
    default:
        return b < a || b != b ? b : a;
    }
}

static uint64_t signed_op(int64_t a, int64_t b, tern_tile_op op)
{
    switch (op) {
    case TERN_TILE_DIV:
        return b == 0 ? 0 : b == -1 ? -(uint64_t)a : (uint64_t)(a / b);
    case TERN_TILE_MAX:
        return (uint64_t)(b > a ? b : a);
    default:
        return (uint64_t)(b < a ? b : a);
    }
}

static uint64_t unsigned_op(uint64_t a, uint64_t b, tern_tile_op op)
{
    switch (op) {
    case TERN_TILE_ADD:
        return a + b;
    case TERN_TILE_SUB:
        return a - b;
    case TERN_TILE_MUL:
        return a * b;
    case TERN_TILE_DIV:
        return b == 0 ? 0 : a / b;
    case TERN_TILE_MAX:
        return b > a ? b : a;
    default:
        return b < a ? b : a;
    }
}

// a = a op b.
static void wide_op(union tern__wide *a, const union tern__wide *b, enum tern__wide_kind kind,
                    tern_tile_op op, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        if (kind == TERN__WIDE_FLOAT) {
            a->f[n] = float_op(a->f[n], b->f[n], op);
        } else if (kind == TERN__WIDE_SIGNED && op >= TERN_TILE_DIV) {
            a->u[n] = signed_op(a->i[n], b->i[n], op);
        } else {
            a->u[n] = unsigned_op(a->u[n], b->u[n], op);
        }
    }
}

static size_t chunk_at(int64_t column, int64_t columns)
{
    int64_t rest = columns - column;
    return (size_t)(rest < TERN__WIDE_COUNT ? rest : TERN__WIDE_COUNT);
}

static void combine_row(const struct side *to, const struct side *a, const struct side *b,
                        int64_t row, int64_t columns, tern_tile_op op)
{
    enum tern__wide_kind kind = tern__wide_kind(to->dtype);
    for (int64_t column = 0; column < columns; column += TERN__WIDE_COUNT) {
        size_t count = chunk_at(column, columns);
        union tern__wide left;
        union tern__wide right;
        tern__wide_load(&left, a->dtype, at(a, row, column), a->element, count);
        tern__wide_load(&right, b->dtype, at(b, row, column), b->element, count);
        wide_op(&left, &right, kind, op, count);
        tern__wide_store(&left, kind, to->dtype, at(to, row, column), to->element, count);
    }
}

// The reduce kernel that does the same on rows that lie together, or NULL.
static tern__reduce_fn *kernel_for(const struct side *to, const struct side *a,
                                   const struct side *b, tern_tile_op op)
{
    static const tern_reduce_op ops[] = {[TERN_TILE_ADD] = TERN_SUM,
                                         [TERN_TILE_MUL] = TERN_PROD,
                                         [TERN_TILE_MAX] = TERN_MAX,
                                         [TERN_TILE_MIN] = TERN_MIN};
    if (op == TERN_TILE_SUB || op == TERN_TILE_DIV || to->element != 1 || a->element != 1 ||
        b->element != 1) {
        return NULL;
    }
    return tern__reduce_find(to->dtype, ops[op]);
}

// Checking mode: what reads which tile and writes which.
static void check_use(const tern_tile *to, const tern_tile *a, const tern_tile *b)
{
    if (tern__checking()) {
        tern__watch_tile("an operation on tiles", a, false);
        if (b != NULL) {
            tern__watch_tile("an operation on tiles", b, false);
        }
        tern__watch_tile("an operation on tiles", to, true);
    }
}

static int combine(const tern_tile *to, const tern_tile *a, const tern_tile *b, tern_tile_op op)
{
    const char *call = "tern_tile_combine";
    TERN_TRY(check_op(call, op));
    TERN_TRY(check_tile(call, "to", to));
    TERN_TRY(check_source(call, "a", a, to->valid_rows, to->valid_columns));
    TERN_TRY(check_source(call, "b", b, to->valid_rows, to->valid_columns));
    TERN_TRY(check_dtype(call, "a", a, to));
    TERN_TRY(check_dtype(call, "b", b, to));
    check_use(to, a, b);
    struct side sides[3] = {side_of(to), side_of(a), side_of(b)};
    tern__reduce_fn *kernel = kernel_for(&sides[0], &sides[1], &sides[2], op);
    for (int64_t row = 0; row < to->valid_rows; row++) {
        if (kernel != NULL) {
            kernel((char *const[]){at(&sides[0], row, 0)}, 1,
                   (const char *const[]){at(&sides[1], row, 0), at(&sides[2], row, 0)}, 2,
                   (size_t)to->valid_columns, false);
        } else {
            combine_row(&sides[0], &sides[1], &sides[2], row, to->valid_columns, op);
        }
    }
    return TERN_OK;
}

int tern_tile_combine(const tern_tile *to, const tern_tile *a, const tern_tile *b, tern_tile_op op)
{
    return TERN__CALL(combine(to, a, b, op));
}

// The scalar, as a tile of this many equal elements.
static struct side side_of_scalar(const void *scalar, tern_dtype dtype, uint64_t *element)
{
    struct side side = {.data = (char *)element,
                        .dtype = dtype,
                        .element_bytes = tern_dtype_size(dtype)};
    memcpy(element, scalar, side.element_bytes);
    return side; // strides 0
}

static int combine_rows(const tern_tile *to, const tern_tile *a, const tern_tile *column,
                        tern_tile_op op)
{
    const char *call = "tern_tile_combine_rows";
    TERN_TRY(check_op(call, op));
    TERN_TRY(check_tile(call, "to", to));
    TERN_TRY(check_source(call, "a", a, to->valid_rows, to->valid_columns));
    TERN_TRY(check_source(call, "column", column, to->valid_rows, 1));
    TERN_TRY(check_dtype(call, "a", a, to));
    TERN_TRY(check_dtype(call, "column", column, to));
    check_use(to, a, column);
    struct side sides[3] = {side_of(to), side_of(a), side_of(column)};
    for (int64_t row = 0; row < to->valid_rows; row++) {
        uint64_t element; // `column` may be `to`
        struct side same = side_of_scalar(at(&sides[2], row, 0), to->dtype, &element);
        combine_row(&sides[0], &sides[1], &same, row, to->valid_columns, op);
    }
    return TERN_OK;
}

int tern_tile_combine_rows(const tern_tile *to, const tern_tile *a, const tern_tile *column,
                           tern_tile_op op)
{
    return TERN__CALL(combine_rows(to, a, column, op));
}

static int check_scalar(const char *call, const void *scalar)
{
    return scalar != NULL ? TERN_OK : tern__fail(TERN_ERR_ARG, "%s: scalar must not be NULL", call);
}

static int combine_scalar(const tern_tile *to, const tern_tile *from, const void *scalar,
                          tern_tile_op op)
{
    const char *call = "tern_tile_combine_scalar";
    uint64_t element;
    TERN_TRY(check_op(call, op));
    TERN_TRY(check_tile(call, "to", to));
    TERN_TRY(check_source(call, "from", from, to->valid_rows, to->valid_columns));
    TERN_TRY(check_dtype(call, "from", from, to));
    TERN_TRY(check_scalar(call, scalar));
    check_use(to, from, NULL);
    struct side sides[2] = {side_of(to), side_of(from)};
    struct side same = side_of_scalar(scalar, to->dtype, &element);
    for (int64_t row = 0; row < to->valid_rows; row++) {
        combine_row(&sides[0], &sides[1], &same, row, to->valid_columns, op);
    }
    return TERN_OK;
}

int tern_tile_combine_scalar(const tern_tile *to, const tern_tile *from, const void *scalar,
                             tern_tile_op op)
{
    return TERN__CALL(combine_scalar(to, from, scalar, op));
}

static int fill(const tern_tile *to, const void *scalar)
{
    TERN_TRY(check_tile("tern_tile_fill", "to", to));
    TERN_TRY(check_scalar("tern_tile_fill", scalar));
    if (tern__checking()) {
        tern_tile filled = *to;
        filled.object = NULL; // on purpose, also at the place of another tile
        tern__watch_tile("TEXPANDS", &filled, true);
    }
    struct side side = side_of(to);
    for (int64_t row = 0; row < to->valid_rows; row++) {
        for (int64_t column = 0; column < to->valid_columns; column++) {
            memcpy(at(&side, row, column), scalar, side.element_bytes);
        }
    }
    return TERN_OK;
}

int tern_tile_fill(const tern_tile *to, const void *scalar)
{
    return TERN__CALL(fill(to, scalar));
}

static int check_float(const char *call, const char *name, const tern_tile *tile)
{
    return tern__wide_kind(tile->dtype) == TERN__WIDE_FLOAT
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: %s has %s; expected floating point", call, name,
                            tern_dtype_name(tile->dtype));
}

static int axpy(const tern_tile *to, const tern_tile *from, const void *scalar)
{
    const char *call = "tern_tile_axpy";
    uint64_t element;
    TERN_TRY(check_tile(call, "to", to));
    TERN_TRY(check_source(call, "from", from, to->valid_rows, to->valid_columns));
    TERN_TRY(check_float(call, "to", to));
    TERN_TRY(check_float(call, "from", from));
    TERN_TRY(check_scalar(call, scalar));
    check_use(to, from, to);
    struct side sides[2] = {side_of(to), side_of(from)};
    struct side same = side_of_scalar(scalar, from->dtype, &element);
    union tern__wide factor;
    tern__wide_load(&factor, same.dtype, same.data, 0, 1);
    for (int64_t row = 0; row < to->valid_rows; row++) {
        for (int64_t column = 0; column < to->valid_columns; column += TERN__WIDE_COUNT) {
            size_t count = chunk_at(column, to->valid_columns);
            union tern__wide sum;
            union tern__wide more;
            tern__wide_load(&sum, to->dtype, at(&sides[0], row, column), sides[0].element, count);
            tern__wide_load(&more, from->dtype, at(&sides[1], row, column), sides[1].element,
                            count);
            for (size_t n = 0; n < count; n++) {
                sum.f[n] += more.f[n] * factor.f[0];
            }
            tern__wide_store(&sum, TERN__WIDE_FLOAT, to->dtype, at(&sides[0], row, column),
                             sides[0].element, count);
        }
    }
    return TERN_OK;
}

int tern_tile_axpy(const tern_tile *to, const tern_tile *from, const void *scalar)
{
    return TERN__CALL(axpy(to, from, scalar));
}

static int take_exp(const tern_tile *to, const tern_tile *from)
{
    const char *call = "tern_tile_exp";
    TERN_TRY(check_tile(call, "to", to));
    TERN_TRY(check_source(call, "from", from, to->valid_rows, to->valid_columns));
    TERN_TRY(check_dtype(call, "from", from, to));
    TERN_TRY(check_float(call, "to", to));
    check_use(to, from, NULL);
    struct side sides[2] = {side_of(to), side_of(from)};
    for (int64_t row = 0; row < to->valid_rows; row++) {
        for (int64_t column = 0; column < to->valid_columns; column += TERN__WIDE_COUNT) {
            size_t count = chunk_at(column, to->valid_columns);
            union tern__wide wide;
            tern__wide_load(&wide, from->dtype, at(&sides[1], row, column), sides[1].element,
                            count);
            for (size_t n = 0; n < count; n++) {
                wide.f[n] = exp(wide.f[n]);
            }
            tern__wide_store(&wide, TERN__WIDE_FLOAT, to->dtype, at(&sides[0], row, column),
                             sides[0].element, count);
        }
    }
    return TERN_OK;
}

int tern_tile_exp(const tern_tile *to, const tern_tile *from)
{
    return TERN__CALL(take_exp(to, from));
}

// to = the part of `from` at (row, column), in the dtype of `to`.
static void copy_part(const tern_tile *to, const tern_tile *from, int32_t row, int32_t column)
{
    check_use(to, from, NULL);
    struct side sides[2] = {side_of(to), side_of(from)};
    enum tern__wide_kind kind = tern__wide_kind(from->dtype);
    bool same = to->dtype == from->dtype;
    for (int64_t i = 0; i < to->valid_rows; i++) {
        if (same && sides[0].element == 1 && sides[1].element == 1) {
            tern__memmove(at(&sides[0], i, 0), at(&sides[1], row + i, column),
                          (size_t)to->valid_columns * sides[0].element_bytes);
            continue;
        }
        for (int64_t j = 0; j < to->valid_columns; j += TERN__WIDE_COUNT) {
            size_t count = chunk_at(j, to->valid_columns);
            union tern__wide wide;
            tern__wide_load(&wide, from->dtype, at(&sides[1], row + i, column + j),
                            sides[1].element, count);
            tern__wide_store(&wide, kind, to->dtype, at(&sides[0], i, j), sides[0].element, count);
        }
    }
}

static int convert(const tern_tile *to, const tern_tile *from)
{
    const char *call = "tern_tile_convert";
    TERN_TRY(check_tile(call, "to", to));
    TERN_TRY(check_source(call, "from", from, to->valid_rows, to->valid_columns));
    if (to->data == from->data && to->dtype != from->dtype) {
        return tern__fail(TERN_ERR_ARG, "%s: 'to' and 'from' are the same memory", call);
    }
    copy_part(to, from, 0, 0);
    return TERN_OK;
}

int tern_tile_convert(const tern_tile *to, const tern_tile *from)
{
    return TERN__CALL(convert(to, from));
}

static int extract(const tern_tile *to, const tern_tile *from, int32_t row, int32_t column)
{
    const char *call = "tern_tile_extract";
    TERN_TRY(check_tile(call, "to", to));
    TERN_TRY(check_tile(call, "from", from));
    if (row < 0 || column < 0 || row > from->valid_rows - to->valid_rows ||
        column > from->valid_columns - to->valid_columns) {
        return tern__fail(
            TERN_ERR_ARG,
            "%s: %d rows of %d elements from (%d, %d) on are not within the %d rows of "
            "%d of 'from'",
            call, to->valid_rows, to->valid_columns, row, column, from->valid_rows,
            from->valid_columns);
    }
    TERN_TRY(check_dtype(call, "from", from, to));
    copy_part(to, from, row, column);
    return TERN_OK;
}

int tern_tile_extract(const tern_tile *to, const tern_tile *from, int32_t row, int32_t column)
{
    return TERN__CALL(extract(to, from, row, column));
}

// The valid elements of a row, as element 0 of `sum`.
static void reduce_row(union tern__wide *sum, const struct side *from, int64_t row, int64_t columns,
                       tern_tile_op op)
{
    enum tern__wide_kind kind = tern__wide_kind(from->dtype);
    for (int64_t column = 0; column < columns; column += TERN__WIDE_COUNT) {
        size_t count = chunk_at(column, columns);
        union tern__wide more;
        tern__wide_load(&more, from->dtype, at(from, row, column), from->element, count);
        for (size_t n = 0; n < count; n++) {
            if (column == 0 && n == 0) {
                sum->u[0] = more.u[0];
            } else {
                union tern__wide one;
                one.u[0] = more.u[n];
                wide_op(sum, &one, kind, op, 1);
            }
        }
    }
}

static int reduce_rows(const tern_tile *to, const tern_tile *from, tern_tile_op op)
{
    const char *call = "tern_tile_reduce_rows";
    TERN_TRY(check_tile(call, "to", to));
    TERN_TRY(check_source(call, "from", from, to->valid_rows, 1));
    TERN_TRY(check_dtype(call, "from", from, to));
    if (op != TERN_TILE_ADD && op != TERN_TILE_MAX && op != TERN_TILE_MIN) {
        return tern__fail(TERN_ERR_ARG, "%s: there are add, max and min, not %d", call, (int)op);
    }
    check_use(to, from, NULL);
    struct side sides[2] = {side_of(to), side_of(from)};
    for (int64_t row = 0; row < to->valid_rows; row++) {
        union tern__wide sum;
        reduce_row(&sum, &sides[1], row, from->valid_columns, op);
        tern__wide_store(&sum, tern__wide_kind(to->dtype), to->dtype, at(&sides[0], row, 0), 1, 1);
    }
    return TERN_OK;
}

int tern_tile_reduce_rows(const tern_tile *to, const tern_tile *from, tern_tile_op op)
{
    return TERN__CALL(reduce_rows(to, from, op));
}
