// SPDX-License-Identifier: Apache-2.0
// An AllReduce of one's own, in C. ReduceScatter: every rank adds its numbers to the output of the
// part's owner, its own part too, so outputs are 0 before. A barrier. AllGather: the owner gives
// its part to all. Variant A moves by put, through two tiles in turn; variant B loads and stores
// tiles itself, where work on them would go between.

#include <stdint.h>
#include <string.h>

#include "job.h"
#include "part.h"
#include "phase_barrier.h"
#include "tern/block.h"
#include "tern/isa.h"
#include "tern/stream.h"

enum { COUNT = 100003, BLOCKS = 3, TILE_COLUMNS = 4096 };

struct all_reduce {
    const tern_context *context;
    int32_t *signals;
    float *input, *output;
};

// Two tiles of a row, one after the other in UB.
static int make_tiles(tern_tile tiles[2])
{
    const size_t bytes = TILE_COLUMNS * sizeof(float);
    int status = TERN_OK;
    for (size_t i = 0; i < 2 && status == TERN_OK; i++) {
        tiles[i] = tern_tile_2d(NULL, TERN_F32, 1, TILE_COLUMNS);
        tiles[i].dynamic = TERN_TILE_COLUMNS;
        status = tern_buffer_address(TERN_BUFFER_UB, i * bytes, bytes, &tiles[i].data);
    }
    return status;
}

// What this block moves of a rank's part.
static struct part block_part(const struct all_reduce *call, int owner)
{
    struct part own = part_of((struct part){0, COUNT}, (int)call->context->rankNum, owner);
    return part_of(own, tern_block_count(), tern_block_index());
}

static tern_tensor output_of(const struct all_reduce *call, int rank, int first, int count)
{
    float *output = tern_context_remote(call->context, call->output, (uint32_t)rank);
    return tern_tensor_1d(output + first, TERN_F32, count);
}

static int put(const tern_tensor *to, const tern_tensor *from, tern_tile tiles[2],
               tern_atomic atomic)
{
    tiles[0].valid_columns = tiles[1].valid_columns = TILE_COLUMNS; // was that of a last piece
    return tern_tensor_put(to, from, &tiles[0], &tiles[1], atomic);
}

