// SPDX-License-Identifier: Apache-2.0
// Reading plans: what a sealed one holds, op by op. Any thread.

#include "base/error.h"
#include "base/public.h"
#include "plan/ir.h"

const tern_plan_spec *tern_plan_get_spec(const tern_plan *plan)
{
    return tern__handle_lives(plan, TERN__PLAN) ? &plan->spec : NULL;
}

uint64_t tern_plan_buffer_bytes(const tern_plan *plan, tern_plan_buffer buffer)
{
    if (!tern__handle_lives(plan, TERN__PLAN) || (unsigned)buffer > TERN_PLAN_SCRATCH) {
        return 0;
    }
    const tern_kind_facts *kind = &tern__kinds[plan->spec.kind];
    if (buffer == TERN_PLAN_SCRATCH) {
        return plan->scratch_bytes;
    }
    bool share = tern__kind_has_shares(plan->spec.kind) &&
                 (buffer == TERN_PLAN_IN ? kind->in : kind->out) == TERN_KIND_ONE;
    return share ? tern__plan_share(plan) : plan->spec.bytes;
}

static bool has_rank(const tern_plan *plan, int rank)
{
    return tern__handle_lives(plan, TERN__PLAN) && rank >= 0 && rank < plan->spec.nranks;
}

int tern_plan_lane_count(const tern_plan *plan, int rank)
{
    return has_rank(plan, rank) ? plan->ranks[rank].lanes_count : 0;
}

size_t tern_plan_op_count(const tern_plan *plan, int rank, int lane)
{
    return has_rank(plan, rank) && lane >= 0 && lane < plan->ranks[rank].lanes_count
               ? plan->ranks[rank].lanes[lane].count
               : 0;
}

void tern__plan_read_op(const tern_plan *plan, const struct tern__op *stored, tern_plan_op *op)
{
    bool transfer = tern__op_is_transfer(stored);
    const tern_plan_range *operands = tern__op_operands(plan, stored);
    *op = (tern_plan_op){
        .kind = (tern_plan_op_kind)stored->kind,
        .flags = stored->flags,
        .round = stored->round,
        .length = transfer ? stored->length : 0,
        .sources = transfer ? operands : NULL,
        .sources_count = stored->sources_count,
        .destinations = transfer ? operands + stored->sources_count : NULL,
        .destinations_count = stored->destinations_count,
        .peer = stored->peer,
        .signal = stored->signal,
        .count = stored->kind == TERN_PLAN_WAIT ? (uint32_t)stored->length : 0,
    };
}

static int plan_get_op(const tern_plan *plan, int rank, int lane, size_t index, tern_plan_op *op)
{
    TERN_TRY(tern__plan_lives("tern_plan_get_op", plan));
    if (!plan->sealed || op == NULL) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_plan_get_op: op must not be NULL and the plan must be "
                          "sealed");
    }
    if (index >= tern_plan_op_count(plan, rank, lane)) {
        return tern__fail(TERN_ERR_ARG, "the plan has no rank %d, lane %d, op %zu", rank, lane,
                          index);
    }
    tern__plan_read_op(plan, tern__plan_op(plan, rank, lane, index), op);
    return TERN_OK;
}

int tern_plan_get_op(const tern_plan *plan, int rank, int lane, size_t index, tern_plan_op *op)
{
    return TERN__CALL(plan_get_op(plan, rank, lane, index, op));
}

uint32_t tern_plan_signal_count(const tern_plan *plan, int rank)
{
    return has_rank(plan, rank) ? plan->ranks[rank].signals : 0;
}

int tern_plan_round_count(const tern_plan *plan)
{
    return tern__handle_lives(plan, TERN__PLAN) ? plan->rounds : 0;
}

size_t tern_plan_total_ops(const tern_plan *plan)
{
    return tern__handle_lives(plan, TERN__PLAN) ? plan->ops_count : 0;
}

size_t tern_plan_memory(const tern_plan *plan)
{
    if (!tern__handle_lives(plan, TERN__PLAN)) {
        return 0;
    }
    size_t bytes = sizeof *plan + plan->operands_room * sizeof *plan->operands;
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        const struct tern__plan_rank *row = &plan->ranks[rank];
        bytes += sizeof *row + (size_t)row->lanes_room * sizeof *row->lanes;
        for (int lane = 0; lane < row->lanes_count; lane++) {
            bytes += row->lanes[lane].room * sizeof *row->lanes[lane].ops;
        }
    }
    return bytes;
}
