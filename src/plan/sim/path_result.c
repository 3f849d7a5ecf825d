// SPDX-License-Identifier: Apache-2.0
// The critical path of a run that is over: its steps from the beginning, and what they add up to.

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/sim/sim.h"

static const char start_up[] = "start-up";

static int by_name(const void *a, const void *b)
{
    const tern_sim_part *first = a;
    const tern_sim_part *second = b;
    return strcmp(first->what, second->what);
}

static int by_us(const void *a, const void *b)
{
    const tern_sim_part *first = a;
    const tern_sim_part *second = b;
    return first->us != second->us ? (first->us > second->us ? -1 : 1) : by_name(a, b);
}

// One part for each name.
static void merge(tern_sim *sim)
{
    size_t kept = 0;
    qsort(sim->parts, sim->parts_count, sizeof *sim->parts, by_name);
    for (size_t i = 0; i < sim->parts_count; i++) {
        if (kept > 0 && strcmp(sim->parts[kept - 1].what, sim->parts[i].what) == 0) {
            sim->parts[kept - 1].us += sim->parts[i].us;
            sim->parts[kept - 1].steps += sim->parts[i].steps;
        } else {
            sim->parts[kept++] = sim->parts[i];
        }
    }
    sim->parts_count = kept;
    qsort(sim->parts, sim->parts_count, sizeof *sim->parts, by_us);
}

static void add_part(tern_sim *sim, const char *what, double us)
{
    if (us > 0) {
        tern_sim_part *part = &sim->parts[sim->parts_count++];
        memcpy(part->what, what, strlen(what) + 1);
        part->us = us;
        part->steps = 1;
    }
}

int tern__sim_keep_path(tern_sim *sim, const struct tern__engine *engine)
{
    if (engine->paths.off || engine->last_lane == TERN__NONE) {
        return TERN_OK;
    }
    size_t count = 0;
    uint32_t last = engine->lanes[engine->last_lane].path;
    for (uint32_t at = last; at != TERN__NONE; at = engine->paths.steps[at].prev) {
        count++;
    }
    sim->steps = calloc(count + 1, sizeof *sim->steps);
    sim->parts = calloc(2 * count + 1, sizeof *sim->parts);
    if (sim->steps == NULL || sim->parts == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a critical path of %zu steps", count);
    }
    sim->steps_count = count;
    for (uint32_t at = last; at != TERN__NONE; at = engine->paths.steps[at].prev) {
        const struct tern__path_step *from = &engine->paths.steps[at];
        const struct tern__sim_lane *lane = &engine->lanes[from->lane];
        tern_sim_step *step = &sim->steps[--count];
        *step = (tern_sim_step){.kind = (tern_plan_op_kind)from->kind,
                                .rank = (int)lane->rank,
                                .lane = lane->lane,
                                .index = from->index,
                                .begin_us = from->begin_us,
                                .end_us = from->end_us,
                                .start_us = from->active_us - from->begin_us};
        if (from->kind == TERN_PLAN_POST) {
            memcpy(step->what, start_up, sizeof start_up);
        } else {
            tern__engine_name(engine, from->what, step->what, sizeof step->what);
        }
        add_part(sim, start_up, step->start_us);
        add_part(sim, step->what, step->end_us - step->begin_us - step->start_us);
    }
    merge(sim);
    return TERN_OK;
}

bool tern_sim_get_step(const tern_sim *sim, size_t index, tern_sim_step *step)
{
    bool found = tern__handle_lives(sim, TERN__SIM) && index < sim->steps_count;
    if (found && step != NULL) {
        *step = sim->steps[index];
    }
    return found;
}

bool tern_sim_get_part(const tern_sim *sim, size_t index, tern_sim_part *part)
{
    bool found = tern__handle_lives(sim, TERN__SIM) && index < sim->parts_count;
    if (found && part != NULL) {
        *part = sim->parts[index];
    }
    return found;
}
