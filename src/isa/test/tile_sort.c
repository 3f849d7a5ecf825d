// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Pairs of values and indices, sorted and merged, against what a plain sort says.
#include "support/cmocka.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tern/tile.h"

struct pair {
    float value;
    uint32_t index;
};

static void assert_refused(int status, const char *sentence)
{
    assert_int_equal(status, TERN_ERR_ARG);
    if (strstr(tern_last_error(), sentence) == NULL) {
        fail_msg("'%s' is not in '%s'", sentence, tern_last_error());
    }
}

// The greatest first, of equal ones the lesser index, NaN last.
static int in_order(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;
    if (isnan(a->value) != isnan(b->value)) {
        return isnan(a->value) ? 1 : -1;
    }
    if (!isnan(a->value) && a->value != b->value) {
        return a->value > b->value ? -1 : 1;
    }
    return a->index < b->index ? -1 : a->index > b->index;
}

static bool same(struct pair a, struct pair b)
{
    return a.index == b.index && (a.value == b.value || (isnan(a.value) && isnan(b.value)));
}

enum { ROWS = 3, COLUMNS = 100 }; // three blocks, and one of 4

static void blocks_are_sorted(void **state)
{
    static float values[ROWS][COLUMNS];
    static uint32_t indices[ROWS][COLUMNS];
    static struct pair sorted[ROWS][COLUMNS + 1], wanted[ROWS][COLUMNS];
    (void)state;
    for (int one = 0; one < 2; one++) { // row of indices
        srand(7);
        for (int row = 0; row < ROWS; row++) {
            for (int column = 0; column < COLUMNS; column++) {
                values[row][column] = column % 29 == 5 ? NAN : (float)(rand() % 20 - 10);
                indices[row][column] = (uint32_t)(column * 7919 % 101 + row);
                uint32_t index = indices[one ? 0 : row][column];
                wanted[row][column] = (struct pair){values[row][column], index};
            }
            for (int block = 0; block < COLUMNS; block += 32) {
                size_t count = block + 32 <= COLUMNS ? 32 : COLUMNS % 32;
                qsort(&wanted[row][block], count, sizeof(struct pair), in_order);
            }
            sorted[row][COLUMNS] = (struct pair){0.5F, 99};
        }
        tern_tile to = tern_tile_2d(sorted, TERN_F32, ROWS, 2 * COLUMNS + 2);
        tern_tile from = tern_tile_2d(values, TERN_F32, ROWS, COLUMNS);
        tern_tile index = tern_tile_2d(indices, TERN_U32, one ? 1 : ROWS, COLUMNS);
        assert_int_equal(tern_tile_sort(&to, &from, &index), TERN_OK);
        for (int row = 0; row < ROWS; row++) {
            for (int column = 0; column < COLUMNS; column++) {
                assert_true(same(sorted[row][column], wanted[row][column]));
            }
            assert_true(sorted[row][COLUMNS].index == 99);
        }
    }
}

static void halves_have_zeros_behind_them(void **state)
{
    uint16_t values[3] = {0xbc00, 0x4000, 0x3c00}, to[12]; // -1, 2, 1
    int32_t indices[3] = {70000, 5, 6};
    (void)state;
    memset(to, 0xff, sizeof to);
    tern_tile sorted = tern_tile_2d(to, TERN_F16, 1, 12);
    tern_tile from = tern_tile_2d(values, TERN_F16, 1, 3);
    tern_tile index = tern_tile_2d(indices, TERN_I32, 1, 3);
    assert_int_equal(tern_tile_sort(&sorted, &from, &index), TERN_OK);
    assert_memory_equal(to,
                        ((uint16_t[]){0x4000, 0, 5, 0, 0x3c00, 0, 6, 0, 0xbc00, 0, 70000 & 0xffff,
                                      1}),
                        sizeof to);
}

static tern_tile list_of(struct pair *pairs, int32_t count)
{
    return tern_tile_2d(pairs, TERN_F32, 1, 2 * count);
}

static void lists_are_merged(void **state)
{
    struct pair a[] = {{9, 1}, {5, 2}, {1, 3}}, b[] = {{5, 0}, {4, 5}};
    struct pair c[] = {{8, 6}}, d[] = {{9, 7}, {NAN, 8}}, to[8];
    tern_tile lists[4] = {list_of(a, 3), list_of(b, 2), list_of(c, 1), list_of(d, 2)};
    tern_tile merged = list_of(to, 8);
    int64_t taken[4] = {-1, -1, -1, -1};
    (void)state;
    assert_int_equal(tern_tile_merge(&merged, lists, 4, 0, taken), TERN_OK);
    static const struct pair all[] = {{9, 1}, {9, 7}, {8, 6}, {5, 2},
                                      {5, 0}, {4, 5}, {1, 3}, {NAN, 8}};
    for (int i = 0; i < 8; i++) {
        assert_true(same(to[i], all[i]));
    }
    assert_true(taken[0] == 3 && taken[1] == 2 && taken[2] == 1 && taken[3] == 2);
    memset(to, 0, sizeof to);
    assert_int_equal(tern_tile_merge(&merged, lists, 4, 1, taken), TERN_OK); // c ends first
    assert_true(taken[0] == 1 && taken[1] == 0 && taken[2] == 1 && taken[3] == 1);
    assert_true(same(to[2], c[0]) && to[3].value == 0);
    merged.valid_columns = 4; // the first two of five
    assert_int_equal(tern_tile_merge(&merged, lists, 2, 0, taken), TERN_OK);
    assert_true(same(to[1], a[1]) && same(to[2], c[0]) && taken[0] == 3 && taken[1] == 2);
    assert_int_equal(tern_tile_merge(&merged, lists, 3, 0, NULL), TERN_OK);
    assert_true(same(to[1], c[0]));
}

