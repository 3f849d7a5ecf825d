// SPDX-License-Identifier: Apache-2.0
// Arithmetic on tiles, against what is said of it in tern/tile.h, computed here one element at a
// time: all dtypes and operations, both orders of elements, more rows and columns than are valid.
#include "support/cmocka.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/half.h"
#include "support/random.h"
#include "tern/tile.h"

enum { ROWS = 9, COLUMNS = 320, VALID_ROWS = 7, VALID_COLUMNS = 301, DTYPES = 12 };

struct memory {
    uint64_t words[ROWS * COLUMNS];
};

static tern_tile tile_of(struct memory *memory, tern_dtype dtype, tern_tile_order order)
{
    tern_tile tile = tern_tile_2d(memory->words, dtype, ROWS, COLUMNS);
    tile.valid_rows = VALID_ROWS;
    tile.valid_columns = VALID_COLUMNS;
    tile.order = order;
    return tile;
}

static void *at(const tern_tile *tile, int row, int column)
{
    int64_t index = tile->order == TERN_TILE_ROW_MAJOR ? (int64_t)row * tile->columns + column
                                                       : (int64_t)column * tile->rows + row;
    return (char *)tile->data + index * (int64_t)tern_dtype_size(tile->dtype);
}

static bool is_float(tern_dtype dtype)
{
    return dtype == TERN_F32 || dtype == TERN_F16 || dtype == TERN_BF16 || dtype == TERN_F64;
}

static double get_float(tern_dtype dtype, const void *from)
{
    uint16_t half;
    float single;
    double value;
    memcpy(&half, from, sizeof half);
    switch (dtype) {
    case TERN_F32:
        memcpy(&single, from, sizeof single);
        return single;
    case TERN_F16:
        return tern__f16_to_f32(half);
    case TERN_BF16:
        return tern__bf16_to_f32(half);
    default:
        memcpy(&value, from, sizeof value);
        return value;
    }
}

// Sign-extended.
static int64_t get_integer(tern_dtype dtype, const void *from)
{
    uint64_t bits = 0;
    size_t size = tern_dtype_size(dtype);
    memcpy(&bits, from, size);
    bool has_sign = dtype == TERN_I8 || dtype == TERN_I16 || dtype == TERN_I32;
    unsigned shift = 64 - 8 * (unsigned)size;
    return has_sign ? (int64_t)(bits << shift) >> shift : (int64_t)bits;
}

// The element nearest to `exact`, looked for among the neighbours of a first guess.
static bool is_nearest(tern_dtype dtype, const void *element, double exact)
{
    double value = get_float(dtype, element);
    if (isnan(exact) || isinf(exact)) {
        return isnan(exact) ? isnan(value) : value == exact;
    }
    double digits = dtype == TERN_F64 ? 53 : dtype == TERN_F32 ? 24 : dtype == TERN_F16 ? 11 : 8;
    int exponent;
    frexp(exact, &exponent);
    double half_step = ldexp(1, exponent - (int)digits - 1);
    half_step = dtype == TERN_F16 ? fmax(half_step, 0x1p-25) : half_step; // of small ones
    return fabs(value - exact) <= half_step;
}

static void fill_random(struct memory *memory, tern_dtype dtype, uint64_t seed)
{
    uint64_t state = seed;
    tern_tile tile = tern_tile_2d(memory->words, dtype, ROWS, COLUMNS);
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            uint64_t bits = random_next(&state);
            double value = (double)((int64_t)(bits >> 40) - (1 << 23)) / (1 << 16);
            float single = (float)value;
            uint16_t half =
                dtype == TERN_F16 ? tern__f32_to_f16(single) : tern__f32_to_bf16(single);
            const void *from = dtype == TERN_F32   ? (void *)&single
                               : dtype == TERN_F64 ? (void *)&value
                               : is_float(dtype)   ? (void *)&half
                                                   : (void *)&bits;
            memcpy(at(&tile, row, column), from, tern_dtype_size(dtype));
        }
    }
}

