// SPDX-License-Identifier: Apache-2.0
// Core threads. Data path: no lock, system call or log, unless the core has nothing to do and
// sleeps.

#include "graph/core.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/public.h"
#include "base/trace.h"
#include "graph/chip.h"
#include "graph/run.h"
#include "isa/block.h"
#include "isa/check.h"
#include "isa/cluster.h"
#include "isa/fault.h"
#include "isa/signal.h"
#include "base/thread.h"
#include "sync/spread.h"
#include "sync/wait.h"

enum { LOOKS_ALONE = 60, LOOKS_CROWDED = 4 }; // in a row, about 40 ns each
// Of await_several. Times, as one pause takes 10 to 50 ns, which depends on the processor. With a
// longer one at most, a fan-in takes less, and tasks whose rows are soon used again take more.
enum { PAUSE_MAX_NS = 20000, PAUSE_MORE_NS = 160, PAUSE_A_TASK_NS = 500 };
enum { PAUSE_TRIED_NS = 300, TRY_EVERY = 16 };

static struct tern__ready *queue_of(struct tern__cores *cores, int kind)
{
    return atomic_load(&cores->ready[kind]); // partner: tern__cores_room
}

static struct tern__task *take(struct tern__core *core)
{
    struct tern__ready *ready = queue_of(&core->chip->cores, core->kind);
    return core->only ? tern__ready_own_take(&core->own, ready) : tern__ready_take(ready);
}

static bool any_ready(struct tern__core *core)
{
    return tern__ready_own_any(&core->own) ||
           tern__ready_any(queue_of(&core->chip->cores, core->kind));
}

// Whether the next task of its kind is to wake it: a bit, which who wakes it takes away.
static _Atomic uint64_t *idle_word(struct tern__core *core)
{
    return &core->chip->cores.idle[core->kind][core->index / 64];
}

static bool is_idle(struct tern__core *core)
{
    return (atomic_load(idle_word(core)) >> core->index % 64 & 1) != 0;
}

static void set_idle(struct tern__core *core, bool idle)
{
    uint64_t bit = UINT64_C(1) << core->index % 64;
    if (idle) {
        atomic_fetch_or(idle_word(core), bit); // partner: tern__cores_wake
    } else if (is_idle(core)) {
        atomic_fetch_and(idle_word(core), ~bit);
    }
}

static bool sees_work(struct tern__core *core)
{
    struct tern_chip *chip = core->chip;
    uint32_t state = tern__flag_load(&core->state); // partner: gang.c
    return state == TERN__CORE_GIVEN || (state == TERN__CORE_IDLE && any_ready(core)) ||
           tern__flag_load(&chip->cores.stopping) != 0; // partner: tern__cores_stop
}

static bool has_work(void *arg)
{
    struct tern__core *core = arg;
    // A core that waits has time to look at signals.
    tern__run_look(core->chip, false);
    if (sees_work(core)) {
        return true;
    }
    if (tern__flag_load(&core->bell.sleepers) != 0) { // it is about to sleep: may_nap
        tern__bell_ring(&core->chip->nap_bell);
    }
    if (tern__flag_load(&core->state) != TERN__CORE_IDLE) { // held: another one is to be woken
        set_idle(core, false);
        struct tern__cores *cores = &core->chip->cores;
        if (tern__ready_any(queue_of(cores, core->kind))) {
            tern__cores_wake(cores, core->kind);
        }
        return false;
    }
    if (is_idle(core)) {
        return false;
    }
    // It was woken for a task that another core has taken; the next one is to wake it again.
    set_idle(core, true);
    return sees_work(core);
}

