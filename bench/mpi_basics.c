// SPDX-License-Identifier: Apache-2.0
// The peer of bench/basics.c for any MPI: the same measurements under the same names. Compiled by
// bench/run.py with each MPI's own mpicc.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report.h"

static int nranks;

// As many iterations as fit into about two seconds of all batches, at most `wanted`: some MPIs take
// milliseconds when ranks outnumber processors.
static int affordable(int wanted, double one_us)
{
    double most = 2e6 / BATCHES / (one_us > 0.01 ? one_us : 0.01);
    int iterations = most < 1 ? 1 : most < wanted ? (int)most : wanted;
    MPI_Bcast(&iterations, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return iterations;
}

static void bench_barrier(int iterations)
{
    double batches[BATCHES];
    MPI_Barrier(MPI_COMM_WORLD);
    double first = cli_now_us();
    for (int i = 0; i < 3; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    iterations = affordable(iterations, (cli_now_us() - first) / 3);
    for (int batch = 0; batch < BATCHES; batch++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = cli_now_us();
        for (int i = 0; i < iterations; i++) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        batches[batch] = (cli_now_us() - begin) / iterations;
    }
    report("barrier", cli_median(batches, BATCHES), "us");
}

// A 4-byte message is what MPI has for "notify and wait".
static void bench_notify(int iterations)
{
    double batches[BATCHES];
    int word = 0;
    for (int batch = 0; batch < BATCHES && rank < 2; batch++) {
        double begin = cli_now_us();
        for (int i = 0; i < iterations; i++) {
            if (rank == 0) {
                MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            }
            MPI_Recv(&word, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 1) {
                MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
            }
        }
        batches[batch] = (cli_now_us() - begin) / iterations / 2;
    }
    report("notify", cli_median(batches, BATCHES), "us");
}

static void bench_put(void)
{
    enum { SIZE = 16 << 20 };
    char *base;
    MPI_Win window;
    double puts[BATCHES];
    MPI_Win_allocate(SIZE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    memset(base, 0, SIZE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    if (rank == 0) {
        char *from = malloc(SIZE);
        if (from == NULL) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        memset(from, 1, SIZE);
        for (int batch = 0; batch < BATCHES; batch++) {
            double begin = cli_now_us();
            MPI_Put(from, SIZE, MPI_CHAR, nranks - 1, 0, SIZE, MPI_CHAR, window);
            MPI_Win_flush(nranks - 1, window);
            puts[batch] = SIZE / (cli_now_us() - begin) * 1e-3;
        }
        free(from);
        report("put_16MiB", cli_median(puts, BATCHES), "GB/s");
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

static void bench_start(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    report_start();
}

static void bench_idle(int seconds)
{
    struct timespec nap = {.tv_sec = seconds};
    int word = 0;
    double before_ms = cpu_ms();
    if (rank == 0) {
        nanosleep(&nap, NULL);
        MPI_Send(&word, 1, MPI_INT, nranks - 1, 0, MPI_COMM_WORLD);
    }
    if (rank == nranks - 1) {
        MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("idle %.6g ms\n", cpu_ms() - before_ms);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc >= 2 ? argv[1] : "";
    int iterations = argc >= 3 ? atoi(argv[2]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    if (strcmp(what, "barrier") == 0) {
        bench_barrier(iterations > 0 ? iterations : 2000);
    } else if (strcmp(what, "notify") == 0) {
        bench_notify(iterations > 0 ? iterations : 2000);
    } else if (strcmp(what, "put") == 0) {
        bench_put();
    } else if (strcmp(what, "start") == 0) {
        bench_start();
    } else if (strcmp(what, "idle") == 0) {
        bench_idle(iterations > 0 ? iterations : 5);
    }
    MPI_Finalize();
    return 0;
}
