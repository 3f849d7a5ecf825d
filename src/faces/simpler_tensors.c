// SPDX-License-Identifier: Apache-2.0
// Orchestrations whose dependences follow from tensors, of March and of April, over tern/submit.h.

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "faces/simpler_submit.h"

static tern_region *region_of(const Tensor *tensor)
{
    return (tern_region *)(uintptr_t)tensor; // which submit copies
}

// Scopes, of both.

static void begin_scope(PTO2Runtime *rt)
{
    struct simpler_submitter *submitter = tern__simpler_submitter(rt);
    tern_scope mode = submitter->pending_scope_mode == 0 ? TERN_SCOPE_AUTO : TERN_SCOPE_MANUAL;
    submitter->pending_scope_mode = 0;
    tern__simpler_outputs_begin(&submitter->outputs);
    if (tern_graph_scope_begin(submitter->graph, mode) < 0) {
        tern__simpler_refuse(submitter);
    }
}

static void end_scope(PTO2Runtime *rt)
{
    struct simpler_submitter *submitter = tern__simpler_submitter(rt);
    tern__simpler_outputs_end(&submitter->outputs);
    if (tern_graph_scope_end(submitter->graph) < 0) {
        tern__simpler_refuse(submitter);
    }
}

static void done(PTO2Runtime *rt)
{
    (void)rt;
}

// March.

static int march_arg(const PTOParam *param, int number, tern_task_arg *arg)
{
    enum { INPUT, OUTPUT, INOUT, SCALAR };
    *arg = (tern_task_arg){.access = TERN_SCALAR, .scalar = param->scalar_value};
    if (param->type == SCALAR) {
        return TERN_OK;
    }
    arg->region = region_of(param->tensor);
    TERN_TRY(tern__simpler_check_tensor(arg->region, number));
    arg->access = param->type == INPUT        ? TERN_IN
                  : param->type == INOUT      ? TERN_INOUT
                  : arg->region->address != 0 ? TERN_OUT_EXISTING
                                              : TERN_OUT;
    return TERN_OK;
}

static int march_try(struct simpler_submitter *submitter, const MixedKernels *kernels,
                     const PTOParam *params, int32_t count)
{
    tern_task_arg args[TERN_TASK_ARGS_MAX];
    tern_submission submission = {.args = args, .args_count = count};
    if (count < 0 || count > TERN_TASK_ARGS_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "%d parameters; a task has 0 to %d", count,
                          TERN_TASK_ARGS_MAX);
    }
    TERN_TRY(tern__simpler_task(submitter->runtime, kernels, NULL, &submission.task));
    for (int32_t i = 0; i < count; i++) {
        TERN_TRY(march_arg(&params[i], i, &args[i]));
    }
    return tern_graph_submit(submitter->graph, &submission, NULL);
}

static void march_submit(PTO2Runtime *rt, const MixedKernels *kernels, PTOParam *params,
                         int32_t count)
{
    struct simpler_submitter *submitter = tern__simpler_submitter(rt);
    if (march_try(submitter, kernels, params, count) < 0) {
        tern__simpler_refuse(submitter);
    }
}

static const tern_simpler_march_ops march_ops = {
    .submit_task = march_submit,
    .scope_begin = begin_scope,
    .scope_end = end_scope,
    .orchestration_done = done,
    .log_error = tern__simpler_log_error,
    .log_warn = tern__simpler_log_warn,
    .log_info = tern__simpler_log_info,
    .log_debug = tern__simpler_log_debug,
    .log_always = tern__simpler_log_always,
};

// April.

static int april_tensor(struct simpler_submitter *submitter, const tern_simpler_arg *arg, int i,
                        tern_task_arg *made)
{
    static const tern_access accesses[] = {TERN_IN, TERN_OUT, TERN_INOUT, TERN_OUT_EXISTING,
                                           TERN_NO_DEP};
    *made = (tern_task_arg){0};
    if (accesses[arg->tags_[i]] == TERN_OUT) {
        return tern__simpler_output_of(&submitter->outputs, &arg->infos_[i], made);
    }
    made->access = accesses[arg->tags_[i]];
    made->region = region_of(arg->tensors_[i]);
    return tern__simpler_check_tensor(made->region, i);
}

