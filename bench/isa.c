// SPDX-License-Identifier: Apache-2.0
// The kernel instructions against what memory allows, under `tern run -n 2`: put and get of tensors
// against memcpy into and out of the same memory, rows of 512 bytes, a reduction of eight tensors
// against copying as many bytes, notify to wait on tensors, and launching a kernel. "name value
// unit" lines; ratios are medians of pairs taken in turn.

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "tern/isa.h"
#include "tern/stream.h"
#include "tern/window.h"

enum { PAIRS = 41, ROUNDS = 800, TILE_ELEMENTS = 16384, ROW_ELEMENTS = 128, MEMBERS = 8 };

#define MOST ((size_t)64 << 20)

static tern_window *window;
static float *local;
static float tile_memory[2][TILE_ELEMENTS];

static double now_ns(void)
{
    return cli_now_us() * 1e3;
}

static tern_tile tile_of(int which, int rows, int columns)
{
    tern_tile tile = tern_tile_2d(tile_memory[which], TERN_F32, rows, columns);
    tile.dynamic = TERN_TILE_ROWS | TERN_TILE_COLUMNS;
    return tile;
}

static float *part(int of_rank)
{
    return tern_window_address(window, of_rank);
}

// Several in turn where one is short.
static void bench_move(size_t bytes, bool puts)
{
    double ratios[PAIRS];
    int pairs = bytes > (size_t)4 << 20 ? 9 : PAIRS;
    int runs = bytes < (size_t)1 << 20 ? (int)(((size_t)1 << 20) / bytes) : 1;
    float *to = puts ? part(1) : local;
    float *from = puts ? local : part(1);
    tern_tensor to_tensor = tern_tensor_1d(to, TERN_F32, (int64_t)(bytes / sizeof *to));
    tern_tensor from_tensor = tern_tensor_1d(from, TERN_F32, (int64_t)(bytes / sizeof *to));
    for (int pair = -1; pair < pairs; pair++) { // -1: once for nothing
        double begin = now_ns();
        for (int i = 0; i < runs; i++) {
            memcpy(to, from, bytes);
            __asm__ __volatile__("" ::: "memory");
        }
        double middle = now_ns();
        for (int i = 0; i < runs; i++) {
            tern_tile tile = tile_of(0, 1, TILE_ELEMENTS);
            must(puts ? tern_tensor_put(&to_tensor, &from_tensor, &tile, NULL, TERN_ATOMIC_NONE)
                      : tern_tensor_get(&to_tensor, &from_tensor, &tile, NULL));
        }
        if (pair >= 0) {
            ratios[pair] = (middle - begin) / (now_ns() - middle);
        }
    }
    char name[64];
    snprintf(name, sizeof name, "%s_to_memcpy_%zuKiB", puts ? "put" : "get", bytes >> 10);
    report(name, cli_median(ratios, pairs), "x");
}

// Every second 512 bytes here to three of four there.
static void bench_rows(void)
{
    enum { ROWS = 8192 };
    double ratios[PAIRS];
    tern_tensor from = tern_tensor_2d(local, TERN_F32, ROWS, ROW_ELEMENTS, 2 * ROW_ELEMENTS);
    tern_tensor to = tern_tensor_2d(part(1), TERN_F32, ROWS, ROW_ELEMENTS, 192);
    for (int pair = -1; pair < PAIRS; pair++) {
        double begin = now_ns();
        memcpy(part(1), local, (size_t)ROWS * ROW_ELEMENTS * sizeof(float));
        double middle = now_ns();
        tern_tile tile = tile_of(0, ROW_ELEMENTS, ROW_ELEMENTS);
        must(tern_tensor_put(&to, &from, &tile, NULL, TERN_ATOMIC_NONE));
        if (pair >= 0) {
            ratios[pair] = (middle - begin) / (now_ns() - middle);
        }
    }
    report("put_rows_to_memcpy", cli_median(ratios, PAIRS), "x");
}

