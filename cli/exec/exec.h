// SPDX-License-Identifier: Apache-2.0
// The parts of `tern exec`: exec.c reads the command line and starts the ranks, run.c runs the plan
// on one of them, data.c knows the data and what must come of it.
#ifndef TERN_CLI_EXEC_H
#define TERN_CLI_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "tern/comm.h"
#include "tern/exec.h"
#include "tern/plan.h"

#define EXEC_RUNS_MAX 1000000

struct exec_arguments {
    const char *file;
    const char *dtype_word;
    tern_dtype dtype;
    tern_reduce_op op;
    long nranks, runs, seed;
    const char *trace;
    bool unchecked;
    bool is_rank; // this process is one of the ranks
};

// What a run is checked with.
struct exec_job {
    const struct exec_arguments *arguments;
    const tern_plan_spec *spec;
    int rank;
    long run;
};

// data.c

// Before a run: the input, and an output that shows what was not written.
void exec_data_fill(const struct exec_job *job, char *in, uint64_t in_count, char *out,
                    uint64_t out_bytes);

// After it: 0, or 1 after a sentence.
int exec_data_check(const struct exec_job *job, const char *out, uint64_t count);

// run.c: all runs on this rank; rank 0 prints. 0, 1 for a wrong output, or a negative status.
int exec_run(const struct exec_arguments *arguments, tern_comm *comm, const tern_plan *plan);

#endif
