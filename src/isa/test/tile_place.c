// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Elements of tiles in other places, and what is refused: nothing is written then.
#include "support/cmocka.h"

#include <stdbool.h>
#include <string.h>

#include "tern/tile.h"

static void assert_refused(int status, const char *sentence)
{
    assert_int_equal(status, TERN_ERR_ARG);
    if (strstr(tern_last_error(), sentence) == NULL) {
        fail_msg("'%s' is not in '%s'", sentence, tern_last_error());
    }
}

// Both orders of both tiles, and a part that is valid.
static void transposed(void **state)
{
    (void)state;
    for (int orders = 0; orders < 4; orders++) {
        int16_t from[4][6], to[7][5];
        tern_tile source = tern_tile_2d(from, TERN_I16, 4, 6);
        tern_tile target = tern_tile_2d(to, TERN_I16, 7, 5);
        source.valid_rows = 3;
        source.valid_columns = 5;
        target.order = orders & 1 ? TERN_TILE_COLUMN_MAJOR : TERN_TILE_ROW_MAJOR;
        source.order = orders & 2 ? TERN_TILE_COLUMN_MAJOR : TERN_TILE_ROW_MAJOR;
        memset(to, 0xff, sizeof to);
        for (int16_t i = 0; i < 24; i++) {
            (&from[0][0])[i] = i;
        }
        assert_int_equal(tern_tile_transpose(&target, &source), TERN_OK);
        for (int row = 0; row < 7; row++) {
            for (int column = 0; column < 5; column++) {
                int16_t is = (&to[0][0])[orders & 1 ? column * 7 + row : row * 5 + column];
                int was = orders & 2 ? row * 4 + column : column * 6 + row;
                assert_int_equal(is, row < 5 && column < 3 ? was : -1);
            }
        }
        assert_refused(tern_tile_transpose(&source, &source), "5 of 3 are needed");
        target = source;
        target.rows = target.columns = 5;
        assert_refused(tern_tile_transpose(&target, &source), "'to' overlaps from");
        target.dtype = TERN_I32;
        assert_refused(tern_tile_transpose(&target, &source), "2 bytes, and of 'to' 4");
    }
}

static void inserted(void **state)
{
    float to[4][8];
    uint16_t half[2][3] = {{0x3c00, 0x4000, 0x4200}, {0x4400, 0x4500, 0x4600}}; // 1, 2, 3, …
    (void)state;
    for (int i = 0; i < 32; i++) {
        (&to[0][0])[i] = -1;
    }
    tern_tile source = tern_tile_2d(half, TERN_F16, 2, 3);
    tern_tile target = tern_tile_2d(to, TERN_F32, 4, 8);
    target.valid_rows = target.valid_columns = 1;
    assert_int_equal(tern_tile_insert(&target, &source, 2, 5), TERN_OK);
    for (int row = 0; row < 4; row++) {
        for (int column = 0; column < 8; column++) {
            bool in = row >= 2 && column >= 5;
            assert_true(to[row][column] == (in ? (float)((row - 2) * 3 + column - 4) : -1));
        }
    }
    target.order = TERN_TILE_COLUMN_MAJOR;
    assert_int_equal(tern_tile_insert(&target, &source, 0, 1), TERN_OK);
    assert_true((&to[0][0])[1 * 4 + 1] == 4 && (&to[0][0])[3 * 4] == 3);
    assert_refused(tern_tile_insert(&target, &source, 3, 0),
                   "2 rows of 3 elements from (3, 0) on are not within the 4 rows of 8 of 'to'");
    assert_refused(tern_tile_insert(&target, &source, 0, 6), "not within");
    assert_refused(tern_tile_insert(&target, &source, -1, 0), "not within");
}