// Reading 8 tensors of 4 MiB and writing one: as many bytes as a copy of 18 MiB reads and writes.
static void bench_reduce(void)
{
    enum { ROWS = 64, COLUMNS = 16384 };
    const size_t count = (size_t)ROWS * COLUMNS;
    double ratios[PAIRS];
    tern_tensor members[MEMBERS];
    for (int i = 0; i < MEMBERS; i++) {
        members[i] =
            tern_tensor_2d(part(i % 2) + (size_t)(i / 2) * count, TERN_F32, ROWS, COLUMNS, COLUMNS);
    }
    tern_group group = {members, MEMBERS, 0};
    tern_tensor to = tern_tensor_2d(local, TERN_F32, ROWS, COLUMNS, COLUMNS);
    for (int pair = -1; pair < PAIRS; pair++) {
        double begin = now_ns();
        memcpy(local, part(1), count * sizeof(float) * (MEMBERS + 1) / 2);
        double middle = now_ns();
        tern_tile acc = tile_of(0, 1, COLUMNS);
        tern_tile recv = tile_of(1, 1, COLUMNS);
        must(tern_group_reduce(&group, &to, &acc, &recv, NULL, TERN_SUM));
        if (pair >= 0) {
            ratios[pair] = (middle - begin) / (now_ns() - middle);
        }
    }
    report("reduce_to_copy", cli_median(ratios, PAIRS), "x");
}

// There and back, both ranks.
static void bench_notify(void)
{
    double times[BATCHES];
    int32_t *words = (int32_t *)part(rank) + (MOST / sizeof(int32_t) - 16);
    int32_t *there = (int32_t *)part(1 - rank) + (MOST / sizeof(int32_t) - 16);
    tern_tensor own = tern_tensor_1d(words, TERN_I32, 1);
    tern_tensor other = tern_tensor_1d(there, TERN_I32, 1);
    int32_t round = 0;
    for (int batch = 0; batch < BATCHES; batch++) {
        double begin = now_ns();
        for (int i = 0; i < ROUNDS; i++) {
            round++;
            if (rank == 0) {
                must(tern_tensor_notify(&other, 1, TERN_NOTIFY_ADD));
            }
            must(tern_tensor_wait(&own, TERN_CMP_GE, round, TERN_TIMEOUT_DEFAULT));
            if (rank == 1) {
                must(tern_tensor_notify(&other, 1, TERN_NOTIFY_ADD));
            }
        }
        times[batch] = (now_ns() - begin) / ROUNDS / 2 * 1e-3;
    }
    report("tensor_notify", cli_median(times, BATCHES), "us");
}

static int do_nothing(void *args)
{
    (void)args;
    return TERN_OK;
}

static void bench_launch(int blocks)
{
    double times[BATCHES];
    char name[64];
    tern_stream *stream;
    must(tern_stream_create(&stream));
    for (int batch = -1; batch < BATCHES; batch++) {
        double begin = now_ns();
        for (int i = 0; i < 20; i++) {
            must(tern_stream_launch(stream,
                                    &(tern_stream_kernel){.kernel = do_nothing, .blocks = blocks}));
            must(tern_stream_sync(stream, TERN_TIMEOUT_DEFAULT));
        }
        if (batch >= 0) {
            times[batch] = (now_ns() - begin) / 20 * 1e-3;
        }
    }
    snprintf(name, sizeof name, "launch_%d", blocks);
    report(name, cli_median(times, BATCHES), "us");
    must(tern_stream_destroy(stream));
}

int main(void)
{
    must(tern_init(NULL, &world));
    rank = tern_comm_rank(world);
    nranks = tern_comm_size(world);
    must(tern_window_create(world, MOST, NULL, &window));
    local = aligned_alloc(4096, MOST);
    if (nranks != 2 || local == NULL) {
        fprintf(stderr, "bench_isa needs 2 ranks, and 64 MiB each\n");
        return 2;
    }
    memset(local, 1, MOST);
    memset(part(rank), 0, MOST);
    must(tern_comm_barrier(world));
    bench_notify();
    for (size_t bytes = 4096; rank == 0 && bytes <= MOST; bytes *= 4) {
        bench_move(bytes, true);
        bench_move(bytes, false);
    }
    if (rank == 0) {
        bench_rows();
        bench_reduce();
        bench_launch(1);
        bench_launch(24);
    }
    must(tern_comm_barrier(world));
    must(tern_window_destroy(window));
    must(tern_comm_destroy(world));
    free(local);
    return 0;
}
