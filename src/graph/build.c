// SPDX-License-Identifier: Apache-2.0
// Building a graph, the first of the three builders: it is whole before it runs. Set-up path.

#include "graph/graph.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "base/error.h"
#include "base/order.h"
#include "comm/window.h"
#include "isa/signal.h"

static int check_open(const char *call, const tern_graph *graph)
{
    TERN_TRY(tern__handle_check(call, graph, TERN__GRAPH));
    if (tern__table_is_closed(&graph->table)) {
        return tern__fail(TERN_ERR_STATE,
                          "%s: the graph has been launched and cannot be changed any "
                          "more",
                          call);
    }
    return TERN_OK;
}

static int find_task(const char *call, const tern_graph *graph, int id,
                     struct tern__graph_task **task)
{
    if (id < 0 || (uint32_t)id >= graph->table.count) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: there is no task %d; the graph has %u, numbered from 0", call, id,
                          graph->table.count);
    }
    *task = tern__table_at(&graph->table, (uint32_t)id);
    return TERN_OK;
}

static int graph_create(tern_graph **graph)
{
    if (graph == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_create: graph must not be NULL");
    }
    tern_graph *made = tern__handle_new(TERN__GRAPH, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a graph");
    }
    *graph = made;
    return TERN_OK;
}

int tern_graph_create(tern_graph **graph)
{
    return TERN__CALL(graph_create(graph));
}

static int graph_destroy(tern_graph *graph)
{
    if (graph == NULL) {
        return TERN_OK;
    }
    TERN_TRY(tern__handle_check("tern_graph_destroy", graph, TERN__GRAPH));
    if (tern__graph_is_taken(graph)) {
        return tern__fail(TERN_ERR_STATE,
                          "tern_graph_destroy: the graph is running or its turn has not "
                          "come; synchronize the chip first");
    }
    for (size_t i = 0; i < graph->libraries_count; i++) {
        dlclose(graph->libraries[i]);
    }
    free(graph->libraries);
    tern__table_free(&graph->table);
    tern__handle_free(graph, sizeof *graph);
    return TERN_OK;
}

int tern_graph_destroy(tern_graph *graph)
{
    return TERN__CALL(graph_destroy(graph));
}

bool tern__graph_take(tern_graph *graph, uint64_t chip_number)
{
    uint64_t seen = atomic_load(&graph->launched);
    uint64_t wanted;
    do {
        if (seen != 0 && seen >> TERN__LAUNCHES_BITS != chip_number) {
            return false;
        }
        wanted = seen != 0 ? seen + 1 : chip_number << TERN__LAUNCHES_BITS | 1;
    } while (!atomic_compare_exchange_weak(&graph->launched, &seen, wanted));
    return true;
}

void tern__graph_leave(tern_graph *graph)
{
    const uint64_t mask = (UINT64_C(1) << TERN__LAUNCHES_BITS) - 1;
    uint64_t seen = atomic_load(&graph->launched);
    while (
        !atomic_compare_exchange_weak(&graph->launched, &seen, (seen & mask) == 1 ? 0 : seen - 1)) {
    }
}

static int graph_load(tern_graph *graph, const char *path)
{
    TERN_TRY(check_open("tern_graph_load", graph));
    if (path == NULL || *path == '\0') { // to dlopen both mean the program itself
        return tern__fail(TERN_ERR_ARG, "tern_graph_load: path must not be NULL or empty");
    }
    void **grown =
        realloc(graph->libraries, (graph->libraries_count + 1) * sizeof *graph->libraries);
    if (grown == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_graph_load: no memory for a shared object");
    }
    graph->libraries = grown;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return tern__fail(TERN_ERR_KERNEL, "tern_graph_load: %s", dlerror());
    }
    graph->libraries[graph->libraries_count++] = library;
    return TERN_OK;
}

int tern_graph_load(tern_graph *graph, const char *path)
{
    return TERN__CALL(graph_load(graph, path));
}

