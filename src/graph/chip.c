// SPDX-License-Identifier: Apache-2.0
// Chips: threads, launching, synchronizing.

#include "graph/chip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "base/trace.h"
#include "base/clock.h"
#include "base/options.h"
#include "comm/window.h"
#include "graph/orchestrate.h"
#include "graph/rings.h"
#include "base/thread.h"
#include "sync/interrupt.h"

static _Atomic uint64_t chips_made;

static void free_chip(tern_chip *chip)
{
    tern__cores_forget(&chip->cores);
    tern__history_free(chip->history);
    tern__handle_free(chip, sizeof *chip);
}

static void end_chip(struct tern_chip *chip)
{
    tern__flag_store(&chip->stop, 1); // partner: has_launch, has_orchestration
    tern__bell_ring(&chip->launch_bell);
    tern__bell_ring(&chip->orchestrator_bell);
    if (chip->scheduler_started) {
        pthread_join(chip->scheduler, NULL);
    }
    if (chip->orchestrator_started) {
        pthread_join(chip->orchestrator, NULL);
    }
    tern__cores_stop(&chip->cores);
    pthread_mutex_destroy(&chip->gangs.lock);
    pthread_mutex_destroy(&chip->holds.lock);
    free_chip(chip);
}

static int start_threads(struct tern_chip *chip, const tern_chip_options *wanted)
{
    TERN_TRY(tern__cores_start(chip, wanted->aic_count, wanted->aiv_count));
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
                          "tern_chip_create: %d AIC and %d AIV cores; there are 0 or more, "
                          "together at most %d",
                          options->aic_count, options->aiv_count, TERN_CORES_MAX);
    }
    return TERN_OK;
}

static int chip_create(tern_comm *comm, const tern_chip_options *options, struct tern__away *away,
                       bool contained, tern_chip **chip)
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
    made->away = away;
    made->contained = contained;
    made->timeout_ns = timeout_ns;
    made->number = atomic_fetch_add(&chips_made, 1) + 1;
    made->history = tern__history_make();
    pthread_mutex_init(&made->gangs.lock, NULL);
    pthread_mutex_init(&made->holds.lock, NULL);
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
    return TERN__CALL(chip_create(comm, options, NULL, false, chip));
}

int tern__chip_create_contained(tern_comm *comm, const tern_chip_options *options,
                                struct tern__away *away, tern_chip **chip)
{
    return chip_create(comm, options, away, true, chip);
}

// Whether a kernel or an orchestration of a failed run has not returned; when the last one has,
// the chip and that run's graph are free again. `what`: which.
static bool find_stuck(struct tern_chip *chip, char *what, size_t size)
{
    if (chip->stuck && tern__run_is_over(chip)) {
        chip->stuck = false;
        tern__graph_leave(chip->run.graph);
    }
    if (!chip->stuck) {
        return false;
    }
    snprintf(what, size, "%s", "a kernel");
    if (tern__flag_load(&chip->orchestrates) != 0) {
        snprintf(what, size, "%s", "the orchestration");
    }
    for (int i = 0; i < tern__cores_count(&chip->cores); i++) {
        const struct tern__task *task =
            atomic_load_explicit(&chip->cores.list[i].running, memory_order_acquire);
        if (task != NULL) {
            snprintf(what, size, "the kernel of task '%s'", task->name);
        }
    }
    return true;
}

