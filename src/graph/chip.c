// SPDX-License-Identifier: Apache-2.0
// Chips: threads, launching, synchronizing.

#include "graph/chip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "base/clock.h"
#include "base/options.h"
#include "comm/window.h"
#include "stream/thread.h"

static _Atomic uint64_t chips_made;

static void free_chip(tern_chip *chip)
{
    tern__cores_forget(&chip->cores);
    tern__handle_free(chip, sizeof *chip);
}

static void end_chip(struct tern_chip *chip)
{
    tern__flag_store(&chip->stop, 1); // partner: has_launch
    tern__bell_ring(&chip->launch_bell);
    if (chip->scheduler_started) {
        pthread_join(chip->scheduler, NULL);
    }
    tern__cores_stop(&chip->cores);
    free_chip(chip);
}

static int start_threads(struct tern_chip *chip, const tern_chip_options *wanted)
{
    struct tern__job *job = chip->comm != NULL ? chip->comm->group.job : NULL;
    TERN_TRY(tern__cores_start(&chip->cores, job, wanted->aic_count, wanted->aiv_count));
    TERN_TRY(tern__thread_start(&chip->scheduler, tern__scheduler_main, chip));
    chip->scheduler_started = true;
    return TERN_OK;
}

static int check_options(const tern_chip_options *options)
{
    if (options->aic_count < 0 || options->aiv_count < 0 || options->aic_count > TERN_CORES_MAX ||
        options->aiv_count > TERN_CORES_MAX ||
        options->aic_count + options->aiv_count > TERN_CORES_MAX) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_chip_create: %d AIC and %d AIV cores; together there "
                          "are at most %d",
                          options->aic_count, options->aiv_count, TERN_CORES_MAX);
    }
    return TERN_OK;
}

static int chip_create(tern_comm *comm, const tern_chip_options *options, tern_chip **chip)
{
    if (chip == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_chip_create: chip must not be NULL");
    }
    tern_chip_options wanted = options != NULL ? *options : (tern_chip_options){0};
    TERN_TRY(check_options(&wanted));
    if (wanted.aic_count == 0 && wanted.aiv_count == 0) {
        wanted.aic_count = wanted.aiv_count = 1;
    }
    int64_t timeout_ns;
    if (comm != NULL) {
        TERN_TRY(tern__comm_lives("tern_chip_create", comm));
        TERN_TRY(tern__comm_check(comm));
    }
    if (comm != NULL && wanted.timeout_ns == 0) {
        timeout_ns = comm->group.job->timeout_ns;
    } else {
        TERN_TRY(tern__timeout_option(wanted.timeout_ns, &timeout_ns));
    }
    struct tern_chip *made = tern__handle_new(TERN__CHIP, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a chip");
    }
    made->comm = comm;
    made->timeout_ns = timeout_ns;
    made->number = atomic_fetch_add(&chips_made, 1) + 1;
    int status = start_threads(made, &wanted);
    if (status != TERN_OK) {
        end_chip(made);
        return status;
    }
    if (comm != NULL) {
        tern__job_add_threads(comm->group.job, tern__cores_count(&made->cores));
        tern__comm_gains(comm, TERN__CHILD_CHIP);
    }
    *chip = made;
    return TERN_OK;
}

int tern_chip_create(tern_comm *comm, const tern_chip_options *options, tern_chip **chip)
{
    return TERN__CALL(chip_create(comm, options, chip));
}

// A core whose kernel has not returned from a failed run, or NULL. When the last one has, the chip
// and that run's graph are free again.
static const struct tern__core *find_stuck(struct tern_chip *chip)
{
    if (!chip->stuck) {
        return NULL;
    }
    for (int i = 0; i < tern__cores_count(&chip->cores); i++) {
        if (tern__core_busy(&chip->cores.list[i])) {
            return &chip->cores.list[i];
        }
    }
    chip->stuck = false;
    tern__graph_leave(chip->run.graph);
    return NULL;
}

static int chip_destroy(tern_chip *chip)
{
    if (chip == NULL) {
        return TERN_OK;
    }
    if (tern__handle_is_inherited(chip, TERN__CHIP)) { // in a child: its threads are the parent's
        free_chip(chip);
        return TERN_OK;
    }
    TERN_TRY(tern__handle_check("tern_chip_destroy", chip, TERN__CHIP));
    if (chip->unsynchronized) {
        tern_status_ignore(tern_chip_synchronize(chip)); // nobody waits for its result any more
    }
    const struct tern__core *stuck = find_stuck(chip);
    if (stuck != NULL) {
        return tern__fail(TERN_ERR_TIMEOUT,
                          "tern_chip_destroy: the kernel of task '%s' has not "
                          "returned; its thread is left",
                          stuck->call->name);
    }
    if (chip->comm != NULL) {
        tern__job_add_threads(chip->comm->group.job, -tern__cores_count(&chip->cores));
        tern__comm_loses(chip->comm, TERN__CHILD_CHIP);
    }
    end_chip(chip);
    return TERN_OK;
}

