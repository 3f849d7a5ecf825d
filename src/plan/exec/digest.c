// SPDX-License-Identifier: Apache-2.0
// A hash of a plan, so that ranks can tell whether they hold the same one. It covers what the text
// form says, in its order, and nothing else. Set-up path.

#include "plan/exec/exec.h"
#include "plan/ir.h"

// Weyl sequence constant and xor-shift: enough against accidents, which is all it is for.
static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static uint64_t mix_op(uint64_t hash, const tern_plan *plan, const struct tern__op *op)
{
    hash = mix(hash, (uint64_t)op->kind << 48 | (uint64_t)op->flags << 32 | op->round);
    hash = mix(hash, op->length);
    hash = mix(hash, (uint64_t)op->peer << 32 | op->signal);
    hash = mix(hash, (uint64_t)op->sources_count << 32 | op->destinations_count);
    const tern_plan_range *range = tern__op_operands(plan, op);
    for (int i = 0; i < op->sources_count + op->destinations_count; i++) {
        hash = mix(hash, range[i].offset);
        hash = mix(hash, (uint64_t)range[i].rank << 32 | range[i].buffer);
    }
    return hash;
}

uint64_t tern__exec_digest(const tern_plan *plan)
{
    const tern_plan_spec *spec = &plan->spec;
    uint64_t hash = mix(0x7465726e, (uint64_t)spec->kind << 32 | (uint32_t)spec->nranks);
    hash = mix(hash, spec->bytes);
    hash = mix(hash, (uint64_t)spec->unit << 32 | (uint32_t)spec->root);
    hash = mix(hash, plan->scratch_bytes);
    hash = mix(hash, spec->slots);
    for (const char *c = plan->algorithm; *c != '\0'; c++) {
        hash = mix(hash, (uint64_t)(unsigned char)*c);
    }
    for (int rank = 0; rank < spec->nranks; rank++) {
        const struct tern__plan_rank *row = &plan->ranks[rank];
        hash = mix(hash, (uint64_t)row->lanes_count);
        for (int lane = 0; lane < row->lanes_count; lane++) {
            hash = mix(hash, row->lanes[lane].count);
            for (size_t i = 0; i < row->lanes[lane].count; i++) {
                hash = mix_op(hash, plan, &row->lanes[lane].ops[i]);
            }
        }
    }
    return hash;
}
