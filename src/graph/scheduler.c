// SPDX-License-Identifier: Apache-2.0
// The scheduler of a chip: one thread that takes completions, looks at signals, and gives ready
// tasks to idle cores, in the order in which they became ready. A task that waits for a signal is
// in a list here and holds no core. Data path: no allocation, lock, system call or log, unless
// there is nothing to do and the thread sleeps; and every TERN__LOOK_NS one look whether the peers
// live.

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "graph/chip.h"
#include "isa/signal.h"
#include "sync/doing.h"

// How long kernels may take to return once their run has failed.
#define DRAIN_NS (2 * TERN_NS_PER_SECOND)

// How often a scheduler that always has something to do reads the clock.
enum { TURNS_PER_LOOK = 64 };

static bool wait_holds(const struct tern__run *run, const struct tern__graph_wait *wait)
{
    tern_condition condition = tern__wait_in_run(wait, run->number);
    return tern__cmp_holds(tern__condition_seen(&condition), condition.cmp, condition.value);
}

static bool waits_hold(const struct tern__run *run, const struct tern__graph_task *task)
{
    for (const struct tern__graph_wait *wait = task->waits; wait != NULL; wait = wait->next) {
        if (!wait_holds(run, wait)) {
            return false;
        }
    }
    return true;
}

static void make_ready(struct tern__run *run, struct tern__graph_task *task)
{
    tern__task_append(&run->ready[task->call.core], task);
}

// All tasks that it comes after have finished.
static void edges_done(struct tern__run *run, struct tern__graph_task *task)
{
    if (task->waits == NULL) {
        make_ready(run, task);
    } else {
        task->waiting_since_ns = tern__trace_start();
        tern__task_append(&run->waiting, task);
    }
}

// Takes in what has been published since.
static bool admit_tasks(struct tern__run *run)
{
    bool progress = false;
    struct tern__graph_task *task;
    while ((task = tern__table_admit(&run->graph->table)) != NULL) {
        progress = true;
        if (task->pending == 0) {
            edges_done(run, task);
        }
    }
    return progress;
}

// Waits overlap one another. Their arrows end at the tasks (describe_task in build.c), which are
// slices.
static void trace_wait(const struct tern__graph_task *task)
{
    const tern_condition *condition = &task->waits->condition;
    struct tern__trace_event event = {.begin_ns = task->waiting_since_ns,
                                      .kind = TERN__TRACE_WAIT,
                                      .has = TERN__TRACE_HAS_SIGNAL | TERN__TRACE_OVERLAPS,
                                      .signal = condition->offset_bytes};
    tern__trace_name(&event, task->call.name);
    tern__trace_put(&event);
}

// Moves tasks whose signals have come to the ready queues. Keeps the order of the rest.
static bool poll_waits(struct tern__run *run)
{
    bool moved = false;
    struct tern__graph_task *task = run->waiting.first;
    run->waiting.first = NULL;
    while (task != NULL) {
        struct tern__graph_task *next = task->next;
        if (waits_hold(run, task)) {
            if (task->waiting_since_ns != 0) {
                trace_wait(task);
            }
            make_ready(run, task);
            moved = true;
        } else {
            tern__task_append(&run->waiting, task);
        }
        task = next;
    }
    return moved;
}

static void finish_task(struct tern__run *run, struct tern__graph_task *task)
{
    task->pending = TERN__TASK_FINISHED;
    run->finished++;
    for (struct tern__graph_edge *edge = task->after; edge != NULL; edge = edge->next_after) {
        if (--edge->to->pending == 0) {
            edges_done(run, edge->to);
        }
    }
}

// Takes completions and gives out tasks. Returns whether anything happened; *failed is the core
// whose kernel reported a failure.
static bool serve_cores(struct tern_chip *chip, struct tern__graph_task **held,
                        struct tern__core **failed)
{
    struct tern__run *run = &chip->run;
    bool progress = false;
    for (int i = 0; i < tern__cores_count(&chip->cores); i++) {
        struct tern__core *core = &chip->cores.list[i];
        if (held[i] != NULL && !tern__core_busy(core)) {
            struct tern__graph_task *task = held[i];
            held[i] = NULL;
            progress = true;
            if (core->failed) {
                *failed = core;
                return true;
            }
            finish_task(run, task);
        }
    }
    for (int i = 0; i < tern__cores_count(&chip->cores); i++) {
        struct tern__core *core = &chip->cores.list[i];
        struct tern__task_list *ready = &run->ready[core->kind];
        if (held[i] == NULL && ready->first != NULL) {
            held[i] = ready->first;
            ready->first = held[i]->next;
            tern__core_give(core, &held[i]->call, run->number);
            progress = true;
        }
    }
    return progress;
}

// Whether all tasks have finished, and there will be no more.
static bool is_over(const struct tern__run *run)
{
    const struct tern__table *table = &run->graph->table;
    return run->finished == table->admitted && tern__table_is_closed(table) &&
           tern__flag_load(&table->published) == table->admitted; // partner: tern__table_publish
}

