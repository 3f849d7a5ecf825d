// SPDX-License-Identifier: Apache-2.0
// Programs: lanes of ops by rank, one op after the other, as something runs them. A sealed plan is
// one, a generator, which makes each op when it is reached, another. Programs are pure: the same
// place always has the same op, and any thread may ask.
#ifndef TERN_PLAN_PROGRAM_H
#define TERN_PLAN_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/handle.h"
#include "tern/plan.h"
#include "tern/program.h"

// What a sort of programs is. `rank` and `lane` exist.
struct tern__program_sort {
    int (*lanes)(const tern_program *program, int rank);
    // One more than the highest signal of the rank that is posted or waited for.
    uint32_t (*signals)(const tern_program *program, int rank);
    // The op at place `pc` of a lane; false behind the last one. Operands that are not stored
    // anywhere are written to `room`, for operands_max of them, and the op points there.
    bool (*next)(const tern_program *program, int rank, int lane, uint64_t pc,
                 tern_plan_range *room, tern_plan_op *op);
};

struct tern_program {
    struct tern__handle handle;
    const struct tern__program_sort *sort;
    tern_plan_spec spec; // nranks up to TERN_PROGRAM_RANKS_MAX; algorithm points to `algorithm`
    char algorithm[32];
    uint64_t scratch_bytes;
    size_t operands_max; // sources and destinations of an op that are written to `room`
    const tern_plan *plan;
    // Of a generator, which says what they mean.
    int group;
    uint64_t piece;
};

// A plan as a program, which lives as long as the plan and needs no destroying.
void tern__program_of_plan(const tern_plan *plan, tern_program *program);

// What public calls want to know of a program.
static inline int tern__program_lives(const char *call, const tern_program *program)
{
    return tern__handle_check(call, program, TERN__PROGRAM);
}

#endif