static void padded(void **state)
{
    int32_t from[2][8] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, to[3][9];
    const int32_t with = -7;
    (void)state;
    tern_tile source = tern_tile_2d(from, TERN_I32, 2, 8);
    tern_tile target = tern_tile_2d(to, TERN_I32, 3, 9);
    source.valid_columns = 3;
    target.valid_columns = 1; // all are written
    assert_int_equal(tern_tile_pad(&target, &source, &with), TERN_OK);
    assert_memory_equal(to, ((int32_t[]){1,  2,  3,  -7, -7, -7, -7, -7, -7, 5,  6,  7,  -7, -7,
                                         -7, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7}),
                        sizeof to);
    source.valid_rows = 1;
    assert_int_equal(tern_tile_pad(&source, &source, &with), TERN_OK); // in place
    assert_memory_equal(from,
                        ((int32_t[]){1, 2, 3, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7}),
                        sizeof from);
    target = source;
    target.columns = 9;
    target.rows = 1;
    target.data = &from[0][0];
    assert_refused(tern_tile_pad(&target, &source, NULL), "scalar must not be NULL");
    target.rows = 2;
    target.columns = 7;
    assert_refused(tern_tile_pad(&target, &source, &with), "'to' overlaps from");
    target = tern_tile_2d(to, TERN_I32, 3, 2);
    assert_refused(tern_tile_pad(&target, &source, &with),
                   "'to' has 3 rows of 2 elements, and 1 of 3 are needed");
}

static void gathered_and_scattered(void **state)
{
    uint8_t from[2][4] = {{10, 11, 12, 13}, {14, 15, 16, 17}}, to[3][2];
    uint16_t index[3][4] = {{7, 0, 99}, {3, 3, 99}, {4, 6, 99}};
    (void)state;
    tern_tile source = tern_tile_2d(from, TERN_U8, 2, 4);
    tern_tile target = tern_tile_2d(to, TERN_U8, 3, 2);
    tern_tile indices = tern_tile_2d(index, TERN_U16, 3, 4);
    source.valid_columns = 1; // an index may name any element
    assert_int_equal(tern_tile_gather(&target, &source, &indices), TERN_OK);
    assert_memory_equal(to, ((uint8_t[]){17, 10, 13, 13, 14, 16}), sizeof to);
    index[2][1] = 8;
    memset(to, 9, sizeof to);
    assert_refused(tern_tile_gather(&target, &source, &indices),
                   "index (2, 1) is 8, and there are 8 elements");
    assert_true(to[0][0] == 9);
    int32_t words[2][2] = {{5, 0}, {2, 5}}; // the later one of two stays
    tern_tile wide = tern_tile_2d(words, TERN_I32, 2, 2);
    source.valid_columns = 4;
    assert_int_equal(tern_tile_scatter(&target, &source, &wide), TERN_OK);
    assert_memory_equal(to, ((uint8_t[]){11, 0, 14, 0, 0, 15}), sizeof to);
    words[0][0] = -1;
    assert_refused(tern_tile_scatter(&target, &source, &wide), "index (0, 0) is -1");
    words[0][0] = 6;
    assert_refused(tern_tile_scatter(&target, &source, &wide), "there are 6 elements");
    words[0][0] = 0;
    wide.valid_rows = 1;
    source.valid_columns = 1;
    assert_refused(tern_tile_scatter(&target, &source, &wide), "1 of 2 are needed");
    assert_refused(tern_tile_scatter(&target, &target, &wide), "'to' overlaps from");
    assert_refused(tern_tile_gather(&target, &target, &wide), "1 valid rows of 2");
    wide.dtype = TERN_F32;
    assert_refused(tern_tile_scatter(&target, &source, &wide),
                   "index has f32; expected integers of 16 or 32 bits");
    source.dtype = TERN_I8;
    assert_refused(tern_tile_gather(&target, &source, &indices), "from has i8, and 'to' u8");
    assert_true(to[0][0] == 11 && to[2][1] == 15);
}

