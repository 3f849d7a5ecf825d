// SPDX-License-Identifier: Apache-2.0
// The scheduler of a chip: a thread that begins runs, looks at signals when it is rung, keeps the
// deadline, sees whether the peers live, and ends runs. Cores find their tasks without it.

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "graph/away.h"
#include "graph/behind.h"
#include "graph/chip.h"
#include "graph/orchestrate.h"
#include "isa/block.h"
#include "isa/signal.h"
#include "sync/doing.h"

// How long kernels may take to return once their run has been cancelled.
#define DRAIN_NS (2 * TERN_NS_PER_SECOND)
#define GRACE_NS (TERN_NS_PER_SECOND / 5)

// How often to look at words that nobody rings for, and at signals while cores do.
#define WORDS_NS 100000

struct pause {
    struct tern_chip *chip;
    bool told; // that the run has failed
    // What the job shows that this chip does, as the chip has said last; TERN__DOING_OTHER: nothing
    // yet.
    enum tern__activity announced;
    bool broken;    // waiting is pointless; its status may be TERN_ERR_TIMEOUT, too
    bool by_words;  // it looks at words by itself
    bool naps;      // and at signals: it is not rung
    uint32_t looks; // of cores, when it last asked
    struct tern__behind behind;
};

static bool something_changed(void *arg)
{
    struct pause *pause = arg;
    struct tern_chip *chip = pause->chip;
    tern__run_look(chip, true);
    return tern__run_is_over(chip) ||
           (!pause->told && (tern__flag_load(&chip->run.failed) == TERN__RUN_FAILED ||
                             tern__flag_load(&chip->interrupted) != 0));
}

// Cores that have nothing to do look at signals themselves. As long as they do that now and then,
// and none sleeps, no signal can start a task sooner by ringing the scheduler; and each ring costs
// whoever notifies a system call, and a core its processor. So it sleeps elsewhere and looks from
// time to time.
static bool may_nap(const struct pause *pause)
{
    const struct tern_chip *chip = pause->chip;
    return tern__flag_load(&chip->holds.count) != 0 && chip->away == NULL &&
           tern__cores_awake(&chip->cores) && tern__cores_looks(&chip->cores) != pause->looks;
}

// A long wait ends, too, when a task begins to wait for a word, or a nap may begin; a nap, when a
// core is about to sleep.
static bool something_to_do(void *arg)
{
    const struct pause *pause = arg;
    const struct tern_chip *chip = pause->chip;
    return something_changed(arg) ||
           (!pause->by_words && tern__flag_load(&chip->holds.words) != 0) || // partner: add
           (pause->naps ? !tern__cores_awake(&chip->cores) : may_nap(pause));
}

// Windows may belong to other communicators of the job than the chip's: those count too.
static int check_windows(struct tern_chip *chip, bool deep)
{
    const struct tern_comm *checked = chip->comm;
    int status = TERN_OK;
    pthread_mutex_lock(&chip->holds.lock);
    for (const struct tern__hold *hold = chip->holds.first; hold != NULL && status == TERN_OK;
         hold = hold->next) {
        for (uint32_t i = 0; i < hold->count && status == TERN_OK; i++) {
            const tern_window *window = hold->untils[i].condition.window;
            if (window != NULL && window->comm != chip->comm && window->comm != checked) {
                status = tern__group_check(&window->comm->group, deep);
                checked = window->comm;
            }
        }
    }
    pthread_mutex_unlock(&chip->holds.lock);
    return status;
}

static void announce(struct pause *pause, enum tern__activity activity)
{
    if (pause->announced != activity) { // else a kernel's own wait may be there
        tern__job_doing(pause->chip->comm->group.job, activity, pause->chip->run.number);
        pause->announced = activity;
    }
}

