// SPDX-License-Identifier: Apache-2.0
// Computation and communication at the same time: the host of the kernels in gemm_kernels.h. It
// runs them in three ways: the computation alone; one after the other; at the same time, on two
// streams, what polls launched before what it polls for. Every sum is verified.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gemm_data.h"
#include "gemm_kernels.h"
#include "gemm_options.h"
#include "phase_barrier.h"
#include "tern/put.h"

enum way { WAY_COMPUTE, WAY_SEQUENTIAL, WAY_FUSED, WAYS };

static const char *const way_names[WAYS] = {"compute only", "sequential", "fused"};

struct program {
    struct job job;
    struct gemm_options options;
    struct gemm_args args;
    struct gemm_expected expected;
    tern_stream *compute, *communicate;
    size_t output_at; // in each window
    size_t output_bytes;
};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static struct MultiBlockQueueSet *make_queues(const struct job *job, struct gemm_shape shape)
{
    size_t bytes = sizeof(struct MultiBlockQueueSet);
    int32_t offsets[GEMM_COMPUTE_BLOCKS] = {0};
    for (int block = 0; block < shape.compute_blocks; block++) {
        offsets[block] = (int32_t)bytes;
        bytes += gemm_queue_bytes(gemm_tiles_of(shape, block).count);
    }
    char *memory = job_memory(job, bytes + 64);
    struct MultiBlockQueueSet *set = (void *)(memory + (64 - (uintptr_t)memory % 64) % 64);
    set->num_blocks = shape.compute_blocks;
    set->total_tiles = gemm_tiles(shape);
    set->tiles_per_block = gemm_tiles_of(shape, 0).count;
    memcpy(set->queue_offsets, offsets, sizeof offsets);
    for (int block = 0; block < shape.compute_blocks; block++) {
        struct PerBlockQueue *queue = gemm_queue(set, block);
        queue->capacity = gemm_tiles_of(shape, block).count;
        queue->block_id = block;
    }
    return set;
}

// What the last run has left is what lets the next one through too early.
static void reset(const struct program *program)
{
    const struct gemm_args *args = &program->args;
    for (int block = 0; block < args->shape.compute_blocks; block++) {
        struct PerBlockQueue *queue = gemm_queue(args->queues, block);
        queue->tail = 0;
        queue->count = 0;
        for (int slot = 0; slot < queue->capacity; slot++) {
            queue->data[slot] = -1;
        }
    }
    memset(args->signals, 0, (size_t)gemm_signal_words(args->shape) * sizeof *args->signals);
    memset(args->output, 0, program->output_bytes);
    memset(args->partial, 0, program->output_bytes);
}

static void begin(struct program *program, int argc, char **argv, const char *name)
{
    struct job *job = &program->job;
    job_begin(job, name);
    gemm_options_parse(argc, argv, job, &program->options);
    struct gemm_shape shape = program->options.shape;
    size_t signal_bytes = (size_t)gemm_signal_words(shape) * sizeof(int32_t);
    program->output_bytes = (size_t)shape.m * (size_t)shape.n * sizeof(uint16_t);
    program->output_at = (signal_bytes + 4095) / 4096 * 4096;
    job_window(job, program->output_at + program->output_bytes);
    program->args = (struct gemm_args){.shape = shape,
                                       .patience = program->options.patience,
                                       .context = job->context,
                                       .a = gemm_matrix_a(job, shape),
                                       .b = gemm_matrix_b(job, shape),
                                       .partial = job_memory(job, program->output_bytes),
                                       .output = job_at(job, job->rank, program->output_at),
                                       .signals = job_at(job, job->rank, 0),
                                       .queues = make_queues(job, shape)};
    program->expected = gemm_expect(job, shape);
    job_check(job, "tern_stream_create", tern_stream_create(&program->compute));
    job_check(job, "tern_stream_create", tern_stream_create(&program->communicate));
}

static void launch_compute(const struct program *program)
{
    job_check(&program->job, "compute", gemm_compute(program->compute, &program->args));
}

static void launch_communicate(const struct program *program)
{
    job_check(&program->job, "communicate", gemm_communicate(program->communicate, &program->args));
}

static void sync(const struct program *program, tern_stream *stream, const char *name)
{
    job_check(&program->job, name, tern_stream_sync(stream, TERN_TIMEOUT_DEFAULT));
}

static void launch_both(const struct program *program)
{
    if (program->options.compute_first) {
        launch_compute(program);
        launch_communicate(program);
    } else {
        launch_communicate(program);
        launch_compute(program);
    }
    sync(program, program->communicate, "communicate");
    sync(program, program->compute, "compute");
}