// Indices that lie where the result comes to lie, as those of 32 bits do on the chip.
static void gathered_in_place_of_the_indices(void **state)
{
    float from[4] = {0.5F, 1.5F, 2.5F, 3.5F};
    union {
        uint32_t index[4];
        float to[4];
    } both = {.index = {3, 1, 0, 1}};
    (void)state;
    tern_tile source = tern_tile_2d(from, TERN_F32, 1, 4);
    tern_tile target = tern_tile_2d(&both, TERN_F32, 1, 4), indices = target;
    indices.dtype = TERN_U32;
    assert_int_equal(tern_tile_gather(&target, &source, &indices), TERN_OK);
    assert_true(both.to[0] == 3.5F && both.to[1] == 1.5F && both.to[2] == 0.5F &&
                both.to[3] == 1.5F);
}

static void every_second_or_fourth(void **state)
{
    uint16_t from[3][8], to[2][8], wide[4][16];
    (void)state;
    for (uint16_t i = 0; i < 24; i++) {
        (&from[0][0])[i] = i;
    }
    tern_tile source = tern_tile_2d(from, TERN_U16, 3, 8);
    tern_tile target = tern_tile_2d(to, TERN_F16, 2, 8); // bits, whatever they are
    source.valid_columns = 7;
    memset(to, 0xff, sizeof to);
    assert_int_equal(tern_tile_take_columns(&target, &source, 2, 1), TERN_OK);
    assert_memory_equal(to, ((uint16_t[]){1, 3, 5, 9, 11, 13, 17, 19, 21, 65535}),
                        10 * sizeof(uint16_t));
    assert_int_equal(tern_tile_take_columns(&target, &source, 4, 0), TERN_OK);
    assert_memory_equal(to, ((uint16_t[]){0, 4, 8, 12, 16, 20, 17}), 7 * sizeof(uint16_t));
    assert_refused(tern_tile_take_columns(&target, &source, 1, 0),
                   "21 elements need a tile of whole rows, and 'to' has 2 rows of 8 elements");
    assert_refused(tern_tile_take_columns(&target, &source, 2, 2),
                   "there is no element 2 of every 2");
    target.valid_columns = 7;
    assert_refused(tern_tile_take_columns(&target, &source, 4, 0), "of which 7 are valid");
    assert_int_equal(tern_tile_take_rows(&target, &source, 2, 0), TERN_OK);
    assert_true(to[0][6] == 6 && to[1][0] == 16 && to[1][6] == 22 && to[1][7] == 65535);
    assert_int_equal(tern_tile_take_rows(&target, &source, 4, 3), TERN_OK); // none
    assert_true(to[0][0] == 0);
    tern_tile large = tern_tile_2d(wide, TERN_U16, 4, 16);
    source.valid_rows = 2;
    source.valid_columns = 4;
    memset(wide, 0xff, sizeof wide);
    assert_int_equal(tern_tile_set_columns(&large, &source, 4, 2), TERN_OK);
    for (int i = 0; i < 64; i++) {
        int row = i / 16, column = i % 16;
        assert_int_equal(wide[row][column], row < 2 && column % 4 == 2 ? from[row][column / 4] : 0);
    }
    memset(wide, 0xff, sizeof wide);
    assert_int_equal(tern_tile_set_rows(&large, &source, 2, 1), TERN_OK);
    for (int i = 0; i < 64; i++) {
        int row = i / 16, column = i % 16;
        assert_int_equal(wide[row][column], row % 2 == 1 && column < 4 ? from[row / 2][column] : 0);
    }
    assert_refused(tern_tile_set_rows(&large, &source, 4, 0), "8 of 4 are needed");
    assert_refused(tern_tile_set_columns(&large, &source, 0, 0), "of every 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transposed),
        cmocka_unit_test(inserted),
        cmocka_unit_test(padded),
        cmocka_unit_test(gathered_and_scattered),
        cmocka_unit_test(gathered_in_place_of_the_indices),
        cmocka_unit_test(every_second_or_fourth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