static int all_reduce_put(void *args)
{
    const struct all_reduce *call = args;
    int rank = (int)call->context->rankId;
    int nranks = (int)call->context->rankNum;
    tern_tile tiles[2];
    int status = make_tiles(tiles);
    for (int step = 0; step < nranks && status == TERN_OK; step++) {
        int owner = (rank + step) % nranks;
        struct part part = block_part(call, owner);
        tern_tensor to = output_of(call, owner, part.first, part.count);
        tern_tensor from = tern_tensor_1d(call->input + part.first, TERN_F32, part.count);
        status = put(&to, &from, tiles, TERN_ATOMIC_ADD);
    }
    if (status == TERN_OK) {
        status = phase_barrier(call->context, call->signals, 1);
    }
    struct part part = block_part(call, rank);
    tern_tensor from = output_of(call, rank, part.first, part.count);
    for (int step = 1; step < nranks && status == TERN_OK; step++) {
        tern_tensor to = output_of(call, (rank + step) % nranks, part.first, part.count);
        status = put(&to, &from, tiles, TERN_ATOMIC_NONE);
    }
    return status;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

// A part of the input to the output of its owner, by turns through both tiles.
static int add_part(const struct all_reduce *call, tern_tile tiles[2], int owner)
{
    struct part part = block_part(call, owner);
    int end = part.first + part.count;
    int status = TERN_OK;
    for (int at = part.first, k = 0; at < end && status == TERN_OK; at += TILE_COLUMNS, k++) {
        tern_tile *tile = &tiles[k % 2];
        tile->valid_columns = smaller(TILE_COLUMNS, end - at);
        tern_tensor from = tern_tensor_1d(call->input + at, TERN_F32, tile->valid_columns);
        tern_tensor to = output_of(call, owner, at, tile->valid_columns);
        status = tern_tile_load(tile, &from);
        if (status == TERN_OK) {
            tern_flag_set(TERN_PIPE_MTE2, TERN_PIPE_MTE3, k % 2);
            tern_flag_wait(TERN_PIPE_MTE2, TERN_PIPE_MTE3, k % 2);
            status = tern_tile_store(&to, tile, TERN_ATOMIC_ADD);
            tern_flag_set(TERN_PIPE_MTE3, TERN_PIPE_MTE2, k % 2); // the tile is free again
            tern_flag_wait(TERN_PIPE_MTE3, TERN_PIPE_MTE2, k % 2);
        }
    }
    return status;
}

// The caller's part of the sums to all others: each piece is loaded once.
static int give_part(const struct all_reduce *call, tern_tile *tile)
{
    int rank = (int)call->context->rankId;
    int nranks = (int)call->context->rankNum;
    struct part part = block_part(call, rank);
    int end = part.first + part.count;
    int status = TERN_OK;
    for (int at = part.first; at < end && status == TERN_OK; at += TILE_COLUMNS) {
        tile->valid_columns = smaller(TILE_COLUMNS, end - at);
        tern_tensor from = output_of(call, rank, at, tile->valid_columns);
        status = tern_tile_load(tile, &from);
        for (int step = 1; step < nranks && status == TERN_OK; step++) {
            tern_tensor to = output_of(call, (rank + step) % nranks, at, tile->valid_columns);
            status = tern_tile_store(&to, tile, TERN_ATOMIC_NONE);
        }
        tern_pipe_barrier(TERN_PIPE_ALL);
    }
    return status;
}

static int all_reduce_tiles(void *args)
{
    const struct all_reduce *call = args;
    int rank = (int)call->context->rankId;
    int nranks = (int)call->context->rankNum;
    tern_tile tiles[2];
    int status = make_tiles(tiles);
    for (int step = 0; step < nranks && status == TERN_OK; step++) {
        status = add_part(call, tiles, (rank + step) % nranks);
    }
    if (status == TERN_OK) {
        status = phase_barrier(call->context, call->signals, 1);
    }
    return status < 0 ? status : give_part(call, &tiles[0]);
}

// Integers, whose sums are exact.
static float value_of(int rank, int i)
{
    return (float)(i % 1000 + 10 * rank);
}

static void verify(const struct job *job, const float *output, const char *variant)
{
    for (int i = 0; i < COUNT; i++) {
        float expected =
            (float)job->nranks * value_of(0, i) + (float)(5 * job->nranks * (job->nranks - 1));
        if (output[i] != expected) {
            job_fail(job, "variant %s: sum %d is %g, expected %g", variant, i, (double)output[i],
                     (double)expected);
        }
    }
}

static void run(const struct job *job, tern_stream *stream, const tern_stream_kernel *kernel)
{
    const struct all_reduce *call = kernel->args;
    memset(call->signals, 0, PHASE_WORDS * sizeof *call->signals);
    memset(call->output, 0, COUNT * sizeof *call->output);
    job_meet(job);
    job_check(job, "tern_stream_launch", tern_stream_launch(stream, kernel));
    job_check(job, "tern_stream_sync", tern_stream_sync(stream, TERN_TIMEOUT_DEFAULT));
    job_meet(job);
    verify(job, call->output, kernel->name);
}

int main(void)
{
    struct job job;
    tern_stream *stream;
    job_begin(&job, "pattern_all_reduce_c");
    if (job.nranks > PHASE_RANKS_MAX) {
        job_fail(&job, "there are signals for %d ranks, not for %d", PHASE_RANKS_MAX, job.nranks);
    }
    job_window(&job, JOB_SIGNAL_BYTES + COUNT * sizeof(float));
    job_check(&job, "tern_stream_create", tern_stream_create(&stream));
    struct all_reduce call = {.context = job.context,
                              .signals = job_at(&job, job.rank, 0),
                              .input = job_memory(&job, COUNT * sizeof(float)),
                              .output = job_at(&job, job.rank, JOB_SIGNAL_BYTES)};
    for (int i = 0; i < COUNT; i++) {
        call.input[i] = value_of(job.rank, i);
    }
    tern_stream_kernel kernel = {.name = "A",
                                 .blocks = BLOCKS,
                                 .args = &call,
                                 .args_bytes = sizeof call};
    kernel.kernel = all_reduce_put;
    run(&job, stream, &kernel);
    kernel.name = "B";
    kernel.kernel = all_reduce_tiles;
    run(&job, stream, &kernel);
    job_check(&job, "tern_stream_destroy", tern_stream_destroy(stream));
    job_end(&job, "%d f32 by put, and by load and store", COUNT);
    return 0;
}
