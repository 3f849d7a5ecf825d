// SPDX-License-Identifier: Apache-2.0
// Plans as programs, and programs as plans. The first is for everything that runs programs, the
// second for the checker, which wants all ops.

#include "plan/program.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/public.h"
#include "plan/ir.h"

static int plan_lanes(const tern_program *program, int rank)
{
    return program->plan->ranks[rank].lanes_count;
}

static uint32_t plan_signals(const tern_program *program, int rank)
{
    return program->plan->ranks[rank].signals;
}

static bool plan_next(const tern_program *program, int rank, int lane, uint64_t pc,
                      tern_plan_range *room, tern_plan_op *op)
{
    (void)room;
    const struct tern__lane *ops = &program->plan->ranks[rank].lanes[lane];
    if (pc >= ops->count) {
        return false;
    }
    tern__plan_read_op(program->plan, &ops->ops[pc], op);
    return true;
}

static const struct tern__program_sort of_plan = {plan_lanes, plan_signals, plan_next};

void tern__program_of_plan(const tern_plan *plan, tern_program *program)
{
    *program = (tern_program){
        .sort = &of_plan,
        .spec = plan->spec,
        .scratch_bytes = plan->scratch_bytes,
        .plan = plan,
    };
}

static int add_ops(const tern_program *program, tern_plan_range *room, tern_plan *plan)
{
    for (int rank = 0; rank < program->spec.nranks; rank++) {
        int lanes = program->sort->lanes(program, rank);
        for (int lane = 0; lane < lanes; lane++) {
            tern_plan_op op;
            for (uint64_t pc = 0; program->sort->next(program, rank, lane, pc, room, &op); pc++) {
                TERN_TRY(tern_plan_add(plan, rank, lane, &op));
            }
        }
    }
    return tern_plan_seal(plan);
}

static int program_plan(const tern_program *program, tern_plan **plan)
{
    TERN_TRY(tern__program_lives("tern_program_plan", program));
    if (plan == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_program_plan: plan must not be NULL");
    }
    tern_plan *made = NULL;
    tern_plan_range *room = calloc(program->operands_max + 1, sizeof *room);
    if (room == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a plan");
    }
    int status = tern_plan_create(&program->spec, &made);
    status = status < 0 ? status : tern_plan_need_scratch(made, program->scratch_bytes);
    status = status < 0 ? status : add_ops(program, room, made);
    free(room);
    if (status < 0) {
        tern_plan_destroy(made);
        return status;
    }
    *plan = made;
    return TERN_OK;
}

int tern_program_plan(const tern_program *program, tern_plan **plan)
{
    return TERN__CALL_OF_CALLS(program_plan(program, plan));
}

static int program_destroy(tern_program *program)
{
    if (program == NULL) {
        return TERN_OK;
    }
    TERN_TRY(tern__program_lives("tern_program_destroy", program));
    tern__handle_free(program, sizeof *program);
    return TERN_OK;
}

int tern_program_destroy(tern_program *program)
{
    return TERN__CALL(program_destroy(program));
}

const tern_plan_spec *tern_program_get_spec(const tern_program *program)
{
    return tern__handle_lives(program, TERN__PROGRAM) ? &program->spec : NULL;
}
