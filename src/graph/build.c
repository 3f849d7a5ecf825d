// SPDX-License-Identifier: Apache-2.0
// Building a graph of tasks and edges: before it runs (the first of the three builders), or by an
// orchestration while it runs (the second).

#include "graph/graph.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "base/error.h"
#include "base/order.h"
#include "comm/window.h"
#include "graph/chip.h"
#include "graph/orchestrate.h"
#include "graph/rings.h"
#include "isa/signal.h"

static int check_open(const char *call, const tern_graph *graph)
{
    TERN_TRY(tern__handle_check(call, graph, TERN__GRAPH));
    if (graph->rings != NULL) {
        return tern__fail(TERN_ERR_STATE,
                          "%s: the graph is one of tern_graph_create_rings; tern_graph_submit adds "
                          "tasks to it",
                          call);
    }
    if (tern__orchestrates(graph)) {
        return TERN_OK;
    }
    if (graph->sealed || graph->runs > 0) {
        return tern__fail(TERN_ERR_STATE,
                          "%s: the graph has been launched and cannot be changed any "
                          "more",
                          call);
    }
    return TERN_OK;
}

static int find_task(const char *call, const tern_graph *graph, int id, struct tern__task **task)
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

static int graph_create_rings(const tern_ring_options *options, tern_graph **graph)
{
    struct tern__rings *rings = NULL;
    if (graph == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_create_rings: graph must not be NULL");
    }
    if (options != NULL && (options->flags & ~(uint32_t)TERN_RINGS_UPSTREAM) != 0) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_create_rings: flags %#x; there is only %#x",
                          options->flags, TERN_RINGS_UPSTREAM);
    }
    TERN_TRY(tern__rings_make(options, &rings));
    int status = tern_graph_create(graph);
    if (status != TERN_OK) {
        tern__rings_free(rings);
        return status;
    }
    (*graph)->rings = rings;
    (*graph)->sealed = true;
    return TERN_OK;
}

int tern_graph_create_rings(const tern_ring_options *options, tern_graph **graph)
{
    return TERN__CALL_OF_CALLS(graph_create_rings(options, graph));
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
    tern__order_free(&graph->order);
    tern__rings_free(graph->rings);
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
    TERN_TRY(tern__handle_check("tern_graph_load", graph, TERN__GRAPH));
    if (graph->rings == NULL) {
        TERN_TRY(check_open("tern_graph_load", graph));
    } else if (tern__graph_is_taken(graph) && !tern__orchestrates(graph)) {
        return tern__fail(TERN_ERR_STATE, "tern_graph_load: the graph runs, or its turn has not "
                                          "come");
    }
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

static int check_args(const char *call, const tern_task *task)
{
    if (task->args_count < 0 || task->args_count > TERN_TASK_ARGS_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "%s: %d arguments; a task has 0..%d", call,
                          task->args_count, TERN_TASK_ARGS_MAX);
    }
    if (task->args == NULL && task->args_count > 0) {
        return tern__fail(TERN_ERR_ARG, "%s: args is NULL with args_count %d", call,
                          task->args_count);
    }
    return TERN_OK;
}

static int graph_add_task(tern_graph *graph, const tern_task *task, int *id)
{
    const char *call = "tern_graph_add_task";
    TERN_TRY(check_open(call, graph));
    if (task == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_add_task: task must not be NULL");
    }
    TERN_TRY(check_args(call, task));
    if (graph->table.count >= TERN_GRAPH_TASKS_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "tern_graph_add_task: a graph has at most %d tasks",
                          TERN_GRAPH_TASKS_MAX);
    }
    char name[TERN__TASK_NAME_BYTES];
    struct tern__task row = {.args = task->args, .name = name};
    struct tern__task_more more;
    more.sync_start = false;
    more.hold.count = 0;
    TERN_TRY(tern__task_read(call, graph, task, &row, &more));
    row.args_count = (uint16_t)task->args_count;
    const char *given = task->name != NULL ? task->name : task->kernel_name;
    if (given != NULL) {
        const size_t length = strnlen(given, sizeof name - 1);
        memcpy(name, given, length);
        name[length] = '\0';
    } else {
        snprintf(name, sizeof name, "task %u", graph->table.count);
    }
    if (graph->chip != NULL) { // until it is published
        int code;
        row.more = &more;
        TERN_TRY(tern__task_fits(call, graph->chip, &row, &code));
        row.more = NULL; // the table's row has its own, or none
        atomic_init(&row.pending, TERN__UNPUBLISHED);
    }
    struct tern__task *made;
    bool has_more = (row.special & ~(unsigned)TERN__TASK_EMPTY) != 0;
    TERN_TRY(tern__table_add(&graph->table, &row, has_more ? &more : NULL, &made));
    graph->unpublished += graph->chip != NULL;
    if (id != NULL) {
        *id = (int)made->number;
    }
    return TERN_OK;
}

int tern_graph_add_task(tern_graph *graph, const tern_task *task, int *id)
{
    return TERN__CALL(graph_add_task(graph, task, id));
}

// In a graph that runs, only tasks that are not published change.
static int check_unpublished(const char *call, const tern_graph *graph,
                             const struct tern__task *task)
{
    return graph->chip == NULL || task->before_count != TERN__PUBLISHED
               ? TERN_OK
               : tern__fail(TERN_ERR_STATE, "%s: task '%s' has been published", call, task->name);
}

static int graph_add_edge(tern_graph *graph, int from, int to)
{
    const char *call = "tern_graph_add_edge";
    struct tern__task *first;
    struct tern__task *second;
    TERN_TRY(check_open(call, graph));
    TERN_TRY(find_task(call, graph, from, &first));
    TERN_TRY(find_task(call, graph, to, &second));
    if (from == to) {
        return tern__fail(TERN_ERR_CYCLE, "tern_graph_add_edge: task '%s' cannot wait for itself",
                          first->name);
    }
    TERN_TRY(check_unpublished(call, graph, second));
    if (graph->chip == NULL) {
        return tern__table_add_before(&graph->table, second, (uint32_t)from);
    }
    struct tern__edge *edge;
    TERN_TRY(tern__table_make_edge(&graph->table, first, second, &edge));
    if (graph->chip->history != NULL) {
        TERN_TRY(tern__table_add_before(&graph->table, second, (uint32_t)from));
    }
    second->linked += tern__task_link(edge);
    return TERN_OK;
}

int tern_graph_add_edge(tern_graph *graph, int from, int to)
{
    return TERN__CALL(graph_add_edge(graph, from, to));
}

static int graph_add_wait(tern_graph *graph, int task, const tern_condition *condition,
                          int32_t step_per_run)
{
    TERN_TRY(check_open("tern_graph_add_wait", graph));
    struct tern__task *waiting;
    TERN_TRY(find_task("tern_graph_add_wait", graph, task, &waiting));
    if (condition == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_add_wait: condition must not be NULL");
    }
    TERN_TRY(tern__condition_check("tern_graph_add_wait", condition));
    TERN_TRY(check_unpublished("tern_graph_add_wait", graph, waiting));
    if (graph->chip != NULL) {
        TERN_TRY(
            tern__task_window_fits("tern_graph_add_wait", graph->chip, waiting, condition->window));
    }
    struct tern__until until = {.condition = *condition, .step_per_run = step_per_run};
    return tern__table_add_until(&graph->table, waiting, &until);
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
               ? tern__table_at(&graph->table, (uint32_t)task)->name
               : NULL;
}
