// SPDX-License-Identifier: Apache-2.0
// The parts of `tern exec`: exec.c reads the command line and starts the ranks, prove.c proves the
// plan for their machines, fit.c says which machines it would fit, run.c runs it on one of the
// ranks, data.c knows the data and what must come of it.
#ifndef TERN_CLI_EXEC_H
#define TERN_CLI_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "hosts.h"
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
    struct cli_hosts hosts;
    bool is_rank; // this process is one of the ranks
    bool joins;   // nobody says how many: it is a rank of a job that somebody else has started
};

// What a run is checked with.
struct exec_job {
    const struct exec_arguments *arguments;
    const tern_plan_spec *spec;
    int rank;
    long run;
};

// prove.c: what a run cannot show: whether the plan is right under every interleaving, on these
// machines (NULL: one). -1 to go on, else the exit status, after a sentence.
int exec_prove(const struct exec_arguments *arguments, const tern_plan *plan,
               const tern_topo *topo);

// fit.c: whether ranks that need each other's memory are on one machine, and in words on which
// machines they would be: "--hosts a:2,b:2 would fit".
bool exec_fits(const tern_plan *plan, const tern_topo *topo, char *text, size_t size);

// data.c

// Before a run: the input, and an output that shows what was not written.
void exec_data_fill(const struct exec_job *job, char *in, uint64_t in_count, char *out,
                    uint64_t out_bytes);

// After it: 0, or 1 after a sentence.
int exec_data_check(const struct exec_job *job, const char *out, uint64_t count);

// run.c: all runs on this rank; rank 0 prints. 0, 1 for a wrong output, or a negative status.
int exec_run(const struct exec_arguments *arguments, tern_comm *comm, const tern_plan *plan);

#endif
