// SPDX-License-Identifier: Apache-2.0
// Steps of critical paths, counted by those who hold them.

#include "plan/sim/path.h"

#include <stdlib.h>

#include "tern/sim.h"

void tern__paths_close(struct tern__paths *paths)
{
    free(paths->steps);
    *paths = (struct tern__paths){.free = TERN__NONE, .off = true};
}

uint32_t tern__path_add(struct tern__paths *paths, uint32_t prev, struct tern__path_step step)
{
    if (paths->off) {
        return TERN__NONE;
    }
    uint32_t made = paths->free;
    if (made != TERN__NONE) {
        paths->free = paths->steps[made].prev;
    } else if (paths->live < TERN_SIM_STEPS_MAX &&
               (paths->count < paths->room ||
                tern__sim_grow((void **)&paths->steps, &paths->room, sizeof *paths->steps))) {
        made = paths->count++;
    } else {
        tern__paths_close(paths);
        return TERN__NONE;
    }
    step.prev = prev;
    step.holders = 1;
    paths->steps[made] = step;
    paths->live++;
    return made;
}

uint32_t tern__path_hold(struct tern__paths *paths, uint32_t step)
{
    if (paths->off || step == TERN__NONE) {
        return TERN__NONE;
    }
    paths->steps[step].holders++;
    return step;
}

void tern__path_drop(struct tern__paths *paths, uint32_t step)
{
    while (!paths->off && step != TERN__NONE && --paths->steps[step].holders == 0) {
        uint32_t prev = paths->steps[step].prev;
        paths->steps[step].prev = paths->free;
        paths->free = step;
        paths->live--;
        step = prev;
    }
}
