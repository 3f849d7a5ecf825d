// SPDX-License-Identifier: Apache-2.0
// A turn of a task, by one collective call. Where a turn's blocks have gaps between them it is a
// call with offsets; where tern has no such call, or in and out lie across each other, the input is
// packed into scratch memory first.
//
// Before the first turn of a task all ranks say what the task is and whether they can do it, in one
// AllGather of a record: a task that a rank refuses moves nothing on any rank.

#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memcpy.h"
#include "faces/hccl/device.h"
#include "tern/memory.h"

#define PATIENCE_NS INT64_C(50000)
#define YIELDS_NS INT64_C(1000000)

enum { LOOKS = 64, LOOKS_CROWDED = 8 };

struct record {
    uint32_t type, number; // of the collective tasks of this life
    uint32_t dtype, op;
    uint64_t repeat;
    uint64_t count; // 0 where it is the rank's own affair
    int64_t status;
    uint64_t past_bytes;
};
_Static_assert(sizeof(struct record) == 48, "no padding: records are compared as bytes");

enum { RECORD_SAID = 32 }; // bytes in which all ranks agree

// The input of a turn as blocks, and the call.
struct turn {
    tern_coll coll;
    int blocks;
    size_t in_offsets[TERN_RANKS_MAX], in_counts[TERN_RANKS_MAX];
    size_t out_offsets[TERN_RANKS_MAX], out_counts[TERN_RANKS_MAX];
};

static void fill(size_t *offsets, size_t *counts, int blocks, uint64_t stride, uint64_t count)
{
    for (int i = 0; i < blocks; i++) {
        offsets[i] = (size_t)i * stride;
        counts[i] = count;
    }
}

static void lay_lists(const struct device_task *task, uint32_t index, int n, struct turn *turn)
{
    for (int i = 0; i < n; i++) {
        turn->in_counts[i] = task->lists[0][i];
        turn->in_offsets[i] = task->lists[1][i] + index * task->lists[0][i];
        turn->out_counts[i] = task->lists[2][i];
        turn->out_offsets[i] = task->lists[3][i] + index * task->lists[2][i];
    }
}

// Turn `index` of a task, before it is known whether its input must be packed.
static void lay(const struct hccl_server *server, const struct device_task *task, uint32_t index,
                struct turn *turn)
{
    const struct tern_hccl_task *call = &task->call;
    int n = server->ranks;
    size_t shift = call->type == HCCL_CMD_ALLTOALLV ? 0 : index * call->count * task->element;
    uint64_t stride = call->stride > 0 ? call->stride : call->count;
    bool gaps = stride != call->count;
    turn->coll = (tern_coll){.in = (const char *)call->send + shift,
                             .out = (char *)call->recv + shift,
                             .count = call->count,
                             .dtype = task->dtype};
    turn->blocks = 1;
    fill(turn->in_offsets, turn->in_counts, 1, 0, call->count);
    switch (call->type) {
    case HCCL_CMD_ALLREDUCE:
        turn->coll.kind = TERN_COLL_ALL_REDUCE;
        break;
    case HCCL_CMD_ALLGATHER:
        turn->coll.kind = gaps ? TERN_COLL_ALL_GATHER_V : TERN_COLL_ALL_GATHER;
        fill(turn->out_offsets, turn->out_counts, n, stride, call->count);
        break;
    case HCCL_CMD_REDUCE_SCATTER:
        turn->coll.kind = TERN_COLL_REDUCE_SCATTER;
        turn->blocks = n;
        fill(turn->in_offsets, turn->in_counts, n, stride, call->count);
        break;
    case HCCL_CMD_ALLTOALL:
        turn->coll.kind = gaps ? TERN_COLL_ALL_TO_ALL_V : TERN_COLL_ALL_TO_ALL;
        turn->blocks = n;
        fill(turn->in_offsets, turn->in_counts, n, stride, call->count);
        fill(turn->out_offsets, turn->out_counts, n, stride, call->count);
        break;
    default:
        turn->coll.kind = TERN_COLL_ALL_TO_ALL_V;
        turn->blocks = n;
        lay_lists(task, index, n, turn);
        break;
    }
    static const tern_reduce_op ops[] = {[HCCL_REDUCE_SUM] = TERN_SUM,
                                         [HCCL_REDUCE_PROD] = TERN_PROD,
                                         [HCCL_REDUCE_MAX] = TERN_MAX,
                                         [HCCL_REDUCE_MIN] = TERN_MIN};
    if (call->type == HCCL_CMD_ALLREDUCE || call->type == HCCL_CMD_REDUCE_SCATTER) {
        turn->coll.op = ops[call->op];
    }
}