// A task of April or later, and what it may have beside its arguments.
struct submitted {
    const MixedKernels *kernels; // NULL: none, the task is called `name`
    const char *name;
    const tern_simpler_arg *arg;
    const uint64_t *after;
    int after_count;
    const tern_predicate *predicate;
};

static int april_try(struct simpler_submitter *submitter, const struct submitted *what,
                     TaskOutputTensors *answer)
{
    const tern_simpler_arg *arg = what->arg;
    tern_task_arg args[TERN_TASK_ARGS_MAX];
    uint32_t outputs = 0;
    int count = arg->tensor_count_;
    if (arg->has_error) {
        return tern__fail(TERN_ERR_ARG, "%s", arg->error_msg);
    }
    tern_submission submission = {.args = args, .args_count = count + arg->scalar_count_};
    if (what->kernels == NULL) {
        submission.task.core = TERN_CORE_NONE;
        submission.task.name = what->name;
    } else {
        TERN_TRY(tern__simpler_task(submitter->runtime, what->kernels, &arg->launch_spec,
                                    &submission.task));
    }
    for (int i = 0; i < count; i++) {
        TERN_TRY(april_tensor(submitter, arg, i, &args[i]));
        if (args[i].access == TERN_OUT) {
            answer->tensors_[outputs++] = (const Tensor *)(const void *)args[i].region;
        }
    }
    for (int i = 0; i < arg->scalar_count_; i++) {
        args[count + i] = (tern_task_arg){.access = TERN_SCALAR, .scalar = arg->scalars_[i]};
    }
    submission.after = what->after;
    submission.after_count = what->after_count;
    submission.task.predicate = what->predicate;
    TERN_TRY(tern_graph_submit(submitter->graph, &submission, &answer->id_));
    answer->count_ = outputs;
    return TERN_OK;
}

static TaskOutputTensors submit(PTO2Runtime *rt, const struct submitted *what)
{
    struct simpler_submitter *submitter = tern__simpler_submitter(rt);
    TaskOutputTensors answer = tern__simpler_no_outputs();
    if (april_try(submitter, what, &answer) < 0) {
        tern__simpler_refuse(submitter);
        return tern__simpler_no_outputs();
    }
    return answer;
}

static TaskOutputTensors april_submit(PTO2Runtime *rt, const MixedKernels *kernels,
                                      const tern_simpler_arg *arg)
{
    return submit(rt, &(struct submitted){.kernels = kernels,
                                          .name = "alloc_tensors",
                                          .arg = arg,
                                          .after = arg->deps_,
                                          .after_count = arg->dep_count_});
}

static TaskOutputTensors april_allocate(PTO2Runtime *rt, const tern_simpler_arg *arg)
{
    return april_submit(rt, NULL, arg);
}

static bool is_fatal(PTO2Runtime *rt)
{
    return tern_graph_is_fatal(tern__simpler_submitter(rt)->graph);
}

static void TERN_PRINTF(4, 5)
    report_fatal(PTO2Runtime *rt, int32_t code, const char *func, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (!is_fatal(rt)) {
        tern_status_ignore(
            tern_graph_give_up(tern__simpler_submitter(rt)->graph, code, "%s: %s", func, text));
    }
}

static int check_index(const Tensor *tensor, uint32_t ndims)
{
    const tern_region *region = region_of(tensor);
    TERN_TRY(tern__simpler_check_tensor(region, 0));
    return ndims == region->ndims
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "an element's index has %u dimensions, its tensor %u",
                            ndims, region->ndims);
}

static uint64_t get_data(PTO2Runtime *rt, const Tensor *tensor, uint32_t ndims,
                         const uint32_t *index)
{
    struct simpler_submitter *submitter = tern__simpler_submitter(rt);
    uint64_t value = 0;
    if (check_index(tensor, ndims) < 0 ||
        tern_graph_get_element(submitter->graph, region_of(tensor), index, &value) < 0) {
        tern__simpler_refuse(submitter);
    }
    return value;
}

