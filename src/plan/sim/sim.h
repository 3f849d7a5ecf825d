// SPDX-License-Identifier: Apache-2.0
// A simulation that is over: what is left of the engine.
#ifndef TERN_PLAN_SIM_SIM_H
#define TERN_PLAN_SIM_SIM_H

#include "plan/sim/engine.h"

struct tern_sim {
    struct tern__handle handle;
    tern_sim_facts facts;
    int nranks;
    double *rank_us;
    char *stuck; // NULL: all ranks end
    tern_sim_use *uses;
    size_t uses_count;
    tern_sim_step *steps;
    size_t steps_count;
    tern_sim_part *parts;
    size_t parts_count;
};

// use.c: takes what links and resources did out of the engine; path_result.c: the critical path. A
// status with a sentence.
int tern__sim_keep_uses(tern_sim *sim, const struct tern__engine *engine);
int tern__sim_keep_path(tern_sim *sim, const struct tern__engine *engine);

#endif