struct pause {
    struct tern_chip *chip;
    struct tern__graph_task *const *held;
    bool only_cores; // signals do not count any more
    bool announced;  // the job shows what this chip does
};

static bool something_changed(void *arg)
{
    struct pause *pause = arg;
    struct tern_chip *chip = pause->chip;
    bool any_held = false;
    for (int i = 0; i < tern__cores_count(&chip->cores); i++) {
        any_held = any_held || pause->held[i] != NULL;
        if (pause->held[i] != NULL && !tern__core_busy(&chip->cores.list[i])) {
            return true;
        }
    }
    if (pause->only_cores) {
        return !any_held;
    }
    const struct tern__run *run = &chip->run;
    const struct tern__graph_task *task = run->waiting.first;
    while (task != NULL && !waits_hold(run, task)) {
        task = task->next;
    }
    const struct tern__table *table = &run->graph->table;
    return task != NULL || is_over(run) ||
           tern__flag_load(&table->published) != table->admitted; // partner: tern__table_publish
}

// Windows may belong to other communicators of the job than the chip's: those count too.
static int check_windows(const struct tern_chip *chip, bool deep)
{
    const struct tern__run *run = &chip->run;
    const struct tern_comm *checked = chip->comm;
    for (const struct tern__graph_task *task = run->waiting.first; task != NULL;
         task = task->next) {
        for (const struct tern__graph_wait *wait = task->waits; wait != NULL; wait = wait->next) {
            struct tern_comm *comm = wait->condition.window->comm;
            if (comm != chip->comm && comm != checked) {
                TERN_TRY(tern__group_check(&comm->group, deep));
                checked = comm;
            }
        }
    }
    return TERN_OK;
}

static int run_broken(void *arg, bool deep)
{
    struct pause *pause = arg;
    struct tern_comm *comm = pause->chip->comm;
    if (comm == NULL) {
        return TERN_OK;
    }
    if (!pause->announced) {
        tern__job_doing(comm->group.job, TERN__DOING_GRAPH, pause->chip->run.number);
        pause->announced = true;
    }
    TERN_TRY(tern__group_check(&comm->group, deep));
    return check_windows(pause->chip, deep);
}

// For turns on which the scheduler does not sleep: the deadline, and now and then the peers.
static int look_around(struct tern_chip *chip, int64_t now_ns)
{
    struct tern__run *run = &chip->run;
    if (now_ns >= run->deadline_ns) {
        return TERN_ERR_TIMEOUT;
    }
    if (now_ns < run->look_ns) {
        return TERN_OK;
    }
    run->look_ns = now_ns + TERN__LOOK_NS;
    struct pause pause = {.chip = chip, .announced = true};
    return run_broken(&pause, true);
}

static int await_change(struct tern_chip *chip, struct tern__graph_task *const *held)
{
    struct pause pause = {.chip = chip, .held = held};
    struct tern__ladder ladder = tern__cores_ladder(&chip->cores);
    int64_t now_ns = tern__now_ns();
    TERN_TRY(look_around(chip, now_ns));
    struct tern__wait wait = {.bell = tern__cores_bell(&chip->cores),
                              .ladder = &ladder,
                              .timeout_ns = chip->run.deadline_ns - now_ns,
                              .holds = something_changed,
                              .broken = run_broken,
                              .arg = &pause};
    int status = tern__wait(&wait);
    if (pause.announced && status == TERN_OK) { // else fail_run does it
        tern__job_doing(chip->comm->group.job, TERN__DOING_OTHER, 0);
    }
    return status;
}

// Waits until no kernel runs any more; says which one does not return.
static void drain_cores(struct tern_chip *chip, struct tern__graph_task **held)
{
    int64_t deadline = tern__deadline_after(DRAIN_NS);
    for (;;) {
        bool busy = false;
        for (int i = 0; i < tern__cores_count(&chip->cores); i++) {
            held[i] = tern__core_busy(&chip->cores.list[i]) ? held[i] : NULL;
            busy = busy || held[i] != NULL;
        }
        int64_t left_ns = deadline - tern__now_ns();
        chip->stuck = busy;
        if (!busy || left_ns <= 0) {
            return;
        }
        struct pause pause = {.chip = chip, .held = held, .only_cores = true};
        struct tern__ladder ladder = tern__cores_ladder(&chip->cores);
        struct tern__wait wait = {.bell = tern__cores_bell(&chip->cores),
                                  .ladder = &ladder,
                                  .timeout_ns = left_ns,
                                  .holds = something_changed,
                                  .arg = &pause};
        tern__wait(&wait);
    }
}

