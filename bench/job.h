// SPDX-License-Identifier: Apache-2.0
// A benchmark of tern as one rank of a job.
#ifndef TERN_BENCH_JOB_H
#define TERN_BENCH_JOB_H

#include "report.h"
#include "tern/comm.h"

static tern_comm *world;
static int nranks __attribute__((unused)); // not all programs ask

static inline void must(int status)
{
    if (status < 0) {
        fprintf(stderr, "rank %d: %s\n", rank, tern_last_error());
        exit(1);
    }
}

#endif