// Calls the kernel, unless the task is poisoned. False when its end waits for signals.
static bool run_kernel(struct tern__core *core, struct tern__task *task, tern_kernel kernel,
                       int block, int slot)
{
    int64_t args[TERN_TASK_ARGS_MAX + 2]; // two more for kernels that look there
    if (__builtin_expect(tern__peek(&core->chip->run.cancelled) != 0, 0)) {
        tern__task_poison(task);
    }
    if (__builtin_expect(tern__peek(&task->flags) != 0, 0)) { // poisoned
        return true;
    }
    if (task->args_count > 0) { // else `args` may be NULL
        memcpy(args, task->args, task->args_count * sizeof *args);
    }
    atomic_store_explicit(&core->running, task, memory_order_release);
    struct tern__kernel *called = &core->called;
    called->slot = slot;
    called->here->index = block;
    called->here->count = (int)task->blocks;
    called->here->kernel = task->name;
    int64_t begin_ns = tern__trace_start();
    struct tern__history *record = core->chip->history;
    int64_t called_ns = 0;
    if (__builtin_expect(record != NULL, 0)) {
        tern__history_args(record, core, task);
        called_ns = tern__now_ns();
    }
    tern__kernel_call(called, kernel, args);
    if (called_ns != 0) {
        tern__history_call(record, core, task, called_ns, tern__now_ns());
    }
    called->here->kernel = NULL;
    if (begin_ns != 0) {
        tern__run_trace(core, task, begin_ns);
    }
    atomic_store_explicit(&core->running, NULL, memory_order_relaxed);
    bool waits = false;
    if (called->failed) {
        tern__run_failed(core, task);
        called->failed = false;
    } else if (called->defers != NULL && called->defers->count > 0 &&
               !tern__hold_end(core->chip, task, called->defers->untils, called->defers->count,
                               &waits)) {
        called->code = 0;
        snprintf(called->failure, sizeof called->failure, "no memory for its %u conditions",
                 called->defers->count);
        tern__run_failed(core, task);
    }
    if (called->defers != NULL) {
        called->defers->count = 0;
    }
    return !waits;
}

// A block that gang.c has given. Returns a task to go on with, or NULL.
static struct tern__task *run_given(struct tern__core *core)
{
    struct tern__task *task = core->given;
    tern_kernel kernel =
        task->core == TERN_CORE_MIX ? task->more->mix[core->given_slot] : task->kernel;
    tern__poke(&core->state, TERN__CORE_BUSY);
    struct tern__cluster *cluster = core->given_cluster;
    if (cluster != NULL) {
        tern__cluster_enter(cluster, core->given_slot);
    }
    bool ended = run_kernel(core, task, kernel, core->given_block, core->given_slot);
    if (cluster != NULL) {
        tern__cluster_leave();
    }
    return ended ? tern__run_call_ended(core->chip, task, core) : NULL;
}

// Where a graph is whole, the host's thread sleeps until it has run; an orchestration takes its
// place. Cores that share processors yield as often as others: a core that computes then goes on,
// while to wake up one that sleeps takes that one's processor and a system call.
static struct tern__ladder ladder_of(const struct tern_chip *chip)
{
    struct tern__ladder ladder = chip->cores.job != NULL && tern__peek(&chip->orchestrates) == 0
                                     ? tern__job_core_ladder(chip->cores.job)
                                     : tern__cores_ladder(&chip->cores);
    ladder.yields = tern__ladder_for(1, 1).yields;
    return ladder;
}

// Waits for something to do. False: the thread is to end.
static bool await_task(struct tern__core *core, struct tern__task **task)
{
    struct tern_chip *chip = core->chip;
    struct tern__cores *cores = &chip->cores;
    tern__flag_store(&core->state, TERN__CORE_IDLE); // partner: gang.c
    tern__poke(&core->looks, tern__peek(&core->looks) + 1);
    tern__run_tell(core);
    for (;;) {
        if (tern__flag_load(&chip->gangs.count) != 0) { // partner: tern__gangs_add
            tern__run_place(chip);
        }
        struct tern__ladder ladder = ladder_of(chip);
        struct tern__wait idle = {.bell = &core->bell,
                                  .ladder = &ladder,
                                  .timeout_ns = INT64_MAX, // ended by `stopping`
                                  .holds = has_work,
                                  .arg = core};
        set_idle(core, true);
        tern__wait(&idle);
        set_idle(core, false);
        uint32_t state = tern__flag_load(&core->state);
        if (state == TERN__CORE_GIVEN) {
            *task = run_given(core);
            return true;
        }
        if (state == TERN__CORE_IDLE &&
            tern__flag_swap(&core->state, TERN__CORE_IDLE, TERN__CORE_BUSY)) {
            *task = take(core);
            if (*task != NULL) {
                return true;
            }
            if (tern__flag_load(&cores->stopping) != 0) {
                return false;
            }
            sched_yield(); // for who is just putting one
            tern__flag_store(&core->state, TERN__CORE_IDLE);
        }
    }
}

