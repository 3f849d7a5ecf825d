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

// Makes room for `more` further items of a growing array.
static int reserve(void **items, size_t *room, size_t count, size_t more, size_t item_bytes)
{
    if (count + more <= *room) {
        return TERN_OK;
    }
    size_t wanted = *room < 16 ? 16 : *room * 2;
    wanted = wanted < count + more ? count + more : wanted;
    void *grown = realloc(*items, wanted * item_bytes);
    if (grown == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a graph of %zu items", wanted);
    }
    *items = grown;
    *room = wanted;
    return TERN_OK;
}

static int check_open(const char *call, const tern_graph *graph)
{
    TERN_TRY(tern__handle_check(call, graph, TERN__GRAPH));
    if (graph->sealed) {
        return tern__fail(TERN_ERR_STATE,
                          "%s: the graph has been launched and cannot be changed any "
                          "more",
                          call);
    }
    return TERN_OK;
}

static int check_task(const char *call, const tern_graph *graph, int task)
{
    if (task < 0 || (size_t)task >= graph->tasks_count) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: there is no task %d; the graph has %zu, numbered from 0", call, task,
                          graph->tasks_count);
    }
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
    if (tern__flag_load(&graph->running) != 0) {
        return tern__fail(TERN_ERR_STATE,
                          "tern_graph_destroy: the graph is running; synchronize the "
                          "chip first");
    }
    for (size_t i = 0; i < graph->libraries_count; i++) {
        dlclose(graph->libraries[i]);
    }
    free(graph->libraries);
    free(graph->tasks);
    free(graph->args);
    free(graph->edges);
    free(graph->waits);
    free(graph->successors);
    tern__handle_free(graph, sizeof *graph);
    return TERN_OK;
}

int tern_graph_destroy(tern_graph *graph)
{
    return TERN__CALL(graph_destroy(graph));
}

static int graph_load(tern_graph *graph, const char *path)
{
    TERN_TRY(check_open("tern_graph_load", graph));
    if (path == NULL || *path == '\0') { // to dlopen both mean the program itself
        return tern__fail(TERN_ERR_ARG, "tern_graph_load: path must not be NULL or empty");
    }
    TERN_TRY(reserve((void **)&graph->libraries, &graph->libraries_room, graph->libraries_count, 1,
                     sizeof *graph->libraries));
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
    if (graph->tasks_count >= TERN_GRAPH_TASKS_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "tern_graph_add_task: a graph has at most %d tasks",
                          TERN_GRAPH_TASKS_MAX);
    }
    return TERN_OK;
}