static bool right_float(tern_dtype dtype, const void *to, const void *a, const void *b,
                        tern_tile_op op)
{
    double x = get_float(dtype, a);
    double y = get_float(dtype, b);
    switch (op) {
    case TERN_TILE_ADD:
        return is_nearest(dtype, to, x + y);
    case TERN_TILE_SUB:
        return is_nearest(dtype, to, x - y);
    case TERN_TILE_MUL:
        return is_nearest(dtype, to, x * y);
    case TERN_TILE_DIV:
        return is_nearest(dtype, to, x / y);
    case TERN_TILE_MAX:
        return get_float(dtype, to) == fmax(x, y);
    default:
        return get_float(dtype, to) == fmin(x, y);
    }
}

static bool right_integer(tern_dtype dtype, const void *to, const void *a, const void *b,
                          tern_tile_op op)
{
    int64_t x = get_integer(dtype, a);
    int64_t y = get_integer(dtype, b);
    bool has_sign = dtype >= TERN_I8 && dtype <= TERN_I64;
    bool less = has_sign ? x < y : (uint64_t)x < (uint64_t)y;
    uint64_t result;
    switch (op) {
    case TERN_TILE_ADD:
        result = (uint64_t)x + (uint64_t)y;
        break;
    case TERN_TILE_SUB:
        result = (uint64_t)x - (uint64_t)y;
        break;
    case TERN_TILE_MUL:
        result = (uint64_t)x * (uint64_t)y;
        break;
    case TERN_TILE_DIV:
        result = y == 0     ? 0
                 : has_sign ? (y == -1 ? -(uint64_t)x : (uint64_t)(x / y))
                            : (uint64_t)x / (uint64_t)y;
        break;
    case TERN_TILE_MAX:
        result = (uint64_t)(less ? y : x);
        break;
    default:
        result = (uint64_t)(less ? x : y);
        break;
    }
    return memcmp(to, &result, tern_dtype_size(dtype)) == 0;
}

// All that is valid is right, and all else as it was.
static void check_all(const tern_tile *to, const tern_tile *a, const tern_tile *b, tern_tile_op op,
                      const struct memory *before)
{
    tern_tile old = *to;
    old.data = (void *)(uintptr_t)before->words;
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            void *seen = at(to, row, column);
            if (row >= VALID_ROWS || column >= VALID_COLUMNS) {
                assert_memory_equal(seen, at(&old, row, column), tern_dtype_size(to->dtype));
                continue;
            }
            const void *x = at(a, row, column);
            const void *y = b != NULL ? at(b, row, column) : NULL;
            bool right = is_float(to->dtype) ? right_float(to->dtype, seen, x, y, op)
                                             : right_integer(to->dtype, seen, x, y, op);
            if (!right) {
                fail_msg("%s, operation %d, element (%d, %d)", tern_dtype_name(to->dtype), (int)op,
                         row, column);
            }
        }
    }
}

static void elements_are_combined(void **state)
{
    static struct memory memories[3];
    static struct memory before;
    for (int dtype = 0; dtype < DTYPES; dtype++) {
        for (int op = 0; op <= TERN_TILE_MIN; op++) {
            for (int orders = 0; orders < 8; orders++) {
                tern_tile tiles[3];
                for (int i = 0; i < 3; i++) {
                    fill_random(&memories[i], (tern_dtype)dtype,
                                17 * (uint64_t)op + (uint64_t)i + 1);
                    tiles[i] = tile_of(&memories[i], (tern_dtype)dtype,
                                       (tern_tile_order)(orders >> i & 1));
                }
                before = memories[0];
                assert_int_equal(tern_tile_combine(&tiles[0], &tiles[1], &tiles[2],
                                                   (tern_tile_op)op),
                                 TERN_OK);
                check_all(&tiles[0], &tiles[1], &tiles[2], (tern_tile_op)op, &before);
            }
        }
    }
}

