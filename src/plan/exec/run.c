// SPDX-License-Identifier: Apache-2.0
// Running. Data path: no allocation, no lock, no log, and no system call but to sleep. When no lane
// can go on, the calling thread climbs the ladder of sync/wait.h; it then also moves its other runs
// on the same job, so that ranks may wait for several runs in different orders.

#include "base/clock.h"
#include "base/public.h"
#include "base/error.h"
#include "base/trace.h"
#include "plan/exec/exec.h"

bool tern__exec_abandon(struct tern_exec *exec)
{
    if (!tern__task_is_running(&exec->task)) {
        return true;
    }
    if (!tern__task_is_mine(&exec->task)) {
        return false;
    }
    tern__task_end(&exec->task);
    return true;
}

static void end_run(struct tern_exec *exec)
{
    tern__task_end(&exec->task);
    tern__lanes_end(&exec->lanes);
    exec->done = true;
    exec->runs_ended++;
    if (exec->traced_ns != 0) {
        tern__exec_trace_run(exec);
    }
}

static struct tern_exec *exec_of(struct tern__task *task)
{
    return (struct tern_exec *)(void *)((char *)task - offsetof(struct tern_exec, task));
}

static bool advance_task(struct tern__task *task)
{
    struct tern_exec *exec = exec_of(task);
    bool moved = tern__lanes_sweep(&exec->lanes);
    task->moves += moved;
    if (exec->lanes.open_count == 0) {
        end_run(exec);
    }
    return moved;
}

static bool task_ready(struct tern__task *task)
{
    return tern__lanes_ready(&exec_of(task)->lanes);
}

static void task_asleep(struct tern__task *task)
{
    struct tern_exec *exec = exec_of(task);
    int lane;
    const struct tern__step *step = tern__lanes_stand(&exec->lanes, &lane);
    tern__job_doing(task->job, TERN__DOING_PLAN, exec->lanes.run);
    tern__poke(&exec->own->stuck_lane, (uint32_t)lane);
    tern__poke(&exec->own->stuck_op, step->index);
    tern__poke(&exec->own->stuck, 1);
}

static int task_broken(struct tern__task *task, bool deep)
{
    struct tern_exec *exec = exec_of(task);
    TERN_TRY(tern__group_check(&exec->comm->group, deep));
    return tern__exec_check_left(exec);
}

static int task_timed_out(struct tern__task *task)
{
    return tern__exec_timed_out(exec_of(task));
}

static void task_awake(struct tern__task *task)
{
    tern__poke(&exec_of(task)->own->stuck, 0);
}

static void task_describe(struct tern__task *task, struct tern__trace_event *event)
{
    tern__trace_name(event, "wait in plan");
    event->number = exec_of(task)->lanes.run;
}

static const struct tern__task_ops exec_ops = {
    .advance = advance_task,
    .ready = task_ready,
    .asleep = task_asleep,
    .broken = task_broken,
    .timed_out = task_timed_out,
    .awake = task_awake,
    .describe = task_describe,
};

static int check_running(const char *call, struct tern_exec *exec)
{
    TERN_TRY(tern__handle_check(call, exec, TERN__EXEC));
    if (exec->done) {
        return exec->runs_ended > 0
                   ? TERN_OK
                   : tern__fail(TERN_ERR_STATE, "%s: no run has been started", call);
    }
    if (tern__task_is_running(&exec->task) && !tern__task_is_mine(&exec->task)) {
        return tern__fail(TERN_ERR_STATE,
                          "%s: run %u was started by another thread, which must also end it", call,
                          exec->lanes.run);
    }
    int status = tern__comm_check(exec->comm);
    if (status != TERN_OK) {
        tern__exec_abandon(exec);
    }
    return status;
}

static void begin_run(struct tern_exec *exec)
{
    exec->lanes.run++;
    exec->lanes.begun = 0;
    exec->done = false;
    tern__lanes_begin(&exec->lanes);
    tern__flag_store(&exec->own->begun, exec->lanes.run); // partner: tern__lanes_begun
    for (uint32_t i = 0; i < exec->watchers_count; i++) {
        tern__bell_ring(exec->watchers[i]);
    }
}

// The caller's windows may have been destroyed since.
static int check_windows(const struct tern_exec *exec)
{
    const tern_window *in = exec->options.in;
    const tern_window *out = exec->options.out;
    TERN_TRY(in != NULL ? tern__window_lives("tern_exec_start", in) : TERN_OK);
    return out != NULL ? tern__window_lives("tern_exec_start", out) : TERN_OK;
}

static int start(tern_exec *exec, bool overlaps)
{
    TERN_TRY(tern__handle_check("tern_exec_start", exec, TERN__EXEC));
    TERN_TRY(check_windows(exec));
    TERN_TRY(tern__comm_check(exec->comm));
    if (tern__task_is_running(&exec->task)) {
        return tern__fail(TERN_ERR_STATE, "tern_exec_start: run %u has not ended", exec->lanes.run);
    }
    exec->traced_ns = tern__trace_start();
    exec->overlaps = overlaps;
    begin_run(exec);
    exec->task = (struct tern__task){.ops = &exec_ops, .job = exec->comm->group.job};
    tern__task_begin(&exec->task);
    tern__task_drive(&exec->task, &exec->done);
    return TERN_OK;
}

int tern_exec_start(tern_exec *exec)
{
    return TERN__CALL(start(exec, true));
}

static int exec_test(tern_exec *exec)
{
    TERN_TRY(check_running("tern_exec_test", exec));
    tern__task_drive(&exec->task, &exec->done);
    if (exec->done) {
        return 1;
    }
    int status = tern__task_tested(&exec->task);
    if (status != TERN_OK) {
        tern__exec_abandon(exec);
    }
    return status;
}

int tern_exec_test(tern_exec *exec)
{
    return TERN__CALL(exec_test(exec));
}

static int exec_wait(tern_exec *exec)
{
    TERN_TRY(check_running("tern_exec_wait", exec));
    int status = tern__task_wait(&exec->task, &exec->done);
    if (status != TERN_OK) {
        tern__exec_abandon(exec);
    }
    return status;
}

int tern_exec_wait(tern_exec *exec)
{
    return TERN__CALL(exec_wait(exec));
}

static int exec_run(tern_exec *exec)
{
    TERN_TRY(start(exec, false));
    return tern_exec_wait(exec);
}

int tern_exec_run(tern_exec *exec)
{
    return TERN__CALL_OF_CALLS(exec_run(exec));
}
