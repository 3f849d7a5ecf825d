// SPDX-License-Identifier: Apache-2.0
// Orchestrations that add tasks and edges themselves: on the host, of March and April, and on the
// chip, of March.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "faces/acl/acl.h"
#include "faces/simpler.h"

enum { ARGS_MAX = 16 };

static struct simpler *of(tern_simpler_runtime *runtime)
{
    return runtime->tern_state;
}

// What builds on this thread, for calls that have no runtime.
static _Thread_local struct simpler *building;

// Of each task whether it comes after another; `builder` of a runtime whose graph is built on the
// host.
struct simpler_order {
    bool *waits;
    size_t room;
};

static int add_kernel(struct simpler *runtime, const char *name, tern_kernel kernel,
                      const uint64_t *args, int num_args, CoreType core_type)
{
    int id = -1;
    int64_t values[ARGS_MAX];
    if (num_args < 0 || num_args > ARGS_MAX || (args == NULL && num_args > 0)) {
        return tern__fail(TERN_ERR_ARG, "add_task: %s has %d arguments; 0 to %d are possible", name,
                          num_args, ARGS_MAX);
    }
    if (num_args > 0) {
        memcpy(values, args, (size_t)num_args * sizeof *values);
    }
    tern_task task = {.name = name,
                      .kernel = kernel,
                      .core = core_type == TERN_CORE_AIC ? TERN_CORE_AIC : TERN_CORE_AIV,
                      .args = values,
                      .args_count = num_args};
    TERN_TRY(tern_graph_add_task(runtime->graph, &task, &id));
    return id;
}

// After the first call that was refused nothing is done: it would only hide why.
static int add_task(struct simpler *runtime, const uint64_t *args, int num_args, int func_id,
                    CoreType core_type)
{
    if (runtime->status != TERN_OK) {
        return -1;
    }
    const struct simpler_kernel *kernel = tern__simpler_kernel(runtime->kernels, func_id);
    int id = kernel != NULL
                 ? add_kernel(runtime, kernel->name, kernel->function, args, num_args, core_type)
                 : tern__fail(TERN_ERR_KERNEL, "add_task: no kernel has the id %d", func_id);
    if (id < 0) {
        tern__simpler_note(runtime, id);
        return -1;
    }
    return id;
}

static void add_edge(struct simpler *runtime, int from, int to)
{
    if (runtime->status != TERN_OK) {
        return;
    }
    tern__simpler_note(runtime, tern_graph_add_edge(runtime->graph, from, to));
}

// Keeps that `task` waits.
static int note_waiting(struct simpler_order *order, int task)
{
    if (task >= 0 && (size_t)task >= order->room) {
        size_t room = 2 * (size_t)task + 64;
        bool *waits = realloc(order->waits, room * sizeof *waits);
        if (waits == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "no memory for an edge");
        }
        memset(waits + order->room, 0, (room - order->room) * sizeof *waits);
        *order = (struct simpler_order){waits, room};
    }
    if (task >= 0) {
        order->waits[task] = true;
    }
    return TERN_OK;
}

static void print(const struct simpler *runtime)
{
    int count = tern_graph_task_count(runtime->graph);
    printf("%d tasks\n", count);
    for (int i = 0; i < count; i++) {
        printf("%d: %s\n", i, tern_graph_task_name(runtime->graph, i));
    }
}

// Memory.

static void *allocate(size_t size)
{
    return building != NULL ? tern__simpler_malloc(building, size) : device_malloc(size);
}

static void release(void *memory)
{
    if (building != NULL) {
        tern__simpler_free(building, memory);
    } else {
        device_free(memory);
    }
}

static uint64_t upload_kernel(int id, const uint8_t *bytes, size_t size)
{
    if (building == NULL) {
        tern__set_error("upload_kernel_binary: by an orchestration that builds on the host");
        return 0;
    }
    int status = tern__simpler_load_kernel(building->kernels, id, bytes, size);
    tern__simpler_note(building, status);
    if (status != TERN_OK) {
        return 0;
    }
    building->runtime.kernel_addrs[id] = (uint64_t)(uintptr_t)building->kernels[id].function;
    return building->runtime.kernel_addrs[id];
}

static void remove_kernel(int id)
{
    if (building != NULL) {
        tern__simpler_unload_kernel(building->kernels, id);
    }
}

static const HostApi host_api = {allocate,         release,       copy_to_device,
                                 copy_from_device, upload_kernel, remove_kernel};