static void a_scalar_is_an_element(void **state)
{
    static struct memory memories[3];
    static struct memory before;
    for (int dtype = 0; dtype < DTYPES; dtype++) {
        for (int op = 0; op <= TERN_TILE_MIN; op++) {
            tern_tile tiles[3];
            for (int i = 0; i < 3; i++) {
                fill_random(&memories[i], (tern_dtype)dtype, (uint64_t)op + (uint64_t)i + 1);
                tiles[i] = tile_of(&memories[i], (tern_dtype)dtype, TERN_TILE_ROW_MAJOR);
            }
            before = memories[2];
            uint64_t scalar = memories[0].words[5];
            assert_int_equal(tern_tile_fill(&tiles[2], &scalar), TERN_OK);
            for (int row = 0; row < ROWS; row++) {
                bool valid = row < VALID_ROWS;
                assert_memory_equal(at(&tiles[2], row, 300),
                                    valid
                                        ? (void *)&scalar
                                        : (char *)before.words + ((char *)at(&tiles[2], row, 300) -
                                                                  (char *)memories[2].words),
                                    tern_dtype_size((tern_dtype)dtype));
            }
            before = memories[0];
            assert_int_equal(tern_tile_combine_scalar(&tiles[0], &tiles[1], &scalar,
                                                      (tern_tile_op)op),
                             TERN_OK);
            check_all(&tiles[0], &tiles[1], &tiles[2], (tern_tile_op)op, &before);
        }
    }
}

static void rows_are_added_up(void **state)
{
    float values[2][300];
    float sums[2];
    tern_tile from = tern_tile_2d(values, TERN_F32, 2, 300);
    tern_tile to = tern_tile_2d(sums, TERN_F32, 2, 1);
    for (int i = 0; i < 300; i++) {
        values[0][i] = i == 0 ? 0x1p30F : 1; // in f32 the ones would be lost
        values[1][i] = (float)(i == 270 ? 7 : -i);
    }
    assert_int_equal(tern_tile_reduce_rows(&to, &from, TERN_TILE_ADD), TERN_OK);
    assert_true(sums[0] == 0x1p30F + 320 || sums[0] == 0x1p30F + 256);
    assert_true(sums[0] == (float)(0x1p30 + 299));
    assert_int_equal(tern_tile_reduce_rows(&to, &from, TERN_TILE_MAX), TERN_OK);
    assert_true(sums[0] == 0x1p30F && sums[1] == 7);
    assert_int_equal(tern_tile_reduce_rows(&to, &from, TERN_TILE_MIN), TERN_OK);
    assert_true(sums[0] == 1 && sums[1] == -299);
    assert_int_equal(tern_tile_reduce_rows(&to, &from, TERN_TILE_SUB), TERN_ERR_ARG);
}

static void columns_are_combined_with_rows(void **state)
{
    float values[3][300];
    float column[3][2] = {{2, 90}, {-4, 91}, {0.5F, 92}};
    float results[3][300];
    tern_tile from = tern_tile_2d(values, TERN_F32, 3, 300);
    tern_tile second = tern_tile_2d(column, TERN_F32, 3, 2);
    tern_tile to = tern_tile_2d(results, TERN_F32, 3, 300);
    for (int i = 0; i < 900; i++) {
        values[i / 300][i % 300] = (float)(i % 7 - 3);
    }
    for (int op = TERN_TILE_ADD; op <= TERN_TILE_MIN; op++) {
        assert_int_equal(tern_tile_combine_rows(&to, &from, &second, (tern_tile_op)op), TERN_OK);
        for (int i = 0; i < 900; i++) {
            float a = values[i / 300][i % 300];
            float b = column[i / 300][0];
            float wanted[] = {a + b, a - b, a * b, a / b, a > b ? a : b, a < b ? a : b};
            assert_true(results[i / 300][i % 300] == wanted[op]);
        }
    }
    // The column may be that of the result.
    assert_int_equal(tern_tile_combine_rows(&from, &from, &from, TERN_TILE_SUB), TERN_OK);
    assert_true(values[0][0] == 0 && values[0][1] == 1 && values[2][299] == 0 - 2);
    second.valid_rows = 2;
    assert_int_equal(tern_tile_combine_rows(&to, &from, &second, TERN_TILE_SUB), TERN_ERR_ARG);
    second = tern_tile_2d(column, TERN_I32, 3, 2);
    assert_int_equal(tern_tile_combine_rows(&to, &from, &second, TERN_TILE_SUB), TERN_ERR_ARG);
}

