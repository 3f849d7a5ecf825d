// SPDX-License-Identifier: Apache-2.0
// Which ops are tasks of HCCL's framework: a copy from one place to one other, a reduce of one
// place into one other, by the rank that has one of the two; of other ranks it sees the CCL buffers
// alone, which are the plan's scratch. A slave stream is begun and ended by the main stream of its
// rank.

#include <stdarg.h>
#include <stdio.h>

#include "emit/emit.h"

static const char *const kind_words[] = {[TERN_PLAN_COPY] = "copy",
                                         [TERN_PLAN_REDUCE] = "reduce",
                                         [TERN_PLAN_POST] = "post",
                                         [TERN_PLAN_WAIT] = "wait"};

bool emit_refuse(struct emit_refusal *refusal, int rank, int lane, size_t index,
                 const tern_plan_op *op, const char *format, ...)
{
    size_t used = (size_t)snprintf(refusal->text, sizeof refusal->text,
                                   "rank %d, lane %d, op %zu (%s): ", rank, lane, index,
                                   kind_words[op->kind]);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(refusal->text + used, sizeof refusal->text - used, format, arguments);
    va_end(arguments);
    return false;
}

static bool is_same(const tern_plan_range *a, const tern_plan_range *b)
{
    return a->rank == b->rank && a->buffer == b->buffer && a->offset == b->offset;
}

// Why a transfer is none of the framework's; NULL when it is one.
static const char *why_not(const tern_plan_op *op, int rank)
{
    bool atomic = (op->flags & TERN_PLAN_ATOMIC) != 0;
    bool adds = op->kind == TERN_PLAN_REDUCE && !atomic;
    if (op->sources_count != (adds ? 2 : 1) || op->destinations_count != 1) {
        return adds                           ? "a task reduces one place into one other"
               : op->kind == TERN_PLAN_REDUCE ? "an inline reduce has one source, one destination"
                                              : "a copy has one source and one destination";
    }
    const tern_plan_range *from = &op->sources[op->sources_count - 1];
    const tern_plan_range *to = &op->destinations[0];
    if (adds && !is_same(&op->sources[0], to)) {
        return "a reduce goes into its first source";
    }
    if (from->rank != rank && to->rank != rank) {
        return "it is between two other ranks";
    }
    if ((from->rank != rank && from->buffer != TERN_PLAN_SCRATCH) ||
        (to->rank != rank && to->buffer != TERN_PLAN_SCRATCH)) {
        return "of other ranks an executor sees the scratch (the CCL buffers) alone";
    }
    return NULL;
}

static bool can_express_lane(const tern_plan *plan, int rank, int lane,
                             struct emit_refusal *refusal)
{
    size_t count = tern_plan_op_count(plan, rank, lane);
    for (size_t i = 0; i < count; i++) {
        tern_plan_op op;
        if (tern_plan_get_op(plan, rank, lane, i, &op) != TERN_OK) {
            snprintf(refusal->text, sizeof refusal->text, "%s", tern_last_error());
            return false;
        }
        bool moves = op.kind == TERN_PLAN_COPY || op.kind == TERN_PLAN_REDUCE;
        const char *why = moves ? why_not(&op, rank) : NULL;
        if (why != NULL) {
            return emit_refuse(refusal, rank, lane, i, &op, "%s", why);
        }
        if (lane > 0 && i == 0 && op.kind != TERN_PLAN_WAIT) {
            return emit_refuse(refusal, rank, lane, i, &op,
                               "a slave stream begins by waiting for its main stream");
        }
        if (lane > 0 && i + 1 == count && (op.kind != TERN_PLAN_POST || op.peer != rank)) {
            return emit_refuse(refusal, rank, lane, i, &op,
                               "a slave stream ends with a post to its main stream");
        }
    }
    return true;
}

bool emit_can_express(const tern_plan *plan, struct emit_refusal *refusal)
{
    const tern_plan_spec *spec = tern_plan_get_spec(plan);
    if (spec->slots != 0 || spec->kind == TERN_PLAN_BARRIER || spec->kind == TERN_PLAN_BROADCAST) {
        snprintf(refusal->text, sizeof refusal->text, "%s",
                 spec->slots != 0 ? "its buffers lie in slots, which only calls of tern have"
                                  : "executors for this kind have other parameters");
        return false;
    }
    for (int rank = 0; rank < spec->nranks; rank++) {
        size_t ops = 0;
        for (int lane = 0; lane < tern_plan_lane_count(plan, rank); lane++) {
            ops += tern_plan_op_count(plan, rank, lane);
            if (!can_express_lane(plan, rank, lane, refusal)) {
                return false;
            }
        }
        if (ops > EMIT_OPS_MAX) {
            snprintf(refusal->text, sizeof refusal->text,
                     "rank %d has %zu ops, and the framework takes %d tasks at once", rank, ops,
                     EMIT_OPS_MAX);
            return false;
        }
    }
    return true;
}
