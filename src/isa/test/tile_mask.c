// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Masks of comparisons, and what is selected by them, one element at a time.
#include "support/cmocka.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tern/tile.h"

enum { ROWS = 3, COLUMNS = 300, VALID_ROWS = 2, VALID_COLUMNS = 283, BYTES = 64 };

static const tern_cmp all[] = {TERN_CMP_EQ, TERN_CMP_NE, TERN_CMP_GT,
                               TERN_CMP_GE, TERN_CMP_LT, TERN_CMP_LE};

static bool holds(double a, double b, tern_cmp cmp)
{
    bool of[] = {a == b, a != b, a > b, a >= b, a < b, a <= b};
    return of[cmp];
}

static float number(int row, int column, int step)
{
    return column % 31 == 7 ? NAN : (float)((row * 5 + column * step) % 9 - 4);
}

static tern_tile filled(float values[ROWS][COLUMNS], int step)
{
    tern_tile tile = tern_tile_2d(values, TERN_F32, ROWS, COLUMNS);
    tile.valid_rows = VALID_ROWS;
    tile.valid_columns = VALID_COLUMNS;
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            values[row][column] = number(row, column, step);
        }
    }
    return tile;
}

static uint8_t bits[ROWS][BYTES];

static tern_tile mask_of(uint8_t fill)
{
    memset(bits, fill, sizeof bits);
    return tern_tile_2d(bits, TERN_U8, ROWS, BYTES);
}

// Behind the valid elements there are zeros in the last byte, and then what was there before.
static void assert_bits(tern_cmp cmp, const float *scalar)
{
    for (int row = 0; row < ROWS; row++) {
        for (int bit = 0; bit < BYTES * 8; bit++) {
            bool set = bits[row][bit / 8] >> (bit % 8) & 1;
            bool is = row < VALID_ROWS && bit < VALID_COLUMNS
                          ? holds((double)number(row, bit, 2),
                                  scalar ? (double)*scalar : (double)number(row, bit, 1), cmp)
                          : row >= VALID_ROWS || bit / 8 > VALID_COLUMNS / 8;
            assert_int_equal(set, is);
        }
    }
}

static void comparisons_are_bits(void **state)
{
    static float a[ROWS][COLUMNS], b[ROWS][COLUMNS];
    const float scalar = 1;
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tern_tile mask = mask_of(0xff), left = filled(a, 2), right = filled(b, 1);
        assert_int_equal(tern_tile_compare(&mask, &left, &right, all[i]), TERN_OK);
        assert_bits(all[i], NULL);
        mask = mask_of(0xff);
        assert_int_equal(tern_tile_compare_scalar(&mask, &left, &scalar, all[i]), TERN_OK);
        assert_bits(all[i], &scalar);
    }
}

static void integers_compare_with_their_signs(void **state)
{
    int64_t a[] = {INT64_MIN, -1, INT64_MAX, INT64_MAX - 1}, b[] = {INT64_MAX, 1, -1, INT64_MAX};
    uint16_t words[16];
    (void)state;
    tern_tile mask = tern_tile_2d(words, TERN_U16, 1, 16);
    tern_tile left = tern_tile_2d(a, TERN_I64, 1, 4), right = tern_tile_2d(b, TERN_I64, 1, 4);
    words[0] = 0xff00;
    assert_int_equal(tern_tile_compare(&mask, &left, &right, TERN_CMP_LT), TERN_OK);
    assert_int_equal(words[0], 0xff00 | 0xb);
    left.dtype = right.dtype = TERN_U64;
    assert_int_equal(tern_tile_compare(&mask, &left, &right, TERN_CMP_LT), TERN_OK);
    assert_int_equal(words[0], 0xff00 | 0xc);
    assert_int_equal(tern_tile_compare_scalar(&mask, &left, &a[2], TERN_CMP_EQ), TERN_OK);
    assert_int_equal(words[0], 0xff00 | 0x4);
}