int tern_chip_destroy(tern_chip *chip)
{
    return TERN__CALL_OF_CALLS(chip_destroy(chip));
}

// The kinds of cores and the windows that a graph needs.
static int check_fit(const struct tern_chip *chip, const tern_graph *graph)
{
    for (uint32_t i = 0; i < graph->table.count; i++) {
        const struct tern__graph_task *task = tern__table_at(&graph->table, i);
        bool aic = task->call.core == TERN_CORE_AIC;
        if ((aic ? chip->cores.aic_count : chip->cores.aiv_count) == 0) {
            return tern__fail(TERN_ERR_KERNEL,
                              "tern_chip_launch: task '%s' needs an %s core and the "
                              "chip has none",
                              task->call.name, aic ? "AIC" : "AIV");
        }
        for (const struct tern__graph_wait *wait = task->waits; wait != NULL; wait = wait->next) {
            const tern_window *window = wait->condition.window;
            TERN_TRY(tern__window_lives("tern_chip_launch", window));
            if (chip->comm == NULL || window->comm->group.job != chip->comm->group.job) {
                return tern__fail(TERN_ERR_ARG,
                                  "tern_chip_launch: task '%s' waits for a signal of "
                                  "another job than the chip's",
                                  task->call.name);
            }
        }
    }
    return TERN_OK;
}

int tern__chip_start(struct tern_chip *chip, tern_graph *graph)
{
    uint32_t launched = tern__peek(&chip->launched);
    // partner: the add in tern__scheduler_main; the place of an ended launch is free
    if (launched - tern__flag_load(&chip->completed) == TERN_CHIP_LAUNCHES_MAX) {
        return tern__fail(TERN_ERR_LIMIT,
                          "tern_chip_launch: %d launches have not ended; synchronize first",
                          TERN_CHIP_LAUNCHES_MAX);
    }
    if (!tern__graph_take(graph, chip->number)) {
        return tern__fail(TERN_ERR_STATE, "tern_chip_launch: the graph runs on another chip");
    }
    chip->launches[launched % TERN_CHIP_LAUNCHES_MAX] =
        (struct tern__chip_launch){.graph = graph, .number = graph->runs++};
    chip->unsynchronized = true;
    tern__flag_add(&chip->launched, 1); // partner: has_launch in scheduler.c
    tern__bell_ring(&chip->launch_bell);
    return TERN_OK;
}

static int chip_launch(tern_chip *chip, tern_graph *graph)
{
    TERN_TRY(tern__handle_check("tern_chip_launch", chip, TERN__CHIP));
    TERN_TRY(tern__handle_check("tern_chip_launch", graph, TERN__GRAPH));
    if (!chip->unsynchronized && find_stuck(chip) != NULL) {
        return tern__fail(TERN_ERR_STATE,
                          "tern_chip_launch: a kernel of an earlier run has not returned");
    }
    if (chip->comm != NULL) {
        TERN_TRY(tern__comm_check(chip->comm));
    }
    TERN_TRY(tern__graph_seal(graph));
    int status = check_fit(chip, graph);
    if (status != TERN_OK) {
        if (graph->runs == 0) { // it may still be changed
            tern__table_reopen(&graph->table);
        }
        return status;
    }
    return tern__chip_start(chip, graph);
}

int tern_chip_launch(tern_chip *chip, tern_graph *graph)
{
    return TERN__CALL(chip_launch(chip, graph));
}
static bool run_ended(void *arg)
{
    const struct tern_chip *chip = arg;
    // partner: the add in tern__scheduler_main; acquires what the kernels wrote
    return tern__flag_load(&chip->completed) == tern__peek(&chip->launched);
}

static int chip_synchronize(tern_chip *chip)
{
    TERN_TRY(tern__handle_check("tern_chip_synchronize", chip, TERN__CHIP));
    if (!chip->unsynchronized) {
        return tern__fail(TERN_ERR_STATE, "tern_chip_synchronize: nothing was launched");
    }
    struct tern__ladder ladder = tern__cores_ladder(&chip->cores);
    struct tern__wait wait = {.bell = &chip->host_bell,
                              .ladder = &ladder,
                              .timeout_ns = INT64_MAX, // the scheduler keeps the run's deadline
                              .holds = run_ended,
                              .arg = chip};
    tern__wait(&wait);
    char behind[96] = "";
    int result = chip->result;
    if (chip->dropped > 0) {
        snprintf(behind, sizeof behind, "; %u launch%s behind it did not start", chip->dropped,
                 chip->dropped == 1 ? "" : "es");
    }
    chip->unsynchronized = false;
    chip->dropped = 0;
    chip->result = TERN_OK;
    return result == TERN_OK ? TERN_OK : tern__fail(result, "%s%s", chip->result_text, behind);
}

int tern_chip_synchronize(tern_chip *chip)
{
    return TERN__CALL(chip_synchronize(chip));
}
