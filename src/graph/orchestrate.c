// SPDX-License-Identifier: Apache-2.0
// Orchestrations: a thread of the chip runs them, while its cores run what they publish.

#include "graph/orchestrate.h"

#include <stdio.h>
#include <string.h>

#include "base/public.h"
#include "base/trace.h"
#include "graph/rings.h"
#include "base/thread.h"

// Whose orchestration this thread runs, or NULL.
static _Thread_local const tern_graph *here __attribute__((tls_model("initial-exec")));

bool tern__orchestrates(const tern_graph *graph)
{
    return here == graph;
}

bool tern__orchestrates_on(const struct tern_chip *chip)
{
    return here != NULL && here->chip == chip;
}

void tern__orchestrate_publish(tern_graph *graph, struct tern__task *task, uint32_t met)
{
    if (!graph->chip->run.build_first) {
        tern__run_release(graph->chip, task, 1 + met);
        return;
    }
    tern__poke(&task->pending, tern__peek(&task->pending) - met); // nobody else uses it yet
    task->next = NULL;
    *(graph->later != NULL ? &graph->later_last->next : &graph->later) = task;
    graph->later_last = task;
}

void tern__orchestrate_release(tern_graph *graph)
{
    graph->chip->run.build_first = false;
    while (graph->later != NULL) {
        struct tern__task *task = graph->later;
        graph->later = task->next;
        tern__run_release(graph->chip, task, 1);
    }
}

static int graph_publish(tern_graph *graph, int id)
{
    TERN_TRY(tern__handle_check("tern_graph_publish", graph, TERN__GRAPH));
    if (!tern__orchestrates(graph) && graph->runs > 0) {
        return tern__fail(TERN_ERR_STATE, "tern_graph_publish: the caller is no orchestration of "
                                          "the graph");
    }
    if (id < 0 || (uint32_t)id >= graph->table.count) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_graph_publish: there is no task %d; the graph has %u, numbered "
                          "from 0",
                          id, graph->table.count);
    }
    if (graph->chip == NULL) {
        return TERN_OK;
    }
    struct tern__task *task = tern__table_at(&graph->table, (uint32_t)id);
    if (task->before_count == TERN__PUBLISHED) {
        return tern__fail(TERN_ERR_STATE, "tern_graph_publish: task '%s' has been published",
                          task->name);
    }
    task->before_count = TERN__PUBLISHED;
    graph->unpublished--;
    if (graph->chip->history != NULL) {
        tern__history_add(graph->chip->history, task, task->number);
        for (const struct tern__edge *edge = task->before; edge != NULL; edge = edge->next_before) {
            tern__history_edge(graph->chip->history, task, edge->from->number);
        }
    }
    tern__orchestrate_publish(graph, task, 0);
    return TERN_OK;
}

int tern_graph_publish(tern_graph *graph, int task)
{
    return TERN__CALL(graph_publish(graph, task));
}

static int graph_run(const tern_graph *graph)
{
    TERN_TRY(tern__handle_check("tern_graph_run", graph, TERN__GRAPH));
    return tern__orchestrates(graph)
               ? (int)graph->chip->run.number
               : tern__fail(TERN_ERR_STATE,
                            "tern_graph_run: the caller is no orchestration of the graph");
}

int tern_graph_run(const tern_graph *graph)
{
    return TERN__CALL(graph_run(graph));
}

// What was never published ends, poisoned; the run fails.
static void end_unpublished(tern_graph *graph)
{
    struct tern__table *table = &graph->table;
    for (uint32_t i = 0; i < table->count && graph->unpublished > 0; i++) {
        struct tern__task *task = tern__table_at(table, i);
        if (task->before_count != TERN__PUBLISHED) {
            tern__run_fail(graph->chip, TERN_ERR_STATE, TERN__CODE_INVALID_ARGS,
                           "INVALID_ARGS: task '%s' was never published", task->name);
            task->before_count = TERN__PUBLISHED;
            graph->unpublished--;
            tern__task_poison(task);
            tern__run_release(graph->chip, task, 1);
        }
    }
}

static void orchestrate(struct tern_chip *chip, const struct tern__chip_launch *launch)
{
    tern_graph *graph = launch->graph;
    graph->chip = chip;
    if (graph->rings != NULL) {
        tern__rings_begin(graph->rings, graph);
    }
    int64_t begin_ns = tern__trace_start();
    here = graph;
    tern__set_error("%s", ""); // what this thread said before is not about this run
    int status = launch->orchestration(graph, launch->arg);
    here = NULL;
    tern__trace_add(TERN__TRACE_TASK, "orchestration", begin_ns, 0);
    if (status < 0) {
        const char *sentence = tern_last_error();
        tern__run_fail(chip, status, TERN__CODE_EXPLICIT_ORCH_FATAL,
                       "EXPLICIT_ORCH_FATAL: the orchestration returned %s%s%.400s",
                       tern_status_name(status), sentence[0] != '\0' ? ": " : "", sentence);
    }
    tern__orchestrate_release(graph);
    end_unpublished(graph);
    uint64_t total = graph->table.count;
    if (graph->rings != NULL) {
        total = tern__rings_end(graph->rings);
    }
    graph->chip = NULL;
    tern__run_close(chip, total);
}

static bool has_orchestration(void *arg)
{
    struct tern_chip *chip = arg;
    // partner: run_graph in scheduler.c, end_chip in chip.c
    return tern__flag_load(&chip->orchestrates) != 0 || tern__flag_load(&chip->stop) != 0;
}

void *tern__orchestrator_main(void *arg)
{
    struct tern_chip *chip = arg;
    tern__trace_name_thread("orchestrator");
    for (;;) {
        struct tern__ladder ladder = tern__cores_ladder(&chip->cores);
        struct tern__wait idle = {.bell = &chip->orchestrator_bell,
                                  .ladder = &ladder,
                                  .timeout_ns = INT64_MAX, // ended by `stop`
                                  .holds = has_orchestration,
                                  .arg = chip};
        tern__wait(&idle);
        if (tern__flag_load(&chip->orchestrates) == 0) {
            return NULL;
        }
        orchestrate(chip, chip->orchestrated);
        tern__flag_store(&chip->orchestrates, 0); // partner: tern__run_is_over
        tern__bell_ring(tern__chip_bell(chip));
    }
}
