// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Two tiles of which one is valid where the other is not; bits; a scalar that comes first;
// a part that is repeated; products.
#include "support/cmocka.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tern/tile.h"

enum { ROWS = 4, COLUMNS = 300 };

static float number(int row, int column, int step)
{
    return column % 37 == 3 ? NAN : (float)((row * 13 + column * step) % 50 - 20);
}

static tern_tile filled(float values[ROWS][COLUMNS], int step, int32_t rows, int32_t columns)
{
    tern_tile tile = tern_tile_2d(values, TERN_F32, ROWS, COLUMNS);
    tile.valid_rows = rows;
    tile.valid_columns = columns;
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            values[row][column] = number(row, column, step);
        }
    }
    return tile;
}

static float combined(float a, float b, tern_tile_op op)
{
    switch (op) {
    case TERN_TILE_ADD:
        return a + b;
    case TERN_TILE_MUL:
        return a * b;
    case TERN_TILE_MAX:
        return isnan(a) || isnan(b) ? NAN : fmaxf(a, b);
    default:
        return isnan(a) || isnan(b) ? NAN : fminf(a, b);
    }
}

// Elements beyond the valid ones of `to` stay what they were.
static void check_parts(int32_t rows, int32_t columns, int in_place)
{
    static const tern_tile_op ops[] = {TERN_TILE_ADD, TERN_TILE_MUL, TERN_TILE_MAX, TERN_TILE_MIN};
    static float a[ROWS][COLUMNS], b[ROWS][COLUMNS], c[ROWS][COLUMNS];
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        tern_tile whole = filled(a, 3, 3, 290), part = filled(b, 7, rows, columns);
        tern_tile to = filled(c, 1, 3, 290);
        float(*result)[COLUMNS] = in_place ? a : c;
        int beyond = in_place ? 3 : 1;
        const tern_tile *first = i % 2 ? &part : &whole, *second = i % 2 ? &whole : &part;
        assert_int_equal(tern_tile_combine_parts(in_place ? &whole : &to, first, second, ops[i]),
                         TERN_OK);
        for (int row = 0; row < ROWS; row++) {
            for (int column = 0; column < COLUMNS; column++) {
                bool in = row < 3 && column < 290, both = row < rows && column < columns;
                float x = number(row, column, 3), y = number(row, column, 7);
                float is = !in ? number(row, column, beyond) : both ? combined(x, y, ops[i]) : x;
                assert_true(result[row][column] == is || (isnan(is) && isnan(result[row][column])));
            }
        }
    }
}

static void the_one_that_is_valid_counts(void **state)
{
    static const int32_t parts[][2] = {{3, 290}, {2, 290}, {3, 270}, {1, 1},
                                       {2, 100}, {0, 290}, {3, 0},   {0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        check_parts(parts[i][0], parts[i][1], 0);
        check_parts(parts[i][0], parts[i][1], 1);
    }
}

static void one_has_all_that_are_valid(void **state)
{
    static float a[ROWS][COLUMNS], b[ROWS][COLUMNS];
    (void)state;
    tern_tile wide = filled(a, 3, 2, 290), high = filled(b, 7, 3, 280), to = wide;
    to.valid_rows = 3;
    assert_int_equal(tern_tile_combine_parts(&to, &wide, &high, TERN_TILE_ADD), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "a has 2 valid rows of 290 elements, b 3 of 280, and "
                                              "one of them must have the 3 of 290 of 'to'"));
    high.dtype = TERN_I32;
    assert_int_equal(tern_tile_combine_parts(&wide, &wide, &high, TERN_TILE_ADD), TERN_ERR_ARG);
    assert_int_equal(tern_tile_combine_parts(&wide, &wide, NULL, TERN_TILE_ADD), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "b must be a tile with memory"));
    high = wide;
    high.valid_rows = -1;
    assert_int_equal(tern_tile_combine_parts(&wide, &wide, &high, TERN_TILE_ADD), TERN_ERR_ARG);
}

static void bits(void **state)
{
    int16_t a[] = {0x0ff0, -1, -32768, 5, 7, -4}, b[] = {0x3333, 0x00ff, 1, 15, 16, -1}, to[6];
    uint8_t small[] = {0xf0, 0x81}, by[] = {4, 8};
    (void)state;
    tern_tile left = tern_tile_2d(a, TERN_I16, 1, 6), right = tern_tile_2d(b, TERN_I16, 1, 6);
    tern_tile target = tern_tile_2d(to, TERN_I16, 1, 6);
    assert_int_equal(tern_tile_combine(&target, &left, &right, TERN_TILE_AND), TERN_OK);
    assert_memory_equal(to, ((int16_t[]){0x0330, 0x00ff, 0, 5, 0, -4}), sizeof to);
    assert_int_equal(tern_tile_combine(&target, &left, &right, TERN_TILE_OR), TERN_OK);
    assert_memory_equal(to, ((int16_t[]){0x3ff3, -1, -32767, 15, 23, -1}), sizeof to);
    assert_int_equal(tern_tile_combine(&target, &left, &right, TERN_TILE_XOR), TERN_OK);
    assert_memory_equal(to, ((int16_t[]){0x3cc3, -256, -32767, 10, 23, 3}), sizeof to);
    assert_int_equal(tern_tile_apply(&target, &left, TERN_TILE_NOT), TERN_OK);
    assert_memory_equal(to, ((int16_t[]){-0x0ff1, 0, 32767, -6, -8, 3}), sizeof to);
    b[0] = 4;
    b[1] = 20;
    assert_int_equal(tern_tile_combine(&target, &left, &right, TERN_TILE_SHL), TERN_OK);
    assert_memory_equal(to, ((int16_t[]){-256, 0, 0, -32768, 0, 0}), sizeof to);
    assert_int_equal(tern_tile_combine(&target, &left, &right, TERN_TILE_SHR), TERN_OK);
    assert_memory_equal(to, ((int16_t[]){0xff, -1, -16384, 0, 0, -1}), sizeof to);
    tern_tile bytes = tern_tile_2d(small, TERN_U8, 1, 2), shifts = tern_tile_2d(by, TERN_U8, 1, 2);
    assert_int_equal(tern_tile_combine(&bytes, &bytes, &shifts, TERN_TILE_SHR), TERN_OK);
    assert_true(small[0] == 0x0f && small[1] == 0);
    assert_int_equal(tern_tile_combine_scalar(&bytes, &bytes, &(uint8_t){0x35}, TERN_TILE_XOR),
                     TERN_OK);
    assert_true(small[0] == 0x3a && small[1] == 0x35);
    bytes.dtype = TERN_F16;
    bytes.columns = bytes.valid_columns = 1;
    assert_int_equal(tern_tile_combine(&bytes, &bytes, &bytes, TERN_TILE_AND), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "to has f16; expected integers"));
    assert_int_equal(tern_tile_apply(&bytes, &bytes, TERN_TILE_NOT), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "to has f16; expected integers"));
}

