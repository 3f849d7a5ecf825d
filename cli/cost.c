// SPDX-License-Identifier: Apache-2.0
// Figures of `tern tune` as options of a simulation.

#include "cost.h"

static void set(double *option, double measured)
{
    *option = *option > 0 ? *option : measured;
}

uint64_t cli_cost_at_hand(const tern_plan *plan)
{
    uint64_t of_rank = tern_plan_buffer_bytes(plan, TERN_PLAN_IN) +
                       tern_plan_buffer_bytes(plan, TERN_PLAN_OUT) +
                       tern_plan_buffer_bytes(plan, TERN_PLAN_SCRATCH);
    return of_rank * (uint64_t)tern_plan_get_spec(plan)->nranks;
}

void cli_cost_apply(const tern_tune_cost *cost, uint64_t at_hand, tern_sim_options *options)
{
    tern_tune_rate rate = tern_tune_rate_at(cost, at_hand);
    options->processors = options->processors > 0 ? options->processors : cost->processors;
    set(&options->begin_us, cost->begin_us);
    set(&options->meet_us, cost->meet_us);
    set(&options->op_us, cost->op_us);
    set(&options->post_us, cost->post_us);
    set(&options->wake_us, cost->wake_us);
    set(&options->copy_GBps, rate.copy_GBps);
    set(&options->fresh_GBps, rate.fresh_GBps);
    for (int i = 0; i < 4; i++) {
        set(&options->reduce_GBps[i], rate.reduce_GBps[i]);
    }
}
