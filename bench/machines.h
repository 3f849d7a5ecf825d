// SPDX-License-Identifier: Apache-2.0
// What is measured between machines, the same for tern (bench/machines.c) and an MPI
// (bench/mpi_machines.c), which define the functions declared here. All machines have one clock:
// they are namespaces of one box, so a message can carry the time at which it was sent.
//
//   PROGRAM link SECONDS        how long a message takes from rank 1 to 0, on two machines
//   PROGRAM all_reduce SECONDS  f32; calls back to back, the slowest rank's time of one. (Behind a
//                               barrier a call would count how far that leaves the machines apart,
//                               too: up to a crossing, and not the same for all systems.)
//   PROGRAM start BEGIN_NS      from that moment to the end of the first barrier
//
// SECONDS is for each size, about. Behind the values comes a line "done", then the end of the job,
// which is not measured.
#ifndef TERN_BENCH_MACHINES_H
#define TERN_BENCH_MACHINES_H

#include <stdint.h>
#include <string.h>

#include "report.h"

enum {
    SMALL = 8,
    LARGE = 16 << 20,
    ROUNDS_MIN = 5,
    ROUNDS_MAX = 2000,
    // Calls of all_reduce before those that count: memory is new then, and connections are slow.
    COLD = 10,
    COLD_LARGE = 3,
};

static void join(int *argc, char ***argv); // sets rank
static void meet(void);
static void give(const void *from, size_t bytes); // from rank 1 to 0, or from 0 to 1
static const void *take(size_t bytes);            // what the other gives; valid until the next
static void all_reduce(size_t count);             // f32, with buffers of the system's choice
static void slowest(double *times, int count);    // each the greatest of all ranks'
static void leave(void);

static int64_t bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report_times(const char *name, double *times, int count)
{
    char line[64];
    qsort(times, (size_t)count, sizeof *times, by_value);
    snprintf(line, sizeof line, "%s_p10", name);
    report(line, times[count / 10], "us");
    snprintf(line, sizeof line, "%s_median", name);
    report(line, times[count / 2], "us");
    fflush(stdout);
}

// As many as fit, by the time of one; the same on all ranks.
static int affordable(double seconds, double one_us)
{
    slowest(&one_us, 1);
    double fit = seconds * 1e6 / (one_us > 1 ? one_us : 1);
    return fit < ROUNDS_MIN ? ROUNDS_MIN : fit > ROUNDS_MAX ? ROUNDS_MAX : (int)fit;
}

// Rank 0 asks, rank 1 sends `bytes`, which begin with the time.
static double one_message_us(unsigned char *buffer, size_t bytes)
{
    int64_t sent;
    if (rank == 0) {
        give(buffer, SMALL);
        memcpy(&sent, take(bytes), sizeof sent);
        return (double)(bench_now_ns() - sent) * 1e-3;
    }
    take(SMALL);
    sent = bench_now_ns();
    memcpy(buffer, &sent, sizeof sent);
    give(buffer, bytes);
    return 0;
}

static void measure_link(double seconds)
{
    static double times[ROUNDS_MAX];
    static unsigned char buffer[LARGE];
    const size_t sizes[] = {SMALL, LARGE};
    memset(buffer, 1, sizeof buffer);
    for (int s = 0; s < 2; s++) {
        double begin = cli_now_us();
        for (int i = 0; i < 3; i++) {
            one_message_us(buffer, sizes[s]);
        }
        int rounds = affordable(seconds, (cli_now_us() - begin) / 3);
        for (int i = 0; i < rounds; i++) {
            times[i] = one_message_us(buffer, sizes[s]);
        }
        report_times(s == 0 ? "message_8" : "message_16777216", times, rounds);
        meet();
    }
}

static void measure_all_reduce(double seconds)
{
    static double times[ROUNDS_MAX];
    const size_t sizes[] = {8, 1024, 65536, 1 << 20, LARGE};
    for (int s = 0; s < 5; s++) {
        size_t count = sizes[s] / sizeof(float);
        int cold = sizes[s] < LARGE ? COLD : COLD_LARGE;
        for (int i = 0; i < cold; i++) {
            all_reduce(count);
        }
        double begin = cli_now_us();
        for (int i = 0; i < 3; i++) {
            all_reduce(count);
        }
        int rounds = affordable(seconds, (cli_now_us() - begin) / 3);
        int calls = (rounds + BATCHES - 1) / BATCHES;
        int batches = rounds / calls;
        for (int i = 0; i < batches; i++) {
            double before = cli_now_us();
            for (int call = 0; call < calls; call++) {
                all_reduce(count);
            }
            times[i] = (cli_now_us() - before) / calls;
        }
        slowest(times, batches);
        char name[64];
        snprintf(name, sizeof name, "all_reduce_%zu", sizes[s]);
        report_times(name, times, batches);
    }
}

int main(int argc, char **argv)
{
    join(&argc, &argv);
    const char *what = argc == 3 ? argv[1] : "";
    meet();
    if (strcmp(what, "start") == 0) {
        report("start", (double)(bench_now_ns() - atoll(argv[2])) * 1e-6, "ms");
    } else if (strcmp(what, "link") == 0) {
        measure_link(atof(argv[2]));
    } else if (strcmp(what, "all_reduce") == 0) {
        measure_all_reduce(atof(argv[2]));
    }
    report("done", 1, "-");
    fflush(stdout);
    leave();
    return 0;
}

#endif
