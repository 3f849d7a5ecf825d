// SPDX-License-Identifier: Apache-2.0
// Reduce, in C: one rank after the other is the root, and adds up the rows of 1024 numbers that all
// ranks have, in a fixed order. The tiles are the caller's memory.

#include <stdint.h>

#include "job.h"
#include "tern/block.h"
#include "tern/isa.h"
#include "tern/stream.h"

enum { COUNT = 1024 };

struct reduce {
    tern_tensor tensors[TERN_RANKS_MAX]; // of all ranks
    float *to;
    int nranks, root;
};

// The kernel; the root launches it.
static int reduce(void *args)
{
    struct reduce *reduce = args;
    float memory[2][COUNT];
    tern_tile acc = tern_tile_2d(memory[0], TERN_F32, 1, COUNT);
    tern_tile recv = tern_tile_2d(memory[1], TERN_F32, 1, COUNT);
    tern_tensor to = tern_tensor_1d(reduce->to, TERN_F32, COUNT);
    tern_group group = {reduce->tensors, reduce->nranks, reduce->root};
    return tern_group_reduce(&group, &to, &acc, &recv, NULL, TERN_SUM);
}

static void run(const struct job *job, tern_stream *stream, float *to)
{
    struct reduce args = {.to = to, .nranks = job->nranks, .root = job->rank};
    for (int rank = 0; rank < job->nranks; rank++) {
        args.tensors[rank] = tern_tensor_1d(job_at(job, rank, JOB_SIGNAL_BYTES), TERN_F32, COUNT);
    }
    tern_stream_kernel kernel = {
        .kernel = reduce, .name = "reduce", .blocks = 1, .args = &args, .args_bytes = sizeof args};
    job_check(job, "tern_stream_launch", tern_stream_launch(stream, &kernel));
    job_check(job, "tern_stream_sync", tern_stream_sync(stream, TERN_TIMEOUT_DEFAULT));
}

int main(void)
{
    struct job job;
    tern_stream *stream;
    job_begin(&job, "pattern_reduce_c");
    job_window(&job, JOB_SIGNAL_BYTES + COUNT * sizeof(float));
    job_check(&job, "tern_stream_create", tern_stream_create(&stream));
    float *own = job_at(&job, job.rank, JOB_SIGNAL_BYTES);
    float *sums = job_memory(&job, COUNT * sizeof *sums);
    for (int i = 0; i < COUNT; i++) {
        own[i] = (float)(i + 100 * job.rank);
    }
    job_meet(&job);
    run(&job, stream, sums);
    for (int i = 0; i < COUNT; i++) {
        float expected = (float)(job.nranks * i + 50 * job.nranks * (job.nranks - 1));
        if (sums[i] != expected) {
            job_fail(&job, "sum %d is %g, expected %g", i, (double)sums[i], (double)expected);
        }
    }
    job_check(&job, "tern_stream_destroy", tern_stream_destroy(stream));
    job_end(&job, "each has the sum of 1 x 1024 f32");
    return 0;
}
