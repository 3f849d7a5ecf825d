// SPDX-License-Identifier: Apache-2.0
// Compute and communication of gemm_all_reduce in C (gemm_kernels.h).
#include "gemm_kernels.h"

#include "phase_barrier.h"
#include "tern/block.h"
#include "tern/isa.h"
#include "tern/tile.h"

// Returns from the calling function what the expression returns when that is an error.
#define TRY(expression)                                                                            \
    do {                                                                                           \
        int status_ = (expression);                                                                \
        if (status_ < 0) {                                                                         \
            return status_;                                                                        \
        }                                                                                          \
    } while (0)

enum { HALF_BYTES = 2 };

// A box of the m x n product, or part of a or b.
static tern_tensor matrix_at(void *data, size_t offset, int rows, int columns, int row_stride)
{
    return tern_tensor_2d((char *)data + offset * HALF_BYTES, TERN_F16, rows, columns, row_stride);
}

static tern_tensor box_at(struct gemm_shape shape, void *matrix, struct gemm_box box)
{
    return matrix_at(matrix, gemm_offset(shape, box), box.rows, box.columns, shape.n);
}

// A tile on the chip, of which these rows and columns count.
static int make_tile(tern_tile *tile, tern_buffer buffer, size_t at, tern_dtype dtype, int rows,
                     int columns)
{
    size_t bytes = (size_t)rows * (size_t)columns * (dtype == TERN_F32 ? 4 : HALF_BYTES);
    *tile = tern_tile_2d(NULL, dtype, rows, columns);
    tile->dynamic = TERN_TILE_ROWS | TERN_TILE_COLUMNS;
    return tern_buffer_address(buffer, at * bytes, bytes, &tile->data);
}

static void resize(tern_tile *tile, int rows, int columns)
{
    tile->valid_rows = rows;
    tile->valid_columns = columns;
}

// On the chip: parts of a and b, less of their depth, and the tile.
struct chip {
    tern_tile a1, b1, a0, b0, c;
};

static int make_chip(struct chip *chip)
{
    TRY(make_tile(&chip->a1, TERN_BUFFER_L1, 0, TERN_F16, GEMM_TILE_ROWS, GEMM_DEPTH_L1));
    TRY(make_tile(&chip->b1, TERN_BUFFER_L1, 1, TERN_F16, GEMM_DEPTH_L1, GEMM_TILE_COLUMNS));
    TRY(make_tile(&chip->a0, TERN_BUFFER_L0A, 0, TERN_F16, GEMM_TILE_ROWS, GEMM_DEPTH_L0));
    TRY(make_tile(&chip->b0, TERN_BUFFER_L0B, 0, TERN_F16, GEMM_DEPTH_L0, GEMM_TILE_COLUMNS));
    return make_tile(&chip->c, TERN_BUFFER_L0C, 0, TERN_F32, GEMM_TILE_ROWS, GEMM_TILE_COLUMNS);
}

// c (+)= the product of what is in L1.
static int multiply(struct chip *chip, int accumulate)
{
    int depth = chip->a1.valid_columns;
    for (int k = 0; k < depth; k += GEMM_DEPTH_L0) {
        int part = gemm_at_most(depth - k, GEMM_DEPTH_L0);
        resize(&chip->a0, chip->c.valid_rows, part);
        resize(&chip->b0, part, chip->c.valid_columns);
        TRY(tern_tile_extract(&chip->a0, &chip->a1, 0, k));
        TRY(tern_tile_extract(&chip->b0, &chip->b1, k, 0));
        TRY(tern_tile_matmul(&chip->c, &chip->a0, &chip->b0, accumulate || k > 0));
    }
    return TERN_OK;
}

static int compute_tile(const struct gemm_args *args, struct chip *chip, int tile)
{
    struct gemm_shape shape = args->shape;
    struct gemm_box box = gemm_tile_box(shape, tile);
    resize(&chip->c, box.rows, box.columns);
    for (int k = 0; k < shape.k; k += GEMM_DEPTH_L1) {
        int depth = gemm_at_most(shape.k - k, GEMM_DEPTH_L1);
        size_t at_a = (size_t)box.row * (size_t)shape.k + (size_t)k;
        size_t at_b = (size_t)k * (size_t)shape.n + (size_t)box.column;
        tern_tensor a = matrix_at(args->a, at_a, box.rows, depth, shape.k);
        tern_tensor b = matrix_at(args->b, at_b, depth, box.columns, shape.n);
        resize(&chip->a1, box.rows, depth);
        resize(&chip->b1, depth, box.columns);
        TRY(tern_tile_load(&chip->a1, &a));
        TRY(tern_tile_load(&chip->b1, &b));
        TRY(multiply(chip, k > 0));
    }
    tern_tensor to = box_at(shape, args->partial, box);
    return tern_tile_store(&to, &chip->c, TERN_ATOMIC_NONE);
}

// The slot, then the count, for a reader who looks at the count first.
static void enqueue(struct PerBlockQueue *queue, int32_t tile, int32_t slot)
{
    volatile int32_t *data = queue->data;
    data[slot] = tile;
    tern_fence();
    queue->tail = slot + 1;
    queue->count = slot + 1;
    tern_fence();
}

static int compute(void *memory)
{
    const struct gemm_args *args = memory;
    int block = tern_block_index();
    struct part tiles = gemm_tiles_of(args->shape, block);
    struct PerBlockQueue *queue = gemm_queue(args->queues, block);
    struct chip chip;
    TRY(make_chip(&chip));
    for (int slot = 0; slot < tiles.count; slot++) {
        TRY(compute_tile(args, &chip, tiles.first + slot));
        enqueue(queue, tiles.first + slot, slot);
    }
    return TERN_OK;
}