static void the_scalar_may_come_first(void **state)
{
    static float a[ROWS][COLUMNS], to[ROWS][COLUMNS];
    const float scalar = 3;
    (void)state;
    tern_tile from = filled(a, 3, 3, 290), target = filled(to, 1, 3, 290);
    assert_int_equal(tern_tile_combine_to_scalar(&target, &scalar, &from, TERN_TILE_DIV), TERN_OK);
    for (int column = 0; column < COLUMNS; column++) {
        float x = number(2, column, 3);
        float is = column < 290 ? scalar / x : number(2, column, 1);
        assert_true(to[2][column] == is || (isnan(is) && isnan(to[2][column])));
    }
    assert_int_equal(tern_tile_combine_to_scalar(&from, &scalar, &from, TERN_TILE_SUB), TERN_OK);
    assert_true(a[1][1] == scalar - number(1, 1, 3));
    assert_int_equal(tern_tile_combine_to_scalar(&from, NULL, &from, TERN_TILE_SUB), TERN_ERR_ARG);
    from.valid_rows = 2;
    assert_int_equal(tern_tile_combine_to_scalar(&target, &scalar, &from, TERN_TILE_SUB),
                     TERN_ERR_ARG);
}

static void a_part_is_repeated(void **state)
{
    static float a[ROWS][COLUMNS], to[ROWS][COLUMNS];
    float part[ROWS][8] = {{1, 2, 3, 4, 5, 6, 7, 8}, {-1, 0, 1}, {0.5F}, {9}};
    (void)state;
    for (int32_t n = 1; n <= 8; n++) {
        tern_tile from = filled(a, 3, 3, 290), target = filled(to, 1, 3, 290);
        tern_tile repeated = tern_tile_2d(part, TERN_F32, ROWS, 8);
        repeated.valid_columns = n;
        assert_int_equal(tern_tile_combine_repeated(&target, &from, &repeated, TERN_TILE_SUB),
                         TERN_OK);
        for (int row = 0; row < ROWS; row++) {
            for (int column = 0; column < COLUMNS; column++) {
                float is = row < 3 && column < 290 ? number(row, column, 3) - part[row][column % n]
                                                   : number(row, column, 1);
                assert_true(to[row][column] == is || (isnan(is) && isnan(to[row][column])));
            }
        }
    }
    tern_tile from = filled(a, 3, 3, 290), wide = filled(to, 1, 3, 9);
    assert_int_equal(tern_tile_combine_repeated(&from, &from, &wide, TERN_TILE_SUB), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "9 columns of part have more than 32 bytes"));
    wide.valid_columns = 8;
    wide.valid_rows = 2;
    assert_int_equal(tern_tile_combine_repeated(&from, &from, &wide, TERN_TILE_SUB), TERN_ERR_ARG);
    from.valid_columns = wide.valid_columns = 4; // in place
    from.valid_rows = wide.valid_rows = 3;
    wide = from;
    wide.valid_columns = 2;
    float first = a[1][0], third = a[1][2];
    assert_int_equal(tern_tile_combine_repeated(&from, &from, &wide, TERN_TILE_ADD), TERN_OK);
    assert_true(a[1][0] == first + first && a[1][2] == third + first);
}

static void products(void **state)
{
    int32_t from[2][3] = {{2, -3, 5}, {7, 1, 1}}, to[2][3] = {{0}};
    (void)state;
    tern_tile source = tern_tile_2d(from, TERN_I32, 2, 3),
              target = tern_tile_2d(to, TERN_I32, 2, 3);
    assert_int_equal(tern_tile_reduce_rows(&target, &source, TERN_TILE_MUL), TERN_OK);
    assert_true(to[0][0] == -30 && to[1][0] == 7);
    assert_int_equal(tern_tile_reduce_columns(&target, &source, TERN_TILE_MUL), TERN_OK);
    assert_true(to[0][0] == 14 && to[0][1] == -3 && to[0][2] == 5);
    assert_int_equal(tern_tile_reduce_rows(&target, &source, TERN_TILE_XOR), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "there are add, mul, max and min, not 8"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_one_that_is_valid_counts),
        cmocka_unit_test(one_has_all_that_are_valid),
        cmocka_unit_test(bits),
        cmocka_unit_test(the_scalar_may_come_first),
        cmocka_unit_test(a_part_is_repeated),
        cmocka_unit_test(products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