// In a trace, the arrow of a task's first signal ends at its slice.
static void describe_task(const struct tern__kernel_call *call, struct tern__trace_event *event)
{
    const struct tern__graph_task *task = (const struct tern__graph_task *)call;
    if (task->waits_count > 0) {
        const tern_condition *condition = &task->waits[0].condition;
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
    tern_kernel kernel;
    TERN_TRY(find_kernel(graph, task, &kernel));
    size_t args_count = (size_t)task->args_count;
    TERN_TRY(reserve((void **)&graph->tasks, &graph->tasks_room, graph->tasks_count, 1,
                     sizeof *graph->tasks));
    TERN_TRY(reserve((void **)&graph->args, &graph->args_room, graph->args_count, args_count,
                     sizeof *graph->args));
    struct tern__graph_task *made = &graph->tasks[graph->tasks_count];
    *made = (struct tern__graph_task){.call = {.kernel = kernel,
                                               .describe = describe_task,
                                               .args_count = (uint32_t)args_count,
                                               .core = task->core},
                                      .args_first = (uint32_t)graph->args_count};
    if (task->name != NULL || task->kernel_name != NULL) {
        snprintf(made->name, sizeof made->name, "%s",
                 task->name != NULL ? task->name : task->kernel_name);
    } else {
        snprintf(made->name, sizeof made->name, "task %zu", graph->tasks_count);
    }
    if (args_count > 0) {
        memcpy(graph->args + graph->args_count, task->args, args_count * sizeof *graph->args);
    }
    graph->args_count += args_count;
    if (id != NULL) {
        *id = (int)graph->tasks_count;
    }
    graph->tasks_count++;
    return TERN_OK;
}

int tern_graph_add_task(tern_graph *graph, const tern_task *task, int *id)
{
    return TERN__CALL(graph_add_task(graph, task, id));
}

static int graph_add_edge(tern_graph *graph, int from, int to)
{
    TERN_TRY(check_open("tern_graph_add_edge", graph));
    TERN_TRY(check_task("tern_graph_add_edge", graph, from));
    TERN_TRY(check_task("tern_graph_add_edge", graph, to));
    if (from == to) {
        return tern__fail(TERN_ERR_CYCLE, "tern_graph_add_edge: task '%s' cannot wait for itself",
                          graph->tasks[from].name);
    }
    TERN_TRY(reserve((void **)&graph->edges, &graph->edges_room, graph->edges_count, 1,
                     sizeof *graph->edges));
    graph->edges[graph->edges_count++] =
        (struct tern__edge){.from = (uint32_t)from, .to = (uint32_t)to};
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
    TERN_TRY(check_task("tern_graph_add_wait", graph, task));
    if (condition == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_add_wait: condition must not be NULL");
    }
    TERN_TRY(tern__condition_check("tern_graph_add_wait", condition));
    TERN_TRY(reserve((void **)&graph->waits, &graph->waits_room, graph->waits_count, 1,
                     sizeof *graph->waits));
    graph->waits[graph->waits_count++] = (struct tern__graph_wait){.task = (uint32_t)task,
                                                                   .step_per_run = step_per_run,
                                                                   .condition = *condition};
    return TERN_OK;
}

int tern_graph_add_wait(tern_graph *graph, int task, const tern_condition *condition,
                        int32_t step_per_run)
{
    return TERN__CALL(graph_add_wait(graph, task, condition, step_per_run));
}

int tern_graph_task_count(const tern_graph *graph)
{
    TERN_TRY(tern__handle_check("tern_graph_task_count", graph, TERN__GRAPH));
    return (int)graph->tasks_count;
}

const char *tern_graph_task_name(const tern_graph *graph, int task)
{
    bool lives = tern__handle_check("tern_graph_task_name", graph, TERN__GRAPH) == TERN_OK;
    return lives && task >= 0 && (size_t)task < graph->tasks_count ? graph->tasks[task].name : NULL;
}

static int compare_edges(const void *a, const void *b)
{
    const struct tern__edge *x = a;
    const struct tern__edge *y = b;
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    return (x->to > y->to) - (x->to < y->to);
}

static int compare_waits(const void *a, const void *b)
{
    const struct tern__graph_wait *x = a;
    const struct tern__graph_wait *y = b;
    return (x->task > y->task) - (x->task < y->task);
}

// Sorts edges and waits, drops double edges, and fills in the tasks' ranges.
static void arrange(tern_graph *graph)
{
    if (graph->edges_count > 0) {
        qsort(graph->edges, graph->edges_count, sizeof *graph->edges, compare_edges);
    }
    if (graph->waits_count > 0) {
        qsort(graph->waits, graph->waits_count, sizeof *graph->waits, compare_waits);
    }
    for (size_t i = 0; i < graph->tasks_count; i++) {
        struct tern__graph_task *task = &graph->tasks[i];
        task->fanin = task->successors_count = task->waits_count = 0;
        task->call.name = task->name;
        task->call.args = task->call.args_count > 0 ? graph->args + task->args_first : NULL;
    }
    size_t kept = 0;
    for (size_t i = 0; i < graph->edges_count; i++) {
        struct tern__edge edge = graph->edges[i];
        if (kept > 0 && compare_edges(&graph->edges[kept - 1], &edge) == 0) {
            continue;
        }
        struct tern__graph_task *from = &graph->tasks[edge.from];
        from->successors_first =
            from->successors_count++ == 0 ? (uint32_t)kept : from->successors_first;
        graph->tasks[edge.to].fanin++;
        graph->successors[kept] = edge.to;
        graph->edges[kept++] = edge;
    }
    graph->edges_count = kept;
    for (size_t i = 0; i < graph->waits_count; i++) {
        struct tern__graph_task *task = &graph->tasks[graph->waits[i].task];
        task->waits = task->waits_count++ == 0 ? &graph->waits[i] : task->waits;
    }
}

// Runs the graph without its kernels: fanin[t] ends as the number of unfinished predecessors.
// Returns the number of tasks that could be run.
static size_t count_runnable(const tern_graph *graph, uint32_t *fanin, uint32_t *queue)
{
    size_t head = 0;
    size_t tail = 0;
    for (size_t i = 0; i < graph->tasks_count; i++) {
        fanin[i] = graph->tasks[i].fanin;
        if (fanin[i] == 0) {
            queue[tail++] = (uint32_t)i;
        }
    }
    while (head < tail) {
        const struct tern__graph_task *task = &graph->tasks[queue[head++]];
        for (uint32_t i = 0; i < task->successors_count; i++) {
            uint32_t next = graph->successors[task->successors_first + i];
            if (--fanin[next] == 0) {
                queue[tail++] = next;
            }
        }
    }
    return tail;
}

// Names the tasks of one cycle. Every task left over has a predecessor that is left over, so walking
// backwards from any of them runs into a cycle.
static int report_cycle(const tern_graph *graph, const uint32_t *fanin)
{
    size_t count = graph->tasks_count;
    uint32_t *before = malloc(count * sizeof *before);
    uint32_t *seen = calloc(count, sizeof *seen);
    if (before == NULL || seen == NULL) {
        free(before);
        free(seen);
        return tern__fail(TERN_ERR_CYCLE, "the graph has a cycle");
    }
    uint32_t at = 0;
    for (size_t i = 0; i < graph->edges_count; i++) {
        if (fanin[graph->edges[i].from] > 0 && fanin[graph->edges[i].to] > 0) {
            before[graph->edges[i].to] = graph->edges[i].from;
            at = graph->edges[i].to;
        }
    }
    while (seen[at] == 0) {
        seen[at] = 1;
        at = before[at];
    }
    char text[512];
    uint32_t start = at;
    size_t unnamed = 0;
    size_t used = (size_t)snprintf(text, sizeof text, "'%s'", graph->tasks[start].name);
    do {
        at = before[at];
        if (used + TERN__TASK_NAME_BYTES + 40 < sizeof text) {
            used += (size_t)snprintf(text + used, sizeof text - used, " after '%s'",
                                     graph->tasks[at].name);
        } else {
            unnamed++;
        }
    } while (at != start);
    if (unnamed > 0) {
        snprintf(text + used, sizeof text - used, " and %zu more", unnamed);
    }
    free(before);
    free(seen);
    return tern__fail(TERN_ERR_CYCLE, "the graph has a cycle: %s", text);
}

int tern__graph_seal(tern_graph *graph)
{
    if (graph->sealed) {
        return TERN_OK;
    }
    size_t count = graph->tasks_count;
    free(graph->successors);
    graph->successors = calloc(graph->edges_count + 1, sizeof *graph->successors);
    uint32_t *fanin = calloc(count + 1, sizeof *fanin);
    uint32_t *queue = calloc(count + 1, sizeof *queue);
    int status = TERN_OK;
    if (graph->successors == NULL || fanin == NULL || queue == NULL) {
        status = tern__fail(TERN_ERR_MEMORY, "no memory to launch a graph of %zu tasks", count);
    } else {
        arrange(graph);
        if (count_runnable(graph, fanin, queue) < count) {
            status = report_cycle(graph, fanin);
        }
    }
    free(fanin);
    free(queue);
    graph->sealed = status == TERN_OK;
    return status;
}
