// SPDX-License-Identifier: Apache-2.0
// Running. Data path: no allocation, no lock, no log, and no system call but to sleep. The calling
// thread goes round the open lanes and does what is ready, one transfer a visit, so that a long lane
// does not hold up a post that others wait for. When no lane can go on, it climbs the ladder of
// sync/wait.h; it then also moves its other runs on the same job, so that ranks may wait for several
// runs in different orders.

#include "base/clock.h"
#include "base/public.h"
#include "base/error.h"
#include "base/trace.h"
#include "plan/exec/exec.h"

// Bytes of a copy to several destinations that stay in the first-level cache between them.
#define SPREAD_BLOCK 8192

bool tern__exec_abandon(struct tern_exec *exec)
{
    if (exec->state != TERN__EXEC_RUNNING) {
        return true;
    }
    if (!tern__task_is_mine(&exec->task)) {
        return false;
    }
    tern__task_end(&exec->task);
    exec->state = TERN__EXEC_FAILED;
    return true;
}

// Whether all of these ranks have begun the run; remembers those that have.
static bool have_begun(struct tern_exec *exec, uint64_t ranks)
{
    for (uint64_t left = ranks & ~exec->begun; left != 0; left &= left - 1) {
        int rank = __builtin_ctzll(left);
        // partner: the store in begin_run; also acquires what that rank wrote before it.
        if (!tern__reached(tern__flag_load(&tern__exec_head(exec, rank)->begun), exec->run)) {
            return false;
        }
        exec->begun |= UINT64_C(1) << rank;
    }
    return true;
}

static inline bool is_ready(struct tern_exec *exec, const struct tern__exec_op *op)
{
    if (op->kind == TERN__EXEC_WAIT) {
        uint32_t wanted = op->wait.each_run * (exec->run - 1) + op->wait.count;
        return tern__reached(tern__flag_load(op->wait.word), wanted); // partner: post below
    }
    return (op->gates & ~exec->begun) == 0 || have_begun(exec, op->gates);
}

static void spread(const struct tern_exec *exec, const struct tern__exec_op *op)
{
    char *const *operands = op->many.operands;
    for (size_t at = 0; at < op->many.count; at += SPREAD_BLOCK) {
        size_t part = op->many.count - at < SPREAD_BLOCK ? op->many.count - at : SPREAD_BLOCK;
        for (int d = 1; d <= op->many.destinations_count; d++) {
            if (operands[d] != operands[0]) {
                exec->xport->put(operands[d] + at, operands[0] + at, part);
            }
        }
    }
}

static void add(const struct tern_exec *exec, const struct tern__exec_op *op)
{
    char *const *sources = op->many.operands;
    char *const *destinations = sources + op->sources_count;
    for (int d = 0; d < op->many.destinations_count; d++) {
        for (int s = 0; s < op->sources_count; s++) {
            exec->xport->put_add(destinations[d], sources[s], op->many.count, exec->dtype);
        }
    }
}

static void transfer(const struct tern_exec *exec, const struct tern__exec_op *op)
{
    int64_t begin_ns = tern__trace_start();
    if (op->kind == TERN__EXEC_COPY) {
        if (op->copy.to != op->copy.from) {
            exec->xport->put(op->copy.to, op->copy.from, op->copy.bytes);
        }
        tern__trace_add(TERN__TRACE_TRANSFER, "copy", begin_ns, op->copy.bytes);
        return;
    }
    if (op->kind == TERN__EXEC_SPREAD) {
        spread(exec, op);
        tern__trace_add(TERN__TRACE_TRANSFER, "copy", begin_ns,
                        op->many.count * op->many.destinations_count);
        return;
    }
    if (op->kind == TERN__EXEC_REDUCE) {
        exec->reduce(op->many.operands + op->sources_count, op->many.destinations_count,
                     (const char *const *)op->many.operands, op->sources_count, op->many.count);
    } else {
        add(exec, op);
    }
    tern__trace_add(TERN__TRACE_TRANSFER, "reduce", begin_ns,
                    op->many.count * op->many.destinations_count * tern_dtype_size(exec->dtype));
}

// Does what is ready of a lane, up to the second transfer; true when that was anything.
static bool advance(struct tern_exec *exec, struct tern__exec_lane *lane)
{
    const struct tern__exec_op *begin = lane->next;
    const struct tern__exec_op *op = begin;
    bool transferred = false;
    for (; op != lane->end; op++) {
        int64_t begin_ns = tern__trace_start();
        if (!is_ready(exec, op)) {
            break;
        }
        if (op->kind == TERN__EXEC_POST) {
            exec->xport->notify(op->post.word, 1, TERN_NOTIFY_ADD);
            tern__bell_ring(op->post.bell);
        } else if (op->kind != TERN__EXEC_WAIT) {
            if (transferred) {
                break;
            }
            transfer(exec, op);
            transferred = true;
            continue; // which has its own event
        }
        if (begin_ns != 0) {
            tern__exec_trace_signal(exec, op, begin_ns);
        }
    }
    lane->next = op;
    return op != begin;
}

static void end_run(struct tern_exec *exec)
{
    tern__task_end(&exec->task);
    exec->state = TERN__EXEC_IDLE;
    exec->runs_ended++;
    if (exec->traced_ns != 0) {
        tern__exec_trace_run(exec);
    }
}

