// SPDX-License-Identifier: Apache-2.0
// The data of `tern exec`: those of `tern perf`, whole numbers, whose sums are exact in every
// element type and in any order.

#include <stdio.h>
#include <string.h>

#include "exec/exec.h"
#include "data.h"
#include "tern/coll.h"

#define UNTOUCHED 0xa5 // every byte of an output before a run

static struct cli_data data_of(const struct exec_job *job)
{
    return (struct cli_data){.dtype = job->arguments->dtype,
                             .reduces = tern_coll_kind_facts(job->spec->kind)->sums,
                             .op = job->arguments->op,
                             .element_bytes = job->spec->unit,
                             .exact = true};
}

// Every run has other data, so that an output of the run before shows.
static uint64_t source_of(const struct exec_job *job, int rank)
{
    return cli_source(rank, (uint64_t)(job->arguments->seed * EXEC_RUNS_MAX + job->run));
}

void exec_data_fill(const struct exec_job *job, char *in, uint64_t in_count, char *out,
                    uint64_t out_bytes)
{
    struct cli_data data = data_of(job);
    cli_fill(&data, source_of(job, job->rank), 0, in_count, in);
    memset(out, UNTOUCHED, out_bytes);
}

// Whether this rank has an output: of some kinds only the root has one.
static bool has_output(const struct exec_job *job)
{
    bool root_only = tern_coll_kind_facts(job->spec->kind)->root == TERN_KIND_ROOT_TO;
    return !root_only || job->rank == job->spec->root;
}

// Where there is no output, what lay in its place must still be there.
static int check_untouched(const struct exec_job *job, const char *out, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++) {
        if ((unsigned char)out[i] != UNTOUCHED) {
            fprintf(stderr,
                    "tern exec: run %ld: rank %d has no output, and byte %llu of its place "
                    "was written\n",
                    job->run + 1, job->rank, (unsigned long long)i);
            return 1;
        }
    }
    return 0;
}

// Elements [at, at + count) of this rank's output that are wrong, as tern/plan.h says for the kind;
// they are of one share.
static uint64_t count_wrong(const struct exec_job *job, const char *out, uint64_t at,
                            uint64_t count)
{
    struct cli_data data = data_of(job);
    int n = job->spec->nranks;
    uint64_t share = job->spec->bytes / job->spec->unit / (uint64_t)n;
    share = share > 0 ? share : 1; // what a plan with shares has is proved to be divided
    uint64_t own = (uint64_t)job->rank * share;
    uint64_t sources[TERN_RANKS_MAX] = {source_of(job, job->spec->root)};
    int nsources = 1;
    uint64_t first = at;
    switch (job->spec->kind) {
    case TERN_PLAN_ALL_REDUCE:
    case TERN_PLAN_REDUCE_TO_ROOT:
    case TERN_PLAN_REDUCE_SCATTER:
        for (nsources = 0; nsources < n; nsources++) {
            sources[nsources] = source_of(job, nsources);
        }
        first = job->spec->kind == TERN_PLAN_REDUCE_SCATTER ? own + at : at;
        break;
    case TERN_PLAN_ALL_GATHER:
    case TERN_PLAN_GATHER:
        sources[0] = source_of(job, (int)(at / share));
        first = at % share;
        break;
    case TERN_PLAN_ALL_TO_ALL:
        sources[0] = source_of(job, (int)(at / share));
        first = own + at % share;
        break;
    case TERN_PLAN_SCATTER:
        first = own + at;
        break;
    default: // broadcast; a barrier has no output
        break;
    }
    return cli_wrong(&data, sources, nsources, first, count, out + at * job->spec->unit);
}

int exec_data_check(const struct exec_job *job, const char *out, uint64_t count)
{
    if (!has_output(job)) {
        return check_untouched(job, out, count * job->spec->unit);
    }
    uint64_t share = job->spec->bytes / job->spec->unit / (uint64_t)job->spec->nranks;
    share = share > 0 && count % share == 0 ? share : count;
    for (uint64_t at = 0; at < count; at += share) {
        if (count_wrong(job, out, at, share) == 0) {
            continue;
        }
        while (count_wrong(job, out, at, 1) == 0) {
            at++;
        }
        fprintf(stderr, "tern exec: run %ld: element %llu of the output of rank %d is wrong\n",
                job->run + 1, (unsigned long long)at, job->rank);
        return 1;
    }
    return 0;
}