static void blocks_are_merged(void **state)
{
    enum { PAIRS = 2 * 4 * 64 }; // twice four blocks of 128 elements
    static struct pair from[PAIRS], to[PAIRS], wanted[PAIRS];
    (void)state;
    srand(3);
    for (uint32_t i = 0; i < PAIRS; i++) {
        from[i] = (struct pair){(float)(rand() % 1000), i};
    }
    for (int block = 0; block < PAIRS; block += 64) {
        qsort(&from[block], 64, sizeof *from, in_order);
    }
    memcpy(wanted, from, sizeof wanted);
    qsort(wanted, PAIRS / 2, sizeof *wanted, in_order);
    qsort(wanted + PAIRS / 2, PAIRS / 2, sizeof *wanted, in_order);
    tern_tile source = list_of(from, PAIRS), target = list_of(to, PAIRS);
    assert_int_equal(tern_tile_merge_blocks(&target, &source, 128), TERN_OK);
    for (int i = 0; i < PAIRS; i++) {
        assert_true(same(to[i], wanted[i]));
    }
    assert_refused(tern_tile_merge_blocks(&target, &source, 96), "blocks of 96 elements and 1024");
    assert_refused(tern_tile_merge_blocks(&target, &source, 512), "multiples of 64");
    assert_refused(tern_tile_merge_blocks(&source, &source, 128), "'to' overlaps from");
    target.columns = target.valid_columns = 1000;
    assert_refused(tern_tile_merge_blocks(&target, &source, 128),
                   "a row of 'to' has 1000 elements, and 1024 are needed");
}

static void what_is_wrong_is_refused(void **state)
{
    static float values[2][8], to[2][16], lists[2][16];
    static uint32_t indices[2][8];
    (void)state;
    tern_tile sorted = tern_tile_2d(to, TERN_F32, 2, 16);
    tern_tile from = tern_tile_2d(values, TERN_F32, 2, 8), bad = sorted;
    tern_tile index = tern_tile_2d(indices, TERN_U32, 2, 8);
    bad.columns = bad.valid_columns = 14;
    assert_refused(tern_tile_sort(&bad, &from, &index), "has 7 pairs, and 8 are needed");
    bad = sorted;
    bad.dtype = TERN_BF16;
    assert_refused(tern_tile_sort(&bad, &from, &index), "expected rows of f32 or of f16");
    assert_refused(tern_tile_sort(&sorted, &sorted, &index), "8 elements, and 1 of 16");
    bad = index;
    bad.dtype = TERN_F32;
    assert_refused(tern_tile_sort(&sorted, &from, &bad), "expected integers of 32 bits");
    bad = sorted;
    bad.valid_columns = 8;
    assert_refused(tern_tile_sort(&sorted, &bad, &index), "'to' overlaps from");
    bad = tern_tile_2d(values, TERN_F32, 3, 2);
    sorted.rows = sorted.valid_rows = 3;
    sorted.columns = sorted.valid_columns = 4;
    assert_refused(tern_tile_sort(&sorted, &bad, &index),
                   "index has 2 valid rows; expected 1 or 3");
    tern_tile two[2] = {tern_tile_2d(lists[0], TERN_F32, 1, 16),
                        tern_tile_2d(lists[1], TERN_F32, 1, 16)};
    assert_refused(tern_tile_merge(&sorted, two, 5, 0, NULL), "there are 2 to 4 lists, not 5");
    assert_refused(tern_tile_merge(&sorted, two, 1, 0, NULL), "not 1");
    two[1].valid_columns = 1;
    assert_refused(tern_tile_merge(&sorted, two, 2, 0, NULL), "1 elements of a list are no pair");
    two[1] = sorted;
    assert_refused(tern_tile_merge(&sorted, two, 2, 0, NULL), "'to' overlaps a list");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_sorted),        cmocka_unit_test(halves_have_zeros_behind_them),
        cmocka_unit_test(lists_are_merged),         cmocka_unit_test(blocks_are_merged),
        cmocka_unit_test(what_is_wrong_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