static void powers_of_e(void **state)
{
    float values[] = {0, 1, -INFINITY, INFINITY, NAN, -87.5F, 100};
    uint16_t halves[2] = {0, 0x4900}; // 0 and 10
    tern_tile of = tern_tile_2d(values, TERN_F32, 1, 7);
    assert_int_equal(tern_tile_exp(&of, &of), TERN_OK);
    assert_true(values[0] == 1 && values[1] == 2.7182818F && values[2] == 0);
    assert_true(isinf(values[3]) && isnan(values[4]) && values[5] == (float)exp(-87.5));
    assert_true(isinf(values[6]));
    of = tern_tile_2d(halves, TERN_F16, 1, 2);
    assert_int_equal(tern_tile_exp(&of, &of), TERN_OK);
    assert_true(halves[0] == 0x3c00 && halves[1] == 0x7561); // 22026.47 is nearest to 22032
    of.dtype = TERN_I16;
    assert_int_equal(tern_tile_exp(&of, &of), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "to has i16; expected floating point"));
}

static void single_elements(void **state)
{
    uint16_t halves[2][16] = {{0}};
    int32_t words[40] = {0};
    tern_tile tile = tern_tile_2d(halves, TERN_F16, 2, 16);
    tern_tensor tensor = tern_tensor_2d(words, TERN_I32, 2, 4, 10);
    uint16_t half = 7;
    int32_t word = 9;
    assert_int_equal(tern_tile_is_checked(), 0);
    assert_int_equal(tern_tile_set(&tile, 31, &half), TERN_OK);
    assert_true(halves[1][15] == 7 && halves[1][14] == 0);
    half = 0;
    assert_int_equal(tern_tile_get(&tile, 31, &half), TERN_OK);
    assert_int_equal(half, 7);
    assert_int_equal(tern_tile_get(&tile, 32, &half), TERN_ERR_ARG);
    assert_int_equal(tern_tile_set(&tile, -1, &half), TERN_ERR_ARG);
    assert_int_equal(tern_tile_get(&tile, 0, NULL), TERN_ERR_ARG);
    assert_int_equal(tern_tile_get(NULL, 0, &half), TERN_ERR_ARG);

    // The last one that shape and strides reach, and behind it.
    assert_int_equal(tern_tensor_set_element(&tensor, 13, &word), TERN_OK);
    assert_true(words[13] == 9 && words[12] == 0 && words[14] == 0);
    word = 0;
    assert_int_equal(tern_tensor_get_element(&tensor, 13, &word), TERN_OK);
    assert_int_equal(word, 9);
    assert_int_equal(tern_tensor_get_element(&tensor, 14, &word), TERN_ERR_ARG);
    assert_int_equal(tern_tensor_set_element(&tensor, -1, &word), TERN_ERR_ARG);
    tensor.shape[4] = 0;
    assert_int_equal(tern_tensor_get_element(&tensor, 0, &word), TERN_ERR_ARG);
}

