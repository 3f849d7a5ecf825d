// SPDX-License-Identifier: Apache-2.0
// Building a graph of tasks and edges: before it runs (the first of the three builders), or by an
// orchestration while it runs (the second).

#include "graph/graph.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
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

int tern__graph_find(const char *call, const tern_graph *graph, const char *task, const char *name,
                     tern_kernel *kernel)
{
    for (size_t i = 0; i < graph->libraries_count; i++) {
        void *symbol = dlsym(graph->libraries[i], name);
        if (symbol != NULL) {
            memcpy(kernel, &symbol, sizeof *kernel); // POSIX: the same representation
            return TERN_OK;
        }
    }
    return tern__fail(TERN_ERR_KERNEL,
                      "%s: task '%s': no kernel '%s' in the %zu shared objects loaded with "
                      "tern_graph_load",
                      call, task, name, graph->libraries_count);
}

// The kernels of the cores of a cluster.
static int read_mix(const char *call, const tern_graph *graph, const tern_task *given,
                    const char *name, struct tern__task_more *more)
{
    int count = 0;
    for (int i = 0; i < 3; i++) {
        more->mix[i] = given->mix[i];
        if (more->mix[i] == NULL && given->mix_names[i] != NULL) {
            TERN_TRY(tern__graph_find(call, graph, name, given->mix_names[i], &more->mix[i]));
        }
        count += more->mix[i] != NULL;
    }
    return count >= 2 ? TERN_OK
                      : tern__fail(TERN_ERR_ARG,
                                   "%s: task '%s' is of TERN_CORE_MIX and has %d kernels in mix; "
                                   "it needs two or three",
                                   call, name, count);
}

static int read_predicate(const char *call, const char *name, const tern_predicate *given,
                          struct tern__task_more *more)
{
    size_t size = tern_dtype_size(given->dtype);
    if (given->address == NULL || !tern__dtype_is_number(given->dtype) ||
        given->dtype == TERN_F16 || given->dtype == TERN_BF16 ||
        (uintptr_t)given->address % size != 0 || (unsigned)given->cmp > TERN_CMP_LE) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: task '%s': the predicate compares a %s at %p by %d; expected an "
                          "aligned number that is not f16 or bf16, and a comparison of tern_cmp",
                          call, name, tern_dtype_name(given->dtype), given->address,
                          (int)given->cmp);
    }
    more->predicate = *given;
    return TERN_OK;
}

static int check_fields(const char *call, const tern_task *given, const char *name)
{
    if ((unsigned)given->core > TERN_CORE_NONE) {
        return tern__fail(TERN_ERR_ARG, "%s: %d is no kind of core", call, (int)given->core);
    }
    if (given->blocks < 0 || given->blocks > TERN_TASK_BLOCKS_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "%s: task '%s' has %d blocks; a task has 1..%d", call,
                          name, given->blocks, TERN_TASK_BLOCKS_MAX);
    }
    bool has_kernel = given->kernel != NULL || given->kernel_name != NULL;
    bool wants_kernel = given->core == TERN_CORE_AIC || given->core == TERN_CORE_AIV;
    if (has_kernel != wants_kernel) {
        const char *what = wants_kernel ? "has neither a kernel nor a kernel_name"
                           : given->core == TERN_CORE_MIX
                               ? "is of TERN_CORE_MIX, whose kernels are in mix, and has a kernel"
                               : "is of TERN_CORE_NONE and has a kernel";
        return tern__fail(TERN_ERR_ARG, "%s: task '%s' %s", call, name, what);
    }
    return TERN_OK;
}

