// SPDX-License-Identifier: Apache-2.0
// The thread of a chip that runs orchestrations, while its cores run what they publish.

#include <pthread.h>

#include "base/thread.h"
#include "base/trace.h"
#include "graph/chip.h"
#include "graph/orchestrate.h"
#include "graph/rings.h"
#include "isa/fault.h"
#include "sync/wait.h"

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
            tern__run_release(graph->chip, task, tern__task_unpublished(task));
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
    tern__orchestrates_now(graph);
    tern__set_error("%s", ""); // what this thread said before is not about this run
    int status = launch->orchestration(graph, launch->arg);
    tern__orchestrates_now(NULL);
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

static void name_orchestration(struct tern__fault *fault)
{
    if (tern__orchestrated != NULL) {
        tern__fault_begin(fault);
        tern__fault_add(fault, "an orchestration: ");
        tern__kernel_fault_describe(fault);
        tern__fault_add(fault, "\n");
    }
}

static void watch(void)
{
    tern__fault_watch(name_orchestration);
}

void *tern__orchestrator_main(void *arg)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct tern_chip *chip = arg;
    struct tern__fault_stack faults;
    pthread_once(&once, watch);
    tern__kernel_thread_begin(&faults);
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
            tern__kernel_thread_end(&faults);
            return NULL;
        }
        orchestrate(chip, chip->orchestrated);
        tern__flag_store(&chip->orchestrates, 0); // partner: tern__run_is_over
        tern__chip_ring(chip);
    }
}