static void set_data(PTO2Runtime *rt, const Tensor *tensor, uint32_t ndims, const uint32_t *index,
                     uint64_t value)
{
    struct simpler_submitter *submitter = tern__simpler_submitter(rt);
    if (check_index(tensor, ndims) < 0 ||
        tern_graph_set_element(submitter->graph, region_of(tensor), index, value) < 0) {
        tern__simpler_refuse(submitter);
    }
}

#define APRIL_OPS                                                                                  \
    {                                                                                              \
        .submit_task = april_submit, .scope_begin = begin_scope, .scope_end = end_scope,           \
        .orchestration_done = done, .is_fatal = is_fatal, .report_fatal = report_fatal,            \
        .log_error = tern__simpler_log_error, .log_warn = tern__simpler_log_warn,                  \
        .log_info = tern__simpler_log_info, .log_debug = tern__simpler_log_debug,                  \
        .log_always = tern__simpler_log_always, .get_tensor_data = get_data,                       \
        .set_tensor_data = set_data, .alloc_tensors = april_allocate,                              \
    }
static const tern_simpler_april_ops april_ops = APRIL_OPS;

// August: as many explicit edges as a task of a graph may have, and predicates.

static tern_dtype dtype_of(DataType dtype)
{
    static const tern_dtype dtypes[] = {
        [TERN_REGION_F32] = TERN_F32,   [TERN_REGION_F16] = TERN_F16, [TERN_REGION_I32] = TERN_I32,
        [TERN_REGION_I16] = TERN_I16,   [TERN_REGION_I8] = TERN_I8,   [TERN_REGION_U8] = TERN_U8,
        [TERN_REGION_BF16] = TERN_BF16, [TERN_REGION_I64] = TERN_I64, [TERN_REGION_U64] = TERN_U64,
        [TERN_REGION_U16] = TERN_U16,   [TERN_REGION_U32] = TERN_U32,
    };
    return dtype < sizeof dtypes / sizeof dtypes[0] ? dtypes[dtype] : TERN_F16; // is refused
}

static TaskOutputTensors august_submit(PTO2Runtime *rt, const MixedKernels *kernels,
                                       const tern_simpler_arg *arg, const tern_simpler_more *more)
{
    const size_t own = (size_t)arg->dep_count_;
    const size_t all = own + more->deps_count;
    const bool possible = all <= TERN_SUBMIT_AFTER_MAX;
    uint64_t *after = possible ? malloc((all > 0 ? all : 1) * sizeof *after) : NULL;
    if (after == NULL) {
        tern__set_error("%zu tasks to run after: %s", all,
                        possible ? "no memory" : "there are at most 65536");
        tern__simpler_refuse(tern__simpler_submitter(rt));
        return tern__simpler_no_outputs();
    }
    int count = 0;
    for (size_t i = 0; i < all; i++) {
        uint64_t id = i < own ? arg->deps_[i] : more->deps[i - own];
        if (id != TERN_TASK_ID_NONE) {
            after[count++] = id;
        }
    }
    tern_predicate predicate = {.address = more->element,
                                .dtype = dtype_of(more->element_dtype),
                                .cmp = (tern_cmp)more->cmp,
                                .value = (double)more->target};
    TaskOutputTensors answer =
        submit(rt, &(struct submitted){.kernels = kernels,
                                       .name = "dummy",
                                       .arg = arg,
                                       .after = after,
                                       .after_count = count,
                                       .predicate = more->has_predicate ? &predicate : NULL});
    free(after);
    return answer;
}

static int32_t count_clusters(PTO2Runtime *rt)
{
    return tern__simpler_submitter(rt)->runtime->clusters;
}

static int32_t count_vectors(PTO2Runtime *rt)
{
    return 2 * count_clusters(rt);
}

static const tern_simpler_august_ops august_ops = {
    .april = APRIL_OPS,
    .submit_more = august_submit,
    .available_cluster_count = count_clusters,
    .available_aiv_count = count_vectors,
};
static_assert(offsetof(tern_simpler_august_ops, april) == 0, "as the header of August has it");

static_assert(offsetof(struct simpler_submitter, pending_scope_mode) == sizeof(void *),
              "as the header of April has it");

// Runs.

