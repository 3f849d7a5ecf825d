// SPDX-License-Identifier: Apache-2.0
// Simulated runs of plans that tests make. After cmocka.h.
#ifndef TERN_PLAN_SIM_TEST_KIT_H
#define TERN_PLAN_SIM_TEST_KIT_H

#include "support/topo.h"
#include "tern/plan.h"
#include "tern/sim.h"

// Runs and lets go of the plan.
static inline tern_sim *simulate(tern_plan *plan, const char *word, const tern_sim_options *options)
{
    tern_topo *topo = topo_make(word);
    tern_sim *sim = NULL;
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    if (tern_sim_run(plan, topo, options, &sim) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    tern_plan_destroy(plan);
    tern_topo_destroy(topo);
    return sim;
}

#endif