static int find_kernel(const tern_graph *graph, const tern_task *task, tern_kernel *kernel)
{
    if (task->kernel != NULL) {
        *kernel = task->kernel;
        return TERN_OK;
    }
    const char *name = task->name != NULL ? task->name : task->kernel_name;
    if (task->kernel_name == NULL) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_graph_add_task: task '%s' has neither a kernel nor a "
                          "kernel_name",
                          name != NULL ? name : "(no name)");
    }
    for (size_t i = 0; i < graph->libraries_count; i++) {
        void *symbol = dlsym(graph->libraries[i], task->kernel_name);
        if (symbol != NULL) {
            memcpy(kernel, &symbol, sizeof *kernel); // POSIX: the same representation
            return TERN_OK;
        }
    }
    return tern__fail(TERN_ERR_KERNEL,
                      "tern_graph_add_task: task '%s': no kernel '%s' in the %zu "
                      "shared objects loaded with tern_graph_load",
                      name, task->kernel_name, graph->libraries_count);
}

static int check_task_fields(const tern_graph *graph, const tern_task *task)
{
    if (task->core != TERN_CORE_AIC && task->core != TERN_CORE_AIV) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_add_task: %d is no kind of core",
                          (int)task->core);
    }
    if (task->args_count < 0 || task->args_count > TERN_TASK_ARGS_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "tern_graph_add_task: %d arguments; a task has 0..%d",
                          task->args_count, TERN_TASK_ARGS_MAX);
    }
    if (task->args == NULL && task->args_count > 0) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_add_task: args is NULL with args_count %d",
                          task->args_count);
    }
    if (graph->table.count >= TERN_GRAPH_TASKS_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "tern_graph_add_task: a graph has at most %d tasks",
                          TERN_GRAPH_TASKS_MAX);
    }
    return TERN_OK;
}

// In a trace, the arrow of a task's first signal ends at its slice.
static void describe_task(const struct tern__kernel_call *call, struct tern__trace_event *event)
{
    const struct tern__graph_task *task = (const struct tern__graph_task *)call;
    if (task->waits != NULL) {
        const tern_condition *condition = &task->waits->condition;
        const tern_window *window = condition->window;
        event->in = tern__window_arrow(window, window->rank, condition->offset_bytes);
        event->has = TERN__TRACE_IN_AT_BEGIN;
    }
}

static int graph_add_task(tern_graph *graph, const tern_task *task, int *id)
{
    TERN_TRY(check_open("tern_graph_add_task", graph));
    if (task == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_add_task: task must not be NULL");
    }
    TERN_TRY(check_task_fields(graph, task));
    char name[TERN__TASK_NAME_BYTES];
    struct tern__kernel_call call = {.args = task->args,
                                     .name = name,
                                     .describe = describe_task,
                                     .args_count = (uint32_t)task->args_count,
                                     .core = task->core};
    TERN_TRY(find_kernel(graph, task, &call.kernel));
    if (task->name != NULL || task->kernel_name != NULL) {
        snprintf(name, sizeof name, "%s", task->name != NULL ? task->name : task->kernel_name);
    } else {
        snprintf(name, sizeof name, "task %u", graph->table.count);
    }
    struct tern__graph_task *made;
    TERN_TRY(tern__table_add(&graph->table, &call, &made));
    if (id != NULL) {
        *id = (int)graph->table.count - 1;
    }
    return TERN_OK;
}

int tern_graph_add_task(tern_graph *graph, const tern_task *task, int *id)
{
    return TERN__CALL(graph_add_task(graph, task, id));
}

static int graph_add_edge(tern_graph *graph, int from, int to)
{
    struct tern__graph_task *first;
    struct tern__graph_task *second;
    TERN_TRY(check_open("tern_graph_add_edge", graph));
    TERN_TRY(find_task("tern_graph_add_edge", graph, from, &first));
    TERN_TRY(find_task("tern_graph_add_edge", graph, to, &second));
    if (from == to) {
        return tern__fail(TERN_ERR_CYCLE, "tern_graph_add_edge: task '%s' cannot wait for itself",
                          first->call.name);
    }
    return tern__table_add_edge(&graph->table, first, second);
}

int tern_graph_add_edge(tern_graph *graph, int from, int to)
{
    return TERN__CALL(graph_add_edge(graph, from, to));
}

