// SPDX-License-Identifier: Apache-2.0
// What an orchestration publishes, and whether the caller is one. orchestrator.c has its thread.

#include "graph/orchestrate.h"

#include "base/public.h"

_Thread_local const tern_graph *tern__orchestrated;

void tern__orchestrates_now(const tern_graph *graph)
{
    tern__orchestrated = graph;
}

bool tern__orchestrates_on(const struct tern_chip *chip)
{
    return tern__orchestrated != NULL && tern__orchestrated->chip == chip;
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
    graph->unpublished--;
    if (graph->chip->history != NULL) {
        tern__history_add(graph->chip->history, task, task->number);
        for (uint32_t i = task->before_count; i-- > 0;) { // the newest first
            tern__history_edge(graph->chip->history, task, task->numbers[i]);
        }
    }
    task->before_count = TERN__PUBLISHED;
    tern__orchestrate_publish(graph, task, tern__task_unpublished(task) - 1);
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