static void masks_select(void **state)
{
    static float a[ROWS][COLUMNS], b[ROWS][COLUMNS], to[ROWS][COLUMNS];
    const float scalar = -100;
    (void)state;
    for (int in_place = 0; in_place < 3; in_place++) {
        tern_tile mask = mask_of(0), left = filled(a, 2), right = filled(b, 1);
        tern_tile other = filled(to, 3), target = in_place == 0   ? other
                                                  : in_place == 1 ? left
                                                                  : right;
        float(*result)[COLUMNS] = target.data;
        float before = result[0][VALID_COLUMNS], below = result[2][0];
        assert_int_equal(tern_tile_compare(&mask, &left, &right, TERN_CMP_GT), TERN_OK);
        assert_int_equal(tern_tile_select(&target, &mask, &left, &right), TERN_OK);
        for (int row = 0; row < VALID_ROWS; row++) {
            for (int column = 0; column < VALID_COLUMNS; column++) {
                float x = number(row, column, 2), y = number(row, column, 1);
                float is = x > y ? x : y;
                assert_true(result[row][column] == is || (isnan(is) && isnan(result[row][column])));
            }
        }
        assert_memory_equal(&before, &result[0][VALID_COLUMNS], sizeof before);
        assert_memory_equal(&below, &result[2][0], sizeof below);
        left = filled(a, 2);
        assert_int_equal(tern_tile_select_scalar(&left, &mask, &left, &scalar), TERN_OK);
        assert_true(a[1][1] == (number(1, 1, 2) > number(1, 1, 1) ? number(1, 1, 2) : scalar));
        assert_true(a[1][7] == scalar && isnan(a[2][7])); // NaN is not greater
    }
}

static void columns_may_lie_together(void **state)
{
    int16_t a[6] = {1, 2, 3, 4, 5, 6}, to[6] = {0}; // 3 rows of 2
    uint8_t rows[3][4] = {{1}, {2}, {3}};
    (void)state;
    tern_tile mask = tern_tile_2d(rows, TERN_U8, 3, 4);
    tern_tile source = tern_tile_2d(a, TERN_I16, 3, 2), target = tern_tile_2d(to, TERN_I16, 3, 2);
    source.order = TERN_TILE_COLUMN_MAJOR;
    assert_int_equal(tern_tile_select_scalar(&target, &mask, &source, &(int16_t){-1}), TERN_OK);
    assert_memory_equal(to, ((int16_t[]){1, -1, -1, 5, 3, 6}), sizeof to);
}

static void what_is_wrong_is_refused(void **state)
{
    static float a[ROWS][COLUMNS], b[ROWS][COLUMNS];
    (void)state;
    tern_tile mask = mask_of(0), left = filled(a, 2), right = filled(b, 1), bad = mask;
    assert_int_equal(tern_tile_compare(&mask, &left, &right, (tern_cmp)6), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "there is no comparison 6"));
    bad.columns = 35;
    bad.valid_columns = 35;
    assert_int_equal(tern_tile_compare(&bad, &left, &right, TERN_CMP_EQ), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "mask has 3 rows of 280 bits, and 2 of 283"));
    assert_int_equal(tern_tile_select(&left, &bad, &left, &right), TERN_ERR_ARG);
    bad = mask;
    bad.dtype = TERN_F16;
    bad.columns = bad.valid_columns = 30;
    assert_int_equal(tern_tile_compare_scalar(&bad, &left, a, TERN_CMP_EQ), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "mask must hold integers, row after row"));
    bad = mask;
    bad.order = TERN_TILE_COLUMN_MAJOR;
    assert_int_equal(tern_tile_select_scalar(&left, &bad, &left, a), TERN_ERR_ARG);
    assert_int_equal(tern_tile_select_scalar(&left, &mask, &left, NULL), TERN_ERR_ARG);
    assert_int_equal(tern_tile_compare_scalar(&mask, &left, NULL, TERN_CMP_EQ), TERN_ERR_ARG);
    right.dtype = TERN_I32;
    assert_int_equal(tern_tile_compare(&mask, &left, &right, TERN_CMP_EQ), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "b has i32, and a f32"));
    assert_int_equal(tern_tile_select(&left, &mask, &left, &right), TERN_ERR_ARG);
    right.dtype = TERN_F32;
    right.valid_rows = 1;
    assert_int_equal(tern_tile_compare(&mask, &left, &right, TERN_CMP_EQ), TERN_ERR_ARG);
    assert_int_equal(tern_tile_select(&left, &mask, &left, &right), TERN_ERR_ARG);
    assert_int_equal(bits[0][0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons_are_bits),
        cmocka_unit_test(masks_select),
        cmocka_unit_test(columns_may_lie_together),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(integers_compare_with_their_signs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
