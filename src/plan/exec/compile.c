// SPDX-License-Identifier: Apache-2.0
// From a plan to what a run walks through: this rank's ops with the addresses of this process, how
// often each of its signals is posted in a run, and who waits for it to begin. Set-up path.

#include <stdlib.h>

#include "base/error.h"
#include "plan/exec/exec.h"
#include "plan/ir.h"

// A transfer of nothing does nothing; lanes keep their order without it.
static bool is_kept(const struct tern__op *op)
{
    return !tern__op_is_transfer(op) || op->length > 0;
}

// What the ops of one rank mean to this one: posts to its signals are counted. Returns whether any op
// must wait until this rank has begun.
static bool survey_rank(const struct tern_exec *exec, int rank, uint32_t *posts)
{
    const tern_plan *plan = exec->plan;
    int self = exec->comm->group.rank;
    bool watches = false;
    for (int lane = 0; lane < plan->ranks[rank].lanes_count; lane++) {
        const struct tern__lane *row = &plan->ranks[rank].lanes[lane];
        for (size_t i = 0; i < row->count; i++) {
            const struct tern__op *op = &row->ops[i];
            if (op->kind == TERN_PLAN_POST && op->peer == self) {
                posts[op->signal]++;
                watches = true;
            }
            const tern_plan_range *ranges = tern__op_operands(plan, op);
            for (int k = 0; op->length > 0 && k < op->sources_count + op->destinations_count; k++) {
                watches = watches || ranges[k].rank == self;
            }
        }
    }
    return watches;
}

static void survey(struct tern_exec *exec, uint32_t *posts)
{
    int self = exec->comm->group.rank;
    for (int rank = 0; rank < exec->plan->spec.nranks; rank++) {
        if (survey_rank(exec, rank, posts) && rank != self) {
            exec->watchers[exec->watchers_count++] = tern__window_bell(exec->window, rank);
        }
    }
}

// The arrays, and the lanes that have something to do.
static int make_room(struct tern_exec *exec)
{
    const struct tern__plan_rank *own = &exec->plan->ranks[exec->comm->group.rank];
    size_t ops = 0;
    size_t operands = 0;
    for (int lane = 0; lane < own->lanes_count; lane++) {
        for (size_t i = 0; i < own->lanes[lane].count; i++) {
            const struct tern__op *op = &own->lanes[lane].ops[i];
            ops += is_kept(op);
            operands += (size_t)op->sources_count + op->destinations_count;
        }
    }
    size_t lanes = (size_t)own->lanes_count;
    exec->lanes = calloc(lanes + 1, sizeof *exec->lanes);
    exec->open = calloc(lanes + 1, sizeof *exec->open);
    exec->ops = calloc(ops + 1, sizeof *exec->ops);
    exec->operands = calloc(operands + 1, sizeof *exec->operands);
    if (exec->lanes == NULL || exec->open == NULL || exec->ops == NULL || exec->operands == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_exec_create: no memory for %zu ops", ops);
    }
    exec->lanes_count = (uint32_t)lanes;
    return TERN_OK;
}

static char *address_of(const struct tern_exec *exec, const tern_plan_range *range)
{
    const tern_window *window = exec->window;
    size_t offset = exec->scratch_offset;
    if (range->buffer == TERN_PLAN_IN) {
        window = exec->options.in;
        offset = exec->in_offsets[range->rank];
    } else if (range->buffer == TERN_PLAN_OUT) {
        window = exec->options.out;
        offset = exec->out_offsets[range->rank];
    }
    return window->base + range->rank * window->size_bytes + offset + range->offset;
}