static size_t reach(const size_t *offsets, const size_t *counts, int blocks, size_t element)
{
    size_t end = 0;
    for (int i = 0; i < blocks; i++) {
        size_t here = offsets[i] + counts[i];
        end = counts[i] > 0 && here > end ? here : end;
    }
    return end * element;
}

// Whether the call takes the input as it lies.
static bool fits(const struct hccl_server *server, const struct device_task *task,
                 const struct turn *turn)
{
    const tern_coll *coll = &turn->coll;
    size_t element = task->element;
    size_t own = (size_t)server->rank * coll->count * element;
    uintptr_t in = (uintptr_t)coll->in;
    uintptr_t out = (uintptr_t)coll->out;
    size_t in_bytes = reach(turn->in_offsets, turn->in_counts, turn->blocks, element);
    size_t out_bytes = coll->count * element;
    bool gathers = coll->kind == TERN_COLL_ALL_GATHER || coll->kind == TERN_COLL_ALL_GATHER_V ||
                   coll->kind == TERN_COLL_ALL_TO_ALL || coll->kind == TERN_COLL_ALL_TO_ALL_V;
    if (gathers) {
        out_bytes = reach(turn->out_offsets, turn->out_counts, server->ranks, element);
    }
    if (coll->kind == TERN_COLL_REDUCE_SCATTER &&
        in_bytes != (size_t)server->ranks * coll->count * element) {
        return false; // there are gaps
    }
    if (in >= out + out_bytes || out >= in + in_bytes) {
        return true;
    }
    switch (coll->kind) {
    case TERN_COLL_ALL_REDUCE:
    case TERN_COLL_ALL_TO_ALL:
        return in == out;
    case TERN_COLL_ALL_GATHER:
        return in == out + own;
    case TERN_COLL_REDUCE_SCATTER:
        return out == in + own;
    default:
        return false;
    }
}

static size_t packed_bytes(const struct device_task *task, const struct turn *turn)
{
    size_t sum = 0;
    for (int i = 0; i < turn->blocks; i++) {
        sum += turn->in_counts[i] * task->element;
    }
    return sum;
}

static void pack(const struct hccl_server *server, const struct device_task *task,
                 struct turn *turn)
{
    char *to = server->scratch;
    for (int i = 0; i < turn->blocks; i++) {
        size_t bytes = turn->in_counts[i] * task->element;
        tern__memcpy(to, (const char *)turn->coll.in + turn->in_offsets[i] * task->element, bytes);
        turn->in_offsets[i] = (size_t)(to - (char *)server->scratch) / task->element;
        to += bytes;
    }
    turn->coll.in = server->scratch;
}

// Scratch memory for the turns of a task; all of them need the same.
static int make_room(struct hccl_server *server, const struct device_task *task)
{
    struct turn turn;
    size_t bytes = 0;
    for (uint32_t i = 0; i < task->call.repeat && bytes == 0; i++) {
        lay(server, task, i, &turn);
        bytes = fits(server, task, &turn) ? 0 : packed_bytes(task, &turn);
    }
    if (bytes > server->scratch_bytes) {
        tern_free(server->scratch);
        server->scratch = NULL;
        server->scratch_bytes = 0;
        TERN_TRY(tern_alloc(server->comm, bytes, &server->scratch));
        server->scratch_bytes = bytes;
    }
    return TERN_OK;
}

