// SPDX-License-Identifier: Apache-2.0
// Plans of an executor, measured as calls are.

#include "perf/record.h"

#include <stdlib.h>

#include "ranks.h"
#include "tern/check.h"
#include "tern/exec.h"
#include "tern/record.h"
#include "tern/status.h"

#define VARIABLE "TERN_PERF_EXECUTOR" // where the ranks find what was compiled

static const struct cli_command command = {.name = "perf", .is_job = true};

int perf_record_prepare(struct perf_options *options)
{
    if (options->executor.file == NULL) {
        return 0;
    }
    const char *library = cli_executor_build(&command, &options->executor);
    return library != NULL && setenv(VARIABLE, library, 1) == 0 ? 0 : 1;
}

void perf_record_clean(struct perf_options *options)
{
    cli_executor_remove(&options->executor);
}

static int record(const struct perf_sweep *sweep, const struct perf_call *call,
                  struct perf_recorded *recorded)
{
    char word[32];
    tern_topo *topo = NULL;
    tern_check *check = NULL;
    struct cli_executor executor = sweep->options->executor;
    const char *library = getenv(VARIABLE);
    library = library != NULL ? library : cli_executor_build(&command, &executor);
    if (library == NULL) {
        return TERN_ERR_ARG;
    }
    snprintf(word, sizeof word, "mesh:%d", sweep->nranks);
    tern_record_request request = {.library = library,
                                   .source = executor.file,
                                   .executor = executor.name,
                                   .kind = call->coll.kind,
                                   .bytes = call->total * call->data.element_bytes,
                                   .unit = (uint32_t)call->data.element_bytes,
                                   .root = call->root,
                                   .ccl_bytes = executor.ccl_bytes};
    int status = tern_topo_create(word, &topo);
    request.topo = topo;
    status = status == TERN_OK ? tern_record_plan(&request, &recorded->plan) : status;
    // Not everybody's executor is right, and what is not would hang here, or worse.
    if (status == TERN_OK) {
        status = call->in_place ? tern_check_plan_in_place(recorded->plan, topo, &check)
                                : tern_check_plan(recorded->plan, topo, &check);
    }
    bool proved = status == TERN_OK && tern_check_proved(check);
    if (proved && executor.fuse) {
        status = tern_check_quicken(&recorded->plan, topo);
    }
    if (status == TERN_OK && !proved) {
        perf_say("the plan that the executor asks for is refuted%s; tern plan --executor writes "
                 "it, tern check says why",
                 call->in_place ? " in place" : "");
        status = TERN_ERR_ARG;
    } else if (status != TERN_OK) {
        perf_say("%s", tern_last_error());
    }
    tern_check_destroy(check);
    tern_topo_destroy(topo);
    cli_executor_remove(&executor);
    return status;
}

// The window that a buffer lies in, and where.
static tern_window *window_of(const struct perf_sweep *sweep, const char *buffer, size_t *offset)
{
    const struct perf_buffers *buffers = &sweep->buffers;
    const char *begin[] = {buffers->in, buffers->out};
    int which = begin[0] > begin[1] ? buffer >= begin[0] ? 0 : 1 : buffer >= begin[1] ? 1 : 0;
    *offset = (size_t)(buffer - begin[which]);
    return buffers->windows[which];
}

int perf_record_open(struct perf_sweep *sweep, struct perf_call *calls,
                     struct perf_recorded *recorded)
{
    *recorded = (struct perf_recorded){0};
    if (sweep->options->executor.file == NULL) {
        return TERN_OK;
    }
    uint64_t failed = record(sweep, &calls[0], recorded) != TERN_OK;
    int status = perf_sum_values(&sweep->board, failed, &failed);
    if (status == TERN_OK && failed > 0) {
        sweep->told = true;
        return TERN_ERR_ARG;
    }
    for (long pair = 0; status == TERN_OK && pair < sweep->options->nbuffers; pair++) {
        tern_exec_options options = {.dtype = sweep->options->dtype, .op = sweep->options->op};
        if (calls[pair].in != NULL) {
            options.in = window_of(sweep, calls[pair].in, &options.in_offset);
        }
        if (calls[pair].out != NULL) {
            options.out = window_of(sweep, calls[pair].out, &options.out_offset);
        }
        status = tern_exec_create(sweep->comm, recorded->plan, &options, &recorded->runs[pair]);
        calls[pair].recorded = recorded->runs[pair];
    }
    return status;
}

void perf_record_close(struct perf_recorded *recorded)
{
    for (int pair = 0; pair < PERF_BUFFERS_MAX; pair++) {
        tern_exec_destroy(recorded->runs[pair]);
    }
    tern_plan_destroy(recorded->plan);
    *recorded = (struct perf_recorded){0};
}
