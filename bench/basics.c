// SPDX-License-Identifier: Apache-2.0
// What everything else stands on: barrier, notify to wait, put, start, and waiting for nothing. One
// measurement a call, run under `tern run`; rank 0 prints "name value unit" lines for bench/run.py.
// bench/mpi_basics.c prints the same names for MPI.

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "job.h"
#include "tern/coll.h"
#include "tern/put.h"
#include "tern/signal.h"
#include "tern/window.h"

static int iterations;

static void bench_barrier(void)
{
    double batches[BATCHES];
    for (int batch = 0; batch < BATCHES; batch++) {
        must(tern_comm_barrier(world));
        double begin = cli_now_us();
        for (int i = 0; i < iterations; i++) {
            must(tern_comm_barrier(world));
        }
        batches[batch] = (cli_now_us() - begin) / iterations;
    }
    report("barrier", cli_median(batches, BATCHES), "us");
}

// Ping-pong of signals between ranks 0 and 1; half a round trip is one way.
static void bench_notify(void)
{
    tern_window *window;
    double batches[BATCHES];
    int32_t count = 0;
    must(tern_window_create(world, 4096, NULL, &window));
    for (int batch = 0; batch < BATCHES && rank < 2; batch++) {
        double begin = cli_now_us();
        for (int i = 0; i < iterations; i++) {
            count++;
            if (rank == 0) {
                must(tern_signal_notify(window, 1, 256, 1, TERN_NOTIFY_ADD));
            }
            must(tern_signal_wait(window, 256, TERN_CMP_GE, count, TERN_TIMEOUT_DEFAULT));
            if (rank == 1) {
                must(tern_signal_notify(window, 0, 256, 1, TERN_NOTIFY_ADD));
            }
        }
        batches[batch] = (cli_now_us() - begin) / iterations / 2;
    }
    report("notify", cli_median(batches, BATCHES), "us");
    must(tern_comm_barrier(world));
    must(tern_window_destroy(window));
}

// Puts of 16 MiB into rank 1's window, and memcpy of as much within this process, in turn.
static void bench_put(void)
{
    enum { SIZE = 16 << 20 };
    tern_window *window;
    tern_window_options options = {.flags = TERN_WINDOW_PREFAULT};
    double puts[BATCHES];
    double copies[BATCHES];
    double ratios[BATCHES];
    must(tern_window_create(world, SIZE, &options, &window));
    if (rank == 0) {
        char *from = malloc(SIZE);
        char *to = malloc(SIZE);
        if (from == NULL || to == NULL) {
            exit(1);
        }
        memset(from, 1, SIZE);
        memset(to, 2, SIZE);
        for (int batch = 0; batch < BATCHES; batch++) {
            double begin = cli_now_us();
            must(tern_put(window, nranks - 1, 0, from, SIZE));
            double middle = cli_now_us();
            memcpy(to, from, SIZE);
            double end = cli_now_us();
            __asm__ __volatile__("" : : "r"(to) : "memory"); // the copy is wanted
            puts[batch] = SIZE / (middle - begin) * 1e-3;
            copies[batch] = SIZE / (end - middle) * 1e-3;
            ratios[batch] = (end - middle) / (middle - begin);
        }
        free(from);
        free(to);
        report("put_16MiB", cli_median(puts, BATCHES), "GB/s");
        report("memcpy_16MiB", cli_median(copies, BATCHES), "GB/s");
        report("put_to_memcpy", cli_median(ratios, BATCHES), "x");
    }
    must(tern_comm_barrier(world));
    must(tern_window_destroy(window));
}

static void bench_start(void)
{
    must(tern_comm_barrier(world));
    report_start();
}

// Collective calls back to back, as bench/python_calls.py makes them from Python; large ones fewer.
static void bench_all_reduce(void)
{
    static const struct {
        const char *name;
        size_t bytes;
        int share;
    } sizes[] = {{"all_reduce_8B", 8, 1}, {"all_reduce_1MiB", 1 << 20, 50}};
    tern_window *window;
    must(tern_window_create(world, 2 << 20, NULL, &window));
    float *in = tern_window_address(window, rank);
    float *out = in + ((1 << 20) / sizeof *in);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        double batches[BATCHES];
        size_t count = sizes[s].bytes / sizeof *in;
        int calls = iterations / sizes[s].share > 2 ? iterations / sizes[s].share : 2;
        for (int batch = 0; batch < BATCHES; batch++) {
            must(tern_comm_barrier(world));
            double begin = cli_now_us();
            for (int i = 0; i < calls; i++) {
                must(tern_all_reduce(world, in, out, count, TERN_F32, TERN_SUM));
            }
            batches[batch] = (cli_now_us() - begin) / calls;
        }
        report(sizes[s].name, cli_median(batches, BATCHES), "us");
    }
    must(tern_comm_barrier(world));
    must(tern_window_destroy(window));
}

// Rank 1 waits for a signal that rank 0 sends after some seconds; what did waiting cost?
static void bench_idle(void)
{
    tern_window *window;
    must(tern_window_create(world, 4096, NULL, &window));
    struct timespec nap = {.tv_sec = iterations};
    double before_ms = cpu_ms();
    if (rank == 0) {
        nanosleep(&nap, NULL);
        must(tern_signal_notify(window, nranks - 1, 0, 1, TERN_NOTIFY_ADD));
    }
    if (rank == nranks - 1) {
        must(tern_signal_wait(window, 0, TERN_CMP_GE, 1, TERN_TIMEOUT_DEFAULT));
        printf("idle %.6g ms\n", cpu_ms() - before_ms);
    }
    must(tern_window_destroy(window));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
        int iterations;
    } benches[] = {
        {"barrier", bench_barrier, 2000},
        {"notify", bench_notify, 2000},
        {"put", bench_put, 0},
        {"start", bench_start, 0},
        {"idle", bench_idle, 5},
        {"all_reduce", bench_all_reduce, 20000},
    };
    must(tern_init(NULL, &world));
    rank = tern_comm_rank(world);
    nranks = tern_comm_size(world);
    int known = 0;
    for (size_t i = 0; argc >= 2 && i < sizeof benches / sizeof benches[0]; i++) {
        if (strcmp(argv[1], benches[i].name) == 0) {
            iterations = argc >= 3 ? atoi(argv[2]) : benches[i].iterations;
            benches[i].run();
            known = 1;
        }
    }
    if (!known && rank == 0) {
        fprintf(stderr,
                "usage: bench_basics barrier|notify|put|start|idle|all_reduce [iterations]\n");
    }
    must(tern_comm_destroy(world));
    return known ? 0 : 2;
}