// On the host, March.

static int host_add_task(tern_simpler_runtime *runtime, uint64_t *args, int num_args, int func_id,
                         CoreType core_type)
{
    return add_task(of(runtime), args, num_args, func_id, core_type);
}

static void host_add_successor(tern_simpler_runtime *runtime, int from, int to)
{
    add_edge(of(runtime), from, to);
    if (from != to) {
        tern__simpler_note(of(runtime), note_waiting(of(runtime)->builder, to));
    }
}

static void host_record(tern_simpler_runtime *runtime, void *host, void *device, size_t size)
{
    tern__simpler_note(of(runtime), tern__simpler_record(of(runtime), host, device, size));
}

static int host_count(tern_simpler_runtime *runtime)
{
    return tern_graph_task_count(of(runtime)->graph);
}

static int host_ready(tern_simpler_runtime *runtime, int *tasks)
{
    const struct simpler_order *order = of(runtime)->builder;
    int count = 0;
    for (int i = 0; i < host_count(runtime); i++) {
        if ((size_t)i >= order->room || !order->waits[i]) {
            if (tasks != NULL) {
                tasks[count] = i;
            }
            count++;
        }
    }
    return count;
}

static void host_print(tern_simpler_runtime *runtime)
{
    print(of(runtime));
}

static const tern_simpler_host_calls host_calls = {
    host_add_task, host_add_successor, host_record, host_count, host_ready, host_print,
};

// What the orchestration returned, or what it did not look at.
static int built(const struct simpler *runtime, int returned)
{
    if (runtime->status != TERN_OK) {
        return runtime->status;
    }
    return returned == 0 ? TERN_OK
                         : tern__fail(TERN_ERR_ARG, "the orchestration %s returned %d",
                                      runtime->function_name, returned);
}

static int begin_host(struct simpler *runtime)
{
    runtime->builder = calloc(1, sizeof(struct simpler_order));
    if (runtime->builder == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a graph");
    }
    return tern_graph_create(&runtime->graph);
}

static int build_host(struct simpler *runtime)
{
    int (*entry)(tern_simpler_runtime *, uint64_t *, int);
    memcpy(&entry, &runtime->entry, sizeof entry);
    TERN_TRY(begin_host(runtime));
    runtime->runtime.tern_calls = &host_calls;
    runtime->runtime.host_api = host_api;
    building = runtime;
    int returned = entry(&runtime->runtime, runtime->raw, runtime->raw_count);
    building = NULL;
    return built(runtime, returned);
}

static int queue_host(struct simpler *runtime)
{
    return tern_chip_launch(runtime->chip, runtime->graph);
}

static void destroy(struct simpler *runtime)
{
    struct simpler_order *order = runtime->builder;
    tern_graph_destroy(runtime->graph);
    free(order != NULL ? order->waits : NULL);
    free(order);
    runtime->graph = NULL;
    runtime->builder = NULL;
}

// On the host, April.

static struct simpler *of_april(OrchestrationRuntime *runtime)
{
    return runtime->tern_state;
}

static int april_add_task(OrchestrationRuntime *runtime, uint64_t *args, int num_args, int func_id,
                          CoreType core_type)
{
    return add_task(of_april(runtime), args, num_args, func_id, core_type);
}

static void april_set_info(OrchestrationRuntime *runtime, int id, const TensorInfo *infos,
                           int count)
{
    (void)runtime;
    (void)id;
    (void)infos;
    (void)count;
}

static void april_add_successor(OrchestrationRuntime *runtime, int from, int to)
{
    add_edge(of_april(runtime), from, to);
}

static void april_record(OrchestrationRuntime *runtime, void *host, void *device, size_t size)
{
    host_record(&of_april(runtime)->runtime, host, device, size);
}

static int april_count(OrchestrationRuntime *runtime)
{
    return tern_graph_task_count(of_april(runtime)->graph);
}

static void april_print(OrchestrationRuntime *runtime)
{
    print(of_april(runtime));
}

static void *april_allocate(OrchestrationRuntime *runtime, size_t size)
{
    return tern__simpler_malloc(of_april(runtime), size);
}

static void april_free(OrchestrationRuntime *runtime, void *memory)
{
    tern__simpler_free(of_april(runtime), memory);
}

static int april_copy(OrchestrationRuntime *runtime, void *device, const void *host, size_t size)
{
    (void)runtime;
    return copy_to_device(device, host, size);
}