// Seconds from when all ranks begin until all have ended; *first: of that, until the caller has
// computed.
static double run(const struct program *program, enum way way, double *first)
{
    const struct job *job = &program->job;
    reset(program);
    job_meet(job);
    double begin_s = seconds_now();
    if (way == WAY_FUSED) {
        launch_both(program);
    } else {
        launch_compute(program);
        sync(program, program->compute, "compute");
    }
    *first = seconds_now() - begin_s;
    if (way == WAY_SEQUENTIAL) {
        launch_communicate(program);
        sync(program, program->communicate, "communicate");
    }
    job_meet(job);
    double seconds = seconds_now() - begin_s;
    if (way != WAY_COMPUTE) {
        void *output0 = job_memory(job, program->output_bytes);
        job_check(job, "tern_get",
                  tern_get(job->window, 0, program->output_at, output0, program->output_bytes));
        gemm_verify(job, program->args.shape, &program->expected, program->args.output, output0,
                    way_names[way]);
        free(output0);
        for (int s = 0; s < gemm_owned(program->args.shape, job->rank); s++) {
            int32_t count = program->args.signals[gemm_subtile_word(s)];
            if (count != job->nranks) {
                job_fail(job, "subtile %d was added %d times by %d ranks", s, count, job->nranks);
            }
        }
    }
    job_meet(job); // rank 0's output has been read
    return seconds;
}

static int by_size(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    return count % 2 == 1 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

struct timing {
    double total, first;
};

static struct timing measure(const struct program *program, enum way way)
{
    int runs = program->options.runs;
    double *seconds = job_memory(&program->job, (size_t)runs * sizeof *seconds);
    double *firsts = job_memory(&program->job, (size_t)runs * sizeof *firsts);
    run(program, way, &firsts[0]);
    for (int i = 0; i < runs; i++) {
        seconds[i] = run(program, way, &firsts[i]);
    }
    struct timing timing = {median(seconds, runs), median(firsts, runs)};
    free(seconds);
    free(firsts);
    return timing;
}

static void report(const struct program *program, const struct timing timings[WAYS])
{
    struct gemm_shape shape = program->args.shape;
    double flops = 2.0 * shape.m * shape.k * shape.n * shape.nranks;
    double sent = 2.0 * (shape.nranks - 1) / shape.nranks * (double)program->output_bytes;
    double compute = timings[WAY_COMPUTE].total;
    double first = timings[WAY_SEQUENTIAL].first;
    double second = timings[WAY_SEQUENTIAL].total - first;
    double fused = timings[WAY_FUSED].total;
    double shorter = compute < second ? compute : second;
    double longer = compute < second ? second : compute;
    printf("%d x %d x %d f16 on %d ranks, %d tiles, %d + %d blocks; medians of %d runs:\n", shape.m,
           shape.k, shape.n, shape.nranks, gemm_tiles(shape), shape.compute_blocks,
           shape.comm_blocks, program->options.runs);
    printf("  compute only %10.3f ms   %.1f GFLOP/s in all\n", compute * 1e3,
           flops / compute * 1e-9);
    printf("  sequential   %10.3f ms   %.3f + %.3f at %.2f GB/s\n",
           timings[WAY_SEQUENTIAL].total * 1e3, first * 1e3, second * 1e3, sent / second * 1e-9);
    printf("  fused        %10.3f ms   %.2f of the longer part, %.1f GFLOP/s\n", fused * 1e3,
           fused / longer, flops / fused * 1e-9);
    printf("  speed-up %.3f, overlap efficiency %.1f %%\n", timings[WAY_SEQUENTIAL].total / fused,
           100 * (compute + second - fused) / shorter);
}

int main(int argc, char **argv)
{
    struct program program = {0};
    struct timing timings[WAYS];
    const char *slash = strrchr(argv[0], '/');
    begin(&program, argc, argv, slash != NULL ? slash + 1 : argv[0]);
    for (int way = 0; way < WAYS; way++) {
        timings[way] = measure(&program, (enum way)way);
    }
    if (program.job.rank == 0) {
        report(&program, timings);
    }
    job_check(&program.job, "tern_stream_destroy", tern_stream_destroy(program.compute));
    job_check(&program.job, "tern_stream_destroy", tern_stream_destroy(program.communicate));
    job_end(&program.job, "GEMM and AllReduce");
    return 0;
}