int tern__task_read(const char *call, const tern_graph *graph, const tern_task *given,
                    struct tern__task *task, struct tern__task_more *more)
{
    const char *name = given->name != NULL          ? given->name
                       : given->kernel_name != NULL ? given->kernel_name
                                                    : "(no name)";
    TERN_TRY(check_fields(call, given, name));
    task->kernel = given->kernel;
    task->core = (uint8_t)given->core;
    task->blocks = given->blocks > 1 ? (uint32_t)given->blocks : 1;
    task->special = 0;
    if (given->kernel == NULL && given->kernel_name != NULL) {
        TERN_TRY(tern__graph_find(call, graph, name, given->kernel_name, &task->kernel));
    }
    if (given->core == TERN_CORE_NONE) {
        task->blocks = 1;
        task->special |= TERN__TASK_EMPTY;
    } else if (given->core == TERN_CORE_MIX || task->blocks > 1) {
        *more = (struct tern__task_more){.sync_start = given->sync_start && task->blocks > 1};
        task->special |= TERN__TASK_GANG;
        if (given->core == TERN_CORE_MIX) {
            TERN_TRY(read_mix(call, graph, given, name, more));
        }
    }
    if (given->predicate != NULL) {
        if (task->special != TERN__TASK_GANG) {
            *more = (struct tern__task_more){.reserve = -1};
        }
        task->special |= TERN__TASK_PREDICATE;
        TERN_TRY(read_predicate(call, name, given->predicate, more));
    }
    return TERN_OK;
}

static int need_cores(const char *call, const struct tern_chip *chip, const struct tern__task *task,
                      int *code)
{
    const struct tern__cores *cores = &chip->cores;
    bool mix = task->core == TERN_CORE_MIX;
    int has = mix ? tern__cores_clusters(cores) : tern__cores_of(cores, task->core);
    const char *what = mix ? "cluster" : task->core == TERN_CORE_AIC ? "AIC core" : "AIV core";
    if (has == 0) {
        *code = TERN__CODE_INVALID_ARGS;
        return tern__fail(TERN_ERR_KERNEL, "%s: task '%s' needs an %s and the chip has none", call,
                          task->name, what);
    }
    if ((task->special & TERN__TASK_GANG) != 0 && task->more->sync_start &&
        (int)task->blocks > has) {
        *code = TERN__CODE_REQUIRE_SYNC_START_INVALID;
        return tern__fail(TERN_ERR_LIMIT,
                          "%s: REQUIRE_SYNC_START_INVALID: the %u blocks of task '%s' are to start "
                          "together, and the chip has %d %s%s",
                          call, task->blocks, task->name, has, what, has == 1 ? "" : "s");
    }
    return TERN_OK;
}

static int window_fits(const char *call, const struct tern_chip *chip,
                       const struct tern__task *task, const tern_window *window)
{
    TERN_TRY(tern__window_lives(call, window));
    return chip->comm != NULL && window->comm->group.job == chip->comm->group.job
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG,
                            "%s: task '%s' waits for a signal of another job than the chip's", call,
                            task->name);
}

int tern__task_fits(const char *call, const struct tern_chip *chip, const struct tern__task *task,
                    int *code)
{
    if ((task->special & TERN__TASK_EMPTY) == 0) {
        TERN_TRY(need_cores(call, chip, task, code));
    }
    uint32_t waits = (task->special & TERN__TASK_WAITS) != 0 ? task->more->hold.count : 0;
    for (uint32_t i = 0; i < waits; i++) {
        *code = TERN__CODE_INVALID_ARGS;
        TERN_TRY(window_fits(call, chip, task, task->more->hold.untils[i].condition.window));
    }
    return TERN_OK;
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
    if (task->name != NULL || task->kernel_name != NULL) {
        snprintf(name, sizeof name, "%s", task->name != NULL ? task->name : task->kernel_name);
    } else {
        snprintf(name, sizeof name, "task %u", graph->table.count);
    }
    if (graph->chip != NULL) { // until it is published
        int code;
        row.more = &more;
        TERN_TRY(tern__task_fits(call, graph->chip, &row, &code));
        atomic_init(&row.pending, 1);
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
    struct tern__edge *edge;
    TERN_TRY(check_open(call, graph));
    TERN_TRY(find_task(call, graph, from, &first));
    TERN_TRY(find_task(call, graph, to, &second));
    if (from == to) {
        return tern__fail(TERN_ERR_CYCLE, "tern_graph_add_edge: task '%s' cannot wait for itself",
                          first->name);
    }
    TERN_TRY(check_unpublished(call, graph, second));
    TERN_TRY(tern__table_add_edge(&graph->table, first, second, &edge));
    if (graph->chip != NULL) {
        tern__task_link_one(edge);
    }
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
        TERN_TRY(window_fits("tern_graph_add_wait", graph->chip, waiting, condition->window));
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