// Once round the lanes; true when anything was done.
static bool sweep(struct tern_exec *exec)
{
    bool moved = false;
    for (uint32_t i = 0; i < exec->open_count;) {
        struct tern__exec_lane *lane = &exec->lanes[exec->open[i]];
        moved = advance(exec, lane) || moved;
        if (lane->next == lane->end) {
            exec->open[i] = exec->open[--exec->open_count];
        } else {
            i++;
        }
    }
    exec->task.moves += moved;
    if (exec->open_count == 0) {
        end_run(exec);
    }
    return moved;
}

static struct tern_exec *exec_of(struct tern__task *task)
{
    return (struct tern_exec *)(void *)((char *)task - offsetof(struct tern_exec, task));
}

static bool advance_task(struct tern__task *task)
{
    return sweep(exec_of(task));
}

static bool task_ready(struct tern__task *task)
{
    struct tern_exec *exec = exec_of(task);
    for (uint32_t i = 0; i < exec->open_count; i++) {
        if (is_ready(exec, exec->lanes[exec->open[i]].next)) {
            return true;
        }
    }
    return false;
}

// Moves this run, and what else this thread has begun, as far as it goes without waiting.
static void drive(struct tern_exec *exec)
{
    bool moved = true;
    while (moved && exec->state == TERN__EXEC_RUNNING) {
        moved = sweep(exec);
        if (exec->state != TERN__EXEC_RUNNING) {
            return;
        }
        moved = tern__tasks_advance(exec->comm->group.job, &exec->task) || moved;
    }
}

static void say_that_it_sleeps(struct tern_exec *exec)
{
    const uint16_t lane = exec->open[0];
    tern__job_doing(exec->comm->group.job, TERN__DOING_PLAN, exec->run);
    tern__poke(&exec->own->stuck_lane, lane);
    tern__poke(&exec->own->stuck_op, exec->lanes[lane].next->index);
    tern__poke(&exec->own->stuck, 1);
    exec->says_so = true;
}

static int task_broken(struct tern__task *task, bool deep)
{
    struct tern_exec *exec = exec_of(task);
    if (!exec->says_so) {
        say_that_it_sleeps(exec);
    }
    TERN_TRY(tern__group_check(&exec->comm->group, deep));
    return tern__exec_check_left(exec);
}

static int task_timed_out(struct tern__task *task)
{
    return tern__exec_timed_out(exec_of(task));
}

static void task_woken(struct tern__task *task)
{
    struct tern_exec *exec = exec_of(task);
    if (exec->says_so) {
        tern__job_doing(task->job, TERN__DOING_OTHER, 0);
        tern__poke(&exec->own->stuck, 0);
        exec->says_so = false;
    }
}

static void task_describe(struct tern__task *task, struct tern__trace_event *event)
{
    tern__trace_name(event, "wait in plan");
    event->number = exec_of(task)->run;
}

static int check_running(const char *call, struct tern_exec *exec)
{
    TERN_TRY(tern__handle_check(call, exec, TERN__EXEC));
    if (exec->state == TERN__EXEC_IDLE && exec->runs_ended == 0) {
        return tern__fail(TERN_ERR_STATE, "%s: no run has been started", call);
    }
    if (exec->state == TERN__EXEC_RUNNING && !tern__task_is_mine(&exec->task)) {
        return tern__fail(TERN_ERR_STATE,
                          "%s: run %u was started by another thread, which must also end it", call,
                          exec->run);
    }
    if (exec->state == TERN__EXEC_IDLE) {
        return TERN_OK;
    }
    int status = tern__comm_check(exec->comm);
    if (status != TERN_OK) {
        tern__exec_abandon(exec);
    }
    return status;
}

static void begin_run(struct tern_exec *exec)
{
    exec->run++;
    exec->begun = 0;
    exec->open_count = 0;
    exec->state = TERN__EXEC_RUNNING;
    for (uint32_t lane = 0; lane < exec->lanes_count; lane++) {
        exec->lanes[lane].next = exec->lanes[lane].begin;
        if (exec->lanes[lane].begin != exec->lanes[lane].end) {
            exec->open[exec->open_count++] = (uint16_t)lane;
        }
    }
    tern__flag_store(&exec->own->begun, exec->run); // partner: have_begun
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
    if (exec->state == TERN__EXEC_RUNNING) {
        return tern__fail(TERN_ERR_STATE, "tern_exec_start: run %u has not ended", exec->run);
    }
    exec->traced_ns = tern__trace_start();
    exec->overlaps = overlaps;
    begin_run(exec);
    exec->task = (struct tern__task){
        .advance = advance_task,
        .ready = task_ready,
        .broken = task_broken,
        .timed_out = task_timed_out,
        .woken = task_woken,
        .describe = task_describe,
        .job = exec->comm->group.job,
    };
    tern__task_begin(&exec->task);
    drive(exec);
    return TERN_OK;
}

int tern_exec_start(tern_exec *exec)
{
    return TERN__CALL(start(exec, true));
}

static int exec_test(tern_exec *exec)
{
    TERN_TRY(check_running("tern_exec_test", exec));
    if (exec->state == TERN__EXEC_RUNNING) {
        drive(exec);
    }
    if (exec->state == TERN__EXEC_IDLE) {
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
    while (exec->state == TERN__EXEC_RUNNING) {
        drive(exec);
        int status = exec->state == TERN__EXEC_RUNNING ? tern__task_rest(&exec->task) : TERN_OK;
        if (status != TERN_OK) {
            tern__exec_abandon(exec);
            return status;
        }
    }
    return TERN_OK;
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