// For the others' sentences: a kernel that runs and waits for no signal, if there is one; else what
// waits for one.
static void tell_work(struct pause *pause)
{
    struct tern_chip *chip = pause->chip;
    struct tern__job *job = chip->comm->group.job;
    char runs[TERN__RUNS_TEXT_BYTES] = "";
    char waits[TERN__RUNS_TEXT_BYTES] = "";
    for (int i = 0; i < tern__cores_count(&chip->cores) && runs[0] == '\0'; i++) {
        const struct tern__core *core = &chip->cores.list[i];
        const struct tern__task *task = atomic_load_explicit(&core->running, memory_order_acquire);
        char name[24];
        tern__core_text(core, name, sizeof name);
        if (task != NULL && tern__peek(&core->called.here->waits) == 0) {
            snprintf(runs, sizeof runs, "task '%.36s' on %s", task->name, name);
        } else if (task != NULL) {
            snprintf(waits, sizeof waits, "task '%.20s' on %s for a signal", task->name, name);
        }
    }
    const bool by_kernel = runs[0] == '\0' && waits[0] != '\0';
    if (by_kernel && tern__peek(&job->ctl->ranks[job->rank].doing) == TERN__DOING_SIGNAL) {
        tern__job_runs(job, "");
        tern__behind_show(chip, &pause->behind, false, 0);
        pause->announced = TERN__DOING_SIGNAL; // the kernel has said so itself, and which
        return;
    }
    const bool held =
        by_kernel || (runs[0] == '\0' && tern__run_is_held(chip, waits, sizeof waits));
    tern__job_runs(job, held ? waits : runs);
    uint64_t skipped;
    tern__behind_show(chip, &pause->behind, held && !by_kernel, tern__run_ended(chip, &skipped));
    announce(pause, held ? TERN__DOING_HELD : TERN__DOING_GRAPH);
}

// What this chip does is over.
static void tell_nothing(struct pause *pause)
{
    struct tern_chip *chip = pause->chip;
    tern__behind_show(chip, &pause->behind, false, 0);
    tern__job_runs(chip->comm->group.job, "");
    tern__job_doing(chip->comm->group.job, TERN__DOING_OTHER, 0);
}

static int run_broken(void *arg, bool deep)
{
    struct pause *pause = arg;
    struct tern_comm *comm = pause->chip->comm;
    if (deep && pause->chip->away != NULL) {
        pause->chip->away->tick(pause->chip->away);
    }
    if (pause->told) {
        return TERN_OK;
    }
    if (tern__flag_load(&pause->chip->interrupted) != 0) { // partner: synchronize_goes_on
        pause->broken = true;
        return tern__fail(TERN_ERR_INTERRUPTED, "it was interrupted");
    }
    if (comm == NULL) {
        return TERN_OK;
    }
    if (deep) {
        tell_work(pause);
    } else if (pause->announced == TERN__DOING_OTHER) {
        announce(pause, TERN__DOING_GRAPH);
    }
    int status = tern__group_check(&comm->group, deep);
    status = status == TERN_OK ? check_windows(pause->chip, deep) : status;
    pause->broken = status != TERN_OK;
    return status;
}

// Waits until the run is over, has failed or is interrupted. After `deadline_ns` TERN_ERR_TIMEOUT.
static int await(struct pause *pause, int64_t deadline_ns)
{
    struct tern_chip *chip = pause->chip;
    const struct tern__ladder ladder = tern__cores_ladder(&chip->cores);
    const struct tern__ladder none = {0};
    int64_t look_ns = tern__deadline_after(TERN__LOOK_NS);
    for (;;) {
        int64_t left_ns = deadline_ns - tern__now_ns();
        left_ns = left_ns > 0 ? left_ns : 0;
        pause->by_words = tern__flag_load(&chip->holds.words) != 0;
        pause->naps = may_nap(pause);
        pause->looks = tern__cores_looks(&chip->cores);
        bool brief = (pause->by_words || pause->naps) && left_ns > WORDS_NS;
        struct tern__wait wait = {.bell = pause->naps ? &chip->nap_bell : tern__chip_bell(chip),
                                  .ladder = pause->naps ? &none : &ladder,
                                  .timeout_ns = brief ? WORDS_NS : left_ns,
                                  .holds = something_to_do,
                                  .broken = run_broken,
                                  .arg = pause};
        int status = tern__wait(&wait);
        if (status == TERN_OK && !something_changed(pause)) {
            continue; // from now on by words, or with naps, or without
        }
        if (status != TERN_ERR_TIMEOUT || pause->broken || tern__now_ns() >= deadline_ns) {
            return status;
        }
        if (tern__now_ns() >= look_ns) { // waits this short never look whether the peers live
            status = run_broken(pause, true);
            if (status != TERN_OK) {
                return something_changed(pause) ? TERN_OK : status;
            }
            look_ns = tern__deadline_after(TERN__LOOK_NS);
        }
    }
}

