// SPDX-License-Identifier: Apache-2.0
// What ops cost on this machine, for a simulation of a plan.
#ifndef TERN_CLI_COST_H
#define TERN_CLI_COST_H

#include "tern/plan.h"
#include "tern/sim.h"
#include "tern/tune.h"

// The bytes that all ranks of a plan have at hand.
uint64_t cli_cost_at_hand(const tern_plan *plan);

// Sets the rates and times of `options` that are 0 to what was measured with so many bytes at hand.
void cli_cost_apply(const tern_tune_cost *cost, uint64_t at_hand, tern_sim_options *options);

#endif
