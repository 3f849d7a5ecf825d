// SPDX-License-Identifier: Apache-2.0
// What the steps from plan to plan have in common. Set-up path.

#include "plan/steps.h"

#include "base/error.h"
#include "plan/ir.h"

static bool reads_only(const tern_plan *plan, int rank, const struct tern__op *op)
{
    const tern_plan_range *ranges = tern__op_operands(plan, op);
    for (int i = 0; i < op->sources_count + op->destinations_count; i++) {
        if (ranges[i].rank != rank &&
            (i >= op->sources_count || ranges[i].buffer == TERN_PLAN_OUT)) {
            return false;
        }
    }
    return (op->flags & TERN_PLAN_ATOMIC) == 0;
}

bool tern__plan_pulls(const tern_plan *plan)
{
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        for (int lane = 0; lane < plan->ranks[rank].lanes_count; lane++) {
            const struct tern__lane *row = &plan->ranks[rank].lanes[lane];
            for (size_t i = 0; i < row->count; i++) {
                if (tern__op_moves(&row->ops[i]) && !reads_only(plan, rank, &row->ops[i])) {
                    return false;
                }
            }
        }
    }
    return true;
}

int tern__plan_visit(const tern_plan *plan, tern__op_visitor *visit, void *arg)
{
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        for (int lane = 0; lane < plan->ranks[rank].lanes_count; lane++) {
            for (size_t i = 0; i < plan->ranks[rank].lanes[lane].count; i++) {
                tern_plan_op op;
                TERN_TRY(tern_plan_get_op(plan, rank, lane, i, &op));
                TERN_TRY(visit(arg, rank, lane, &op));
            }
        }
    }
    return TERN_OK;
}

int tern__plan_finish(int status, tern_plan *built, tern_plan **made)
{
    status = status == TERN_OK ? tern_plan_seal(built) : status;
    if (status != TERN_OK) {
        tern_plan_destroy(built);
        return status;
    }
    *made = built;
    return TERN_OK;
}
