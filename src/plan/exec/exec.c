// SPDX-License-Identifier: Apache-2.0
// Making and unmaking executors. The ranks compare what they were given before anything else, so
// that a difference is an error on all of them. Set-up path.

#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "base/error.h"
#include "plan/exec/add.h"
#include "plan/exec/exec.h"
#include "plan/ir.h"

// What the ranks show each other first.
struct offer {
    uint64_t digest; // of the plan
    uint64_t in_offset, out_offset;
    uint32_t in_window, out_window; // number of the communicator's windows, plus 1; 0: none
    int32_t dtype, op;
    uint32_t flags;
    int32_t status;
};
_Static_assert(sizeof(struct offer) <= TERN__CELL_BYTES, "exchanged in one cell");

static int check_window(const tern_comm *comm, const tern_window *window, const char *name)
{
    if (window == NULL) {
        return TERN_OK;
    }
    TERN_TRY(tern__window_lives("tern_exec_create", window));
    if (window->comm != comm) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_exec_create: the window of %s belongs to another communicator",
                          name);
    }
    return TERN_OK;
}

// What this rank can tell alone.
static int check_mine(const tern_comm *comm, const tern_plan *plan,
                      const tern_exec_options *options, tern_exec *const *exec)
{
    TERN_TRY(tern__handle_check("tern_exec_create", plan, TERN__PLAN));
    if (options == NULL || exec == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_exec_create: options and exec must not be NULL");
    }
    if (!plan->sealed) {
        return tern__fail(TERN_ERR_ARG, "tern_exec_create: the plan is not sealed");
    }
    TERN_TRY(check_window(comm, options->in, "in"));
    return check_window(comm, options->out, "out");
}

static struct offer make_offer(const tern_plan *plan, const tern_exec_options *options)
{
    return (struct offer){
        .digest = tern__exec_digest(plan),
        .in_offset = options->in_offset,
        .out_offset = options->out_offset,
        .in_window = options->in != NULL ? options->in->number + 1 : 0,
        .out_window = options->out != NULL ? options->out->number + 1 : 0,
        .dtype = (int32_t)options->dtype,
        .op = (int32_t)options->op,
        .flags = options->flags,
    };
}

// Passes on what another rank could not do; TERN_OK when all could.
static int compare_statuses(const int32_t *statuses, size_t stride, const struct tern__group *group)
{
    for (int rank = 0; rank < group->size; rank++) {
        int32_t status;
        memcpy(&status, (const char *)statuses + (size_t)rank * stride, sizeof status);
        if (status != TERN_OK) {
            return tern__fail(status, "tern_exec_create: %s could not prepare the plan (%s)",
                              tern__rank_name(group, rank).text, tern_status_text(status));
        }
    }
    return TERN_OK;
}

static int compare_offers(const struct offer *offers, const struct tern__group *group)
{
    TERN_TRY(compare_statuses(&offers[0].status, sizeof offers[0], group));
    for (int rank = 1; rank < group->size; rank++) {
        const struct offer *a = &offers[0];
        const struct offer *b = &offers[rank];
        const char *what = a->digest != b->digest           ? "plans"
                           : a->dtype != b->dtype           ? "element types"
                           : a->op != b->op                 ? "operations"
                           : a->flags != b->flags           ? "flags"
                           : a->in_window != b->in_window   ? "windows of in"
                           : a->out_window != b->out_window ? "windows of out"
                                                            : NULL;
        if (what != NULL) {
            return tern__fail(TERN_ERR_MISMATCH, "tern_exec_create: %s and %s have different %s",
                              tern__rank_name(group, 0).text, tern__rank_name(group, rank).text,
                              what);
        }
    }
    return TERN_OK;
}

// The executor's own window: head, what is told, signals, locks, scratch.
static int make_window(struct tern_exec *exec)
{
    const tern_plan *plan = exec->plan;
    size_t signals = tern__plan_signals(plan);
    size_t stride = signals <= TERN__EXEC_LINES_MAX ? TERN_CACHE_LINE : sizeof(uint32_t);
    size_t offset = TERN__EXEC_SIGNALS + signals * stride;
    exec->locks_offset = (offset + TERN_CACHE_LINE - 1) / TERN_CACHE_LINE * TERN_CACHE_LINE;
    exec->scratch_offset = exec->locks_offset + TERN__ADD_LOCKS * sizeof(struct tern__add_lock);
    tern_window_options options = {.flags = TERN_WINDOW_PREFAULT};
    return tern_window_create(exec->comm, exec->scratch_offset + plan->scratch_bytes, &options,
                              &exec->window);
}

