// SPDX-License-Identifier: Apache-2.0
// The list of what a thread has begun. Data path: no allocation, no lock.

#include "sync/task.h"

#include <stddef.h>

#include "base/clock.h"
#include "tern/status.h"

static _Thread_local struct tern__task *running;

void tern__task_begin(struct tern__task *task)
{
    task->idle.tests = 0;
    task->idle.since_ns = 0;
    task->thread = &running;
    task->previous = NULL;
    task->next = running;
    if (running != NULL) {
        running->previous = task;
    }
    running = task;
}

void tern__task_end(struct tern__task *task)
{
    if (task->previous != NULL) {
        task->previous->next = task->next;
    } else if (running == task) {
        running = task->next;
    }
    if (task->next != NULL) {
        task->next->previous = task->previous;
    }
    task->next = NULL;
    task->previous = NULL;
    task->thread = NULL;
}

void tern__tasks_forget(void)
{
    running = NULL;
}

bool tern__task_is_running(const struct tern__task *task)
{
    return task->thread != NULL;
}

bool tern__task_is_mine(const struct tern__task *task)
{
    return task->thread == &running;
}

bool tern__tasks_advance(const struct tern__job *job, const struct tern__task *except)
{
    bool moved = false;
    for (struct tern__task *task = running; task != NULL;) {
        struct tern__task *next = task->next; // a task that ends leaves the list
        if (task != except && task->job == job) {
            moved = task->advance(task) || moved;
        }
        task = next;
    }
    return moved;
}

bool tern__tasks_exist(void)
{
    return running != NULL;
}

static bool rings(const struct tern__task *task, const struct tern__bell *bell)
{
    return bell == &task->job->ctl->ranks[task->job->rank].bell;
}

bool tern__tasks_ready_on(const struct tern__bell *bell)
{
    for (struct tern__task *task = running; task != NULL; task = task->next) {
        if (rings(task, bell) && task->ready(task)) {
            return true;
        }
    }
    return false;
}

void tern__tasks_advance_on(const struct tern__bell *bell)
{
    for (const struct tern__task *task = running; task != NULL; task = task->next) {
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
    for (struct tern__task *task = running; task != NULL; task = task->next) {
        if (task->job == waiting->job && task->ready(task)) {
            return true;
        }
    }
    return false;
}

static int is_broken(void *arg, bool deep)
{
    struct tern__task *task = arg;
    return task->broken(task, deep);
}

static void trace_rest(struct tern__task *task, int64_t begin_ns, struct tern__trace_event *event)
{
    *event = (struct tern__trace_event){.begin_ns = begin_ns, .kind = TERN__TRACE_WAIT};
    tern__trace_name(event, "wait");
    if (task->describe != NULL) {
        task->describe(task, event);
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
            status = task->broken(task, true);
            status = status == TERN_OK ? task->timed_out(task) : status;
        }
    }
    task->woken(task);
    if (begin_ns != 0) {
        tern__trace_put(&event);
    }
    return status;
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
    int status = task->broken(task, true);
    status = status == TERN_OK && late && !task->ready(task) ? task->timed_out(task) : status;
    task->woken(task);
    return status;
}
