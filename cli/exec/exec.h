// SPDX-License-Identifier: Apache-2.0
// The parts of `tern exec`: exec.c reads the command line and starts the ranks, run.c runs the plan on
// one of them, data.c knows the data and what must come of it.
#ifndef TERN_CLI_EXEC_H
#define TERN_CLI_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "tern/comm.h"
#include "tern/exec.h"
#include "tern/plan.h"

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
    int8_t *in;        // the input of this rank in even runs; odd runs add 1, so that a stale
    int16_t *expected; // output shows; and what must come of it
};

// data.c

// Makes the input of this rank and what must come of it. 0, or 1 after a sentence.
int exec_data_prepare(struct exec_job *job, uint64_t in_count, uint64_t out_count);
void exec_data_free(struct exec_job *job);

// Before a run: the input, and an output that shows what was not written.
void exec_data_fill(const struct exec_job *job, char *in, uint64_t in_count, char *out,
                    uint64_t out_bytes);

// After it: 0, or 1 after a sentence.
int exec_data_check(const struct exec_job *job, const char *out, uint64_t count);

// run.c: all runs on this rank; rank 0 prints. 0, 1 for a wrong output, or a negative status.
int exec_run(const struct exec_arguments *arguments, tern_comm *comm, const tern_plan *plan);

#endif
