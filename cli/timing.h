// SPDX-License-Identifier: Apache-2.0
// The clock and the median of everything that is measured. The programs that measure an MPI are
// compiled with these too (cli/perf/mpi.c, bench/mpi_basics.c), so nothing of tern is included
// here.
#ifndef TERN_CLI_TIMING_H
#define TERN_CLI_TIMING_H

#include <stdlib.h>
#include <time.h>

static inline double cli_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static inline int cli_compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Sorts the values, of which there is one at least.
static inline double cli_median(double *values, long count)
{
    qsort(values, (size_t)count, sizeof *values, cli_compare_doubles);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

#endif