void tern__hccl_task_kill(struct device_task *task, int status, const char *format, ...)
{
    char text[WHY_BYTES]; // the arguments may be of task->why
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    memcpy(task->why, text, sizeof text);
    task->status = status;
    tern__flag_store(&task->finished, task->call.repeat); // partner: may_go_on, in server.c
}

// The communicator has failed.
static void fail_server(struct hccl_server *server, struct device_task *task, int status)
{
    if (server->status == TERN_OK) {
        server->status = status;
        snprintf(server->why, sizeof server->why, "%s", tern_last_error());
    }
    tern__hccl_task_kill(task, status, "%s: %s", tern__hccl_task_name(task->call.type),
                         server->why);
}

void tern__hccl_line_ring(struct hccl_server *server, int rank)
{
    struct server_line *line = server->line[rank];
    tern__flag_add(&line->doorbell, 1); // partner: has_work, in server.c
    tern__bell_ring(&line->bell);
}

static bool all_entered(const struct hccl_server *server, uint32_t turn)
{
    for (int i = 0; i < server->ranks; i++) {
        const struct server_line *other = server->line[i];
        if (other != NULL && !tern__reached(tern__observe(&other->entered), turn)) {
            return false;
        }
    }
    return true;
}

// Rings the threads of ranks here that have committed a turn and not begun it, each once.
static void ring_late(struct hccl_server *server, uint32_t turn, uint64_t *rung)
{
    for (int i = 0; i < server->ranks; i++) {
        const struct server_line *other = server->line[i];
        if (other != NULL && (*rung >> i & 1) == 0 &&
            !tern__reached(tern__observe(&other->entered), turn) &&
            tern__reached(tern__flag_load(&other->committed), turn)) {
            *rung |= UINT64_C(1) << i;
            tern__hccl_line_ring(server, i);
        }
    }
}

// Looks and yields, as all waits of tern begin. Where others have committed the turn and do not
// come for a while, their threads are rung; then this rank sleeps in the call itself, and whoever
// commits the turn later sees that it is awaited.
static void await_others(struct hccl_server *server)
{
    struct server_line *line = server->line[server->rank];
    uint32_t turn = tern__peek(&line->entered) + 1;
    tern__publish(&line->entered, turn); // partner: all_entered
    int64_t begin_ns = 0;
    uint64_t rung = 0;
    for (int look = 1; !all_entered(server, turn); look++) {
        tern__cpu_relax();
        if (look % (server->crowded ? LOOKS_CROWDED : LOOKS) != 0) {
            continue;
        }
        int64_t now_ns = tern__now_ns();
        begin_ns = begin_ns == 0 ? now_ns : begin_ns;
        if (now_ns - begin_ns > PATIENCE_NS) {
            ring_late(server, turn, &rung);
        }
        if (now_ns - begin_ns > YIELDS_NS) {
            tern__flag_store(&line->impatient, turn); // partner: is_awaited, in server.c
            rung = 0;
            ring_late(server, turn, &rung);
            return;
        }
        sched_yield();
    }
}

static void say_different(struct device_task *task, const struct record *mine,
                          const struct record *other, int rank)
{
    tern__hccl_task_kill(task, TERN_ERR_MISMATCH,
                         "%s: refused, since the ranks differ: here call %u, count %" PRIu64
                         ", repeat %" PRIu64
                         ", type %u, op %u; on rank %d %s, call %u, count %" PRIu64
                         ", repeat %" PRIu64 ", type %u, op %u",
                         tern__hccl_task_name(mine->type), mine->number, mine->count, mine->repeat,
                         mine->dtype, mine->op, rank, tern__hccl_task_name(other->type),
                         other->number, other->count, other->repeat, other->dtype, other->op);
}

