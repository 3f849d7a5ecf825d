// SPDX-License-Identifier: Apache-2.0
// Queues of what has been begun. Data path: no allocation, no lock.

#include "sync/task.h"

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

void tern__task_begin(struct tern__task *task)
{
    struct tern__queue *queue = current();
    task->idle.tests = 0;
    task->idle.since_ns = 0;
    task->queue = queue;
    task->next = NULL;
    task->previous = queue->newest;
    *(queue->newest != NULL ? &queue->newest->next : &queue->oldest) = task;
    queue->newest = task;
}

void tern__task_end(struct tern__task *task)
{
    struct tern__queue *queue = task->queue;
    if (queue == NULL) {
        return;
    }
    *(task->previous != NULL ? &task->previous->next : &queue->oldest) = task->next;
    *(task->next != NULL ? &task->next->previous : &queue->newest) = task->previous;
    task->next = NULL;
    task->previous = NULL;
    task->queue = NULL;
}

void tern__tasks_forget(void)
{
    thread.used = NULL;
    thread.own = (struct tern__queue){0};
}

bool tern__task_is_running(const struct tern__task *task)
{
    return task->queue != NULL;
}

bool tern__task_is_mine(const struct tern__task *task)
{
    return task->queue == current();
}

bool tern__tasks_advance(const struct tern__job *job, const struct tern__task *except)
{
    bool moved = false;
    for (struct tern__task *task = current()->oldest; task != NULL;) {
        struct tern__task *next = task->next; // a task that ends leaves the queue
        if (task != except && task->job == job) {
            moved = task->ops->advance(task) || moved;
        }
        task = next;
    }
    return moved;
}

bool tern__tasks_exist(void)
{
    return current()->oldest != NULL;
}

static bool rings(const struct tern__task *task, const struct tern__bell *bell)
{
    return bell == &task->job->ctl->ranks[task->job->rank].bell;
}

bool tern__tasks_ready_on(const struct tern__bell *bell)
{
    for (struct tern__task *task = current()->oldest; task != NULL; task = task->next) {
        if (rings(task, bell) && task->ops->ready(task)) {
            return true;
        }
    }
    return false;
}

void tern__tasks_advance_on(const struct tern__bell *bell)
{
    for (const struct tern__task *task = current()->oldest; task != NULL; task = task->next) {
        if (rings(task, bell)) { // and with it the others of its job
            while (tern__tasks_advance(task->job, NULL)) {
            }
            return;
        }
    }
}

static bool can_go_on(void *arg)
{
    const struct tern__task *waiting = arg;
    for (struct tern__task *task = current()->oldest; task != NULL; task = task->next) {
        if (task->job == waiting->job && task->ops->ready(task)) {
            return true;
        }
    }
    return false;
}

int tern__task_broken(struct tern__task *task, bool deep)
{
    if (!task->sleeps && task->ops->asleep != NULL) {
        task->ops->asleep(task);
    }
    task->sleeps = true;
    return task->ops->broken(task, deep);
}

void tern__task_wake(struct tern__task *task)
{
    if (task->sleeps && task->ops->awake != NULL) {
        tern__job_doing(task->job, TERN__DOING_OTHER, 0);
        task->ops->awake(task);
    }
    task->sleeps = false;
}

static int is_broken(void *arg, bool deep)
{
    return tern__task_broken(arg, deep);
}

static void trace_rest(struct tern__task *task, int64_t begin_ns, struct tern__trace_event *event)
{
    *event = (struct tern__trace_event){.begin_ns = begin_ns, .kind = TERN__TRACE_WAIT};
    tern__trace_name(event, "wait");
    if (task->ops->describe != NULL) {
        task->ops->describe(task, event);
    }
}

int tern__task_rest(struct tern__task *task)
{
    struct tern__job *job = task->job;
    struct tern__ladder ladder = tern__job_ladder(job);
    struct tern__wait climb = {
        .bell = &job->ctl->ranks[job->rank].bell,
        .ladder = &ladder,
        .timeout_ns = job->timeout_ns,
        .holds = can_go_on,
        .broken = is_broken,
        .arg = task,
    };
    struct tern__trace_event event;
    int64_t begin_ns = tern__trace_start();
    if (begin_ns != 0) {
        trace_rest(task, begin_ns, &event);
    }
    int status = tern__ladder_climb(&climb);
    if (status == TERN_ERR_TIMEOUT) {
        status = TERN_OK;
        if (!can_go_on(task)) {
            status = tern__task_broken(task, true);
            status = status == TERN_OK ? task->ops->timed_out(task) : status;
        }
    }
    tern__task_wake(task);
    if (begin_ns != 0) {
        tern__trace_put(&event);
    }
    return status;
}

void tern__task_drive(struct tern__task *task, const bool *done)
{
    while (!*done && tern__tasks_advance(task->job, NULL)) {
    }
}

int tern__task_wait(struct tern__task *task, const bool *done)
{
    for (int looks = 0; looks < FIRST_LOOKS && !*done; looks++) {
        if (task->ops->ready(task)) {
            task->ops->advance(task);
        }
    }
    while (!*done) {
        bool moved = task->ops->advance(task);
        moved = (!*done && tern__tasks_advance(task->job, task)) || moved;
        if (!*done && !moved) {
            TERN_TRY(tern__task_rest(task));
        }
    }
    return TERN_OK;
}

int tern__task_tested(struct tern__task *task)
{
    if (task->idle.moves != task->moves) {
        task->idle.moves = task->moves;
        task->idle.tests = 0;
        task->idle.since_ns = 0;
    }
    if (++task->idle.tests % TERN__TESTS_PER_CLOCK != 0) {
        return TERN_OK;
    }
    int64_t now_ns = tern__now_ns();
    if (task->idle.since_ns == 0) {
        task->idle.since_ns = now_ns;
        task->idle.look_ns = now_ns + TERN__LOOK_NS;
    }
    bool late = now_ns - task->idle.since_ns >= task->job->timeout_ns;
    if (!late && now_ns < task->idle.look_ns) {
        return TERN_OK;
    }
    task->idle.look_ns = now_ns + TERN__LOOK_NS;
    int status = tern__task_broken(task, true);
    status =
        status == TERN_OK && late && !task->ops->ready(task) ? task->ops->timed_out(task) : status;
    tern__task_wake(task);
    return status;
}
