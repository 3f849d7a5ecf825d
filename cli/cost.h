// SPDX-License-Identifier: Apache-2.0
// What ops cost on this machine, for a simulation of a plan.
#ifndef TERN_CLI_COST_H
#define TERN_CLI_COST_H

#include "tern/plan.h"
#include "tern/sim.h"
#include "tern/tune.h"

// Sets the rates and times of `options` that are 0 to what was measured, with `copies` times the
// plan's buffers at hand.
void cli_cost_apply(const tern_tune_cost *cost, const tern_plan *plan, uint64_t copies,
                    tern_sim_options *options);

#endif
