// SPDX-License-Identifier: Apache-2.0
// The signals of a plan: how many there are, and who posts one, for the sentences of waits that did
// not end.

#include "plan/ir.h"

uint32_t tern__plan_signals(const tern_plan *plan)
{
    uint32_t signals = 0;
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        uint32_t own = plan->ranks[rank].signals;
        signals = own > signals ? own : signals;
    }
    return signals;
}

uint64_t tern__plan_posters(const tern_plan *plan, int owner, uint32_t signal)
{
    uint64_t posters = 0;
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        for (int lane = 0; lane < plan->ranks[rank].lanes_count; lane++) {
            const struct tern__lane *row = &plan->ranks[rank].lanes[lane];
            for (size_t i = 0; i < row->count; i++) {
                const struct tern__op *op = &row->ops[i];
                bool posts =
                    op->kind == TERN_PLAN_POST && op->signal == signal && op->peer == owner;
                posters |= posts ? UINT64_C(1) << rank : 0;
            }
        }
    }
    return posters;
}