static void numbers_are_converted(void **state)
{
    double from[8] = {1.5, 2.5, -0.5, 1e30, -1e30, NAN, 254.5, 65519.999};
    int8_t bytes[8];
    uint8_t unsigned_bytes[8];
    uint16_t halves[8];
    int64_t wide[8];
    tern_tile source = tern_tile_2d(from, TERN_F64, 1, 8);
    tern_tile to = tern_tile_2d(bytes, TERN_I8, 1, 8);
    assert_int_equal(tern_tile_convert(&to, &source), TERN_OK);
    assert_memory_equal(bytes, ((int8_t[]){2, 2, 0, 127, -128, 0, 127, 127}), 8);
    to = tern_tile_2d(unsigned_bytes, TERN_U8, 1, 8);
    assert_int_equal(tern_tile_convert(&to, &source), TERN_OK);
    assert_memory_equal(unsigned_bytes, ((uint8_t[]){2, 2, 0, 255, 0, 0, 254, 255}), 8);
    to = tern_tile_2d(wide, TERN_I64, 1, 8);
    assert_int_equal(tern_tile_convert(&to, &source), TERN_OK);
    assert_true(wide[3] == INT64_MAX && wide[4] == INT64_MIN && wide[5] == 0 && wide[7] == 65520);
    to = tern_tile_2d(halves, TERN_F16, 1, 8);
    assert_int_equal(tern_tile_convert(&to, &source), TERN_OK);
    assert_true(tern__f16_to_f32(halves[0]) == 1.5F && isinf(tern__f16_to_f32(halves[3])) &&
                isnan(tern__f16_to_f32(halves[5])) && tern__f16_to_f32(halves[7]) == 65504);

    // Just above the middle of two halves; f32 in between would be the middle, and go to the even.
    double hard[2] = {1 + 0x1p-11 + 0x1p-40, 1 + 3 * 0x1p-11 - 0x1p-40};
    source = tern_tile_2d(hard, TERN_F64, 1, 2);
    to = tern_tile_2d(halves, TERN_F16, 1, 2);
    assert_int_equal(tern_tile_convert(&to, &source), TERN_OK);
    assert_true(tern__f16_to_f32(halves[0]) == 1 + 0x1p-10F);
    assert_true(tern__f16_to_f32(halves[1]) == 1 + 0x1p-10F);
    // The same with integers of more than 53 bits, in bf16.
    uint64_t large[2] = {(UINT64_C(1) << 63) + (UINT64_C(1) << 55) + 1,
                         (UINT64_C(1) << 62) + (UINT64_C(1) << 54) + 1};
    source = tern_tile_2d(large, TERN_U64, 1, 2);
    to = tern_tile_2d(halves, TERN_BF16, 1, 2);
    assert_int_equal(tern_tile_convert(&to, &source), TERN_OK);
    assert_true(tern__bf16_to_f32(halves[0]) == 0x1p63F + 0x1p56F);
    assert_true(tern__bf16_to_f32(halves[1]) == 0x1p62F + 0x1p55F);
    source.dtype = TERN_I64;
    large[0] = -(UINT64_C(1) << 62) - (UINT64_C(1) << 54) - 1;
    assert_int_equal(tern_tile_convert(&to, &source), TERN_OK);
    assert_true(tern__bf16_to_f32(halves[0]) == -0x1p62F - 0x1p55F);
    int32_t words[2] = {-1, 300};
    source = tern_tile_2d(words, TERN_I32, 1, 2);
    to = tern_tile_2d(unsigned_bytes, TERN_U8, 1, 2);
    assert_int_equal(tern_tile_convert(&to, &source), TERN_OK);
    assert_true(unsigned_bytes[0] == 255 && unsigned_bytes[1] == 44);
}

static void parts_are_extracted(void **state)
{
    int32_t from[6 * 10];
    int32_t to[2 * 3];
    for (int i = 0; i < 60; i++) {
        from[i] = i;
    }
    tern_tile source = tern_tile_2d(from, TERN_I32, 6, 10);
    tern_tile part = tern_tile_2d(to, TERN_I32, 2, 3);
    assert_int_equal(tern_tile_extract(&part, &source, 4, 7), TERN_OK);
    assert_memory_equal(to, ((int32_t[]){47, 48, 49, 57, 58, 59}), sizeof to);
    part.order = TERN_TILE_COLUMN_MAJOR;
    assert_int_equal(tern_tile_extract(&part, &source, 0, 0), TERN_OK);
    assert_memory_equal(to, ((int32_t[]){0, 10, 1, 11, 2, 12}), sizeof to);
    assert_int_equal(tern_tile_extract(&part, &source, 5, 0), TERN_ERR_ARG);
    assert_int_equal(tern_tile_extract(&part, &source, 0, 8), TERN_ERR_ARG);
    assert_int_equal(tern_tile_extract(&part, &source, -1, 0), TERN_ERR_ARG);
}

