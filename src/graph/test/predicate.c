// SPDX-License-Identifier: Apache-2.0
// Predicates compare exactly, for every dtype and comparison: also 64-bit integers that a double
// cannot tell apart, a NaN on either side, and the ends of each range.
#include "support/cmocka.h"

#include <math.h>

#include "kit.h"

// What is seen, and what it is compared with; order: of the element to the value, -1, 0 or 1, 2 for
// none (NaN).
static const struct row {
    tern_dtype dtype;
    union {
        float f32;
        double f64;
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
    } seen;
    double value;
    int order;
} rows[] = {
    {TERN_F32, {.f32 = 0.5f}, 0.5, 0},
    {TERN_F32, {.f32 = -0.0f}, 0, 0},
    {TERN_F32, {.f32 = 0.1f}, 0.1, 1}, // the nearest float is above the nearest double
    {TERN_F32, {.f32 = NAN}, 1, 2},
    {TERN_F64, {.f64 = 0.1}, 0.1, 0},
    {TERN_F64, {.f64 = -INFINITY}, -1e308, -1},
    {TERN_F64, {.f64 = 3}, (double)NAN, 2},
    {TERN_I8, {.i8 = -128}, -128, 0},
    {TERN_I8, {.i8 = -1}, 255, -1},
    {TERN_U8, {.u8 = 255}, 255, 0},
    {TERN_U8, {.u8 = 255}, -1, 1},
    {TERN_I16, {.i16 = -32768}, -32768.5, 1},
    {TERN_U16, {.u16 = 65535}, 65535, 0},
    {TERN_I32, {.i32 = INT32_MIN}, -2147483648.0, 0},
    {TERN_I32, {.i32 = 7}, (double)NAN, 2},
    {TERN_U32, {.u32 = UINT32_MAX}, 4294967295.0, 0},
    {TERN_U32, {.u32 = UINT32_MAX}, 4294967295.5, -1},
    {TERN_I64, {.i64 = (INT64_C(1) << 53) + 1}, 0x1p53, 1},
    {TERN_I64, {.i64 = -(INT64_C(1) << 53) - 1}, -0x1p53, -1},
    {TERN_I64, {.i64 = INT64_MAX}, 0x1p63, -1},
    {TERN_I64, {.i64 = INT64_MIN}, -0x1p63, 0},
    {TERN_I64, {.i64 = INT64_MIN}, -INFINITY, 1},
    {TERN_U64, {.u64 = UINT64_MAX}, 0x1p64, -1},
    {TERN_U64, {.u64 = (UINT64_C(1) << 63) + 1}, 0x1p63, 1},
    {TERN_U64, {.u64 = 0}, -0.25, 1},
};

enum { ROWS = sizeof rows / sizeof rows[0], COMPARISONS = TERN_CMP_LE + 1 };

static bool expected(tern_cmp cmp, int order)
{
    static const bool holds[COMPARISONS][4] = {
        // by order: less, equal, greater, none
        [TERN_CMP_EQ] = {false, true, false, false}, [TERN_CMP_NE] = {true, false, true, true},
        [TERN_CMP_GT] = {false, false, true, false}, [TERN_CMP_GE] = {false, true, true, false},
        [TERN_CMP_LT] = {true, false, false, false}, [TERN_CMP_LE] = {true, true, false, false},
    };
    return holds[cmp][order + 1];
}

static void every_dtype_and_comparison_is_exact(void **state)
{
    static _Atomic int calls[ROWS][COMPARISONS];
    tern_chip *chip;
    tern_graph *graph;
    assert_true(fine(tern_chip_create(NULL, NULL, &chip)));
    assert_true(fine(tern_graph_create(&graph)));
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < COMPARISONS; c++) {
            int64_t args[] = {word(&calls[r][c])};
            tern_predicate predicate = {.address = &rows[r].seen,
                                        .dtype = rows[r].dtype,
                                        .cmp = (tern_cmp)c,
                                        .value = rows[r].value};
            tern_task task = {.kernel = count_call,
                              .core = TERN_CORE_AIV,
                              .args = args,
                              .args_count = 1,
                              .predicate = &predicate};
            assert_true(fine(tern_graph_add_task(graph, &task, NULL)));
        }
    }
    assert_true(fine(tern_chip_launch(chip, graph)));
    assert_true(fine(tern_chip_synchronize(chip)));
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < COMPARISONS; c++) {
            if (calls[r][c] != expected((tern_cmp)c, rows[r].order)) {
                fail_msg("row %d, comparison %d: the task ran %d times", r, c, calls[r][c]);
            }
        }
    }
    assert_true(fine(tern_graph_destroy(graph)));
    assert_true(fine(tern_chip_destroy(chip)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_and_comparison_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
