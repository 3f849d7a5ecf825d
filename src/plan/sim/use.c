// SPDX-License-Identifier: Apache-2.0
// What links and resources carried, and where the time of the one that had most to do went.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/sim/sim.h"

static int by_least(const void *a, const void *b)
{
    const tern_sim_use *first = a;
    const tern_sim_use *second = b;
    if (first->least_us != second->least_us) {
        return first->least_us > second->least_us ? -1 : 1;
    }
    if (first->from != second->from) {
        return first->from < second->from ? -1 : 1;
    }
    return first->to != second->to ? (first->to < second->to ? -1 : 1)
                                   : strcmp(first->name, second->name);
}

int tern__sim_keep_uses(tern_sim *sim, const struct tern__engine *engine)
{
    size_t count = 0;
    for (uint32_t i = 0; i < engine->shares.resources_count; i++) {
        count += engine->shares.resources[i].first_us >= 0;
    }
    sim->uses = calloc(count + 1, sizeof *sim->uses);
    if (sim->uses == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for the use of %zu links", count);
    }
    for (uint32_t i = 0; i < engine->shares.resources_count; i++) {
        const struct tern__resource *resource = &engine->shares.resources[i];
        if (resource->first_us < 0) {
            continue;
        }
        const struct tern__sim_link *link =
            i >= engine->first_link ? &engine->links[i - engine->first_link] : NULL;
        tern_sim_use *use = &sim->uses[sim->uses_count++];
        bool flows = resource->flows > 0; // it has failed, or what it carries is stuck elsewhere
        double last_us = flows ? engine->now_us : resource->last_us;
        *use = (tern_sim_use){
            .from = link != NULL ? (int)link->from : -1,
            .to = link != NULL ? (int)link->to : -1,
            .GBps = resource->capacity / 1e3,
            .bytes = resource->bytes,
            .least_us = resource->bytes > 0 && resource->capacity > 0
                            ? (double)resource->bytes / resource->capacity
                            : 0,
            .busy_us = resource->busy_us + (flows ? engine->now_us - resource->since_us : 0),
            .first_us = resource->first_us,
            .last_us = last_us,
        };
        tern__engine_name(engine, i, use->name, sizeof use->name);
    }
    qsort(sim->uses, sim->uses_count, sizeof *sim->uses, by_least);
    return TERN_OK;
}

bool tern_sim_get_use(const tern_sim *sim, size_t index, tern_sim_use *use)
{
    bool found = tern__handle_lives(sim, TERN__SIM) && index < sim->uses_count;
    if (found && use != NULL) {
        *use = sim->uses[index];
    }
    return found;
}

static double above_zero(double us)
{
    return us > 0 ? us : 0;
}

bool tern_sim_get_loss(const tern_sim *sim, tern_sim_loss *loss)
{
    if (!tern__handle_lives(sim, TERN__SIM) || sim->uses_count == 0 || sim->stuck != NULL ||
        loss == NULL) {
        return false;
    }
    const tern_sim_use *use = &sim->uses[0];
    double bound_us = above_zero(sim->facts.bound_us);
    bound_us = bound_us < use->least_us ? bound_us : use->least_us;
    *loss = (tern_sim_loss){
        .bound_us = bound_us,
        .load_us = use->least_us - bound_us,
        .before_us = use->first_us,
        .slow_us = above_zero(use->busy_us - use->least_us),
        .idle_us = above_zero(use->last_us - use->first_us - use->busy_us),
        .after_us = above_zero(sim->facts.time_us - use->last_us),
    };
    return true;
}