static void agree(struct hccl_server *server, struct device_task *task)
{
    const struct tern_hccl_task *call = &task->call;
    struct record records[TERN_RANKS_MAX];
    bool writes = call->type == HCCL_CMD_HALF_ALLTOALLV;
    if (task->status == TERN_OK && call->type != HCCL_CMD_BARRIER && !writes) {
        task->status = make_room(server, task);
        if (task->status != TERN_OK) {
            snprintf(task->why, sizeof task->why, "%s", tern_last_error());
        }
    }
    struct record mine = {.type = call->type,
                          .number = task->number,
                          .dtype = call->dtype,
                          .op = call->op,
                          .repeat = call->repeat,
                          .count = writes ? 0 : call->count,
                          .status = task->status,
                          .past_bytes = task->past_bytes};
    int status = tern_all_gather(server->comm, &mine, records, sizeof mine, TERN_U8);
    if (status != TERN_OK) {
        fail_server(server, task, status);
        return;
    }
    task->agreed = true;
    for (int i = 0; i < server->ranks; i++) {
        if (memcmp(&mine, &records[i], RECORD_SAID) != 0) {
            say_different(task, &mine, &records[i], i);
            return;
        }
    }
    for (int i = 0; i < server->ranks; i++) {
        if (records[i].status == TERN_OK) {
            continue;
        }
        if (task->status < 0) {
            tern__hccl_task_kill(task, task->status, "%s", task->why);
        } else if (records[i].past_bytes > 0) {
            tern__hccl_task_kill(task, (int)records[i].status,
                                 "%s: nothing has moved: on rank %d it is %" PRIu64
                                 " bytes past the end of a buffer",
                                 tern__hccl_task_name(call->type), i, records[i].past_bytes);
        } else {
            tern__hccl_task_kill(task, (int)records[i].status,
                                 "%s: nothing has moved: it was refused on rank %d",
                                 tern__hccl_task_name(call->type), i);
        }
        return;
    }
}

void tern__hccl_turn_end(struct device_task *task)
{
    tern__flag_add(&task->finished, 1); // partner: may_go_on, in server.c
}

static void end_or_fail(struct hccl_server *server, struct device_task *task, int status)
{
    if (status != TERN_OK) {
        fail_server(server, task, status);
        return;
    }
    tern__hccl_turn_end(task);
}

static void run_collective(struct hccl_server *server, struct device_task *task)
{
    struct turn turn;
    lay(server, task, tern__peek(&task->finished), &turn);
    if (!fits(server, task, &turn)) {
        pack(server, task, &turn);
    }
    if (turn.coll.kind == TERN_COLL_ALL_TO_ALL_V) {
        turn.coll.in_counts = turn.in_counts;
        turn.coll.in_offsets = turn.in_offsets;
    }
    if (turn.coll.kind == TERN_COLL_ALL_TO_ALL_V || turn.coll.kind == TERN_COLL_ALL_GATHER_V) {
        turn.coll.out_counts = turn.out_counts;
        turn.coll.out_offsets = turn.out_offsets;
    }
    end_or_fail(server, task, tern_coll_run(server->comm, &turn.coll));
}

// The agreement is a barrier, but between machines not one for windows.
static int run_barrier(const struct hccl_server *server)
{
    return server->across ? tern_comm_barrier(server->comm) : TERN_OK;
}

void tern__hccl_turn_run(struct hccl_server *server, struct device_task *task)
{
    if (!task->collective) {
        int status = tern__hccl_batch_check(server, task); // the kernel may have changed its items
        if (status != TERN_OK) {
            tern__hccl_task_kill(task, status, "%s", tern_last_error());
            return;
        }
        end_or_fail(server, task, tern__hccl_batch_run(server, task));
        return;
    }
    if (server->status != TERN_OK) {
        tern__hccl_task_kill(task, server->status, "%s: %s", tern__hccl_task_name(task->call.type),
                             server->why);
        return;
    }
    await_others(server);
    if (!task->agreed) {
        agree(server, task);
        if (task->status != TERN_OK) {
            return;
        }
    }
    if (task->call.type == HCCL_CMD_BARRIER) {
        end_or_fail(server, task, run_barrier(server));
        return;
    }
    if (task->call.type == HCCL_CMD_HALF_ALLTOALLV) {
        end_or_fail(server, task, tern__hccl_write_run(server, task));
        return;
    }
    run_collective(server, task);
}