// Everything after the offers agree; every rank comes through both exchanges.
static int build(struct tern_exec *exec)
{
    struct tern__group *group = &exec->comm->group;
    int32_t statuses[TERN_RANKS_MAX];
    TERN_TRY(tern__exec_check(exec));
    TERN_TRY(make_window(exec));
    exec->own = tern__exec_head(exec, group->rank);
    int32_t status = tern__exec_compile(exec);
    TERN_TRY(tern__group_exchange(group, TERN__MEETING_EXEC, &status, sizeof status, statuses));
    TERN_TRY(status);
    return compare_statuses(statuses, sizeof statuses[0], group);
}

static int exec_create(tern_comm *comm, const tern_plan *plan, const tern_exec_options *options,
                       tern_exec **exec)
{
    TERN_TRY(tern__comm_lives("tern_exec_create", comm));
    struct tern__group *group = &comm->group;
    TERN_TRY(tern__group_check(group, false));
    int status = check_mine(comm, plan, options, exec);
    tern_exec *made = tern__handle_new(TERN__EXEC, sizeof *made);
    if (status == TERN_OK && made == NULL) {
        status = tern__fail(TERN_ERR_MEMORY, "tern_exec_create: no memory for an executor");
    }
    struct offer mine = {.status = status};
    struct offer offers[TERN_RANKS_MAX];
    if (status == TERN_OK) {
        mine = make_offer(plan, options);
    }
    int met = tern__group_exchange(group, TERN__MEETING_EXEC, &mine, sizeof mine, offers);
    if (met == TERN_OK && status == TERN_OK) {
        met = compare_offers(offers, group);
    }
    if (met != TERN_OK || status != TERN_OK) {
        tern__handle_free(made, sizeof *made);
        return met != TERN_OK ? met : status;
    }
    made->comm = comm;
    tern__poke(&made->done, 1);
    made->plan = plan;
    made->options = *options;
    for (int rank = 0; rank < group->size; rank++) {
        made->in_offsets[rank] = offers[rank].in_offset;
        made->out_offsets[rank] = offers[rank].out_offset;
    }
    status = build(made);
    if (status != TERN_OK) {
        tern__exec_free(made);
        return status;
    }
    *exec = made;
    return TERN_OK;
}

int tern_exec_create(tern_comm *comm, const tern_plan *plan, const tern_exec_options *options,
                     tern_exec **exec)
{
    return TERN__CALL_OF_CALLS(exec_create(comm, plan, options, exec));
}

uint64_t tern_exec_link_bytes(const tern_exec *exec, int from, int to)
{
    if (tern__handle_check("tern_exec_link_bytes", exec, TERN__EXEC) != TERN_OK ||
        (exec->options.flags & TERN_EXEC_COUNT_LINKS) == 0 || from == to) {
        return 0;
    }
    int self = exec->comm->group.rank;
    int size = exec->comm->group.size;
    if (from < 0 || from >= size || to < 0 || to >= size) {
        return 0;
    }
    // A run does every op once, so its bytes are known before it begins.
    uint64_t each = from == self ? exec->written_bytes[to]
                    : to == self ? exec->read_bytes[from]
                                 : 0;
    return each * exec->runs_ended;
}

static int exec_destroy(tern_exec *exec)
{
    if (exec == NULL) {
        return TERN_OK;
    }
    if (tern__handle_is_inherited(exec, TERN__EXEC)) { // in a child: a run goes on in the parent
        tern__exec_free(exec);
        return TERN_OK;
    }
    TERN_TRY(tern__handle_check("tern_exec_destroy", exec, TERN__EXEC));
    if (tern__work_is_running(&exec->work)) {
        if (tern__comm_check(exec->comm) == TERN_OK || !tern__exec_abandon(exec)) {
            return tern__fail(TERN_ERR_STATE,
                              "tern_exec_destroy: run %u has not ended; the thread that started it "
                              "must call tern_exec_wait first",
                              exec->lanes.run);
        }
    }
    tern__exec_free(exec);
    return TERN_OK;
}

int tern_exec_destroy(tern_exec *exec)
{
    return TERN__CALL_OF_CALLS(exec_destroy(exec));
}
