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
#include "isa/tile_side.h"
#include "isa/wide.h"

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
    case TERN_TILE_SHR:
        return (uint64_t)(a >> ((uint64_t)b > 63 ? 63 : b));
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
    case TERN_TILE_MIN:
        return b < a ? b : a;
    case TERN_TILE_AND:
        return a & b;
    case TERN_TILE_OR:
        return a | b;
    case TERN_TILE_XOR:
        return a ^ b;
    case TERN_TILE_SHL:
        return b > 63 ? 0 : a << b;
    default:
        return b > 63 ? 0 : a >> b;
    }
}

// Which of these depend on the sign.
static bool is_signed_op(tern_tile_op op)
{
    return op == TERN_TILE_DIV || op == TERN_TILE_MAX || op == TERN_TILE_MIN || op == TERN_TILE_SHR;
}

// a = a op b.
void tern__wide_op(union tern__wide *a, const union tern__wide *b, enum tern__wide_kind kind,
                   tern_tile_op op, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        if (kind == TERN__WIDE_FLOAT) {
            a->f[n] = float_op(a->f[n], b->f[n], op);
        } else if (kind == TERN__WIDE_SIGNED && is_signed_op(op)) {
            a->u[n] = signed_op(a->i[n], b->i[n], op);
        } else {
            a->u[n] = unsigned_op(a->u[n], b->u[n], op);
        }
    }
}

static void combine_row(const struct tern__side *to, const struct tern__side *a,
                        const struct tern__side *b, int64_t row, int64_t columns, tern_tile_op op)
{
    enum tern__wide_kind kind = tern__wide_kind(to->dtype);
    for (int64_t column = 0; column < columns; column += TERN__WIDE_COUNT) {
        size_t count = tern__side_chunk(column, columns);
        union tern__wide left;
        union tern__wide right;
        tern__wide_load(&left, a->dtype, tern__side_at(a, row, column), a->element, count);
        tern__wide_load(&right, b->dtype, tern__side_at(b, row, column), b->element, count);
        tern__wide_op(&left, &right, kind, op, count);
        tern__wide_store(&left, kind, to->dtype, tern__side_at(to, row, column), to->element,
                         count);
    }
}

// The reduce kernel that does the same on rows that lie together, or NULL.
static tern__reduce_fn *kernel_for(const struct tern__side *to, const struct tern__side *a,
                                   const struct tern__side *b, tern_tile_op op)
{
    static const tern_reduce_op ops[] = {[TERN_TILE_ADD] = TERN_SUM,
                                         [TERN_TILE_MUL] = TERN_PROD,
                                         [TERN_TILE_MAX] = TERN_MAX,
                                         [TERN_TILE_MIN] = TERN_MIN};
    if (op == TERN_TILE_SUB || op == TERN_TILE_DIV || op > TERN_TILE_MIN || to->element != 1 ||
        a->element != 1 || b->element != 1) {
        return NULL;
    }
    return tern__reduce_find(to->dtype, ops[op]);
}

