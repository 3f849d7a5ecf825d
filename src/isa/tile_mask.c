// SPDX-License-Identifier: Apache-2.0
// Masks: tiles of bits that say of each element whether a comparison holds, and what is selected by
// them. Data path: no allocation, lock, system call or log.

#include <string.h>

#include "base/public.h"
#include "isa/tile_side.h"

static bool float_holds(double a, double b, tern_cmp cmp)
{
    switch (cmp) {
    case TERN_CMP_EQ:
        return a == b;
    case TERN_CMP_NE:
        return a != b;
    case TERN_CMP_GT:
        return a > b;
    case TERN_CMP_GE:
        return a >= b;
    case TERN_CMP_LT:
        return a < b;
    default:
        return a <= b;
    }
}

// `order`: negative, 0 or positive, as a is to b.
static bool integer_holds(int order, tern_cmp cmp)
{
    return float_holds((double)order, 0, cmp);
}

static bool holds(const union tern__wide *a, const union tern__wide *b, enum tern__wide_kind kind,
                  tern_cmp cmp, size_t n)
{
    if (kind == TERN__WIDE_FLOAT) {
        return float_holds(a->f[n], b->f[n], cmp);
    }
    if (kind == TERN__WIDE_SIGNED) {
        return integer_holds((a->i[n] > b->i[n]) - (a->i[n] < b->i[n]), cmp);
    }
    return integer_holds((a->u[n] > b->u[n]) - (a->u[n] < b->u[n]), cmp);
}

// Of the mask its rows count, as they lie in memory, not which of its elements are valid.
static int check_mask(const char *call, const tern_tile *mask, int32_t rows, int32_t columns)
{
    TERN_TRY(tern__side_check(call, "mask", mask));
    if (tern__wide_kind(mask->dtype) == TERN__WIDE_FLOAT || mask->order != TERN_TILE_ROW_MAJOR) {
        return tern__fail(TERN_ERR_ARG, "%s: mask must hold integers, row after row", call);
    }
    int64_t bits = (int64_t)mask->columns * (int64_t)tern_dtype_size(mask->dtype) * 8;
    if (mask->rows < rows || bits < columns) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: mask has %d rows of %lld bits, and %d of %d are needed", call,
                          mask->rows, (long long)bits, rows, columns);
    }
    return TERN_OK;
}

static unsigned char *mask_row(const tern_tile *mask, int64_t row)
{
    size_t bytes = (size_t)mask->columns * tern_dtype_size(mask->dtype);
    return (unsigned char *)mask->data + (size_t)row * bytes;
}

static void compare_row(unsigned char *bits, const struct tern__side *a, const struct tern__side *b,
                        int64_t row, int64_t columns, tern_cmp cmp)
{
    enum tern__wide_kind kind = tern__wide_kind(a->dtype);
    for (int64_t column = 0; column < columns; column += TERN__WIDE_COUNT) {
        size_t count = tern__side_chunk(column, columns);
        union tern__wide left;
        union tern__wide right;
        tern__wide_load(&left, a->dtype, tern__side_at(a, row, column), a->element, count);
        tern__wide_load(&right, b->dtype, tern__side_at(b, row, column), b->element, count);
        for (size_t n = 0; n < count; n += 8) {
            unsigned byte = 0;
            for (size_t bit = 0; bit < 8 && n + bit < count; bit++) {
                byte |= (unsigned)holds(&left, &right, kind, cmp, n + bit) << bit;
            }
            bits[((size_t)column + n) / 8] = (unsigned char)byte;
        }
    }
}

static int check_compare(const char *call, const tern_tile *mask, const tern_tile *a, tern_cmp cmp)
{
    TERN_TRY(tern__side_check(call, "a", a));
    TERN_TRY(check_mask(call, mask, a->valid_rows, a->valid_columns));
    return (unsigned)cmp <= TERN_CMP_LE
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: there is no comparison %d", call, (int)cmp);
}

static void compare_rows(const tern_tile *mask, const tern_tile *a, const struct tern__side *b,
                         tern_cmp cmp)
{
    struct tern__side side = tern__side_of(a);
    for (int64_t row = 0; row < a->valid_rows; row++) {
        compare_row(mask_row(mask, row), &side, b, row, a->valid_columns, cmp);
    }
}

