// SPDX-License-Identifier: Apache-2.0
// Orchestrations that submit tasks with tensors and say themselves what runs after what, of April:
// over tern/submit.h, without its map. There edges are said when a task is submitted; here they
// come until the scope ends, which is also when the scope's tasks may run. So a task is kept until
// then; only its outputs, whose addresses the orchestration has at once, are allocated before, by a
// task of their own.

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "faces/simpler_submit.h"

// A task that has not been submitted.
struct kept {
    tern_task task;
    tern_region regions[TERN_SIMPLER_TENSORS];
    tern_task_arg args[TERN_SIMPLER_TENSORS + TERN_SIMPLER_SCALARS];
    int args_count;
    uint32_t *producers; // by their numbers here
    int producers_count, producers_room;
    int depth; // of its scope; -1: that has ended
};

// By the number that the orchestration knows, from 0 on.
struct row {
    tern_task_id id;   // when it has been submitted
    struct kept *kept; // until then
};

struct build {
    struct simpler_submitter submitter; // first: what the PTO2Runtime points to
    struct row *rows;
    uint32_t rows_count, rows_room;
    uint32_t first_kept; // those before have been submitted
    int depth;
    // Scopes of the graph. While tasks of a scope that has ended are kept, its stays open, since
    // their outputs are in it, and no further one is opened in it.
    int owed;                  // are still open, and should not be
    bool has[TERN_SCOPES_MAX]; // by depth
};

static struct build *of(PTO2Runtime *rt)
{
    return (struct build *)(void *)rt;
}

static void free_kept(struct kept *kept)
{
    free(kept != NULL ? kept->producers : NULL);
    free(kept);
}

static int add_producer(struct kept *kept, uint32_t producer)
{
    if (kept->producers_count == kept->producers_room) {
        int room = 2 * kept->producers_room + 4;
        uint32_t *producers = realloc(kept->producers, (size_t)room * sizeof *producers);
        if (producers == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "no memory for an edge");
        }
        kept->producers = producers;
        kept->producers_room = room;
    }
    kept->producers[kept->producers_count++] = producer;
    return TERN_OK;
}

// Memory for the outputs of `arg`, now: regions[] of those, and the answer's outputs.
static int allocate(struct build *build, const tern_simpler_arg *arg, struct kept *kept,
                    TaskOutputTensors *answer)
{
    enum { OUTPUT = 1 };
    tern_task_arg args[TERN_SIMPLER_TENSORS];
    int at[TERN_SIMPLER_TENSORS];
    int count = 0;
    for (int i = 0; i < arg->tensor_count_; i++) {
        if (arg->tags_[i] == OUTPUT) {
            args[count] = (tern_task_arg){0};
            TERN_TRY(
                tern__simpler_output_of(&build->submitter.outputs, &arg->infos_[i], &args[count]));
            answer->tensors_[count] = (const Tensor *)(const void *)args[count].region;
            at[count++] = i;
        }
    }
    if (count == 0) {
        return TERN_OK;
    }
    tern_submission submission = {.task = {.core = TERN_CORE_NONE, .name = "outputs"},
                                  .args = args,
                                  .args_count = count};
    TERN_TRY(tern_graph_submit(build->submitter.graph, &submission, NULL));
    for (int i = 0; i < count; i++) {
        kept->regions[at[i]] = *args[i].region;
    }
    answer->count_ = (uint32_t)count;
    return TERN_OK;
}

static int keep_args(const tern_simpler_arg *arg, struct kept *kept)
{
    enum { OUTPUT = 1 };
    for (int i = 0; i < arg->tensor_count_; i++) {
        if (arg->tags_[i] != OUTPUT) {
            const tern_region *region = (const tern_region *)(const void *)arg->tensors_[i];
            TERN_TRY(tern__simpler_check_tensor(region, i));
            kept->regions[i] = *region;
        }
        kept->args[i] = (tern_task_arg){.access = TERN_NO_DEP, .region = &kept->regions[i]};
    }
    for (int i = 0; i < arg->scalar_count_; i++) {
        kept->args[arg->tensor_count_ + i] =
            (tern_task_arg){.access = TERN_SCALAR, .scalar = arg->scalars_[i]};
    }
    kept->args_count = arg->tensor_count_ + arg->scalar_count_;
    return TERN_OK;
}

static int add_row(struct build *build, struct kept *kept, uint32_t *number)
{
    if (build->rows_count == build->rows_room) {
        uint32_t room = 2 * build->rows_room + 256;
        struct row *rows = realloc(build->rows, room * sizeof *rows);
        if (rows == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "no memory for a task");
        }
        build->rows = rows;
        build->rows_room = room;
    }
    *number = build->rows_count;
    build->rows[build->rows_count++] = (struct row){TERN_TASK_ID_NONE, kept};
    return TERN_OK;
}

