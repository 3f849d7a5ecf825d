// SPDX-License-Identifier: Apache-2.0
// Shapes and tiles that the tests of tensor instructions go through, numbers to move, and places in
// a window for them. The first 256 bytes of each window are left free.
#ifndef TERN_ISA_TEST_TENSOR_CASES_H
#define TERN_ISA_TEST_TENSOR_CASES_H

#include "support/cmocka.h"
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/machines.h"
#include "support/ranks.h"
#include "tern/isa.h"
#include "tern/window.h"

struct tensor_case {
    tern_dtype dtype;
    int64_t shape[5];
    int32_t tile_rows, tile_columns; // valid ones
    bool short_last;                 // the tile is dynamic in both
    bool two_tiles;
};

#define SHAPE_2D(rows, columns)                                                                    \
    {                                                                                              \
        1, 1, 1, rows, columns                                                                     \
    }

static const struct tensor_case tensor_cases[] = {
    // One piece.
    {TERN_F32, SHAPE_2D(1, 256), 1, 256, false, false},
    {TERN_I32, SHAPE_2D(1, 4096), 1, 4096, false, false},
    {TERN_U8, SHAPE_2D(1, 512), 1, 512, false, false},
    {TERN_F32, SHAPE_2D(16, 16), 16, 16, false, false},
    {TERN_F32, SHAPE_2D(8, 32), 8, 32, false, false},
    {TERN_I32, SHAPE_2D(4, 64), 4, 64, false, false},
    // Pieces of whole rows.
    {TERN_F32, SHAPE_2D(128, 64), 16, 64, false, false},
    {TERN_I32, SHAPE_2D(256, 32), 32, 32, false, false},
    {TERN_F32, SHAPE_2D(512, 32), 64, 32, false, false},
    {TERN_F32, SHAPE_2D(2048, 32), 64, 32, false, false},
    {TERN_F32, SHAPE_2D(4096, 32), 64, 32, false, false},
    {TERN_F32, SHAPE_2D(2048, 64), 128, 64, false, false},
    {TERN_I32, SHAPE_2D(4096, 64), 128, 64, false, false},
    {TERN_F32, {2, 2, 1, 32, 32}, 16, 32, false, false},
    {TERN_I32, {4, 1, 1, 32, 64}, 16, 64, false, false},
    {TERN_F64, {2, 3, 2, 4, 5}, 4, 5, false, false},
    // A short last one.
    {TERN_F32, SHAPE_2D(2047, 32), 64, 32, true, false},
    {TERN_I32, SHAPE_2D(1025, 32), 64, 32, true, false},
    {TERN_F32, SHAPE_2D(4095, 32), 128, 32, true, false},
    // Pieces of rows.
    {TERN_F32, SHAPE_2D(64, 128), 16, 32, false, false},
    {TERN_I32, SHAPE_2D(128, 256), 32, 64, false, false},
    {TERN_F32, SHAPE_2D(256, 512), 64, 128, false, false},
    {TERN_F32, SHAPE_2D(65, 64), 16, 32, true, false},
    {TERN_F32, SHAPE_2D(64, 104), 16, 32, true, false},
    {TERN_F32, SHAPE_2D(65, 104), 16, 32, true, false},
    {TERN_F16, {3, 1, 2, 7, 33}, 5, 16, true, false},
    // Two tiles in turn.
    {TERN_F32, SHAPE_2D(128, 128), 16, 32, false, true},
    {TERN_I32, SHAPE_2D(256, 256), 32, 64, false, true},
    {TERN_F32, SHAPE_2D(65, 104), 16, 32, true, true},
    {TERN_F32, SHAPE_2D(7, 10), 5, 7, true, true},
    // Nothing.
    {TERN_F32, SHAPE_2D(0, 256), 1, 256, false, false},
    {TERN_F32, SHAPE_2D(16, 0), 16, 16, false, true},
};
enum { TENSOR_CASES = sizeof tensor_cases / sizeof tensor_cases[0] };

#define UNUSED __attribute__((unused)) static

// Stores a number as an element.
UNUSED void case_put_number(tern_dtype dtype, void *to, int64_t number)
{
    switch (dtype) { // each of a known length: a call of memcpy takes long under ThreadSanitizer
    case TERN_F32:
        memcpy(to, &(float){(float)number}, sizeof(float));
        break;
    case TERN_F64:
        memcpy(to, &(double){(double)number}, sizeof(double));
        break;
    case TERN_I32:
        memcpy(to, &(int32_t){(int32_t)number}, sizeof(int32_t));
        break;
    case TERN_U8:
        *(uint8_t *)to = (uint8_t)number;
        break;
    default: // the bits of any finite f16
        memcpy(to, &(uint16_t){(uint16_t)(number & 0x3bff)}, sizeof(uint16_t));
    }
}

