// SPDX-License-Identifier: Apache-2.0
// Ops that need the memory of another machine.

#include "plan/reach.h"

#include <stdio.h>

bool tern__op_travels(const tern_plan *plan, const struct tern__op *op, int operand)
{
    const tern_plan_range *range = &tern__op_operands(plan, op)[operand];
    return operand < op->sources_count
               ? range->buffer == TERN_PLAN_IN && tern__plan_in_slots(plan, range->buffer)
               : op->kind == TERN_PLAN_COPY;
}

void tern__op_place_text(const struct tern__op *op, int rank, uint32_t lane, size_t index,
                         char *text, size_t size)
{
    snprintf(text, size, "rank %d, lane %u, op %zu (%s)", rank, lane, index,
             tern__op_kind_name((tern_plan_op_kind)op->kind));
}

void tern__op_reach_text(const tern_plan *plan, const struct tern__op *op, int operand,
                         const char *place, const char *there, const char *here, char *text,
                         size_t size)
{
    const tern_plan_range *range = &tern__op_operands(plan, op)[operand];
    bool source = operand < op->sources_count;
    snprintf(text, size, "%s %s %s of rank %u, which is on machine %s and not on %s; %s", place,
             source ? "reads" : "reduces into", tern__buffer_name((tern_plan_buffer)range->buffer),
             range->rank, there, here,
             source ? "who has it can copy it there" : "only copies go from machine to machine");
}
