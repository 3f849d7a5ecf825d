// SPDX-License-Identifier: Apache-2.0
// Queues of what has been begun. Data path: no allocation, no lock.

#include "sync/work.h"

#include <stddef.h>

#include "base/clock.h"
#include "base/error.h"

#define FIRST_LOOKS 64 // before the ladder: what a rank that runs has sent is there by then

static _Thread_local struct {
    struct tern__queue own;
    struct tern__queue *used; // NULL: its own
} thread;

static inline struct tern__queue *current(void)
{
    return thread.used != NULL ? thread.used : &thread.own;
}

struct tern__queue *tern__queue_use(struct tern__queue *queue)
{
    struct tern__queue *before = thread.used;
    thread.used = queue;
    return before;
}

void tern__work_begin(struct tern__work *work)
{
    struct tern__queue *queue = current();
    work->idle.tests = 0;
    work->idle.since_ns = 0;
    work->queue = queue;
    work->next = NULL;
    work->previous = queue->newest;
    *(queue->newest != NULL ? &queue->newest->next : &queue->oldest) = work;
    queue->newest = work;
}

void tern__work_end(struct tern__work *work)
{
    struct tern__queue *queue = work->queue;
    if (queue == NULL) {
        return;
    }
    *(work->previous != NULL ? &work->previous->next : &queue->oldest) = work->next;
    *(work->next != NULL ? &work->next->previous : &queue->newest) = work->previous;
    work->next = NULL;
    work->previous = NULL;
    work->queue = NULL;
}

void tern__work_forget(void)
{
    thread.used = NULL;
    thread.own = (struct tern__queue){0};
}

bool tern__work_is_running(const struct tern__work *work)
{
    return work->queue != NULL;
}

bool tern__work_is_mine(const struct tern__work *work)
{
    return work->queue == current();
}

bool tern__work_advance(const struct tern__job *job, const struct tern__work *except)
{
    bool moved = false;
    for (struct tern__work *work = current()->oldest; work != NULL;) {
        struct tern__work *next = work->next; // what ends leaves the queue
        if (work != except && work->job == job) {
            moved = work->ops->advance(work) || moved;
        }
        work = next;
    }
    return moved;
}

bool tern__work_exists(void)
{
    return current()->oldest != NULL;
}

static bool rings(const struct tern__work *work, const struct tern__bell *bell)
{
    return bell == &work->job->ctl->ranks[work->job->rank].bell;
}

bool tern__work_ready_on(const struct tern__bell *bell)
{
    for (struct tern__work *work = current()->oldest; work != NULL; work = work->next) {
        if (rings(work, bell) && work->ops->ready(work)) {
            return true;
        }
    }
    return false;
}

void tern__work_advance_on(const struct tern__bell *bell)
{
    for (const struct tern__work *work = current()->oldest; work != NULL; work = work->next) {
        if (rings(work, bell)) { // and with it the others of its job
            while (tern__work_advance(work->job, NULL)) {
            }
            return;
        }
    }
}

void tern__work_advance_all(void)
{
    for (const struct tern__work *work = current()->oldest; work != NULL;) {
        work = tern__work_advance(work->job, NULL) ? current()->oldest : work->next;
    }
}

static bool can_go_on(void *arg)
{
    const struct tern__work *waiting = arg;
    for (struct tern__work *work = current()->oldest; work != NULL; work = work->next) {
        if (work->job == waiting->job && work->ops->ready(work)) {
            return true;
        }
    }
    return false;
}

int tern__work_broken(struct tern__work *work, bool deep)
{
    if (!work->sleeps && work->ops->asleep != NULL) {
        work->ops->asleep(work);
    }
    work->sleeps = true;
    return work->ops->broken(work, deep);
}

void tern__work_wake(struct tern__work *work)
{
    if (work->sleeps && work->ops->awake != NULL) {
        tern__job_doing(work->job, TERN__DOING_OTHER, 0);
        work->ops->awake(work);
    }
    work->sleeps = false;
}

static int is_broken(void *arg, bool deep)
{
    return tern__work_broken(arg, deep);
}

static void trace_rest(struct tern__work *work, int64_t begin_ns, struct tern__trace_event *event)
{
    *event = (struct tern__trace_event){.begin_ns = begin_ns, .kind = TERN__TRACE_WAIT};
    tern__trace_name(event, "wait");
    if (work->ops->describe != NULL) {
        work->ops->describe(work, event);
    }
}

int tern__work_rest(struct tern__work *work, int64_t timeout_ns)
{
    struct tern__job *job = work->job;
    struct tern__ladder ladder = tern__job_ladder(job);
    struct tern__wait climb = {
        .bell = &job->ctl->ranks[job->rank].bell,
        .ladder = &ladder,
        .timeout_ns = timeout_ns,
        .holds = can_go_on,
        .broken = is_broken,
        .arg = work,
    };
    struct tern__trace_event event;
    int64_t begin_ns = tern__trace_start();
    if (begin_ns != 0) {
        trace_rest(work, begin_ns, &event);
    }
    int status = tern__ladder_climb(&climb);
    if (status == TERN_ERR_TIMEOUT) {
        status = TERN_OK;
        if (!can_go_on(work)) {
            status = tern__work_broken(work, true);
            status = status == TERN_OK ? work->ops->timed_out(work, timeout_ns) : status;
        }
    }
    tern__work_wake(work);
    if (begin_ns != 0) {
        tern__trace_put(&event);
    }
    return status;
}

void tern__work_drive(struct tern__work *work, const bool *done)
{
    while (!*done && tern__work_advance(work->job, NULL)) {
    }
}

int tern__work_wait(struct tern__work *work, const bool *done, int64_t timeout_ns)
{
    for (int looks = 0; looks < FIRST_LOOKS && !*done; looks++) {
        if (work->ops->ready(work)) {
            work->ops->advance(work);
        }
    }
    while (!*done) {
        bool moved = work->ops->advance(work);
        moved = (!*done && tern__work_advance(work->job, work)) || moved;
        if (!*done && !moved) {
            TERN_TRY(tern__work_rest(work, timeout_ns));
        }
    }
    return TERN_OK;
}

int tern__work_tested(struct tern__work *work, int64_t timeout_ns)
{
    if (work->idle.moves != work->moves) {
        work->idle.moves = work->moves;
        work->idle.tests = 0;
        work->idle.since_ns = 0;
    }
    if (++work->idle.tests % TERN__TESTS_PER_CLOCK != 0) {
        return TERN_OK;
    }
    int64_t now_ns = tern__now_ns();
    if (work->idle.since_ns == 0) {
        work->idle.since_ns = now_ns;
        work->idle.look_ns = now_ns + TERN__LOOK_NS;
    }
    bool late = now_ns - work->idle.since_ns >= timeout_ns;
    if (!late && now_ns < work->idle.look_ns) {
        return TERN_OK;
    }
    work->idle.look_ns = now_ns + TERN__LOOK_NS;
    int status = tern__work_broken(work, true);
    status = status == TERN_OK && late && !work->ops->ready(work)
                 ? work->ops->timed_out(work, timeout_ns)
                 : status;
    tern__work_wake(work);
    return status;
}