static int compare(const tern_tile *mask, const tern_tile *a, const tern_tile *b, tern_cmp cmp)
{
    const char *call = "tern_tile_compare";
    TERN_TRY(check_compare(call, mask, a, cmp));
    TERN_TRY(tern__side_check_source(call, "b", b, a->valid_rows, a->valid_columns));
    TERN_TRY(tern__side_check_same(call, "b", b, "a", a));
    tern__side_use(mask, a, b);
    struct tern__side side = tern__side_of(b);
    compare_rows(mask, a, &side, cmp);
    return TERN_OK;
}

int tern_tile_compare(const tern_tile *mask, const tern_tile *a, const tern_tile *b, tern_cmp cmp)
{
    return TERN__CALL(compare(mask, a, b, cmp));
}

static int compare_scalar(const tern_tile *mask, const tern_tile *a, const void *scalar,
                          tern_cmp cmp)
{
    const char *call = "tern_tile_compare_scalar";
    uint64_t element;
    TERN_TRY(check_compare(call, mask, a, cmp));
    TERN_TRY(tern__side_check_scalar(call, scalar));
    tern__side_use(mask, a, NULL);
    struct tern__side same = tern__side_of_scalar(scalar, a->dtype, &element);
    compare_rows(mask, a, &same, cmp);
    return TERN_OK;
}

int tern_tile_compare_scalar(const tern_tile *mask, const tern_tile *a, const void *scalar,
                             tern_cmp cmp)
{
    return TERN__CALL(compare_scalar(mask, a, scalar, cmp));
}

static int check_select(const char *call, const tern_tile *to, const tern_tile *mask,
                        const tern_tile *a)
{
    TERN_TRY(tern__side_check(call, "to", to));
    TERN_TRY(check_mask(call, mask, to->valid_rows, to->valid_columns));
    TERN_TRY(tern__side_check_source(call, "a", a, to->valid_rows, to->valid_columns));
    return tern__side_check_dtype(call, "a", a, to);
}

static void select_elements(const tern_tile *to, const tern_tile *mask, const tern_tile *a,
                            const struct tern__side *b)
{
    struct tern__side sides[2] = {tern__side_of(to), tern__side_of(a)};
    for (int64_t row = 0; row < to->valid_rows; row++) {
        const unsigned char *bits = mask_row(mask, row);
        for (int64_t column = 0; column < to->valid_columns; column++) {
            bool set = bits[column / 8] >> (column % 8) & 1;
            memmove(tern__side_at(&sides[0], row, column),
                    tern__side_at(set ? &sides[1] : b, row, column), sides[0].element_bytes);
        }
    }
}

static int select_tiles(const tern_tile *to, const tern_tile *mask, const tern_tile *a,
                        const tern_tile *b)
{
    const char *call = "tern_tile_select";
    TERN_TRY(check_select(call, to, mask, a));
    TERN_TRY(tern__side_check_source(call, "b", b, to->valid_rows, to->valid_columns));
    TERN_TRY(tern__side_check_dtype(call, "b", b, to));
    tern__side_read(mask);
    tern__side_use(to, a, b);
    struct tern__side side = tern__side_of(b);
    select_elements(to, mask, a, &side);
    return TERN_OK;
}

int tern_tile_select(const tern_tile *to, const tern_tile *mask, const tern_tile *a,
                     const tern_tile *b)
{
    return TERN__CALL(select_tiles(to, mask, a, b));
}

static int select_scalar(const tern_tile *to, const tern_tile *mask, const tern_tile *a,
                         const void *scalar)
{
    const char *call = "tern_tile_select_scalar";
    uint64_t element;
    TERN_TRY(check_select(call, to, mask, a));
    TERN_TRY(tern__side_check_scalar(call, scalar));
    tern__side_read(mask);
    tern__side_use(to, a, NULL);
    struct tern__side same = tern__side_of_scalar(scalar, to->dtype, &element);
    select_elements(to, mask, a, &same);
    return TERN_OK;
}

int tern_tile_select_scalar(const tern_tile *to, const tern_tile *mask, const tern_tile *a,
                            const void *scalar)
{
    return TERN__CALL(select_scalar(to, mask, a, scalar));
}