// Ends a run that failed: words the failure, lets kernels return, fails the communicator.
static int fail_run(struct tern_chip *chip, struct tern__graph_task **held, int status,
                    const struct tern__core *failed)
{
    char state[600];
    char why[TERN_ERROR_BYTES];
    char stuck[128] = "";
    char others[300];
    struct pause pause = {.chip = chip, .announced = true};
    tern__run_describe(chip, held, state, sizeof state);
    // The communicator's failure is the cause of what follows from it: of a kernel that reports
    // what tern told it. TERN_ERR_TIMEOUT may be that failure too; and at the own deadline a dead
    // peer is the better reason.
    // What the others do is looked at before: once one has failed the communicator, they go on.
    tern__run_describe_others(chip, status, others, sizeof others);
    int broken = run_broken(&pause, status == TERN_ERR_TIMEOUT);
    if (broken != TERN_OK) {
        status = broken;
        others[0] = '\0';
    }
    if (failed != NULL) {
        snprintf(why, sizeof why, "task '%s' failed: %.400s", failed->call->name, failed->failure);
    } else if (status == TERN_ERR_TIMEOUT && broken == TERN_OK) {
        snprintf(why, sizeof why, "it did not end within %.3g s", (double)chip->timeout_ns * 1e-9);
    } else {
        snprintf(why, sizeof why, "%.400s", tern_last_error());
    }
    // Peers, and kernels of this chip that wait for them, learn it before the wait for the kernels.
    if (chip->comm != NULL) {
        tern__group_fail(&chip->comm->group, status, chip->comm->group.rank,
                         "run %u of a graph on %s: %s; %.200s%s", chip->run.number,
                         tern__rank_name(&chip->comm->group, chip->comm->group.rank).text, why,
                         state, others);
        tern__job_doing(chip->comm->group.job, TERN__DOING_OTHER, 0);
    }
    drain_cores(chip, held);
    for (int i = 0; i < tern__cores_count(&chip->cores) && chip->stuck; i++) {
        if (held[i] != NULL) {
            snprintf(stuck, sizeof stuck, "; the kernel of task '%s' has not returned",
                     held[i]->call.name);
        }
    }
    return tern__fail(status, "run %u of the graph: %s; %s%s%s", chip->run.number, why, state,
                      others, stuck);
}

static int run_graph(struct tern_chip *chip)
{
    struct tern__run *run = &chip->run;
    const struct tern__table *table = &run->graph->table;
    struct tern__graph_task *held[TERN_CORES_MAX] = {NULL}; // of each core, as the scheduler knows
    for (uint32_t i = 0; i < table->admitted; i++) {
        struct tern__graph_task *task = tern__table_at(table, i);
        task->pending = task->fanin;
        if (task->pending == 0) {
            edges_done(run, task);
        }
    }
    for (uint32_t turn = 1; !is_over(run); turn++) {
        struct tern__core *failed = NULL;
        int status = TERN_OK;
        bool progress = admit_tasks(run);
        progress = poll_waits(run) || progress;
        progress = serve_cores(chip, held, &failed) || progress;
        if (failed != NULL) {
            status = TERN_ERR_KERNEL;
        } else if (!progress) {
            status = await_change(chip, held);
        } else if (turn % TURNS_PER_LOOK == 0) {
            status = look_around(chip, tern__now_ns());
        }
        if (status != TERN_OK) {
            return fail_run(chip, held, status, failed);
        }
    }
    return TERN_OK;
}

// Runs a graph, unless an earlier launch failed.
static void serve_launch(struct tern_chip *chip, const struct tern__chip_launch *launch)
{
    if (chip->result != TERN_OK) {
        chip->dropped++;
        tern__graph_leave(launch->graph);
        return;
    }
    chip->run = (struct tern__run){.graph = launch->graph,
                                   .number = launch->number,
                                   .deadline_ns = tern__deadline_after(chip->timeout_ns),
                                   .look_ns = tern__deadline_after(TERN__LOOK_NS)};
    chip->result = run_graph(chip);
    if (chip->result != TERN_OK) {
        snprintf(chip->result_text, sizeof chip->result_text, "%s", tern_last_error());
    }
    if (!chip->stuck) { // a kernel that still runs still reads the graph
        tern__graph_leave(launch->graph);
    }
}

static bool has_launch(void *arg)
{
    const struct tern_chip *chip = arg;
    // partner: tern_chip_launch, tern_chip_destroy
    return tern__flag_load(&chip->launched) != tern__peek(&chip->completed) ||
           tern__flag_load(&chip->stop) != 0;
}

void *tern__scheduler_main(void *arg)
{
    struct tern_chip *chip = arg;
    tern__trace_name_thread("scheduler");
    for (;;) {
        struct tern__ladder ladder = tern__cores_ladder(&chip->cores);
        struct tern__wait idle = {.bell = &chip->launch_bell,
                                  .ladder = &ladder,
                                  .timeout_ns = INT64_MAX, // ended by `stop`
                                  .holds = has_launch,
                                  .arg = chip};
        tern__wait(&idle);
        if (tern__flag_load(&chip->launched) == tern__peek(&chip->completed)) {
            return NULL;
        }
        serve_launch(chip, &chip->launches[tern__peek(&chip->completed) % TERN_CHIP_LAUNCHES_MAX]);
        tern__flag_add(&chip->completed, 1); // partner: run_ended in chip.c
        tern__bell_ring(&chip->host_bell);
    }
}