static int notify(const struct gemm_args *args, int word, int owner)
{
    int32_t *own = args->signals + word;
    tern_tensor signal =
        tern_tensor_1d(tern_context_remote(args->context, own, (uint32_t)owner), TERN_I32, 1);
    return tern_tensor_notify(&signal, 1, TERN_NOTIFY_ADD);
}

// A tile of this rank is added to the owner's; then the owner is told, of each subtile.
static int reduce_scatter_tile(const struct gemm_args *args, tern_tile tiles[2], int tile)
{
    struct gemm_shape shape = args->shape;
    int owner = tile % shape.nranks;
    void *output = tern_context_remote(args->context, args->output, (uint32_t)owner);
    for (int subtile = 0; subtile < GEMM_SUBTILES; subtile++) {
        struct gemm_box box = gemm_subtile_box(shape, tile, subtile);
        int number = gemm_owned_number(shape, tile, subtile);
        tern_tensor from = box_at(shape, args->partial, box);
        tern_tensor to = box_at(shape, output, box);
        TRY(tern_tensor_put(&to, &from, &tiles[0], &tiles[1], TERN_ATOMIC_ADD));
        tern_pipe_barrier(TERN_PIPE_ALL);
        TRY(notify(args, gemm_subtile_word(number), owner));
        TRY(notify(args, gemm_summary_word(shape, gemm_giver(shape, number)), owner));
    }
    return TERN_OK;
}

// 1 and the next tile of a queue, or 0; a status below 0. With `waits` it waits for one.
static int dequeue(struct PerBlockQueue *queue, int32_t *head, int waits, int32_t *tile)
{
    tern_tensor count = tern_tensor_1d((void *)(uintptr_t)&queue->count, TERN_I32, 1);
    int status = tern_tensor_test(&count, TERN_CMP_GE, *head + 1);
    if (status == 0 && waits) {
        TRY(tern_tensor_wait(&count, TERN_CMP_GE, *head + 1, TERN_TIMEOUT_DEFAULT));
        status = 1;
    }
    if (status == 1) {
        *tile = queue->data[(*head)++];
    }
    return status;
}

// Block b drains the queues b, b + blocks, ... by turns until their tiles are done.
static int reduce_scatter(const struct gemm_args *args, tern_tile tiles[2])
{
    int blocks = tern_block_count();
    int32_t heads[GEMM_COMPUTE_BLOCKS] = {0};
    int open = 1;
    for (int idle = 0; open; idle++) {
        open = 0;
        for (int i = tern_block_index(); i < args->queues->num_blocks; i += blocks) {
            struct PerBlockQueue *queue = gemm_queue(args->queues, i);
            if (heads[i] == queue->capacity) {
                continue;
            }
            int32_t tile = -1;
            int waits = args->patience > 0 && idle >= args->patience;
            int status = dequeue(queue, &heads[i], waits, &tile);
            TRY(status);
            if (status == 1) {
                TRY(reduce_scatter_tile(args, tiles, tile));
                idle = 0;
            }
            open = 1;
        }
    }
    return TERN_OK;
}

static int all_gather(const struct gemm_args *args, tern_tile tiles[2])
{
    struct gemm_shape shape = args->shape;
    int block = tern_block_index();
    int rank = (int)args->context->rankId;
    int given = gemm_given_by(shape, rank, block);
    tern_tensor summary =
        tern_tensor_1d(args->signals + gemm_summary_word(shape, block), TERN_I32, 1);
    TRY(tern_tensor_wait(&summary, TERN_CMP_GE, given * shape.nranks, TERN_TIMEOUT_DEFAULT));
    for (int i = 0; i < given; i++) {
        int number = gemm_first_given(shape, block) + i * shape.comm_blocks;
        int tile = gemm_owned_tile(shape, rank, number);
        struct gemm_box box = gemm_subtile_box(shape, tile, number % GEMM_SUBTILES);
        tern_tensor from = box_at(shape, args->output, box);
        for (int step = 1; step < shape.nranks; step++) {
            uint32_t peer = (uint32_t)((rank + step) % shape.nranks);
            tern_tensor to =
                box_at(shape, tern_context_remote(args->context, args->output, peer), box);
            TRY(tern_tensor_put(&to, &from, &tiles[0], &tiles[1], TERN_ATOMIC_NONE));
        }
    }
    return TERN_OK;
}

static int communicate(void *memory)
{
    const struct gemm_args *args = memory;
    tern_tile tiles[2];
    for (size_t i = 0; i < 2; i++) {
        TRY(make_tile(&tiles[i], TERN_BUFFER_UB, i, TERN_F16, GEMM_SUBTILE_ROWS,
                      GEMM_TILE_COLUMNS));
    }
    TRY(reduce_scatter(args, tiles));
    TRY(phase_barrier(args->context, args->signals, 1));
    return all_gather(args, tiles);
}

static int launch(tern_stream *stream, const struct gemm_args *args, tern_block_kernel kernel,
                  const char *name, int blocks)
{
    return tern_stream_launch(stream, &(tern_stream_kernel){.kernel = kernel,
                                                            .name = name,
                                                            .blocks = blocks,
                                                            .args = args,
                                                            .args_bytes = sizeof *args});
}

int gemm_compute(tern_stream *stream, const struct gemm_args *args)
{
    return launch(stream, args, compute, "compute", args->shape.compute_blocks);
}

int gemm_communicate(tern_stream *stream, const struct gemm_args *args)
{
    return launch(stream, args, communicate, "communicate", args->shape.comm_blocks);
}
