// SPDX-License-Identifier: Apache-2.0
// Running. Data path: no allocation, no lock, no log, and no system call but to sleep. When no lane
// can go on, the calling thread climbs the ladder of sync/wait.h; it then also moves its other runs
// on the same job, so that ranks may wait for several runs in different orders.

#include "base/clock.h"
#include "base/public.h"
#include "base/error.h"
#include "base/trace.h"
#include "net/net.h"
#include "plan/exec/exec.h"

bool tern__exec_abandon(struct tern_exec *exec)
{
    if (!tern__work_is_running(&exec->work)) {
        return true;
    }
    if (!tern__work_is_mine(&exec->work)) {
        return false;
    }
    tern__work_end(&exec->work);
    return true;
}

static void end_run(struct tern_exec *exec)
{
    tern__work_end(&exec->work);
    tern__lanes_end(&exec->lanes);
    tern__poke(&exec->done, 1); // its thread alone looks
    exec->runs_ended++;
    if (exec->traced_ns != 0) {
        tern__exec_trace_run(exec);
    }
}

static struct tern_exec *exec_of(struct tern__work *work)
{
    return (struct tern_exec *)(void *)((char *)work - offsetof(struct tern_exec, work));
}

static bool advance_work(struct tern__work *work)
{
    struct tern_exec *exec = exec_of(work);
    bool moved = tern__lanes_sweep(&exec->lanes);
    work->moves += moved;
    if (exec->lanes.open_count == 0) {
        end_run(exec);
    }
    return moved;
}

static bool work_ready(struct tern__work *work)
{
    return tern__lanes_ready(&exec_of(work)->lanes);
}

static void work_asleep(struct tern__work *work)
{
    struct tern_exec *exec = exec_of(work);
    int lane;
    const struct tern__step *step = tern__lanes_stand(&exec->lanes, &lane);
    tern__job_doing(work->job, TERN__DOING_PLAN, exec->lanes.run);
    tern__poke(&exec->own->stuck_lane, (uint32_t)lane);
    tern__poke(&exec->own->stuck_op, step->index);
    tern__poke(&exec->own->stuck, 1);
}

static int work_broken(struct tern__work *work, bool deep)
{
    struct tern_exec *exec = exec_of(work);
    TERN_TRY(tern__group_check(&exec->comm->group, deep));
    return tern__exec_check_left(exec);
}

static int work_timed_out(struct tern__work *work, int64_t waited_ns)
{
    return tern__exec_timed_out(exec_of(work), waited_ns);
}

static void work_awake(struct tern__work *work)
{
    tern__poke(&exec_of(work)->own->stuck, 0);
}

static void work_describe(struct tern__work *work, struct tern__trace_event *event)
{
    tern__trace_name(event, "wait in plan");
    event->number = exec_of(work)->lanes.run;
}

static const struct tern__work_ops exec_ops = {
    .advance = advance_work,
    .ready = work_ready,
    .asleep = work_asleep,
    .broken = work_broken,
    .timed_out = work_timed_out,
    .awake = work_awake,
    .describe = work_describe,
};

static int check_running(const char *call, struct tern_exec *exec)
{
    TERN_TRY(tern__handle_check(call, exec, TERN__EXEC));
    if (tern__peek(&exec->done) != 0) {
        return exec->runs_ended > 0
                   ? TERN_OK
                   : tern__fail(TERN_ERR_STATE, "%s: no run has been started", call);
    }
    if (tern__work_is_running(&exec->work) && !tern__work_is_mine(&exec->work)) {
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
    tern__poke(&exec->done, 0);
    tern__lanes_begin(&exec->lanes);
    tern__flag_store(&exec->own->begun, exec->lanes.run); // partner: tern__lanes_begun
    for (uint32_t i = 0; i < exec->watchers_count; i++) {
        tern__bell_ring(exec->watchers[i]);
    }
    for (uint64_t left = exec->tells; left != 0; left &= left - 1) { // counts as lanes.run does
        struct tern__exec_told *told = tern__exec_told(exec, __builtin_ctzll(left));
        tern__net_post((char *)&told->begun[exec->binding.rank]); // partner: tern__lanes_begun
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
    if (tern__work_is_running(&exec->work)) {
        return tern__fail(TERN_ERR_STATE, "tern_exec_start: run %u has not ended", exec->lanes.run);
    }
    exec->traced_ns = tern__trace_start();
    exec->overlaps = overlaps;
    begin_run(exec);
    exec->work = (struct tern__work){.ops = &exec_ops, .job = exec->comm->group.job};
    tern__work_begin(&exec->work);
    tern__work_drive(&exec->work, &exec->done);
    return TERN_OK;
}

int tern_exec_start(tern_exec *exec)
{
    return TERN__CALL(start(exec, true));
}

static int exec_test(tern_exec *exec)
{
    TERN_TRY(check_running("tern_exec_test", exec));
    tern__work_drive(&exec->work, &exec->done);
    if (tern__peek(&exec->done) != 0) {
        return 1;
    }
    int status = tern__work_tested(&exec->work, NULL, exec->work.job->timeout_ns);
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
    int status =
        tern__work_wait(&(struct tern__awaited){.work = &exec->work,
                                                .done = &exec->done,
                                                .timeout_ns = exec->comm->group.job->timeout_ns});
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
