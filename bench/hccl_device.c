// SPDX-License-Identifier: Apache-2.0
// The calls of kernels by AscendC::Hccl beside the collective calls that they become, with any
// number of ranks: AllGather from Prepare to Wait, in windows, also with a stride and with two
// turns. "name value unit" lines; medians of batches taken in turn.

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hccl/hccl_comm.h"
#include "lib/hccl/hccl_client.h"
#include "job.h"
#include "tern/coll.h"
#include "tern/stream.h"
#include "tern/window.h"

enum { TASKS = 30, LIVES = 3 }; // of a batch

#define OUT_AT ((size_t)8 << 20) // bytes of windows of 64 MiB or more
#define WINDOW_BYTES ((size_t)64 << 20)

static void *context;
static HcclComm comm;
static tern_window *window; // of the host's calls

struct figure {
    const char *name;
    size_t count; // of 16-bit elements
    bool gaps;    // a stride of twice the count
    int repeat;
};

static const struct figure figures[] = {
    {"all_gather_600B", 300, false, 1},       {"all_gather_600B_stride", 300, true, 1},
    {"all_gather_600B_repeat", 300, true, 2}, {"all_gather_64KiB", 32768, false, 1},
    {"all_gather_1MiB", 524288, false, 1},    {"all_gather_1MiB_stride", 524288, true, 1},
};

struct batch {
    const struct figure *figure;
    double *us;
};

// The mean time of a task in a batch of them.
static int run_batch(void *args)
{
    const struct batch *batch = args;
    const struct figure *figure = batch->figure;
    const tern_context *windows = context;
    char *part = (char *)(uintptr_t)windows->windowsIn[rank];
    tern_hccl_site here = {__FILE__, __LINE__};
    double sum = 0;
    for (int life = 0; life < LIVES; life++) {
        tern_hccl object = {0};
        tern_hccl_init(&object, &(tern_hccl_start){.context = context, .kind_fits = 1}, here);
        for (int i = 0; i < TASKS; i++) {
            tern_hccl_task task = {.type = HCCL_CMD_ALLGATHER,
                                   .dtype = HCCL_DATA_TYPE_FP16,
                                   .repeat = (uint32_t)figure->repeat,
                                   .send = part,
                                   .recv = part + OUT_AT,
                                   .count = figure->count,
                                   .stride = figure->gaps ? 2 * figure->count : 0,
                                   .commit = 1};
            double begin = cli_now_us();
            int handle = tern_hccl_prepare(&object, &task, here);
            for (int turn = 0; turn < figure->repeat; turn++) {
                must(tern_hccl_wait(&object, handle, here));
            }
            sum += cli_now_us() - begin;
        }
        tern_hccl_finalize(&object, here);
    }
    *batch->us = sum / (LIVES * TASKS);
    return TERN_OK;
}

static double device_us(tern_stream *stream, const struct figure *figure)
{
    double us = 0;
    struct batch batch = {figure, &us};
    must(tern_stream_launch(stream, &(tern_stream_kernel){.kernel = run_batch,
                                                          .blocks = 1,
                                                          .args = &batch,
                                                          .args_bytes = sizeof batch}));
    must(tern_stream_sync(stream, TERN_TIMEOUT_DEFAULT));
    return us;
}

static double host_us(const struct figure *figure)
{
    char *part = tern_window_address(window, rank);
    double begin = cli_now_us();
    for (int i = 0; i < LIVES * TASKS; i++) {
        must(tern_all_gather(world, part, part + OUT_AT, figure->count, TERN_F16));
    }
    return (cli_now_us() - begin) / (LIVES * TASKS);
}

static void measure(tern_stream *stream, const struct figure *figure)
{
    double device[BATCHES];
    double plain[BATCHES];
    char name[64];
    for (int i = 0; i < BATCHES; i++) {
        device[i] = device_us(stream, figure);
        plain[i] = figure->gaps ? 0 : host_us(figure);
    }
    snprintf(name, sizeof name, "device_%s", figure->name);
    report(name, cli_median(device, BATCHES), "us");
    if (!figure->gaps) {
        snprintf(name, sizeof name, "host_%s", figure->name);
        report(name, cli_median(plain, BATCHES), "us");
    }
}

int main(void)
{
    must(tern_init(NULL, &world));
    rank = tern_comm_rank(world);
    nranks = tern_comm_size(world);
    HcclRootInfo info;
    tern_stream *stream;
    if (rank == 0 && HcclGetRootInfo(&info) != HCCL_SUCCESS) {
        must(TERN_ERR_SYSTEM);
    }
    must(tern_broadcast(world, &info, &info, sizeof info, TERN_U8, 0));
    if (HcclCommInitRootInfo((uint32_t)nranks, &info, (uint32_t)rank, &comm) != HCCL_SUCCESS ||
        HcclAllocComResourceByTiling(comm, NULL, NULL, &context) != HCCL_SUCCESS) {
        must(TERN_ERR_SYSTEM);
    }
    must(tern_window_create(world, WINDOW_BYTES, NULL, &window));
    must(tern_stream_create(&stream));
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        measure(stream, &figures[i]);
    }
    must(tern_stream_destroy(stream));
    must(tern_window_destroy(window));
    must(HcclCommDestroy(comm) == HCCL_SUCCESS ? TERN_OK : TERN_ERR_SYSTEM);
    return tern_comm_destroy(world) == TERN_OK ? 0 : 1;
}
