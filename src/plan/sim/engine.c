// SPDX-License-Identifier: Apache-2.0
// The simulator before and after a run. Set-up path.

#include "plan/sim/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define GBPS_MAX 1e9
#define OP_US_MAX 1e9

static int refuse_rate(const char *what, double value)
{
    return tern__fail(TERN_ERR_ARG, "%s is 0, or above 0 and at most %g GB/s, not %g", what,
                      GBPS_MAX, value);
}

static bool is_rate(double value)
{
    return value == 0 || (value >= 1e-6 && value <= GBPS_MAX);
}

static int judge_options(const tern_sim_options *options)
{
    if (!is_rate(options->memory_GBps) || !is_rate(options->machine_memory_GBps)) {
        return refuse_rate("the rate of a memory", !is_rate(options->memory_GBps)
                                                       ? options->memory_GBps
                                                       : options->machine_memory_GBps);
    }
    if (!is_rate(options->copy_GBps) || !is_rate(options->fresh_GBps)) {
        return refuse_rate("the rate of a copy",
                           !is_rate(options->copy_GBps) ? options->copy_GBps : options->fresh_GBps);
    }
    for (int i = 0; i < 4; i++) {
        if (!is_rate(options->reduce_GBps[i])) {
            return refuse_rate("the rate of a reduce", options->reduce_GBps[i]);
        }
    }
    if (!(options->op_us >= 0 && options->op_us <= OP_US_MAX)) {
        return tern__fail(TERN_ERR_ARG, "the start of an op takes 0 to %g us, not %g", OP_US_MAX,
                          options->op_us);
    }
    bool times = options->begin_us >= 0 && options->begin_us <= OP_US_MAX &&
                 options->meet_us >= 0 && options->meet_us <= OP_US_MAX && options->post_us >= 0 &&
                 options->post_us <= OP_US_MAX && options->wake_us >= 0 &&
                 options->wake_us <= OP_US_MAX;
    if (options->processors < 0 || !times) {
        return tern__fail(TERN_ERR_ARG,
                          "processors, and the times of a beginning, a meeting, a post and waking, "
                          "are 0 or more, not %d, %g, %g, %g and %g us",
                          options->processors, options->begin_us, options->meet_us,
                          options->post_us, options->wake_us);
    }
    for (int i = -1; options->processors > 0 && i < 4; i++) {
        if ((i < 0 ? options->copy_GBps : options->reduce_GBps[i]) == 0) {
            return tern__fail(TERN_ERR_ARG,
                              "processors move the bytes: at which rate? copy and reduce are "
                              "needed with them");
        }
    }
    if (!(options->jitter >= 0 && options->jitter <= TERN_SIM_JITTER_MAX)) {
        return tern__fail(TERN_ERR_ARG, "jitter is from 0 to %g, not %g", TERN_SIM_JITTER_MAX,
                          options->jitter);
    }
    return TERN_OK;
}

static int no_memory(const struct tern__engine *engine)
{
    return tern__fail(TERN_ERR_MEMORY, "no memory to simulate %u ranks", engine->ranks);
}

// Where each rank's lanes and signals begin.
static int count_all(struct tern__engine *engine)
{
    const tern_program *program = engine->program;
    uint64_t lanes = 0;
    uint64_t signals = 0;
    engine->first_lane = calloc((size_t)engine->ranks + 1, sizeof *engine->first_lane);
    engine->first_signal = calloc((size_t)engine->ranks + 1, sizeof *engine->first_signal);
    if (engine->first_lane == NULL || engine->first_signal == NULL) {
        return no_memory(engine);
    }
    for (uint32_t rank = 0; rank < engine->ranks; rank++) {
        lanes += (uint64_t)program->sort->lanes(program, (int)rank);
        signals += program->sort->signals(program, (int)rank);
        engine->first_lane[rank + 1] = (uint32_t)lanes;
        engine->first_signal[rank + 1] = signals;
    }
    if (lanes >= TERN__NONE || signals >= TERN__NONE) {
        return tern__fail(TERN_ERR_LIMIT,
                          "the plan has more lanes or signals than can be simulated");
    }
    engine->lanes_count = (uint32_t)lanes;
    return TERN_OK;
}