static int combine(const tern_tile *to, const tern_tile *a, const tern_tile *b, tern_tile_op op)
{
    const char *call = "tern_tile_combine";
    TERN_TRY(tern__side_check_op(call, op, to));
    TERN_TRY(tern__side_check_source(call, "a", a, to->valid_rows, to->valid_columns));
    TERN_TRY(tern__side_check_source(call, "b", b, to->valid_rows, to->valid_columns));
    TERN_TRY(tern__side_check_dtype(call, "a", a, to));
    TERN_TRY(tern__side_check_dtype(call, "b", b, to));
    tern__side_use(to, a, b);
    struct tern__side sides[3] = {tern__side_of(to), tern__side_of(a), tern__side_of(b)};
    tern__reduce_fn *kernel = kernel_for(&sides[0], &sides[1], &sides[2], op);
    for (int64_t row = 0; row < to->valid_rows; row++) {
        if (kernel != NULL) {
            kernel((char *const[]){tern__side_at(&sides[0], row, 0)}, 1,
                   (const char *const[]){tern__side_at(&sides[1], row, 0),
                                         tern__side_at(&sides[2], row, 0)},
                   2, (size_t)to->valid_columns, false);
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

static int combine_rows(const tern_tile *to, const tern_tile *a, const tern_tile *column,
                        tern_tile_op op)
{
    const char *call = "tern_tile_combine_rows";
    TERN_TRY(tern__side_check_op(call, op, to));
    TERN_TRY(tern__side_check_source(call, "a", a, to->valid_rows, to->valid_columns));
    TERN_TRY(tern__side_check_source(call, "column", column, to->valid_rows, 1));
    TERN_TRY(tern__side_check_dtype(call, "a", a, to));
    TERN_TRY(tern__side_check_dtype(call, "column", column, to));
    tern__side_use(to, a, column);
    struct tern__side sides[3] = {tern__side_of(to), tern__side_of(a), tern__side_of(column)};
    for (int64_t row = 0; row < to->valid_rows; row++) {
        uint64_t element; // `column` may be `to`
        struct tern__side same =
            tern__side_of_scalar(tern__side_at(&sides[2], row, 0), to->dtype, &element);
        combine_row(&sides[0], &sides[1], &same, row, to->valid_columns, op);
    }
    return TERN_OK;
}

int tern_tile_combine_rows(const tern_tile *to, const tern_tile *a, const tern_tile *column,
                           tern_tile_op op)
{
    return TERN__CALL(combine_rows(to, a, column, op));
}

enum { PART_BYTES = 32 };

// A row of a tile that is repeated: its elements, and where they are kept.
static struct tern__side side_of_part(const struct tern__side *part, int64_t row, int64_t columns,
                                      unsigned char kept[PART_BYTES])
{
    struct tern__side side = *part;
    side.data = (char *)kept;
    side.row = 0;
    side.element = 1;
    for (int64_t column = 0; column < columns; column++) {
        memcpy(kept + (size_t)column * side.element_bytes, tern__side_at(part, row, column),
               side.element_bytes);
    }
    return side;
}

static int combine_repeated(const tern_tile *to, const tern_tile *a, const tern_tile *part,
                            tern_tile_op op)
{
    const char *call = "tern_tile_combine_repeated";
    TERN_TRY(tern__side_check_op(call, op, to));
    TERN_TRY(tern__side_check_source(call, "a", a, to->valid_rows, to->valid_columns));
    TERN_TRY(tern__side_check_source(call, "part", part, to->valid_rows, 1));
    TERN_TRY(tern__side_check_dtype(call, "a", a, to));
    TERN_TRY(tern__side_check_dtype(call, "part", part, to));
    if ((size_t)part->valid_columns * tern_dtype_size(part->dtype) > PART_BYTES) {
        return tern__fail(TERN_ERR_ARG, "%s: %d columns of part have more than %d bytes", call,
                          part->valid_columns, PART_BYTES);
    }
    tern__side_use(to, a, part);
    struct tern__side sides[3] = {tern__side_of(to), tern__side_of(a), tern__side_of(part)};
    for (int64_t row = 0; row < to->valid_rows; row++) {
        _Alignas(8) unsigned char kept[PART_BYTES]; // `part` may be `to`
        struct tern__side same = side_of_part(&sides[2], row, part->valid_columns, kept);
        for (int64_t column = 0; column < to->valid_columns; column += part->valid_columns) {
            int64_t rest = to->valid_columns - column;
            struct tern__side places[2] = {sides[0], sides[1]};
            places[0].data = tern__side_at(&sides[0], row, column);
            places[1].data = tern__side_at(&sides[1], row, column);
            combine_row(&places[0], &places[1], &same, 0,
                        rest < part->valid_columns ? rest : part->valid_columns, op);
        }
    }
    return TERN_OK;
}

int tern_tile_combine_repeated(const tern_tile *to, const tern_tile *a, const tern_tile *part,
                               tern_tile_op op)
{
    return TERN__CALL(combine_repeated(to, a, part, op));
}

// `first`: the scalar is the first operand.
static int combine_scalar(const char *call, const tern_tile *to, const tern_tile *from,
                          const void *scalar, tern_tile_op op, bool first)
{
    uint64_t element;
    TERN_TRY(tern__side_check_op(call, op, to));
    TERN_TRY(tern__side_check_source(call, "from", from, to->valid_rows, to->valid_columns));
    TERN_TRY(tern__side_check_dtype(call, "from", from, to));
    TERN_TRY(tern__side_check_scalar(call, scalar));
    tern__side_use(to, from, NULL);
    struct tern__side sides[2] = {tern__side_of(to), tern__side_of(from)};
    struct tern__side same = tern__side_of_scalar(scalar, to->dtype, &element);
    for (int64_t row = 0; row < to->valid_rows; row++) {
        combine_row(&sides[0], first ? &same : &sides[1], first ? &sides[1] : &same, row,
                    to->valid_columns, op);
    }
    return TERN_OK;
}

int tern_tile_combine_scalar(const tern_tile *to, const tern_tile *from, const void *scalar,
                             tern_tile_op op)
{
    return TERN__CALL(combine_scalar("tern_tile_combine_scalar", to, from, scalar, op, false));
}

int tern_tile_combine_to_scalar(const tern_tile *to, const void *scalar, const tern_tile *from,
                                tern_tile_op op)
{
    return TERN__CALL(combine_scalar("tern_tile_combine_to_scalar", to, from, scalar, op, true));
}

static int fill(const tern_tile *to, const void *scalar)
{
    TERN_TRY(tern__side_check("tern_tile_fill", "to", to));
    TERN_TRY(tern__side_check_scalar("tern_tile_fill", scalar));
    if (tern__checking()) {
        tern_tile filled = *to;
        filled.object = NULL; // on purpose, also at the place of another tile
        tern__watch_tile("TEXPANDS", &filled, true);
    }
    struct tern__side side = tern__side_of(to);
    for (int64_t row = 0; row < to->valid_rows; row++) {
        for (int64_t column = 0; column < to->valid_columns; column++) {
            memcpy(tern__side_at(&side, row, column), scalar, side.element_bytes);
        }
    }
    return TERN_OK;
}

int tern_tile_fill(const tern_tile *to, const void *scalar)
{
    return TERN__CALL(fill(to, scalar));
}

static int axpy(const tern_tile *to, const tern_tile *from, const void *scalar)
{
    const char *call = "tern_tile_axpy";
    uint64_t element;
    TERN_TRY(tern__side_check(call, "to", to));
    TERN_TRY(tern__side_check_source(call, "from", from, to->valid_rows, to->valid_columns));
    TERN_TRY(tern__side_check_float(call, "to", to));
    TERN_TRY(tern__side_check_float(call, "from", from));
    TERN_TRY(tern__side_check_scalar(call, scalar));
    tern__side_use(to, from, to);
    struct tern__side sides[2] = {tern__side_of(to), tern__side_of(from)};
    struct tern__side same = tern__side_of_scalar(scalar, from->dtype, &element);
    union tern__wide factor;
    tern__wide_load(&factor, same.dtype, same.data, 0, 1);
    for (int64_t row = 0; row < to->valid_rows; row++) {
        for (int64_t column = 0; column < to->valid_columns; column += TERN__WIDE_COUNT) {
            size_t count = tern__side_chunk(column, to->valid_columns);
            union tern__wide sum;
            union tern__wide more;
            tern__wide_load(&sum, to->dtype, tern__side_at(&sides[0], row, column),
                            sides[0].element, count);
            tern__wide_load(&more, from->dtype, tern__side_at(&sides[1], row, column),
                            sides[1].element, count);
            for (size_t n = 0; n < count; n++) {
                sum.f[n] += more.f[n] * factor.f[0];
            }
            tern__wide_store(&sum, TERN__WIDE_FLOAT, to->dtype,
                             tern__side_at(&sides[0], row, column), sides[0].element, count);
        }
    }
    return TERN_OK;
}

int tern_tile_axpy(const tern_tile *to, const tern_tile *from, const void *scalar)
{
    return TERN__CALL(axpy(to, from, scalar));
}

void tern__tile_copy_part(const tern_tile *to, const tern_tile *from, int32_t row, int32_t column)
{
    tern__side_use(to, from, NULL);
    struct tern__side sides[2] = {tern__side_of(to), tern__side_of(from)};
    enum tern__wide_kind kind = tern__wide_kind(from->dtype);
    bool same = to->dtype == from->dtype;
    for (int64_t i = 0; i < to->valid_rows; i++) {
        if (same && sides[0].element == 1 && sides[1].element == 1) {
            tern__memmove(tern__side_at(&sides[0], i, 0), tern__side_at(&sides[1], row + i, column),
                          (size_t)to->valid_columns * sides[0].element_bytes);
            continue;
        }
        for (int64_t j = 0; j < to->valid_columns; j += TERN__WIDE_COUNT) {
            size_t count = tern__side_chunk(j, to->valid_columns);
            union tern__wide wide;
            tern__wide_load(&wide, from->dtype, tern__side_at(&sides[1], row + i, column + j),
                            sides[1].element, count);
            tern__wide_store(&wide, kind, to->dtype, tern__side_at(&sides[0], i, j),
                             sides[0].element, count);
        }
    }
}

static int convert(const tern_tile *to, const tern_tile *from)
{
    const char *call = "tern_tile_convert";
    TERN_TRY(tern__side_check(call, "to", to));
    TERN_TRY(tern__side_check_source(call, "from", from, to->valid_rows, to->valid_columns));
    if (to->data == from->data && to->dtype != from->dtype) {
        return tern__fail(TERN_ERR_ARG, "%s: 'to' and 'from' are the same memory", call);
    }
    tern__tile_copy_part(to, from, 0, 0);
    return TERN_OK;
}

int tern_tile_convert(const tern_tile *to, const tern_tile *from)
{
    return TERN__CALL(convert(to, from));
}

static int extract(const tern_tile *to, const tern_tile *from, int32_t row, int32_t column)
{
    const char *call = "tern_tile_extract";
    TERN_TRY(tern__side_check(call, "to", to));
    TERN_TRY(tern__side_check(call, "from", from));
    TERN_TRY(tern__side_check_within(call, to, row, column, "'from'", from->valid_rows,
                                     from->valid_columns));
    TERN_TRY(tern__side_check_dtype(call, "from", from, to));
    tern__tile_copy_part(to, from, row, column);
    return TERN_OK;
}

int tern_tile_extract(const tern_tile *to, const tern_tile *from, int32_t row, int32_t column)
{
    return TERN__CALL(extract(to, from, row, column));
}