static int check_number(const struct build *build, uint64_t number)
{
    return number < build->rows_count ? TERN_OK
                                      : tern__fail(TERN_ERR_ARG, "%llu is not the id of a task",
                                                   (unsigned long long)number);
}

static int keep(struct build *build, const MixedKernels *kernels, const tern_simpler_arg *arg,
                struct kept *kept, SubmitResult *result)
{
    uint32_t number = 0;
    if (arg->has_error) {
        return tern__fail(TERN_ERR_ARG, "%s", arg->error_msg);
    }
    TERN_TRY(tern__simpler_task(build->submitter.runtime, kernels, &arg->launch_spec, &kept->task));
    TERN_TRY(keep_args(arg, kept));
    TERN_TRY(allocate(build, arg, kept, &result->outputs));
    for (int i = 0; i < arg->dep_count_; i++) {
        TERN_TRY(check_number(build, arg->deps_[i]));
        TERN_TRY(add_producer(kept, (uint32_t)arg->deps_[i]));
    }
    TERN_TRY(add_row(build, kept, &number));
    result->task_id = number;
    result->outputs.id_ = number;
    return TERN_OK;
}

static SubmitResult submit(PTO2Runtime *rt, const MixedKernels *kernels,
                           const tern_simpler_arg *arg)
{
    struct build *build = of(rt);
    SubmitResult result = {TERN_TASK_ID_NONE, tern__simpler_no_outputs()};
    if (tern_graph_is_fatal(build->submitter.graph)) {
        return result;
    }
    struct kept *kept = calloc(1, sizeof *kept);
    int status = kept != NULL ? keep(build, kernels, arg, kept, &result)
                              : tern__fail(TERN_ERR_MEMORY, "no memory for a task");
    if (status < 0) {
        free_kept(kept);
        tern__simpler_refuse(&build->submitter);
        return (SubmitResult){TERN_TASK_ID_NONE, tern__simpler_no_outputs()};
    }
    kept->depth = build->depth;
    return result;
}

static int add_edge(struct build *build, uint64_t producer, uint64_t consumer)
{
    TERN_TRY(check_number(build, producer));
    TERN_TRY(check_number(build, consumer));
    struct kept *kept = build->rows[consumer].kept;
    return kept != NULL ? add_producer(kept, (uint32_t)producer)
                        : tern__fail(TERN_ERR_STATE,
                                     "rt_add_dependency: the scope of the consumer has ended");
}

static void add_dependency(PTO2Runtime *rt, uint64_t producer, uint64_t consumer)
{
    struct build *build = of(rt);
    if (!tern_graph_is_fatal(build->submitter.graph) && add_edge(build, producer, consumer) < 0) {
        tern__simpler_refuse(&build->submitter);
    }
}

// Submits the task unless it has to wait for an edge's producer to be submitted. 1: done.
static int try_row(struct build *build, struct row *row)
{
    struct kept *kept = row->kept;
    tern_task_id *after = NULL;
    if (kept->producers_count > 0) {
        after = malloc((size_t)kept->producers_count * sizeof *after);
        if (after == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "no memory for edges");
        }
    }
    for (int i = 0; i < kept->producers_count; i++) {
        after[i] = build->rows[kept->producers[i]].id;
        if (after[i] == TERN_TASK_ID_NONE) {
            free(after);
            return 0;
        }
    }
    tern_submission submission = {.task = kept->task,
                                  .args = kept->args,
                                  .args_count = kept->args_count,
                                  .after = after,
                                  .after_count = kept->producers_count};
    int status = tern_graph_submit(build->submitter.graph, &submission, &row->id);
    free(after);
    if (status == TERN_OK) {
        free_kept(kept);
        row->kept = NULL;
    }
    return status < 0 ? status : 1;
}

// Submits what may run, until no more of it can. Returns how many of those are left.
static int flush(struct build *build)
{
    bool moved;
    int left;
    do {
        moved = false;
        left = 0;
        for (uint32_t i = build->first_kept; i < build->rows_count; i++) {
            struct row *row = &build->rows[i];
            if (row->kept == NULL || row->kept->depth >= 0) {
                continue;
            }
            int done = try_row(build, row);
            if (done < 0) {
                return done;
            }
            moved = moved || done > 0;
            left += done == 0;
        }
    } while (moved && left > 0);
    while (build->first_kept < build->rows_count && build->rows[build->first_kept].kept == NULL) {
        build->first_kept++;
    }
    return left;
}

// The scope of this depth has ended.
static int let_run(struct build *build, int depth)
{
    for (uint32_t i = build->first_kept; i < build->rows_count; i++) {
        struct kept *kept = build->rows[i].kept;
        if (kept != NULL && kept->depth == depth) {
            kept->depth = -1;
        }
    }
    return flush(build);
}