static int graph_add_wait(tern_graph *graph, int task, const tern_condition *condition,
                          int32_t step_per_run)
{
    TERN_TRY(check_open("tern_graph_add_wait", graph));
    struct tern__graph_task *waiting;
    TERN_TRY(find_task("tern_graph_add_wait", graph, task, &waiting));
    if (condition == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_add_wait: condition must not be NULL");
    }
    TERN_TRY(tern__condition_check("tern_graph_add_wait", condition));
    return tern__table_add_wait(&graph->table, waiting, condition, step_per_run);
}

int tern_graph_add_wait(tern_graph *graph, int task, const tern_condition *condition,
                        int32_t step_per_run)
{
    return TERN__CALL(graph_add_wait(graph, task, condition, step_per_run));
}

int tern_graph_task_count(const tern_graph *graph)
{
    TERN_TRY(tern__handle_check("tern_graph_task_count", graph, TERN__GRAPH));
    return (int)graph->table.count;
}

const char *tern_graph_task_name(const tern_graph *graph, int task)
{
    bool lives = tern__handle_check("tern_graph_task_name", graph, TERN__GRAPH) == TERN_OK;
    return lives && task >= 0 && (uint32_t)task < graph->table.count
               ? tern__table_at(&graph->table, (uint32_t)task)->call.name
               : NULL;
}

// Runs the graph without its kernels: `pending` of the tasks that could not be run stays above 0.
// Returns the number of those that could be.
static uint32_t count_runnable(const struct tern__table *table)
{
    struct tern__graph_task *first = NULL;
    struct tern__graph_task **end = &first;
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        struct tern__graph_task *task = tern__table_at(table, i);
        task->next = NULL;
        task->pending = task->fanin;
        if (task->pending == 0) {
            *end = task;
            end = &task->next;
        }
    }
    for (; first != NULL; first = first->next) {
        count++;
        for (struct tern__graph_edge *edge = first->after; edge != NULL; edge = edge->next_after) {
            if (--edge->to->pending == 0) {
                *end = edge->to;
                end = &edge->to->next;
            }
        }
    }
    return count;
}

// A task before this one that could not be run either. Every task left over has one.
static const struct tern__graph_task *step_back(const struct tern__graph_task *task)
{
    const struct tern__graph_edge *edge = task->before;
    while (edge->from->pending == 0) {
        edge = edge->next_before;
    }
    return edge->from;
}

// Names the tasks of one cycle: who walks backwards from a task left over, as many steps as there
// are tasks, is in one.
static int report_cycle(const struct tern__table *table)
{
    uint32_t left = 0;
    while (tern__table_at(table, left)->pending == 0) {
        left++;
    }
    const struct tern__graph_task *start = tern__table_at(table, left);
    for (uint32_t i = 0; i < table->count; i++) {
        start = step_back(start);
    }
    char text[512];
    const struct tern__graph_task *at = start;
    size_t unnamed = 0;
    size_t used = (size_t)snprintf(text, sizeof text, "'%s'", start->call.name);
    do {
        at = step_back(at);
        if (used + TERN__TASK_NAME_BYTES + 40 < sizeof text) {
            used += (size_t)snprintf(text + used, sizeof text - used, " after '%s'", at->call.name);
        } else {
            unnamed++;
        }
    } while (at != start);
    if (unnamed > 0) {
        snprintf(text + used, sizeof text - used, " and %zu more", unnamed);
    }
    return tern__fail(TERN_ERR_CYCLE, "the graph has a cycle: %s", text);
}

int tern__graph_seal(tern_graph *graph)
{
    struct tern__table *table = &graph->table;
    if (tern__table_is_closed(table)) {
        return TERN_OK;
    }
    if (tern__graph_is_taken(graph)) {
        return tern__fail(TERN_ERR_STATE, "tern_chip_launch: the graph runs and is not whole yet");
    }
    tern__table_reopen(table);
    tern__table_publish(table);
    while (tern__table_admit(table) != NULL) {
    }
    if (count_runnable(table) < table->count) {
        return report_cycle(table);
    }
    tern__table_close(table);
    return TERN_OK;
}