// Also counts what the op puts on this rank's links in a run.
static void resolve_transfer(struct tern_exec *exec, const struct tern__op *op,
                             struct tern__exec_op *made, char **operands)
{
    int self = exec->comm->group.rank;
    const tern_plan_range *ranges = tern__op_operands(exec->plan, op);
    for (int i = 0; i < op->sources_count + op->destinations_count; i++) {
        bool source = i < op->sources_count;
        int rank = ranges[i].rank;
        operands[i] = address_of(exec, &ranges[i]);
        if (rank != self) {
            made->gates |= UINT64_C(1) << rank;
            *(source ? &exec->read_bytes[rank] : &exec->written_bytes[rank]) += op->length;
        }
    }
    bool copy = op->kind == TERN_PLAN_COPY;
    if (copy && op->destinations_count == 1) {
        made->kind = TERN__EXEC_COPY;
        made->copy.from = operands[0];
        made->copy.to = operands[1];
        made->copy.bytes = op->length;
        return;
    }
    made->kind = copy                                  ? TERN__EXEC_SPREAD
                 : (op->flags & TERN_PLAN_ATOMIC) != 0 ? TERN__EXEC_ADD
                                                       : TERN__EXEC_REDUCE;
    made->sources_count = op->sources_count;
    made->many.operands = operands;
    made->many.destinations_count = op->destinations_count;
    made->many.count = copy ? op->length : op->length / exec->plan->spec.unit;
}

static int resolve_signal(struct tern_exec *exec, const struct tern__op *op, const uint32_t *posts,
                          int lane, struct tern__exec_op *made)
{
    int self = exec->comm->group.rank;
    if (op->kind == TERN_PLAN_POST) {
        made->kind = TERN__EXEC_POST;
        made->gates = op->peer != self ? UINT64_C(1) << op->peer : 0;
        made->post.word = tern__exec_signal(exec, op->peer, op->signal);
        made->post.bell = tern__window_bell(exec->window, op->peer);
        return TERN_OK;
    }
    // Within the posts of a run, differences of the wrapping words mean what they should.
    if (op->length > posts[op->signal]) {
        return tern__fail(
            TERN_ERR_ARG,
            "tern_exec_create: rank %d, lane %d, op %u waits until signal %u has been "
            "posted %u times; in a run it is posted %u times",
            self, lane, made->index, op->signal, (unsigned)op->length, posts[op->signal]);
    }
    made->kind = TERN__EXEC_WAIT;
    made->wait.word =
        (const _Atomic uint32_t *)(const void *)tern__exec_signal(exec, self, op->signal);
    made->wait.count = (uint32_t)op->length;
    made->wait.each_run = posts[op->signal];
    return TERN_OK;
}

static int resolve(struct tern_exec *exec, const uint32_t *posts)
{
    const struct tern__plan_rank *own = &exec->plan->ranks[exec->comm->group.rank];
    struct tern__exec_op *made = exec->ops;
    char **operands = exec->operands;
    for (int lane = 0; lane < own->lanes_count; lane++) {
        exec->lanes[lane].begin = made;
        for (size_t i = 0; i < own->lanes[lane].count; i++) {
            const struct tern__op *op = &own->lanes[lane].ops[i];
            if (!is_kept(op)) {
                continue;
            }
            made->index = (uint32_t)i;
            if (tern__op_is_transfer(op)) {
                resolve_transfer(exec, op, made, operands);
                operands += op->sources_count + op->destinations_count;
            } else {
                TERN_TRY(resolve_signal(exec, op, posts, lane, made));
            }
            made++;
        }
        exec->lanes[lane].end = made;
    }
    return TERN_OK;
}

int tern__exec_compile(struct tern_exec *exec)
{
    uint32_t *posts = calloc((size_t)tern_plan_signal_count(exec->plan, exec->comm->group.rank) + 1,
                             sizeof *posts);
    int status = posts == NULL
                     ? tern__fail(TERN_ERR_MEMORY, "tern_exec_create: no memory for the signals")
                     : make_room(exec);
    if (status == TERN_OK) {
        survey(exec, posts);
        status = resolve(exec, posts);
    }
    free(posts);
    return status;
}

void tern__exec_free(struct tern_exec *exec)
{
    if (exec != NULL) {
        tern_window_destroy(exec->window);
        free(exec->lanes);
        free(exec->open);
        free(exec->ops);
        free(exec->operands);
        tern__handle_free(exec, sizeof *exec);
    }
}
