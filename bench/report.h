// SPDX-License-Identifier: Apache-2.0
// What the benchmarks of tern and of an MPI share: how a result is printed, "name value unit", and
// what a process uses. Nothing of either is included here.
#ifndef TERN_BENCH_REPORT_H
#define TERN_BENCH_REPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "timing.h"

#define BATCHES 25 // each the mean of many calls; their median is reported

static int rank; // only rank 0 reports

static inline void report(const char *name, double value, const char *unit)
{
    if (rank == 0) {
        printf("%s %.6g %s\n", name, value, unit);
    }
}

// Memory of this process that no other shares, in KiB: proportional set size.
static inline double memory_kib(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    char line[128];
    double kib = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "Pss: %lf", &kib) == 1) {
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kib;
}

// After a barrier of all: the time since the moment in BENCH_BEGIN_NS, which was taken before the
// launcher was started, and the memory of a rank that has only started.
static inline void report_start(void)
{
    double end = cli_now_us();
    const char *begin = getenv("BENCH_BEGIN_NS");
    report("start", (end - (begin != NULL ? atof(begin) * 1e-3 : end)) * 1e-3, "ms");
    report("memory", memory_kib(), "KiB");
}

// Processor time of this process so far.
static inline double cpu_ms(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-3;
}

#endif