// Nothing starts any more; what waits ends.
static void cancel(struct tern_chip *chip)
{
    tern__flag_store(&chip->run.cancelled, 1);
    tern__flag_store(&chip->run.in_vain, 1); // partner: add in hold.c
    tern__run_place(chip);
    if (chip->away != NULL) {
        chip->away->cancel(chip->away);
    }
    tern__run_look(chip, true);
    tern__bell_ring(&chip->room_bell);
}

static void describe_stuck(const struct tern_chip *chip, char *text, size_t size)
{
    if (tern__flag_load(&chip->orchestrates) != 0) {
        snprintf(text, size, "; the orchestration has not returned");
    }
    for (int i = 0; i < tern__cores_count(&chip->cores); i++) {
        const struct tern__task *task =
            atomic_load_explicit(&chip->cores.list[i].running, memory_order_acquire);
        if (task != NULL) {
            snprintf(text, size, "; the kernel of task '%s' has not returned", task->name);
        }
    }
}

// Words the failure, and tells the communicator.
static int tell_failure(struct pause *pause, int status, bool by_kernel)
{
    struct tern_chip *chip = pause->chip;
    struct tern__run *run = &chip->run;
    char state[600];
    char why[TERN_ERROR_BYTES];
    char others[640];
    tern__run_describe(chip, state, sizeof state);
    // The communicator's failure is the cause of what follows from it: of a kernel that reports
    // what tern told it. TERN_ERR_TIMEOUT may be that failure too; and at the own deadline a dead
    // peer is the better reason.
    // What the others do is looked at before: once one has failed the communicator, they go on.
    if (chip->comm != NULL && status == TERN_ERR_TIMEOUT) {
        tell_work(pause);
    }
    tern__run_describe_others(chip, status, others, sizeof others);
    int broken = run_broken(pause, status == TERN_ERR_TIMEOUT);
    if (broken != TERN_OK) {
        status = broken;
        others[0] = '\0';
    }
    if (by_kernel) {
        snprintf(why, sizeof why, "%s", run->failure);
    } else {
        int code = TERN__CODE_NONE;
        if (status == TERN_ERR_TIMEOUT && broken == TERN_OK) {
            code = tern__run_classify(chip, why, sizeof why);
        } else {
            snprintf(why, sizeof why, "%.640s", tern_last_error());
        }
        // What fails from now on is no reason, and does not change the code.
        if (tern__flag_swap(&run->failed, TERN__RUN_WELL, TERN__RUN_FAILED)) {
            run->code = code;
        }
    }
    pause->told = true;
    // Peers, and kernels of this chip that wait for them, learn it now.
    if (chip->comm != NULL && by_kernel && broken == TERN_OK && chip->contained) {
        tell_nothing(pause);
    } else if (chip->comm != NULL) {
        tern__group_fail(&chip->comm->group, status, chip->comm->group.rank,
                         "run %u of a graph on %s: %s; %.200s%s", run->number,
                         tern__rank_name(&chip->comm->group, chip->comm->group.rank).text, why,
                         state, others);
        tell_nothing(pause);
    }
    return tern__fail(status, "run %u of the graph: %s; %s%s", run->number, why, state, others);
}

// A kernel that waits in vain has the same deadline, from a little later on, and knows what for:
// its sentence is the better one.
static int64_t grace(const struct tern_chip *chip)
{
    return chip->timeout_ns / 8 < GRACE_NS ? chip->timeout_ns / 8 : GRACE_NS;
}