static int make_lanes(struct tern__engine *engine)
{
    TERN_TRY(count_all(engine));
    uint64_t signals = engine->first_signal[engine->ranks];
    engine->lanes = calloc((size_t)engine->lanes_count + 1, sizeof *engine->lanes);
    engine->ready = calloc((size_t)engine->lanes_count + 1, sizeof *engine->ready);
    engine->rank_us = calloc(engine->ranks, sizeof *engine->rank_us);
    engine->signals = calloc((size_t)signals + 1, sizeof *engine->signals);
    engine->room = calloc(engine->program->operands_max + 1, sizeof *engine->room);
    if (engine->lanes == NULL || engine->ready == NULL || engine->rank_us == NULL ||
        engine->signals == NULL || engine->room == NULL) {
        return no_memory(engine);
    }
    for (uint32_t rank = 0; rank < engine->ranks; rank++) {
        for (uint32_t at = engine->first_lane[rank]; at < engine->first_lane[rank + 1]; at++) {
            engine->lanes[at] =
                (struct tern__sim_lane){.rank = rank,
                                        .lane = (uint16_t)(at - engine->first_lane[rank]),
                                        .link = TERN__NONE,
                                        .path = TERN__NONE};
        }
    }
    return TERN_OK;
}

// Those of the topology and the memories; links come when they are used.
static int add_resources(struct tern__engine *engine)
{
    char name[TERN_SIM_NAME_BYTES];
    int shared = tern__route_resources(engine->topo);
    int machines = tern_topo_machine_count(engine->topo);
    machines = machines > 0 ? machines : 1;
    bool added = true;
    for (int i = 0; i < shared; i++) {
        double GBps = tern__route_resource(engine->topo, i, name, sizeof name);
        added = added && tern__shares_add(&engine->shares, GBps * 1e3) != TERN__NONE;
    }
    engine->first_memory = engine->shares.resources_count;
    for (uint32_t i = 0; i < engine->ranks && engine->options.memory_GBps > 0; i++) {
        added = added &&
                tern__shares_add(&engine->shares, engine->options.memory_GBps * 1e3) != TERN__NONE;
    }
    engine->first_machine = engine->shares.resources_count;
    for (int i = 0; i < machines && engine->options.machine_memory_GBps > 0; i++) {
        added = added && tern__shares_add(&engine->shares,
                                          engine->options.machine_memory_GBps * 1e3) != TERN__NONE;
    }
    engine->first_processor = engine->shares.resources_count;
    for (int i = 0; i < machines && engine->options.processors > 0; i++) {
        double GBps = engine->options.processors * engine->options.copy_GBps;
        added = added && tern__shares_add(&engine->shares, GBps * 1e3) != TERN__NONE;
    }
    engine->first_link = engine->shares.resources_count;
    return added ? TERN_OK : no_memory(engine);
}

static int open_trace(struct tern__engine *engine)
{
    if (engine->options.trace == NULL) {
        return TERN_OK;
    }
    engine->trace = calloc(1, sizeof *engine->trace);
    if (engine->trace == NULL) {
        return no_memory(engine);
    }
    engine->shares.trace = engine->trace;
    return tern__sim_trace_open(engine->trace, engine->options.trace_events, engine->lanes_count);
}

int tern__engine_open(struct tern__engine *engine, const tern_program *program,
                      const tern_topo *topo, const tern_sim_options *options)
{
    *engine = (struct tern__engine){
        .program = program,
        .topo = topo,
        .options = options != NULL ? *options : (tern_sim_options){0},
        .ranks = (uint32_t)program->spec.nranks,
        .posts_free = TERN__NONE,
        .last_lane = TERN__NONE,
    };
    engine->paths = (struct tern__paths){.free = TERN__NONE, .off = engine->options.without_path};
    tern__shares_open(&engine->shares, &engine->queue, TERN__SIM_END);
    if (!tern__sim_queue_open(&engine->queue)) {
        return no_memory(engine);
    }
    TERN_TRY(judge_options(&engine->options));
    TERN_TRY(tern__engine_read_fails(engine));
    TERN_TRY(make_lanes(engine));
    TERN_TRY(open_trace(engine));
    for (uint32_t i = 0; i < engine->fails_count; i++) {
        if (tern__sim_queue_add(&engine->queue, engine->fails[i].us, TERN__SIM_FAIL, i, 0) ==
            TERN__NONE) {
            return no_memory(engine);
        }
    }
    return add_resources(engine);
}

void tern__engine_close(struct tern__engine *engine)
{
    tern__sim_queue_close(&engine->queue);
    tern__shares_close(&engine->shares);
    tern__paths_close(&engine->paths);
    if (engine->trace != NULL) {
        tern__sim_trace_close(engine->trace);
        free(engine->trace);
    }
    free(engine->lanes);
    free(engine->first_lane);
    free(engine->ready);
    free(engine->first_signal);
    free(engine->signals);
    free(engine->posts);
    free(engine->links);
    free(engine->link_table);
    free(engine->room);
    free(engine->rank_us);
    *engine = (struct tern__engine){0};
}