// Each look takes a cache line from the orchestration, which puts tasks one after the other, and a
// core that is close behind takes those of the tasks, too. Both are faster when the core looks
// again only when there are many. So it pauses first: longer from time to time while several come,
// half as long when only one has, and never longer than PAUSE_A_TASK_NS for each that came after
// the last pause, so that tasks that come slowly do not wait long. Now and then it tries.
static void await_several(struct tern__core *core)
{
    const struct tern_chip *chip = core->chip;
    if (core->burst > 1) {
        core->pause_ns += core->pause_ns / 8 + PAUSE_MORE_NS;
    } else {
        core->pause_ns = core->pause_ns > PAUSE_MORE_NS ? core->pause_ns / 2 : 0;
    }
    const uint32_t most =
        core->burst < PAUSE_MAX_NS / PAUSE_A_TASK_NS ? core->burst * PAUSE_A_TASK_NS : PAUSE_MAX_NS;
    core->pause_ns = core->pause_ns < most ? core->pause_ns : most;
    core->burst = 0;
    if (core->pause_ns == 0 && ++core->tries % TRY_EVERY == 0) {
        core->pause_ns = PAUSE_TRIED_NS;
    }
    if (core->pause_ns == 0) {
        return;
    }
    const int64_t end_ns = tern__now_ns() + core->pause_ns;
    while (tern__peek(&chip->orchestrates) != 0 && tern__peek(&chip->orchestrator_waits) == 0 &&
           tern__now_ns() < end_ns) {
        tern__cpu_relax();
    }
}

// A task that is just coming costs less without saying to everybody that the core has nothing to
// do, and taking that back.
static struct tern__task *await_shortly(struct tern__core *core)
{
    struct tern_chip *chip = core->chip;
    int looks = ladder_of(chip).alone ? LOOKS_ALONE : LOOKS_CROWDED;
    struct tern__task *task = NULL;
    if (looks == LOOKS_ALONE && tern__peek(&chip->orchestrates) != 0) {
        await_several(core);
    }
    for (int i = 0; i < looks && task == NULL && tern__peek(&chip->gangs.count) == 0 &&
                    tern__peek(&chip->holds.count) == 0;
         i++) {
        tern__cpu_relax();
        task = take(core);
    }
    return task;
}

static void spread(const struct tern__core *core)
{
    const struct tern__cores *cores = &core->chip->cores;
    const int index = (int)(core - cores->list);
    if (cores->job != NULL) {
        tern__job_spread(cores->job, index, tern__cores_count(cores));
    } else {
        tern__spread(index, tern__cores_count(cores));
    }
}

static void *core_main(void *arg)
{
    struct tern__core *core = arg;
    struct tern_chip *chip = core->chip;
    char track[24];
    tern__core_text(core, track, sizeof track);
    tern__trace_name_thread(track);
    spread(core);
    core->called.here = tern__block_here();
    struct tern__fault_stack faults;
    tern__kernel_thread_begin(&faults);
    struct tern__task *task = NULL;
    bool ran = false;
    for (;;) {
        if (task == NULL && tern__peek(&chip->gangs.count) == 0) {
            task = take(core);
            task = task == NULL && ran ? await_shortly(core) : task;
        }
        ran = false;
        if (task == NULL && !await_task(core, &task)) {
            tern__kernel_thread_end(&faults);
            return NULL;
        }
        if (task != NULL) {
            if (chip->run.rings != NULL) { // whose users its end counts; other caches have them
                for (uint32_t i = 0; i < task->before_count && i < 4; i++) {
                    tern__own_line(&task->before[i].from->users_done);
                }
            }
            task = run_kernel(core, task, task->kernel, 0, 0) ? tern__run_finish(chip, task, core)
                                                              : NULL;
            ran = true;
            core->burst++;
        }
    }
}

