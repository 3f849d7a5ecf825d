// SPDX-License-Identifier: Apache-2.0
// Point to point, in C: each rank puts 128 x 256 numbers of 16 bits to the next rank, through one
// tile whose valid rows and columns are dynamic, and then gets the same from the previous one.

#include <stdint.h>

#include "job.h"
#include "tern/block.h"
#include "tern/isa.h"
#include "tern/stream.h"

enum { ROWS = 128, COLUMNS = 256, COUNT = ROWS * COLUMNS };

// In every window.
static const size_t sent = JOB_SIGNAL_BYTES;
static const size_t received = JOB_SIGNAL_BYTES + COUNT * sizeof(uint16_t);

struct transfer {
    void *to, *from;
    int gets;
};

// The kernel. The tile is the first 64 KiB of UB.
static int transfer(void *args)
{
    struct transfer *transfer = args;
    tern_tensor to = tern_tensor_2d(transfer->to, TERN_F16, ROWS, COLUMNS, COLUMNS);
    tern_tensor from = tern_tensor_2d(transfer->from, TERN_F16, ROWS, COLUMNS, COLUMNS);
    tern_tile tile = tern_tile_2d(NULL, TERN_F16, ROWS, COLUMNS);
    tile.dynamic = TERN_TILE_ROWS | TERN_TILE_COLUMNS;
    int status =
        tern_buffer_address(TERN_BUFFER_UB, 0, (size_t)COUNT * sizeof(uint16_t), &tile.data);
    if (status < 0) {
        return status;
    }
    return transfer->gets ? tern_tensor_get(&to, &from, &tile, NULL)
                          : tern_tensor_put(&to, &from, &tile, NULL, TERN_ATOMIC_NONE);
}

static void run(const struct job *job, tern_stream *stream, const struct transfer *args)
{
    tern_stream_kernel kernel = {.kernel = transfer,
                                 .name = args->gets ? "get" : "put",
                                 .blocks = 1,
                                 .args = args,
                                 .args_bytes = sizeof *args};
    job_check(job, "tern_stream_launch", tern_stream_launch(stream, &kernel));
    job_check(job, "tern_stream_sync", tern_stream_sync(stream, TERN_TIMEOUT_DEFAULT));
}

// Numbers of which no two ranks have the same.
static uint16_t value_of(int rank, int i)
{
    return (uint16_t)((i * 7 + 1009 * rank) & 0x7bff);
}

static void verify(const struct job *job, const uint16_t *data, const char *how)
{
    int from = (job->rank + job->nranks - 1) % job->nranks;
    for (int i = 0; i < COUNT; i++) {
        if (data[i] != value_of(from, i)) {
            job_fail(job, "element %d that was %s is %#x, expected %#x of rank %d", i, how, data[i],
                     value_of(from, i), from);
        }
    }
}

int main(void)
{
    struct job job;
    tern_stream *stream;
    job_begin(&job, "pattern_p2p_c");
    job_window(&job, received + COUNT * sizeof(uint16_t));
    job_check(&job, "tern_stream_create", tern_stream_create(&stream));
    int next = (job.rank + 1) % job.nranks;
    int previous = (job.rank + job.nranks - 1) % job.nranks;
    uint16_t *own = job_at(&job, job.rank, sent);
    uint16_t *fetched = job_memory(&job, COUNT * sizeof(uint16_t));
    for (int i = 0; i < COUNT; i++) {
        own[i] = value_of(job.rank, i);
    }
    job_meet(&job);
    run(&job, stream, &(struct transfer){job_at(&job, next, received), own, 0});
    run(&job, stream, &(struct transfer){fetched, job_at(&job, previous, sent), 1});
    job_meet(&job);
    verify(&job, job_at(&job, job.rank, received), "put");
    verify(&job, fetched, "got");
    job_check(&job, "tern_stream_destroy", tern_stream_destroy(stream));
    job_end(&job, "put and got 128 x 256 f16");
    return 0;
}