// Of this shape, packed but for `gap` elements behind each row and each block of rows.
UNUSED tern_tensor case_tensor(void *data, tern_dtype dtype, const int64_t shape[5], int64_t gap)
{
    tern_tensor tensor = {.data = data, .dtype = dtype};
    memcpy(tensor.shape, shape, sizeof tensor.shape);
    tensor.stride[4] = 1;
    tensor.stride[3] = shape[4] + gap;
    for (int d = 2; d >= 0; d--) {
        tensor.stride[d] = shape[d + 1] * tensor.stride[d + 1] + gap;
    }
    return tensor;
}

UNUSED int64_t case_count(const int64_t shape[5])
{
    return shape[0] * shape[1] * shape[2] * shape[3] * shape[4];
}

// The address of element number i in the order of the dimensions.
UNUSED char *case_at(const tern_tensor *tensor, int64_t i)
{
    int64_t at = 0;
    for (int d = 4; d >= 0; d--) {
        at += i % tensor->shape[d] * tensor->stride[d];
        i /= tensor->shape[d];
    }
    return (char *)tensor->data + at * (int64_t)tern_dtype_size(tensor->dtype);
}

// Makes the elements of a tensor first, first + 1, …, in the order of the dimensions.
UNUSED void case_fill(const tern_tensor *tensor, int64_t first)
{
    int64_t row = tensor->shape[4];
    int64_t step = tensor->stride[4] * (int64_t)tern_dtype_size(tensor->dtype);
    for (int64_t i = 0; i < case_count(tensor->shape); i += row) {
        char *to = case_at(tensor, i);
        for (int64_t column = 0; column < row; column++) {
            case_put_number(tensor->dtype, to + column * step, first + i + column);
        }
    }
}

enum {
    AREA = 2 << 20, // bytes of the places in a window
    FREE = 256,
    POISON = 0xa5,
};

struct case_bench {
    tern_comm *comm;
    tern_window *window;
    int rank, n;
    size_t area;  // bytes of a place that this case looks at
    char *wanted; // AREA bytes
    char *tiles[2];
};

enum case_place { CASE_IN, CASE_OUT, CASE_PLACES };

UNUSED void *case_area(const struct case_bench *b, int rank, enum case_place place)
{
    return (char *)machines_address(b->window, rank) + FREE + (size_t)place * AREA;
}

UNUSED int case_open(tern_comm *comm, struct case_bench *b)
{
    alignas(64) static char wanted[AREA];
    alignas(64) static char tiles[2][256 << 10];
    *b = (struct case_bench){.comm = comm,
                             .rank = tern_comm_rank(comm),
                             .n = tern_comm_size(comm),
                             .area = AREA,
                             .wanted = wanted,
                             .tiles = {tiles[0], tiles[1]}};
    CHECK(tern_window_create(comm, FREE + (size_t)CASE_PLACES * AREA, NULL, &b->window) == TERN_OK);
    return 0;
}

// For a tensor of so many bytes. With 2 ranks all of a place is looked at; else that much, gaps and
// all, and twice as much behind it, since filling whole places would take most of a test's time.
UNUSED void case_begin(struct case_bench *b, size_t bytes)
{
    b->area = b->n == 2 || bytes >= AREA / 4 ? AREA : 4 * bytes + 4096;
    b->area = b->area < AREA ? b->area : AREA;
}

UNUSED int case_close(struct case_bench *b)
{
    CHECK(tern_window_destroy(b->window) == TERN_OK);
    return 0;
}

UNUSED tern_tile case_tile(const struct case_bench *b, const struct tensor_case *c, int which)
{
    tern_tile tile = tern_tile_2d(b->tiles[which], c->dtype, c->tile_rows, c->tile_columns + 3);
    tile.valid_columns = c->tile_columns;
    tile.dynamic = c->short_last ? TERN_TILE_ROWS | TERN_TILE_COLUMNS : 0;
    return tile;
}

// Whether the own OUT area holds these numbers in a tensor at its beginning, and poison elsewhere.
UNUSED int case_compare(const struct case_bench *b, const tern_tensor *out, int64_t first)
{
    tern_tensor wanted = *out;
    memset(b->wanted, POISON, b->area);
    wanted.data = b->wanted + ((char *)out->data - (char *)case_area(b, b->rank, CASE_OUT));
    case_fill(&wanted, first);
    CHECK(memcmp(b->wanted, case_area(b, b->rank, CASE_OUT), b->area) == 0);
    return 0;
}

#endif
