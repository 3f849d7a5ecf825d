// SPDX-License-Identifier: Apache-2.0
// What the kernels of gemm_all_reduce and their host agree on: how the product is cut into tiles,
// who owns which, the queues of tiles that are ready, and the words of the signals.
//
// The m x n product is cut into tiles of 128 x 256, row after row, smaller at the ends. Tile t is
// owned by rank t mod nranks, which adds up what all ranks have computed of it. A tile is moved as
// two subtiles: its upper 64 rows, and the rest.
#ifndef PATTERNS_GEMM_LAYOUT_H
#define PATTERNS_GEMM_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "part.h"

enum {
    GEMM_TILE_ROWS = 128,
    GEMM_TILE_COLUMNS = 256,
    GEMM_SUBTILE_ROWS = 64,
    GEMM_SUBTILES = 2,         // of a tile
    GEMM_DEPTH_L1 = 256,       // of k that is in L1 at a time, twice: 2 * 192 KiB
    GEMM_DEPTH_L0 = 128,       // of k that is in L0A and L0B: 32 and 64 KiB
    GEMM_RANKS_MAX = 8,        // those of the phase barrier
    GEMM_COMPUTE_BLOCKS = 32,  // at most
    GEMM_COMM_BLOCKS_MAX = 64, // at most
    GEMM_LINE_WORDS = 16,
};

struct gemm_shape {
    int32_t m, k, n, nranks, compute_blocks, comm_blocks;
};

static inline int gemm_tiles(struct gemm_shape shape)
{
    int rows = (shape.m + GEMM_TILE_ROWS - 1) / GEMM_TILE_ROWS;
    int columns = (shape.n + GEMM_TILE_COLUMNS - 1) / GEMM_TILE_COLUMNS;
    return rows * columns;
}

// A part of the product.
struct gemm_box {
    int row, column, rows, columns;
};

static inline int gemm_at_most(int count, int most)
{
    return count < most ? count : most;
}

static inline struct gemm_box gemm_tile_box(struct gemm_shape shape, int tile)
{
    int per_row = (shape.n + GEMM_TILE_COLUMNS - 1) / GEMM_TILE_COLUMNS;
    struct gemm_box box;
    box.row = tile / per_row * GEMM_TILE_ROWS;
    box.column = tile % per_row * GEMM_TILE_COLUMNS;
    box.rows = gemm_at_most(shape.m - box.row, GEMM_TILE_ROWS);
    box.columns = gemm_at_most(shape.n - box.column, GEMM_TILE_COLUMNS);
    return box;
}

// Subtile 0 or 1 of a tile; of a low tile, the second has no rows.
static inline struct gemm_box gemm_subtile_box(struct gemm_shape shape, int tile, int subtile)
{
    struct gemm_box box = gemm_tile_box(shape, tile);
    int above = gemm_at_most(subtile * GEMM_SUBTILE_ROWS, box.rows);
    box.row += above;
    box.rows = gemm_at_most(box.rows - above, GEMM_SUBTILE_ROWS);
    return box;
}

static inline size_t gemm_offset(struct gemm_shape shape, struct gemm_box box)
{
    return (size_t)box.row * (size_t)shape.n + (size_t)box.column;
}

// How many subtiles a rank owns; its number s is subtile s mod 2 of its tile s / 2.
static inline int gemm_owned(struct gemm_shape shape, int rank)
{
    return (gemm_tiles(shape) - rank + shape.nranks - 1) / shape.nranks * GEMM_SUBTILES;
}

static inline int gemm_owned_number(struct gemm_shape shape, int tile, int subtile)
{
    return tile / shape.nranks * GEMM_SUBTILES + subtile;
}

static inline int gemm_owned_tile(struct gemm_shape shape, int rank, int number)
{
    return number / GEMM_SUBTILES * shape.nranks + rank;
}

// The block that gives a subtile to the other ranks. Blocks that have one more tile to reduce have
// one less to give.
static inline int gemm_giver(struct gemm_shape shape, int number)
{
    return shape.comm_blocks - 1 - number % shape.comm_blocks;
}

// What a block gives: the subtile of this number, and every comm_blocks-th from there on; so many.
static inline int gemm_first_given(struct gemm_shape shape, int block)
{
    return shape.comm_blocks - 1 - block;
}

static inline int gemm_given_by(struct gemm_shape shape, int rank, int block)
{
    int rest = gemm_owned(shape, rank) - gemm_first_given(shape, block);
    return rest > 0 ? (rest - 1) / shape.comm_blocks + 1 : 0;
}

// Words of signals in each window: those of the phase barrier; for each owned subtile, from how
// many ranks it has been added; for each communication block, how many additions to the subtiles it
// gives there were, on lines of their own.
static inline int gemm_subtile_word(int number)
{
    return 10 + number;
}

static inline int gemm_summary_word(struct gemm_shape shape, int block)
{
    int end = gemm_subtile_word(gemm_owned(shape, 0));
    int lines = (end + GEMM_LINE_WORDS - 1) / GEMM_LINE_WORDS;
    return (lines + block) * GEMM_LINE_WORDS;
}

static inline int gemm_signal_words(struct gemm_shape shape)
{
    return gemm_summary_word(shape, shape.comm_blocks);
}

// The tiles that are ready: a queue per compute block, which alone writes it, behind one another.
// One communication block alone reads it. No slot is used twice.
struct MultiBlockQueueSet {
    int32_t num_blocks;
    int32_t total_tiles;
    int32_t tiles_per_block; // rounded up
    int32_t consumed_count;
    int32_t pad[4];
    int32_t queue_offsets[GEMM_COMPUTE_BLOCKS]; // bytes from the set's begin
} __attribute__((aligned(64)));

struct PerBlockQueue {
    volatile int32_t tail;
    volatile int32_t count; // tiles that have been enqueued; the host sets it to 0
    int32_t capacity;       // the tiles of this block
    int32_t block_id;
    int32_t pad[4];
    int32_t data[8]; // and more: the tiles, -1 before
} __attribute__((aligned(64)));

// In kernel-cc's C++, static_assert; in C17, _Static_assert.
#ifdef __cplusplus
static_assert(offsetof(PerBlockQueue, data) == 32 && sizeof(PerBlockQueue) == 64,
              "the layout is fixed");
static_assert(offsetof(MultiBlockQueueSet, queue_offsets) == 32, "the layout is fixed");
#else
_Static_assert(offsetof(struct PerBlockQueue, data) == 32 && sizeof(struct PerBlockQueue) == 64,
               "the layout is fixed");
_Static_assert(offsetof(struct MultiBlockQueueSet, queue_offsets) == 32, "the layout is fixed");
#endif

static inline size_t gemm_queue_bytes(int capacity)
{
    return (60 + 4 * (size_t)capacity + 63) / 64 * 64;
}

static inline struct part gemm_tiles_of(struct gemm_shape shape, int block)
{
    struct part all = {0, gemm_tiles(shape)};
    return part_of(all, shape.compute_blocks, block);
}

static inline struct PerBlockQueue *gemm_queue(struct MultiBlockQueueSet *set, int block)
{
    return (struct PerBlockQueue *)(void *)((char *)set + set->queue_offsets[block]);
}

#endif
