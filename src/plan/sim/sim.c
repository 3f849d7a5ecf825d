// SPDX-License-Identifier: Apache-2.0
// The calls of tern/sim.h: runs the engine and keeps what it found.

#include "plan/sim/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/kind.h"
#include "base/public.h"
#include "plan/bound.h"
#include "plan/ir.h"
#include "tern/file.h"

#define STUCK_BYTES 512

static int destroy(tern_sim *sim)
{
    free(sim->rank_us);
    free(sim->stuck);
    free(sim->uses);
    free(sim->steps);
    free(sim->parts);
    tern__handle_free(sim, sizeof *sim);
    return TERN_OK;
}

static int sim_destroy(tern_sim *sim)
{
    if (sim == NULL) {
        return TERN_OK;
    }
    TERN_TRY(tern__handle_check("tern_sim_destroy", sim, TERN__SIM));
    return destroy(sim);
}

int tern_sim_destroy(tern_sim *sim)
{
    return TERN__CALL(sim_destroy(sim));
}

// Ranks without lanes end at once.
static int keep_ranks(tern_sim *sim, struct tern__engine *engine)
{
    sim->nranks = (int)engine->ranks;
    sim->rank_us = engine->rank_us;
    engine->rank_us = NULL;
    if (engine->ended == engine->lanes_count) {
        return TERN_OK;
    }
    char text[STUCK_BYTES];
    tern__engine_stuck(engine, text, sizeof text);
    if (engine->fails_count == 0) {
        return tern__fail(TERN_ERR_ARG, "%s", text);
    }
    sim->stuck = strdup(text);
    for (uint32_t at = 0; at < engine->lanes_count; at++) {
        if (!engine->lanes[at].ended) {
            sim->rank_us[engine->lanes[at].rank] = INFINITY;
        }
    }
    return sim->stuck != NULL ? TERN_OK : tern__fail(TERN_ERR_MEMORY, "no memory for a simulation");
}

static int keep_facts(tern_sim *sim, const struct tern__engine *engine)
{
    const tern_plan_spec *spec = &engine->program->spec;
    tern_sim_facts *facts = &sim->facts;
    facts->ops = engine->ops;
    facts->flows = engine->flows;
    facts->events = engine->events;
    facts->bound_us = -1;
    facts->traced_us = engine->trace != NULL ? engine->trace->full_us : 0;
    facts->traced = engine->trace != NULL ? engine->trace->records_count : 0;
    for (int rank = 0; rank < sim->nranks; rank++) {
        facts->time_us = sim->rank_us[rank] > facts->time_us ? sim->rank_us[rank] : facts->time_us;
    }
    if (spec->kind != TERN_PLAN_BARRIER && facts->time_us > 0) {
        double n = spec->nranks;
        int crossings = tern__kinds[spec->kind].crossings;
        facts->algbw_GBps = (double)spec->bytes / facts->time_us / 1e3;
        facts->busbw_GBps = facts->algbw_GBps * (crossings > 0 ? crossings * (n - 1) / n : 1);
    }
    if (spec->nranks <= TERN_PLAN_RANKS_MAX && !engine->options.without_bound) {
        struct tern__bound bound;
        TERN_TRY(tern__bound_find(spec, engine->topo, &bound));
        facts->bound_us = bound.us;
        memcpy(facts->bound_text, bound.text, sizeof facts->bound_text);
    }
    return TERN_OK;
}

static int keep(tern_sim *sim, struct tern__engine *engine)
{
    TERN_TRY(keep_ranks(sim, engine));
    TERN_TRY(keep_facts(sim, engine));
    TERN_TRY(tern__sim_keep_uses(sim, engine));
    return sim->stuck == NULL ? tern__sim_keep_path(sim, engine) : TERN_OK;
}

static int run(const char *call, const tern_program *program, const tern_topo *topo,
               const tern_sim_options *options, tern_sim **sim)
{
    TERN_TRY(tern__handle_check(call, topo, TERN__TOPO));
    if (sim == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: sim must not be NULL", call);
    }
    if (tern_topo_size(topo) != program->spec.nranks) {
        return tern__fail(TERN_ERR_ARG, "the plan is for %d ranks, and %s has %d",
                          program->spec.nranks, tern_topo_text(topo), tern_topo_size(topo));
    }
    if (options != NULL && options->trace != NULL) {
        TERN_TRY(tern_file_probe(options->trace));
    }
    struct tern__engine engine;
    int64_t begin_ns = tern__now_ns();
    tern_sim *made = tern__handle_new(TERN__SIM, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a simulation");
    }
    int status = tern__engine_open(&engine, program, topo, options);
    status = status < 0 ? status : tern__engine_run(&engine);
    made->facts.wall_s = (double)(tern__now_ns() - begin_ns) / (double)TERN_NS_PER_SECOND;
    status = status < 0 ? status : keep(made, &engine);
    status = status < 0 || engine.trace == NULL
                 ? status
                 : tern__sim_trace_save(&engine, engine.options.trace);
    tern__engine_close(&engine);
    if (status < 0) {
        destroy(made);
        return status;
    }
    *sim = made;
    return TERN_OK;
}

static int sim_run(const tern_plan *plan, const tern_topo *topo, const tern_sim_options *options,
                   tern_sim **sim)
{
    tern_program program;
    TERN_TRY(tern__plan_lives("tern_sim_run", plan));
    if (!plan->sealed) {
        return tern__fail(TERN_ERR_ARG, "tern_sim_run: the plan must be sealed");
    }
    tern__program_of_plan(plan, &program);
    return run("tern_sim_run", &program, topo, options, sim);
}

int tern_sim_run(const tern_plan *plan, const tern_topo *topo, const tern_sim_options *options,
                 tern_sim **sim)
{
    return TERN__CALL(sim_run(plan, topo, options, sim));
}

static int sim_run_program(const tern_program *program, const tern_topo *topo,
                           const tern_sim_options *options, tern_sim **sim)
{
    TERN_TRY(tern__program_lives("tern_sim_run_program", program));
    return run("tern_sim_run_program", program, topo, options, sim);
}

int tern_sim_run_program(const tern_program *program, const tern_topo *topo,
                         const tern_sim_options *options, tern_sim **sim)
{
    return TERN__CALL(sim_run_program(program, topo, options, sim));
}

const tern_sim_facts *tern_sim_get_facts(const tern_sim *sim)
{
    return tern__handle_lives(sim, TERN__SIM) ? &sim->facts : NULL;
}

double tern_sim_rank_us(const tern_sim *sim, int rank)
{
    return tern__handle_lives(sim, TERN__SIM) && rank >= 0 && rank < sim->nranks
               ? sim->rank_us[rank]
               : -1;
}

const char *tern_sim_stuck(const tern_sim *sim)
{
    return tern__handle_lives(sim, TERN__SIM) ? sim->stuck : NULL;
}