int tern__cores_room(struct tern__cores *cores, uint64_t tasks)
{
    for (int kind = 0; kind < 2; kind++) {
        struct tern__ready *now = atomic_load(&cores->ready[kind]);
        if (now == NULL || now->mask + 1 < tasks) {
            struct tern__ready *made = tern__ready_make(tasks, now);
            if (made == NULL) {
                return tern__fail(TERN_ERR_MEMORY, "no memory for a queue of %llu tasks",
                                  (unsigned long long)tasks);
            }
            atomic_store(&cores->ready[kind], made); // partner: queue_of
        }
        if (cores->list != NULL && tern__cores_of(cores, kind) == 1) {
            struct tern__ready_own *own = &tern__core_at(cores, kind, 0)->own;
            now = atomic_load(&cores->ready[kind]);
            if ((own->slots == NULL || own->mask != now->mask) && !tern__ready_own_make(own, now)) {
                return tern__fail(TERN_ERR_MEMORY, "no memory for a queue of %llu tasks",
                                  (unsigned long long)tasks);
            }
        }
    }
    return TERN_OK;
}

int tern__cores_start(struct tern_chip *chip, int aic_count, int aiv_count)
{
    struct tern__cores *cores = &chip->cores;
    size_t count = (size_t)aic_count + (size_t)aiv_count;
    cores->job = chip->comm != NULL ? chip->comm->group.job : NULL;
    cores->aic_count = aic_count;
    cores->aiv_count = aiv_count;
    cores->cpus = tern__cpus_allowed();
    cores->list = aligned_alloc(TERN_CACHE_LINE, count * sizeof *cores->list);
    cores->clusters = tern__clusters_make(tern__cores_clusters(cores));
    if (cores->list == NULL || cores->clusters == NULL) {
        free(cores->list);
        cores->list = NULL;
        tern__cores_forget(cores);
        return tern__fail(TERN_ERR_MEMORY, "no memory for a chip of %zu cores", count);
    }
    memset(cores->list, 0, count * sizeof *cores->list);
    int status = tern__cores_room(cores, 1);
    for (int i = 0; i < tern__cores_count(cores) && status == TERN_OK; i++) {
        struct tern__core *core = &cores->list[i];
        core->chip = chip;
        core->called.chip = chip;
        core->called.comm = chip->comm;
        core->called.run = &chip->run.number;
        core->kind = i < aic_count ? TERN_CORE_AIC : TERN_CORE_AIV;
        core->index = i < aic_count ? i : i - aic_count;
        core->called.core = core->index;
        core->only = tern__cores_of(cores, core->kind) == 1;
        status = tern__thread_start(&core->thread, core_main, core);
        core->started = status == TERN_OK;
    }
    if (status != TERN_OK) {
        tern__cores_stop(cores);
    }
    return status;
}

void tern__cores_stop(struct tern__cores *cores)
{
    tern__flag_store(&cores->stopping, 1); // partner: has_work
    for (int i = 0; cores->list != NULL && i < tern__cores_count(cores); i++) {
        tern__bell_ring(&cores->list[i].bell);
        if (cores->list[i].started) {
            pthread_join(cores->list[i].thread, NULL);
        }
    }
    tern__cores_forget(cores);
}

void tern__cores_forget(struct tern__cores *cores)
{
    for (int kind = 0; kind < 2; kind++) {
        tern__ready_free(atomic_exchange(&cores->ready[kind], NULL));
    }
    for (int i = 0; cores->list != NULL && i < tern__cores_count(cores); i++) {
        free(cores->list[i].called.defers);
        free(cores->list[i].own.slots);
    }
    free(cores->list);
    cores->list = NULL;
    tern__clusters_free(cores->clusters, tern__cores_clusters(cores));
    cores->clusters = NULL;
}
