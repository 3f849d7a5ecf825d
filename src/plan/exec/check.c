// SPDX-License-Identifier: Apache-2.0
// What a plan and its options must be before a byte moves. Every rank checks the ops of all ranks,
// so all come to the same verdict with the same sentence. Set-up path.

#include <inttypes.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/kind.h"
#include "plan/exec/exec.h"
#include "plan/ir.h"
#include "plan/reach.h"

static int check_options(const struct tern_exec *exec)
{
    const tern_exec_options *options = &exec->options;
    const tern_plan_spec *spec = &exec->plan->spec;
    size_t size = tern_dtype_size(options->dtype);
    if (spec->nranks != exec->comm->group.size) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_exec_create: the plan is for %d ranks, the communicator has %d",
                          spec->nranks, exec->comm->group.size);
    }
    if (spec->slots != 0) {
        return tern__fail(
            TERN_ERR_ARG,
            "tern_exec_create: the plan wants buffers in slots, which only collective "
            "calls have; a plan without the line 'slots' runs here");
    }
    if (size == 0 || (unsigned)options->op > TERN_MIN) {
        return tern__fail(TERN_ERR_ARG, "tern_exec_create: %d is no dtype, or %d no operation",
                          (int)options->dtype, (int)options->op);
    }
    if (tern__kinds[spec->kind].sums && !tern__dtype_is_number(options->dtype)) {
        return tern__fail(TERN_ERR_ARG, "tern_exec_create: %s is only moved, and the plan sums it",
                          tern_dtype_name(options->dtype));
    }
    if (size != spec->unit) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_exec_create: the plan's unit is %u bytes, an element of %s has %zu",
                          spec->unit, tern_dtype_name(options->dtype), size);
    }
    if ((options->flags & ~TERN_EXEC_COUNT_LINKS) != 0) {
        return tern__fail(TERN_ERR_ARG, "tern_exec_create: there is no flag 0x%x",
                          options->flags & ~TERN_EXEC_COUNT_LINKS);
    }
    return TERN_OK;
}

// That the window has the plan's bytes, from each rank's offset on.
static int check_buffer(const struct tern_exec *exec, tern_plan_buffer buffer,
                        const tern_window *window, const size_t *offsets)
{
    uint64_t bytes = tern_plan_buffer_bytes(exec->plan, buffer);
    const char *name = tern__buffer_name(buffer);
    if (bytes == 0) {
        return TERN_OK;
    }
    if (window == NULL) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_exec_create: the plan's %s has %" PRIu64
                          " bytes, and its window is NULL",
                          name, bytes);
    }
    for (int rank = 0; rank < exec->plan->spec.nranks; rank++) {
        if (offsets[rank] > window->size_bytes || bytes > window->size_bytes - offsets[rank]) {
            return tern__fail(TERN_ERR_ARG,
                              "tern_exec_create: %s of rank %d, %" PRIu64 " bytes at offset %zu, "
                              "reaches beyond the %zu bytes of its window",
                              name, rank, bytes, offsets[rank], window->size_bytes);
        }
    }
    return TERN_OK;
}

struct op_place {
    int rank, lane;
    size_t index;
};

static int check_op(const struct tern_exec *exec, const struct op_place *place,
                    const struct tern__op *op)
{
    const tern_plan *plan = exec->plan;
    const tern_plan_range *ranges = tern__op_operands(plan, op);
    if (op->length % plan->spec.unit != 0) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_exec_create: rank %d, lane %d, op %zu moves %" PRIu64
                          " bytes, no multiple of the unit of %u",
                          place->rank, place->lane, place->index, op->length, plan->spec.unit);
    }
    for (int i = 0; op->length > 0 && i < op->sources_count + op->destinations_count; i++) {
        uint64_t bytes = tern_plan_buffer_bytes(plan, (tern_plan_buffer)ranges[i].buffer);
        if (ranges[i].offset > bytes || op->length > bytes - ranges[i].offset) {
            return tern__fail(
                TERN_ERR_ARG,
                "tern_exec_create: rank %d, lane %d, op %zu (%s): operand %d, %" PRIu64
                " bytes at offset %" PRIu64 " of %s of rank %u, reaches beyond its "
                "%" PRIu64 " bytes",
                place->rank, place->lane, place->index,
                tern__op_kind_name((tern_plan_op_kind)op->kind), i, op->length, ranges[i].offset,
                tern__buffer_name((tern_plan_buffer)ranges[i].buffer), ranges[i].rank, bytes);
        }
    }
    return TERN_OK;
}

// That it needs no memory of another machine.
static int check_reach(const struct tern_exec *exec, const struct op_place *place,
                       const struct tern__op *op)
{
    const struct tern__group *group = &exec->comm->group;
    const struct tern__machines *machines = group->job->machines;
    const tern_plan_range *ranges = tern__op_operands(exec->plan, op);
    int here = machines->of[group->members[place->rank]];
    for (int i = 0; i < op->sources_count + op->destinations_count; i++) {
        int there = machines->of[group->members[ranges[i].rank]];
        if (there != here && !tern__op_travels(exec->plan, op, i)) {
            char where[96];
            char text[320];
            tern__op_place_text(op, place->rank, (uint32_t)place->lane, place->index, where,
                                sizeof where);
            tern__op_reach_text(exec->plan, op, i, where, machines->list[there].name,
                                machines->list[here].name, text, sizeof text);
            return tern__fail(TERN_ERR_ARG, "tern_exec_create: %s", text);
        }
    }
    return TERN_OK;
}

int tern__exec_check(const struct tern_exec *exec)
{
    const tern_plan *plan = exec->plan;
    TERN_TRY(check_options(exec));
    TERN_TRY(check_buffer(exec, TERN_PLAN_IN, exec->options.in, exec->in_offsets));
    TERN_TRY(check_buffer(exec, TERN_PLAN_OUT, exec->options.out, exec->out_offsets));
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        const struct tern__plan_rank *row = &plan->ranks[rank];
        for (int lane = 0; lane < row->lanes_count; lane++) {
            for (size_t i = 0; i < row->lanes[lane].count; i++) {
                const struct tern__op *op = &row->lanes[lane].ops[i];
                struct op_place place = {.rank = rank, .lane = lane, .index = i};
                if (tern__op_is_transfer(op)) {
                    TERN_TRY(check_op(exec, &place, op));
                }
                if (exec->comm->group.away != 0 && tern__op_moves(op)) {
                    TERN_TRY(check_reach(exec, &place, op));
                }
            }
        }
    }
    return TERN_OK;
}