static const OrchestrationRuntimeOps april_ops = {
    april_add_task, april_set_info, april_add_successor, april_record, april_count,
    april_print,    april_allocate, april_free,          april_copy,
};

static int build_april(struct simpler *runtime)
{
    int (*entry)(OrchestrationRuntime *, const ChipStorageTaskArgs *);
    memcpy(&entry, &runtime->entry, sizeof entry);
    TERN_TRY(begin_host(runtime));
    runtime->april = (OrchestrationRuntime){&april_ops, runtime};
    return built(runtime, entry(&runtime->april, &runtime->args));
}

// On the chip, March.

static int chip_add_task(tern_simpler_runtime *runtime, uint64_t *args, int num_args, int func_id,
                         CoreType core_type, uint64_t function)
{
    tern_kernel kernel;
    const struct simpler_kernel *known = tern__simpler_kernel(of(runtime)->kernels, func_id);
    char name[TERN__SIMPLER_NAME];
    if (function == 0 || of(runtime)->status != TERN_OK) {
        return add_task(of(runtime), args, num_args, func_id, core_type);
    }
    memcpy(&kernel, &function, sizeof kernel);
    if (known != NULL && known->function == kernel) {
        snprintf(name, sizeof name, "%s", known->name);
    } else {
        snprintf(name, sizeof name, "kernel %d", func_id);
    }
    int id = add_kernel(of(runtime), name, kernel, args, num_args, core_type);
    tern__simpler_note(of(runtime), id);
    return id < 0 ? -1 : id;
}

static void chip_add_successor(tern_simpler_runtime *runtime, int from, int to)
{
    add_edge(of(runtime), from, to);
}

static void chip_publish(tern_simpler_runtime *runtime, int id)
{
    if (of(runtime)->status == TERN_OK) {
        tern__simpler_note(of(runtime), tern_graph_publish(of(runtime)->graph, id));
    }
}

static int run_chip(tern_graph *graph, void *arg)
{
    struct simpler *runtime = arg;
    int (*entry)(tern_simpler_runtime *);
    (void)graph;
    memcpy(&entry, &runtime->entry, sizeof entry);
    building = runtime;
    int returned = entry(&runtime->runtime);
    building = NULL;
    return built(runtime, returned);
}

static int build_chip(struct simpler *runtime)
{
    tern_simpler_runtime *seen = &runtime->runtime;
    if (runtime->raw_count > TERN_SIMPLER_ORCH_ARGS) {
        return tern__fail(TERN_ERR_LIMIT, "%d arguments; an orchestration on the chip has %d",
                          runtime->raw_count, TERN_SIMPLER_ORCH_ARGS);
    }
    seen->orch_argc = runtime->raw_count;
    memcpy(seen->orch_args, runtime->raw, (size_t)runtime->raw_count * sizeof runtime->raw[0]);
    seen->aicpu_build_api =
        (AicpuBuildApi){chip_add_task, chip_add_successor, chip_publish, allocate, release};
    return TERN_OK;
}

// A graph for each run: one that is built on the chip runs once.
static int queue_chip(struct simpler *runtime)
{
    const char *mode = getenv("PTO_AICPU_BUILD_GRAPH_BUILD_MODE");
    tern_orchestrate_options options = {.build_first = mode != NULL && strcmp(mode, "0") == 0};
    tern_graph_destroy(runtime->graph);
    runtime->graph = NULL;
    TERN_TRY(tern_graph_create(&runtime->graph));
    return tern_chip_orchestrate(runtime->chip, runtime->graph, run_chip, runtime, &options);
}

const struct simpler_kind tern__simpler_host = {
    .name = "host_build_graph",
    .mark = "tern_simpler_host_build_graph",
    .on_host = true,
    .build = build_host,
    .queue = queue_host,
    .destroy = destroy,
};

const struct simpler_kind tern__simpler_april_host = {
    .name = "april/host_build_graph",
    .mark = "tern_simpler_april_host_build_graph",
    .april = true,
    .on_host = true,
    .build = build_april,
    .queue = queue_host,
    .destroy = destroy,
};

const struct simpler_kind tern__simpler_chip = {
    .name = "aicpu_build_graph",
    .mark = "tern_simpler_aicpu_build_graph",
    .build = build_chip,
    .queue = queue_chip,
    .destroy = destroy,
};
