// SPDX-License-Identifier: Apache-2.0
// Functions of one element, and what combines, reduces or spreads columns, one element at a time.
#include "support/cmocka.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tern/tile.h"

enum { ROWS = 5, COLUMNS = 300, VALID_ROWS = 4, VALID_COLUMNS = 290 };

static float number(int row, int column)
{
    return (float)((row * 37 + column * 11) % 100 - 50) / 4;
}

static tern_tile filled(float values[ROWS][COLUMNS])
{
    tern_tile tile = tern_tile_2d(values, TERN_F32, ROWS, COLUMNS);
    tile.valid_rows = VALID_ROWS;
    tile.valid_columns = VALID_COLUMNS;
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            values[row][column] = number(row, column);
        }
    }
    return tile;
}

static float wanted(float x, tern_tile_function function)
{
    double wide = (double)x;
    double of[] = {exp(wide), sqrt(wide), 1 / sqrt(wide), 1 / wide,
                   log(wide), fabs(wide), -wide,          wide > 0 ? wide : 0};
    return (float)of[function];
}

static void functions_of_floating_point(void **state)
{
    static float from[ROWS][COLUMNS], to[ROWS][COLUMNS];
    (void)state;
    for (int f = TERN_TILE_EXP; f <= TERN_TILE_RELU; f++) {
        tern_tile source = filled(from), target = filled(to);
        assert_int_equal(tern_tile_apply(&target, &source, (tern_tile_function)f), TERN_OK);
        for (int row = 0; row < ROWS; row++) {
            for (int column = 0; column < COLUMNS; column++) {
                bool valid = row < VALID_ROWS && column < VALID_COLUMNS;
                float x = number(row, column);
                float is = valid ? wanted(x, (tern_tile_function)f) : x;
                assert_true(to[row][column] == is || (isnan(is) && isnan(to[row][column])));
            }
        }
        assert_int_equal(tern_tile_apply(&source, &source, (tern_tile_function)f), TERN_OK);
        for (int column = 0; column < VALID_COLUMNS; column++) { // in place
            assert_memory_equal(&from[1][column], &to[1][column], sizeof(float));
        }
    }
}

static void functions_of_integers(void **state)
{
    int8_t from[] = {-128, -5, 0, 7}, to[4];
    uint16_t more[] = {0, 1, 65535};
    (void)state;
    tern_tile source = tern_tile_2d(from, TERN_I8, 1, 4), target = tern_tile_2d(to, TERN_I8, 1, 4);
    assert_int_equal(tern_tile_apply(&target, &source, TERN_TILE_ABS), TERN_OK);
    assert_true(to[0] == -128 && to[1] == 5 && to[2] == 0 && to[3] == 7);
    assert_int_equal(tern_tile_apply(&target, &source, TERN_TILE_NEG), TERN_OK);
    assert_true(to[0] == -128 && to[1] == 5 && to[2] == 0 && to[3] == -7);
    assert_int_equal(tern_tile_apply(&target, &source, TERN_TILE_RELU), TERN_OK);
    assert_true(to[0] == 0 && to[1] == 0 && to[2] == 0 && to[3] == 7);
    target = tern_tile_2d(more, TERN_U16, 1, 3);
    assert_int_equal(tern_tile_apply(&target, &target, TERN_TILE_ABS), TERN_OK);
    assert_int_equal(tern_tile_apply(&target, &target, TERN_TILE_RELU), TERN_OK);
    assert_true(more[0] == 0 && more[1] == 1 && more[2] == 65535);
    assert_int_equal(tern_tile_apply(&target, &target, TERN_TILE_NEG), TERN_OK);
    assert_true(more[0] == 0 && more[1] == 65535 && more[2] == 1);
    assert_int_equal(tern_tile_apply(&target, &target, TERN_TILE_SQRT), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "to has u16; expected floating point"));
    assert_int_equal(tern_tile_apply(&target, &target, (tern_tile_function)9), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "there is no function 9"));
    assert_int_equal(tern_tile_apply(&target, &source, TERN_TILE_NEG), TERN_ERR_ARG);
}

