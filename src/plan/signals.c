// SPDX-License-Identifier: Apache-2.0
// How many signals a plan has.

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