static void axpy_adds(void **state)
{
    static struct memory memories[2];
    static struct memory before;
    float scalar = 0.375F;
    fill_random(&memories[0], TERN_F32, 3);
    fill_random(&memories[1], TERN_F32, 4);
    before = memories[0];
    tern_tile to = tile_of(&memories[0], TERN_F32, TERN_TILE_ROW_MAJOR);
    tern_tile from = tile_of(&memories[1], TERN_F32, TERN_TILE_ROW_MAJOR);
    tern_tile old = to;
    old.data = before.words;
    assert_int_equal(tern_tile_axpy(&to, &from, &scalar), TERN_OK);
    for (int row = 0; row < VALID_ROWS; row++) {
        for (int column = 0; column < VALID_COLUMNS; column++) {
            double exact = get_float(TERN_F32, at(&old, row, column)) +
                           0.375 * get_float(TERN_F32, at(&from, row, column));
            assert_true(is_nearest(TERN_F32, at(&to, row, column), exact));
        }
    }
    to.dtype = from.dtype = TERN_I32;
    assert_int_equal(tern_tile_axpy(&to, &from, &scalar), TERN_ERR_ARG);
}

static void matrices_are_multiplied(void **state)
{
    enum { M = 7, K = 19, N = 11, WIDE = 24 };
    static const tern_dtype dtypes[] = {TERN_F32, TERN_F16, TERN_BF16, TERN_I8};
    static uint32_t memories[3][WIDE * WIDE];
    for (int d = 0; d < 4; d++) {
        for (int orders = 0; orders < 8; orders++) {
            tern_dtype dtype = dtypes[d];
            tern_dtype sum_dtype = dtype == TERN_I8 ? TERN_I32 : TERN_F32;
            tern_tile a = {memories[1], dtype, WIDE, WIDE, M, K, 0, (tern_tile_order)(orders & 1),
                           NULL};
            tern_tile b = {memories[2], dtype, WIDE, WIDE,
                           K,           N,     0,    (tern_tile_order)(orders >> 1 & 1),
                           NULL};
            tern_tile to = {memories[0], sum_dtype, WIDE, WIDE,
                            M,           N,         0,    (tern_tile_order)(orders >> 2),
                            NULL};
            double values[2][WIDE][WIDE];
            uint64_t state_of = 8 * (uint64_t)d + (uint64_t)orders + 1;
            for (int side = 0; side < 2; side++) {
                for (int i = 0; i < WIDE * WIDE; i++) {
                    const tern_tile *tile = side == 0 ? &a : &b;
                    int value = (int)(random_next(&state_of) % 17) - 8;
                    tern_tile one = tern_tile_2d(at(tile, i / WIDE, i % WIDE), dtype, 1, 1);
                    tern_tile number = tern_tile_2d(&value, TERN_I32, 1, 1);
                    assert_int_equal(tern_tile_convert(&one, &number), TERN_OK);
                    values[side][i / WIDE][i % WIDE] = value;
                }
            }
            for (int accumulate = 0; accumulate <= 1; accumulate++) {
                if (accumulate == 0) {
                    memset(memories[0], 0x11, sizeof memories[0]);
                }
                assert_int_equal(tern_tile_matmul(&to, &a, &b, accumulate), TERN_OK);
                for (int row = 0; row < WIDE; row++) {
                    for (int column = 0; column < WIDE; column++) {
                        double sum = 0;
                        for (int k = 0; k < K; k++) {
                            sum += values[0][row][k] * values[1][k][column];
                        }
                        uint32_t word;
                        memcpy(&word, at(&to, row, column), sizeof word);
                        if (row >= M || column >= N) {
                            assert_int_equal(word, 0x11111111);
                        } else { // small integers: exact
                            double seen = sum_dtype == TERN_I32 ? (double)(int32_t)word
                                                                : get_float(TERN_F32, &word);
                            assert_true(seen == sum * (accumulate + 1));
                        }
                    }
                }
            }
        }
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    static struct memory memory;
    tern_tile to = tile_of(&memory, TERN_F32, TERN_TILE_ROW_MAJOR);
    tern_tile small = to;
    tern_tile other = to;
    tern_tile none = to;
    tern_tile strange = to;
    float scalar = 1;
    small.valid_rows--;
    other.dtype = TERN_I32;
    none.data = NULL;
    strange.dtype = (tern_dtype)77;
    assert_int_equal(tern_tile_combine(&to, &to, &small, TERN_TILE_ADD), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "b has 6 valid rows of 301 elements, and 7 of 301"));
    assert_int_equal(tern_tile_combine(&to, &other, &to, TERN_TILE_ADD), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "a has i32, and 'to' f32"));
    assert_int_equal(tern_tile_combine(&none, &to, &to, TERN_TILE_ADD), TERN_ERR_ARG);
    assert_int_equal(tern_tile_combine(&to, NULL, &to, TERN_TILE_ADD), TERN_ERR_ARG);
    assert_int_equal(tern_tile_combine(&to, &to, &strange, TERN_TILE_ADD), TERN_ERR_ARG);
    assert_int_equal(tern_tile_combine(&to, &to, &to, (tern_tile_op)11), TERN_ERR_ARG);
    assert_int_equal(tern_tile_combine_scalar(&to, &to, NULL, TERN_TILE_ADD), TERN_ERR_ARG);
    assert_int_equal(tern_tile_fill(&to, NULL), TERN_ERR_ARG);
    assert_int_equal(tern_tile_fill(&strange, &scalar), TERN_ERR_ARG);
    assert_int_equal(tern_tile_convert(&to, &small), TERN_ERR_ARG);
    assert_int_equal(tern_tile_matmul(&to, &to, &to, 0), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "expected M of K, K of N, M of N"));
    assert_int_equal(tern_tile_matmul(&to, NULL, &to, 0), TERN_ERR_ARG);
    strange = to;
    strange.order = (tern_tile_order)2;
    assert_int_equal(tern_tile_fill(&strange, &scalar), TERN_ERR_ARG);
}