static int check_outside(const char *call, const struct tern_chip *chip)
{
    return !tern__orchestrates_on(chip) && !tern__kernel_runs_on(chip)
               ? TERN_OK
               : tern__fail(
                     TERN_ERR_STATE,
                     "%s: the caller is part of a run of this chip, and would wait for itself",
                     call);
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
    TERN_TRY(check_outside("tern_chip_destroy", chip));
    if (chip->unsynchronized) {
        tern_status_ignore(tern_chip_synchronize(chip)); // nobody waits for its result any more
    }
    char stuck[96];
    if (find_stuck(chip, stuck, sizeof stuck)) {
        return tern__fail(TERN_ERR_TIMEOUT,
                          "tern_chip_destroy: %s has not returned; its thread is left", stuck);
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

// What the tasks of a sealed graph need. Most need one core of a kind, and are not looked at: they
// are in the caches of the core that ran them last.
static int check_fit(const struct tern_chip *chip, const tern_graph *graph)
{
    const uint8_t *plain = graph->order.plain;
    int code;
    for (uint32_t i = 0; i < graph->table.count; i++) {
        if (plain[i] == TERN__ORDER_SPECIAL || tern__cores_of(&chip->cores, plain[i]) == 0) {
            const struct tern__task *task = tern__table_at(&graph->table, i);
            TERN_TRY(tern__task_fits("tern_chip_launch", chip, task, &code));
        }
    }
    return TERN_OK;
}

static int start_launch(const char *call, struct tern_chip *chip,
                        const struct tern__chip_launch *launch)
{
    uint32_t launched = tern__peek(&chip->launched);
    // partner: the add in tern__scheduler_main; the place of an ended launch is free
    if (launched - tern__flag_load(&chip->completed) == TERN_CHIP_LAUNCHES_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "%s: %d launches have not ended; synchronize first", call,
                          TERN_CHIP_LAUNCHES_MAX);
    }
    if (!tern__graph_take(launch->graph, chip->number)) {
        return tern__fail(TERN_ERR_STATE, "%s: the graph runs on another chip", call);
    }
    struct tern__chip_launch *place = &chip->launches[launched % TERN_CHIP_LAUNCHES_MAX];
    *place = *launch;
    place->number = launch->graph->runs++;
    chip->unsynchronized = true;
    tern__flag_add(&chip->launched, 1); // partner: has_launch in scheduler.c
    tern__bell_ring(&chip->launch_bell);
    return TERN_OK;
}

static int check_chip(const char *call, tern_chip *chip, const tern_graph *graph)
{
    char stuck[96];
    TERN_TRY(tern__handle_check(call, chip, TERN__CHIP));
    TERN_TRY(tern__handle_check(call, graph, TERN__GRAPH));
    if (!chip->unsynchronized && find_stuck(chip, stuck, sizeof stuck)) {
        return tern__fail(TERN_ERR_STATE, "%s: %s of an earlier run has not returned", call, stuck);
    }
    return chip->comm != NULL ? tern__comm_check(chip->comm) : TERN_OK;
}

static int chip_launch(tern_chip *chip, tern_graph *graph)
{
    const char *call = "tern_chip_launch";
    TERN_TRY(check_chip(call, chip, graph));
    if (graph->rings != NULL || (graph->runs > 0 && !graph->sealed)) {
        return tern__fail(TERN_ERR_STATE,
                          "tern_chip_launch: the graph is built by an orchestration: "
                          "tern_chip_orchestrate");
    }
    bool sealed = graph->sealed;
    TERN_TRY(tern__graph_seal(graph));
    int status = check_fit(chip, graph);
    if (status == TERN_OK) {
        struct tern__chip_launch launch = {.graph = graph, .room = graph->table.count};
        status = start_launch(call, chip, &launch);
    }
    if (status != TERN_OK) {
        graph->sealed = sealed; // else it may still be changed
    }
    return status;
}

int tern_chip_launch(tern_chip *chip, tern_graph *graph)
{
    return TERN__CALL(chip_launch(chip, graph));
}

static int start_orchestrator(struct tern_chip *chip)
{
    if (!chip->orchestrator_started) {
        TERN_TRY(tern__thread_start(&chip->orchestrator, tern__orchestrator_main, chip));
        chip->orchestrator_started = true;
    }
    return TERN_OK;
}

static int chip_orchestrate(tern_chip *chip, tern_graph *graph, tern_orchestration orchestration,
                            void *arg, const tern_orchestrate_options *options)
{
    const char *call = "tern_chip_orchestrate";
    TERN_TRY(check_chip(call, chip, graph));
    if (orchestration == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: orchestration must not be NULL", call);
    }
    if (graph->rings == NULL && (graph->runs > 0 || graph->table.count > 0)) {
        return tern__fail(TERN_ERR_STATE,
                          "%s: the graph has tasks already or has run; one of tern_graph_create "
                          "is orchestrated once, and empty",
                          call);
    }
    uint64_t tasks = graph->rings != NULL ? tern__rings_tasks(graph->rings) : TERN_GRAPH_TASKS_MAX;
    TERN_TRY(start_orchestrator(chip));
    return start_launch(call, chip,
                        &(struct tern__chip_launch){.graph = graph,
                                                    .orchestration = orchestration,
                                                    .arg = arg,
                                                    .room = tasks,
                                                    .build_first =
                                                        options != NULL && options->build_first});
}

int tern_chip_orchestrate(tern_chip *chip, tern_graph *graph, tern_orchestration orchestration,
                          void *arg, const tern_orchestrate_options *options)
{
    return TERN__CALL(chip_orchestrate(chip, graph, orchestration, arg, options));
}

int tern_chip_cores(const tern_chip *chip, tern_core core)
{
    if (!tern__handle_lives(chip, TERN__CHIP)) {
        return 0;
    }
    return core == TERN_CORE_MIX   ? tern__cores_clusters(&chip->cores)
           : core <= TERN_CORE_AIV ? tern__cores_of(&chip->cores, (int)core)
                                   : 0;
}

int tern_chip_code(const tern_chip *chip)
{
    return tern__handle_lives(chip, TERN__CHIP) ? chip->told_code : 0;
}

static bool run_ended(void *arg)
{
    const struct tern_chip *chip = arg;
    // partner: the add in tern__scheduler_main; acquires what the kernels wrote
    return tern__flag_load(&chip->completed) == tern__peek(&chip->launched);
}

// An interrupted host still waits: the scheduler ends the run, and its kernels return.
static int synchronize_goes_on(void *arg, bool deep)
{
    struct tern_chip *chip = arg;
    if (deep && tern__interrupt_now) {
        tern__flag_store(&chip->interrupted, 1); // partner: run_broken in scheduler.c
        tern__chip_ring(chip);
    }
    return TERN_OK;
}

static int chip_synchronize(tern_chip *chip)
{
    TERN_TRY(tern__handle_check("tern_chip_synchronize", chip, TERN__CHIP));
    TERN_TRY(check_outside("tern_chip_synchronize", chip));
    if (!chip->unsynchronized) {
        return tern__fail(TERN_ERR_STATE, "tern_chip_synchronize: nothing was launched");
    }
    int64_t begin_ns = tern__trace_start();
    struct tern__ladder ladder = tern__cores_ladder(&chip->cores);
    struct tern__wait wait = {.bell = &chip->host_bell,
                              .ladder = &ladder,
                              .timeout_ns = INT64_MAX, // the scheduler keeps the run's deadline
                              .holds = run_ended,
                              .broken = synchronize_goes_on,
                              .arg = chip};
    tern__wait(&wait);
    tern__trace_add(TERN__TRACE_WAIT, "tern_chip_synchronize", begin_ns, 0);
    tern__flag_store(&chip->interrupted, 0);
    char behind[96] = "";
    int result = chip->result;
    if (chip->dropped > 0) {
        snprintf(behind, sizeof behind, "; %u launch%s behind it did not start", chip->dropped,
                 chip->dropped == 1 ? "" : "es");
    }
    chip->unsynchronized = false;
    chip->told_code = result != TERN_OK ? chip->result_code : 0;
    chip->dropped = 0;
    chip->result = TERN_OK;
    return result == TERN_OK ? TERN_OK : tern__fail(result, "%s%s", chip->result_text, behind);
}

int tern_chip_synchronize(tern_chip *chip)
{
    return TERN__CALL(chip_synchronize(chip));
}
