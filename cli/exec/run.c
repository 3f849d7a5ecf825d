// SPDX-License-Identifier: Apache-2.0
// `tern exec` on one rank: the runs, the bytes on each link, and what is printed.

#include <stdio.h>
#include <stdlib.h>

#include "timing.h"
#include "exec/exec.h"
#include "tern/coll.h"
#include "tern/trace.h"
#include "tern/window.h"

// All runs; 0, 1 for a wrong output, or a negative status.
static int run_all(tern_comm *comm, struct exec_job *job, const tern_plan *plan, tern_exec *exec,
                   const tern_exec_options *options, double *times)
{
    uint64_t in_bytes = tern_plan_buffer_bytes(plan, TERN_PLAN_IN);
    uint64_t out_bytes = tern_plan_buffer_bytes(plan, TERN_PLAN_OUT);
    uint64_t unit = job->spec->unit;
    char *in = tern_window_address(options->in, job->rank);
    char *out = tern_window_address(options->out, job->rank);
    int wrong = 0;
    for (job->run = 0; job->run < job->arguments->runs; job->run++) {
        exec_data_fill(job, in, in_bytes / unit, out, out_bytes);
        int status = tern_comm_barrier(comm);
        double begin = cli_now_us();
        status = status == TERN_OK ? tern_exec_run(exec) : status;
        times[job->run] = cli_now_us() - begin;
        if (status != TERN_OK) {
            return status;
        }
        wrong = wrong != 0 ? wrong : exec_data_check(job, out, out_bytes / unit);
    }
    return wrong;
}

// Of each run the time of the rank that took longest.
static int gather_times(tern_comm *comm, double *times, long runs)
{
    return tern_all_reduce(comm, times, times, (size_t)runs, TERN_F64, TERN_MAX);
}

// Bytes over each directed link in all runs, at [from * n + to], on rank 0. Whoever moves bytes
// counts them: the writer at the begin of a link, or the reader at its end. *wrong: whether an
// output of this rank was wrong; on rank 0 then whether one of any rank was.
static int gather_links(tern_comm *comm, const tern_exec *exec, uint64_t *links, int *wrong)
{
    size_t n = (size_t)tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    size_t row = 2 * n + 1;
    uint64_t *own = calloc(row, sizeof *own);
    uint64_t *all = calloc(n * row, sizeof *all);
    int status = own != NULL && all != NULL ? TERN_OK : TERN_ERR_MEMORY;
    for (size_t peer = 0; status == TERN_OK && peer < n; peer++) {
        own[peer] = tern_exec_link_bytes(exec, rank, (int)peer);
        own[n + peer] = tern_exec_link_bytes(exec, (int)peer, rank);
    }
    if (status == TERN_OK) {
        own[2 * n] = (uint64_t)*wrong;
        status = tern_gather(comm, own, all, row, TERN_U64, 0);
    }
    for (size_t from = 0; status == TERN_OK && rank == 0 && from < n; from++) {
        *wrong = all[from * row + 2 * n] != 0 ? 1 : *wrong;
        for (size_t to = 0; to < n; to++) {
            links[from * n + to] = from == to ? 0 : all[from * row + to] + all[to * row + n + from];
        }
    }
    free(own);
    free(all);
    return status;
}

static void print_links(const struct exec_job *job, const uint64_t *links)
{
    int n = job->spec->nranks;
    uint64_t runs = (uint64_t)job->arguments->runs;
    uint64_t sum = 0;
    int busiest = -1;
    int used = 0;
    for (int i = 0; i < n * n; i++) {
        sum += links[i];
        used += links[i] > 0;
        busiest = links[i] > 0 && (busiest < 0 || links[i] > links[busiest]) ? i : busiest;
    }
    if (busiest < 0) {
        puts("links     no bytes crossed any");
        return;
    }
    double size = job->spec->bytes > 0 ? (double)job->spec->bytes : 1;
    printf("links     %d carried bytes; a run on the busiest, %d>%d: %llu bytes, %.4f of the size; "
           "mean %.0f\n",
           used, busiest / n, busiest % n, (unsigned long long)(links[busiest] / runs),
           (double)links[busiest] / (double)runs / size, (double)sum / (double)runs / used);
    for (int i = 0; i < n * n; i++) {
        if (links[i] > 0) {
            printf("link      %d>%d %llu bytes a run\n", i / n, i % n,
                   (unsigned long long)(links[i] / runs));
        }
    }
}

static void print_result(const struct exec_job *job, double *times, int wrong)
{
    long runs = job->arguments->runs;
    double median_us = cli_median(times, runs); // sorts them
    printf("%s '%s', %d ranks, %llu bytes, %s: %ld runs, %s; median %.1f us, best %.1f us\n",
           tern_plan_kind_name(job->spec->kind), job->spec->algorithm, job->spec->nranks,
           (unsigned long long)job->spec->bytes, tern_dtype_name(job->arguments->dtype), runs,
           wrong == 0 ? "right on all ranks" : "WRONG", median_us, times[0]);
}

// 0, 1 for a wrong output, or a negative status.
int exec_run(const struct exec_arguments *arguments, tern_comm *comm, const tern_plan *plan)
{
    struct exec_job job = {.arguments = arguments,
                           .spec = tern_plan_get_spec(plan),
                           .rank = tern_comm_rank(comm)};
    tern_exec_options options = {.dtype = arguments->dtype,
                                 .op = arguments->op,
                                 .flags = TERN_EXEC_COUNT_LINKS};
    tern_exec *exec = NULL;
    double *times = calloc((size_t)arguments->runs, sizeof *times);
    uint64_t *links = calloc((size_t)job.spec->nranks * (size_t)job.spec->nranks, sizeof *links);
    int status = TERN_OK;
    if (times == NULL || links == NULL) {
        fputs("tern exec: not enough memory\n", stderr);
        status = 1;
    }
    if (status == TERN_OK) {
        status = tern_window_create(comm, tern_plan_buffer_bytes(plan, TERN_PLAN_IN) + 1, NULL,
                                    &options.in);
    }
    if (status == TERN_OK) {
        status = tern_window_create(comm, tern_plan_buffer_bytes(plan, TERN_PLAN_OUT) + 1, NULL,
                                    &options.out);
    }
    status = status == TERN_OK ? tern_exec_create(comm, plan, &options, &exec) : status;
    bool traced = status == TERN_OK && arguments->trace != NULL;
    status = traced ? tern_trace_begin(0) : status;
    status = status == TERN_OK ? run_all(comm, &job, plan, exec, &options, times) : status;
    if (traced && status >= 0) {
        int written = tern_trace_end(comm, arguments->trace);
        status = written < 0 ? written : status;
    }
    int gathered = status >= 0 && exec != NULL ? gather_links(comm, exec, links, &status) : TERN_OK;
    gathered =
        gathered == TERN_OK && status >= 0 ? gather_times(comm, times, arguments->runs) : gathered;
    if (status >= 0 && gathered == TERN_OK && exec != NULL && job.rank == 0) {
        print_result(&job, times, status);
        print_links(&job, links);
    }
    status = status == TERN_OK ? gathered : status;
    tern_exec_destroy(exec);
    tern_window_destroy(options.in);
    tern_window_destroy(options.out);
    free(times);
    free(links);
    return status;
}