static int end_run(struct simpler_submitter *submitter)
{
    submitter->outputs.used = 0;
    submitter->outputs.depth = 0;
    return tern_graph_is_fatal(submitter->graph) ? TERN_ERR_STATE : TERN_OK;
}

static int run_march(tern_graph *graph, void *arg)
{
    struct simpler *runtime = arg;
    PTO2OrchestrationConfig (*config)(uint64_t *, int);
    void (*entry)(PTO2Runtime *, uint64_t *, int, int, int);
    (void)graph;
    memcpy(&config, &runtime->config, sizeof config);
    memcpy(&entry, &runtime->entry, sizeof entry);
    if (config != NULL &&
        tern__simpler_check_count(runtime, config(runtime->raw, runtime->raw_count),
                                  runtime->raw_count) < 0) {
        tern__simpler_refuse(runtime->builder);
        return TERN_ERR_STATE;
    }
    entry(runtime->builder, runtime->raw, runtime->raw_count, 1, 0);
    return end_run(runtime->builder);
}

static int run_april(tern_graph *graph, void *arg)
{
    struct simpler *runtime = arg;
    PTO2OrchestrationConfig (*config)(const ChipStorageTaskArgs *);
    void (*entry)(const ChipStorageTaskArgs *);
    void (*bind)(PTO2Runtime *);
    int count = runtime->args.tensor_count_ + runtime->args.scalar_count_;
    (void)graph;
    void *symbol = dlsym(runtime->orchestration, "framework_bind_runtime");
    if (symbol == NULL) {
        return tern__fail(TERN_ERR_KERNEL, "the orchestration has no framework_bind_runtime");
    }
    memcpy(&bind, &symbol, sizeof bind);
    memcpy(&config, &runtime->config, sizeof config);
    memcpy(&entry, &runtime->entry, sizeof entry);
    bind(runtime->builder);
    if (config != NULL && tern__simpler_check_count(runtime, config(&runtime->args), count) < 0) {
        tern__simpler_refuse(runtime->builder);
        return TERN_ERR_STATE;
    }
    entry(&runtime->args);
    return end_run(runtime->builder);
}

static int build(struct simpler *runtime, const void *ops)
{
    struct simpler_submitter *submitter = calloc(1, sizeof *submitter);
    if (submitter == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a runtime");
    }
    runtime->builder = submitter;
    submitter->ops = ops;
    submitter->runtime = runtime;
    TERN_TRY(tern__simpler_rings(&runtime->graph));
    submitter->graph = runtime->graph;
    return TERN_OK;
}

static int build_march(struct simpler *runtime)
{
    return build(runtime, &march_ops);
}

static int build_april(struct simpler *runtime)
{
    return build(runtime, &april_ops);
}

static int build_august(struct simpler *runtime)
{
    return build(runtime, &august_ops);
}

static int queue_march(struct simpler *runtime)
{
    return tern_chip_orchestrate(runtime->chip, runtime->graph, run_march, runtime, NULL);
}

static int queue_april(struct simpler *runtime)
{
    return tern_chip_orchestrate(runtime->chip, runtime->graph, run_april, runtime, NULL);
}

static void destroy(struct simpler *runtime)
{
    struct simpler_submitter *submitter = runtime->builder;
    tern_graph_destroy(runtime->graph);
    if (submitter != NULL) {
        tern__simpler_outputs_free(&submitter->outputs);
    }
    free(submitter);
}

const struct simpler_kind tern__simpler_tensors = {
    .name = "tensormap_and_ringbuffer",
    .mark = "tern_simpler_tensormap_and_ringbuffer",
    .build = build_march,
    .queue = queue_march,
    .destroy = destroy,
};

const struct simpler_kind tern__simpler_april_tensors = {
    .name = "april/tensormap_and_ringbuffer",
    .mark = "tern_simpler_april_tensormap_and_ringbuffer",
    .april = true,
    .build = build_april,
    .queue = queue_april,
    .destroy = destroy,
};

const struct simpler_kind tern__simpler_august_tensors = {
    .name = "august/tensormap_and_ringbuffer",
    .mark = "tern_simpler_august_tensormap_and_ringbuffer",
    .april = true,
    .build = build_august,
    .queue = queue_april,
    .destroy = destroy,
};