static void begin_scope(PTO2Runtime *rt)
{
    struct build *build = of(rt);
    build->depth++;
    tern__simpler_outputs_begin(&build->submitter.outputs);
    bool opens = build->owed == 0 || build->depth >= TERN_SCOPES_MAX;
    if (build->depth < TERN_SCOPES_MAX) {
        build->has[build->depth] = opens;
    }
    if (opens && tern_graph_scope_begin(build->submitter.graph, TERN_SCOPE_AUTO) < 0) {
        tern__simpler_refuse(&build->submitter);
    }
}

static void end_scope(PTO2Runtime *rt)
{
    struct build *build = of(rt);
    if (tern_graph_is_fatal(build->submitter.graph)) {
        build->depth--;
        tern__simpler_outputs_end(&build->submitter.outputs);
        return; // the run ends its scopes
    }
    int left = let_run(build, build->depth);
    build->owed += build->has[build->depth--];
    tern__simpler_outputs_end(&build->submitter.outputs);
    for (; left == 0 && build->owed > 0; build->owed--) {
        left = tern_graph_scope_end(build->submitter.graph);
    }
    if (left < 0) {
        tern__simpler_refuse(&build->submitter);
    }
}

static void done(PTO2Runtime *rt)
{
    (void)rt;
}

static bool is_fatal(PTO2Runtime *rt)
{
    return tern_graph_is_fatal(of(rt)->submitter.graph);
}

static const tern_simpler_build_ops ops = {
    .submit_task = submit,
    .add_dependency = add_dependency,
    .scope_begin = begin_scope,
    .scope_end = end_scope,
    .orchestration_done = done,
    .is_fatal = is_fatal,
    .log_error = tern__simpler_log_error,
    .log_warn = tern__simpler_log_warn,
    .log_info = tern__simpler_log_info,
    .log_debug = tern__simpler_log_debug,
    .log_always = tern__simpler_log_always,
};

static void forget_rows(struct build *build)
{
    for (uint32_t i = 0; i < build->rows_count; i++) {
        free_kept(build->rows[i].kept);
    }
    build->rows_count = 0;
    build->first_kept = 0;
    build->depth = 0;
    build->owed = 0;
    build->submitter.outputs.used = 0;
    build->submitter.outputs.depth = 0;
}

// What has been submitted in the outermost scope, when the orchestration has returned.
static int end_outermost(struct build *build)
{
    if (tern_graph_is_fatal(build->submitter.graph)) {
        return TERN_ERR_STATE;
    }
    int left = let_run(build, 0);
    if (left > 0) {
        left = tern__fail(TERN_ERR_CYCLE, "%d tasks wait for each other", left);
    }
    if (left < 0) {
        tern__simpler_refuse(&build->submitter);
        return TERN_ERR_STATE;
    }
    return TERN_OK;
}

static int run(tern_graph *graph, void *arg)
{
    struct simpler *runtime = arg;
    struct build *build = runtime->builder;
    PTO2OrchestrationConfig (*config)(const ChipStorageTaskArgs *);
    void (*entry)(PTO2Runtime *, const ChipStorageTaskArgs *);
    int count = runtime->args.tensor_count_ + runtime->args.scalar_count_;
    (void)graph;
    memcpy(&config, &runtime->config, sizeof config);
    memcpy(&entry, &runtime->entry, sizeof entry);
    if (config != NULL && tern__simpler_check_count(runtime, config(&runtime->args), count) < 0) {
        tern__simpler_refuse(&build->submitter);
        return TERN_ERR_STATE;
    }
    entry((PTO2Runtime *)(void *)build, &runtime->args);
    int status = end_outermost(build);
    forget_rows(build);
    return status;
}

static int build_april(struct simpler *runtime)
{
    struct build *build = calloc(1, sizeof *build);
    if (build == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a runtime");
    }
    runtime->builder = build;
    build->submitter.ops = &ops;
    build->submitter.runtime = runtime;
    TERN_TRY(tern__simpler_rings(&runtime->graph));
    build->submitter.graph = runtime->graph;
    return TERN_OK;
}

static int queue(struct simpler *runtime)
{
    return tern_chip_orchestrate(runtime->chip, runtime->graph, run, runtime, NULL);
}

static void destroy(struct simpler *runtime)
{
    struct build *build = runtime->builder;
    tern_graph_destroy(runtime->graph);
    if (build != NULL) {
        forget_rows(build);
        free(build->rows);
        tern__simpler_outputs_free(&build->submitter.outputs);
    }
    free(build);
}

const struct simpler_kind tern__simpler_april_build = {
    .name = "april/aicpu_build_graph",
    .mark = "tern_simpler_april_aicpu_build_graph",
    .april = true,
    .build = build_april,
    .queue = queue,
    .destroy = destroy,
};