static void columns_are_reduced(void **state)
{
    static float from[ROWS][COLUMNS], to[ROWS][COLUMNS];
    static const tern_tile_op ops[] = {TERN_TILE_ADD, TERN_TILE_MAX, TERN_TILE_MIN};
    (void)state;
    for (int i = 0; i < 3; i++) {
        tern_tile source = filled(from), target = filled(to);
        assert_int_equal(tern_tile_reduce_columns(&target, &source, ops[i]), TERN_OK);
        for (int column = 0; column < COLUMNS; column++) {
            double is = (double)number(0, column);
            for (int row = 1; row < VALID_ROWS && column < VALID_COLUMNS; row++) {
                double x = (double)number(row, column);
                is = i == 0 ? is + x : i == 1 ? fmax(is, x) : fmin(is, x);
            }
            assert_true(to[0][column] == (float)is && to[1][column] == number(1, column));
        }
    }
    tern_tile source = filled(from), target = filled(to);
    assert_int_equal(tern_tile_reduce_columns(&target, &source, TERN_TILE_SUB), TERN_ERR_ARG);
    target.valid_rows = 0;
    assert_int_equal(tern_tile_reduce_columns(&target, &source, TERN_TILE_ADD), TERN_ERR_ARG);
}

static void columns_are_combined_with_a_row(void **state)
{
    static float a[ROWS][COLUMNS], row[ROWS][COLUMNS];
    (void)state;
    for (int in_place = 0; in_place < 2; in_place++) { // the row is the first one of the result
        tern_tile source = filled(a), with = filled(row);
        tern_tile target = in_place ? with : source;
        assert_int_equal(tern_tile_combine_columns(&target, &source, &with, TERN_TILE_MUL),
                         TERN_OK);
        for (int r = 0; r < VALID_ROWS; r++) {
            for (int column = 0; column < VALID_COLUMNS; column++) {
                assert_true((in_place ? row : a)[r][column] ==
                            number(r, column) * number(0, column));
            }
        }
    }
    tern_tile source = filled(a), with = filled(row);
    with.valid_columns = 7;
    assert_int_equal(tern_tile_combine_columns(&source, &source, &with, TERN_TILE_MUL),
                     TERN_ERR_ARG);
}

static void columns_and_rows_are_spread_and_counted(void **state)
{
    static float from[ROWS][COLUMNS], to[ROWS][COLUMNS];
    int32_t ids[2][3];
    (void)state;
    tern_tile source = filled(from), target = filled(to);
    assert_int_equal(tern_tile_spread_rows(&target, &source), TERN_OK);
    assert_true(to[3][289] == number(3, 0) && to[3][290] == number(3, 290));
    assert_int_equal(tern_tile_spread_columns(&target, &source), TERN_OK);
    assert_true(to[3][289] == number(0, 289) && to[4][0] == number(4, 0));
    tern_tile counted = tern_tile_2d(ids, TERN_I32, 2, 3);
    assert_int_equal(tern_tile_count(&counted, &(int32_t){7}, 0), TERN_OK);
    assert_true(ids[0][0] == 7 && ids[0][2] == 9 && ids[1][2] == 12);
    assert_int_equal(tern_tile_count(&counted, &(int32_t){1}, 1), TERN_OK);
    assert_true(ids[0][0] == 1 && ids[0][2] == -1 && ids[1][2] == -4);
    assert_int_equal(tern_tile_count(&target, &(float){0.5F}, 0), TERN_OK);
    assert_true(to[0][0] == 0.5F && to[1][0] == 290.5F);
    assert_int_equal(tern_tile_count(&counted, NULL, 0), TERN_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_floating_point),
        cmocka_unit_test(functions_of_integers),
        cmocka_unit_test(columns_are_reduced),
        cmocka_unit_test(columns_are_combined_with_a_row),
        cmocka_unit_test(columns_and_rows_are_spread_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