// f32 to f16 and bf16, in a tensor with strides, and added.
static void an_accumulator_is_stored_in_halves(void **state)
{
    static struct memory memory;
    static uint16_t halves[VALID_ROWS * 2 * COLUMNS];
    fill_random(&memory, TERN_F32, 9);
    tern_tile tile = tile_of(&memory, TERN_F32, TERN_TILE_ROW_MAJOR);
    for (int dtype = TERN_F16; dtype <= TERN_BF16; dtype++) {
        for (int stride = 1; stride <= 2; stride++) {
            memset(halves, 0, sizeof halves);
            tern_tensor to = tern_tensor_2d(halves, (tern_dtype)dtype, VALID_ROWS, VALID_COLUMNS,
                                            (int64_t)2 * COLUMNS);
            to.stride[4] = stride;
            assert_int_equal(tern_tile_store(&to, &tile, TERN_ATOMIC_NONE), TERN_OK);
            for (int row = 0; row < VALID_ROWS; row++) {
                for (int column = 0; column < VALID_COLUMNS; column++) {
                    const uint16_t *seen = &halves[row * 2 * COLUMNS + column * stride];
                    assert_true(is_nearest((tern_dtype)dtype, seen,
                                           get_float(TERN_F32, at(&tile, row, column))));
                    assert_true(stride == 1 || seen[1] == 0);
                }
            }
            uint16_t first = halves[0];
            assert_int_equal(tern_tile_store(&to, &tile, TERN_ATOMIC_ADD), TERN_OK);
            assert_true(get_float((tern_dtype)dtype, &halves[0]) ==
                        2 * get_float((tern_dtype)dtype, &first));
        }
    }
    tern_tensor wrong = tern_tensor_2d(halves, TERN_I16, 1, 1, 1);
    assert_int_equal(tern_tile_store(&wrong, &tile, TERN_ATOMIC_NONE), TERN_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_combined),
        cmocka_unit_test(a_scalar_is_an_element),
        cmocka_unit_test(rows_are_added_up),
        cmocka_unit_test(columns_are_combined_with_rows),
        cmocka_unit_test(powers_of_e),
        cmocka_unit_test(single_elements),
        cmocka_unit_test(numbers_are_converted),
        cmocka_unit_test(parts_are_extracted),
        cmocka_unit_test(axpy_adds),
        cmocka_unit_test(matrices_are_multiplied),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(an_accumulator_is_stored_in_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
