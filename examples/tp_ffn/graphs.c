// SPDX-License-Identifier: Apache-2.0
// The orchestration (graphs.h). For each chunk of tokens:
//
//     linear -> announce a    reduce a     ffn -> announce y    reduce y    complete
//                             waits for    waits for            waits for   waits for
//                             ready a      done a               ready y     done y
//
// A chunk's AllReduce thus runs on the AIV cores while the AIC cores multiply the next chunk. The
// waits grow by the number of ranks in each run, so no signal is ever reset.
#include "graphs.h"

#include <stdio.h>

#include <tern/status.h>

// What is being built. After a failure the steps that follow do nothing.
struct builder {
    tern_graph *graph;
    struct device *device;
    enum signal_set set;
    struct failure *failure;
    int status;
};

static const char stage_letters[STAGE_COUNT] = {'a', 'y'};

static void check(struct builder *builder, int status)
{
    if (status != TERN_OK) {
        builder->status = fail_tern(builder->failure, "the graph cannot be built");
    }
}

static int add_task(struct builder *builder, const char *name, tern_kernel kernel, tern_core core,
                    size_t chunk, enum stage stage)
{
    int64_t args[KERNEL_ARGS] = {(int64_t)(intptr_t)builder->device, (int64_t)chunk, (int64_t)stage,
                                 (int64_t)builder->set};
    int id = 0;
    if (builder->status == 0) {
        tern_task task = {
            .name = name, .kernel = kernel, .core = core, .args = args, .args_count = KERNEL_ARGS};
        check(builder, tern_graph_add_task(builder->graph, &task, &id));
    }
    return id;
}

// A task of an AllReduce.
static int add_step(struct builder *builder, const char *verb, tern_kernel kernel, size_t chunk,
                    enum stage stage)
{
    char name[48];
    snprintf(name, sizeof name, "%s %c %zu", verb, stage_letters[stage], chunk);
    return add_task(builder, name, kernel, TERN_CORE_AIV, chunk, stage);
}

static int add_product(struct builder *builder, const char *verb, tern_kernel kernel, size_t chunk)
{
    char name[48];
    snprintf(name, sizeof name, "%s %zu", verb, chunk);
    return add_task(builder, name, kernel, TERN_CORE_AIC, chunk, STAGE_A);
}

static void add_edge(struct builder *builder, int from, int to)
{
    if (builder->status == 0) {
        check(builder, tern_graph_add_edge(builder->graph, from, to));
    }
}

// The task waits until every rank has notified the signal once more than before the run.
static void add_wait(struct builder *builder, int task, size_t chunk, enum stage stage,
                     enum signal signal)
{
    const struct layout *layout = &builder->device->layout;
    tern_condition condition = {.window = builder->device->window,
                                .offset_bytes =
                                    layout_signal(layout, builder->set, stage, signal, chunk),
                                .cmp = TERN_CMP_GE,
                                .value = (int32_t)layout->nranks};
    if (builder->status == 0) {
        check(builder,
              tern_graph_add_wait(builder->graph, task, &condition, (int32_t)layout->nranks));
    }
}

// The AllReduce of a chunk up to the stores; returns the announcing task.
static int add_all_reduce(struct builder *builder, size_t chunk, enum stage stage)
{
    int announce = add_step(builder, "announce", kernel_announce, chunk, stage);
    int reduce = add_step(builder, "reduce", kernel_reduce, chunk, stage);
    add_wait(builder, reduce, chunk, stage, SIGNAL_READY);
    return announce;
}

// The run ends only when all of y is here.
static void add_complete(struct builder *builder, size_t chunk)
{
    int complete = add_step(builder, "complete", kernel_complete, chunk, STAGE_Y);
    add_wait(builder, complete, chunk, STAGE_Y, SIGNAL_DONE);
}

static void build_full(struct builder *builder, size_t chunks)
{
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        int linear = add_product(builder, "linear", kernel_linear, chunk);
        add_edge(builder, linear, add_all_reduce(builder, chunk, STAGE_A));
    }
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        int ffn = add_product(builder, "ffn", kernel_ffn, chunk);
        add_wait(builder, ffn, chunk, STAGE_A, SIGNAL_DONE);
        add_edge(builder, ffn, add_all_reduce(builder, chunk, STAGE_Y));
        add_complete(builder, chunk);
    }
}

// The ffn tasks read what the last full run left in a.
static void build_compute(struct builder *builder, size_t chunks)
{
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        int linear = add_product(builder, "linear", kernel_linear, chunk);
        int ffn = add_product(builder, "ffn", kernel_ffn, chunk);
        add_edge(builder, linear, ffn);
    }
}

// Sums what the last full run left in the partial sums: a chunk's second AllReduce follows its
// first.
static void build_communication(struct builder *builder, size_t chunks)
{
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        add_all_reduce(builder, chunk, STAGE_A);
    }
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        int announce = add_all_reduce(builder, chunk, STAGE_Y);
        add_wait(builder, announce, chunk, STAGE_A, SIGNAL_DONE);
        add_complete(builder, chunk);
    }
}

int graph_build(enum variant variant, struct device *device, tern_graph **graph,
                struct failure *failure)
{
    struct builder builder = {.device = device, .set = SIGNALS_FULL, .failure = failure};
    if (tern_graph_create(&builder.graph) != TERN_OK) {
        return fail_tern(failure, "the graph cannot be created");
    }
    size_t chunks = device->layout.shape.chunks;
    switch (variant) {
    case VARIANT_FULL:
        build_full(&builder, chunks);
        break;
    case VARIANT_COMPUTE:
        build_compute(&builder, chunks);
        break;
    case VARIANT_COMMUNICATION:
        builder.set = SIGNALS_COMMUNICATION;
        build_communication(&builder, chunks);
        break;
    case VARIANT_COUNT:
        break;
    }
    if (builder.status != 0) {
        tern_graph_destroy(builder.graph);
        return builder.status;
    }
    *graph = builder.graph;
    return 0;
}