static int await_end(struct tern_chip *chip)
{
    struct tern__run *run = &chip->run;
    struct pause pause = {.chip = chip};
    int result = await(&pause, run->deadline_ns);
    if (result == TERN_ERR_TIMEOUT && !pause.broken && tern__run_has_kernel(chip)) {
        result = await(&pause, tern__deadline_after(grace(chip)));
    }
    if (tern__run_is_over(chip) && tern__flag_load(&run->failed) == TERN__RUN_WELL) {
        if (pause.announced != TERN__DOING_OTHER) {
            tell_nothing(&pause);
        }
        return TERN_OK;
    }
    char sentence[TERN_ERROR_BYTES];
    if (result == TERN_OK && tern__flag_load(&run->failed) == TERN__RUN_WELL) {
        result = run_broken(&pause, false); // interrupted
    }
    bool by_kernel = result == TERN_OK;
    result = tell_failure(&pause, by_kernel ? run->status : result, by_kernel);
    snprintf(sentence, sizeof sentence, "%s", tern_last_error());
    if (by_kernel) { // the rest finishes; but for signals of peers, which know, nobody waits
        tern__flag_store(&run->in_vain, chip->comm != NULL);
        if (await(&pause, run->deadline_ns) == TERN_OK) {
            return tern__fail(result, "%s", sentence);
        }
    }
    cancel(chip);
    char stuck[128] = "";
    if (await(&pause, tern__deadline_after(DRAIN_NS)) != TERN_OK) {
        chip->stuck = true;
        describe_stuck(chip, stuck, sizeof stuck);
    }
    return tern__fail(result, "%s%s", sentence, stuck);
}

static void begin(struct tern_chip *chip, const struct tern__chip_launch *launch)
{
    struct tern__run *run = &chip->run;
    struct tern_graph *graph = launch->graph;
    run->graph = graph;
    run->rings = graph->rings;
    run->number = launch->number;
    run->grows = launch->orchestration != NULL;
    run->build_first = launch->build_first;
    run->deadline_ns = tern__deadline_after(chip->timeout_ns);
    run->status = TERN_OK;
    run->code = TERN__CODE_NONE;
    // Cores that have just ended the last run may still look at these.
    atomic_store(&run->total, TERN__TOTAL_OPEN);
    tern__flag_store(&run->cancelled, 0);
    tern__flag_store(&run->in_vain, 0);
    tern__flag_store(&run->failed, TERN__RUN_WELL);
    atomic_store(&run->ended, 0);
    atomic_store(&run->skipped, 0);
    for (int i = 0; i < tern__cores_count(&chip->cores); i++) {
        tern__poke(&chip->cores.list[i].skipped, 0);
    }
    if (chip->history != NULL) {
        tern__history_begin(chip->history, chip);
    }
}

static int run_graph(struct tern_chip *chip, struct tern__chip_launch *launch)
{
    struct tern__run *run = &chip->run;
    begin(chip, launch);
    TERN_TRY(tern__cores_room(&chip->cores, launch->room));
    if (launch->orchestration != NULL) {
        chip->orchestrated = launch;
        tern__flag_store(&chip->orchestrates, 1); // partner: tern__orchestrator_main
        tern__bell_ring(&chip->orchestrator_bell);
    } else {
        const struct tern__order *order = &run->graph->order;
        tern__run_close(chip, order->tasks_count);
        for (uint32_t i = 0; i < order->roots_count; i++) {
            tern__run_ready(chip, tern__graph_at(run->graph, order->roots[i]));
        }
    }
    return await_end(chip);
}

// Runs a graph, unless an earlier launch failed.
static void serve_launch(struct tern_chip *chip, struct tern__chip_launch *launch)
{
    if (chip->result != TERN_OK) {
        chip->dropped++;
        tern__graph_leave(launch->graph);
        return;
    }
    struct tern__trace_event event = {.begin_ns = tern__trace_start(),
                                      .kind = TERN__TRACE_CALL,
                                      .number = launch->number + UINT64_C(1)};
    chip->result = run_graph(chip, launch);
    if (event.begin_ns != 0) {
        tern__trace_name(&event, "graph");
        tern__trace_put(&event);
    }
    if (chip->result != TERN_OK) {
        chip->result_code = chip->run.code;
        snprintf(chip->result_text, sizeof chip->result_text, "%s", tern_last_error());
    }
    if (!chip->stuck) { // a kernel that still runs still reads the graph
        if (chip->history != NULL) {
            tern__history_end(chip->history, chip);
        }
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
