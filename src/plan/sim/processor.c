// SPDX-License-Identifier: Apache-2.0
// Machines whose ranks share memory and processors: a processor carries out an op, and reads and
// writes its bytes wherever they lie. Its work is counted in the bytes that a copy moves in the
// time, so that copies and reduces share processors evenly though they go at different rates.

#include <math.h>

#include "plan/sim/engine.h"

bool tern__processor_is_near(const struct tern__engine *engine, uint32_t rank, uint32_t other)
{
    return engine->options.processors > 0 &&
           tern__engine_machine(engine, rank) == tern__engine_machine(engine, other);
}

// A flow of the work of `us` on one processor.
static void start(struct tern__engine *engine, uint32_t at, double us, double latency_us)
{
    uint32_t made = tern__flow_new(&engine->shares);
    if (made == TERN__NONE) {
        return;
    }
    struct tern__flow *flow = &engine->shares.flows[made];
    uint32_t rank = engine->lanes[at].rank;
    uint32_t machine = tern__engine_machine(engine, rank);
    uint32_t count = 0;
    flow->cap = engine->options.copy_GBps * 1e3;
    flow->bytes = (uint64_t)llround(us * flow->cap);
    flow->on[count++].resource = engine->first_processor + machine;
    if (engine->options.machine_memory_GBps > 0) {
        flow->on[count++].resource = engine->first_machine + machine;
    }
    if (engine->options.memory_GBps > 0) {
        flow->on[count++].resource = engine->first_memory + rank;
    }
    flow->on_count = (uint8_t)count;
    tern__engine_flow(engine, at, made, latency_us);
}

void tern__processor_start(struct tern__engine *engine, uint32_t at, tern_plan_op_kind kind,
                           uint64_t bytes, uint64_t fresh)
{
    double rate = tern__engine_op_GBps(engine, kind) * 1e3;
    double fresh_rate = engine->options.fresh_GBps * 1e3;
    fresh_rate = fresh_rate > 0 && fresh_rate < rate ? fresh_rate : rate;
    start(engine, at,
          engine->options.op_us + (double)(bytes - fresh) / rate + (double)fresh / fresh_rate, 0);
}

// What waking takes of a processor.
static double wake_us(const struct tern__engine *engine, uint32_t rank)
{
    tern_topo_machine machine = {.ranks = (int)engine->ranks};
    tern_topo_get_machine(engine->topo, (int)tern__engine_machine(engine, rank), &machine);
    return machine.ranks > engine->options.processors ? engine->options.wake_us : 0;
}

bool tern__processor_wake(struct tern__engine *engine, uint32_t at)
{
    uint32_t rank = engine->lanes[at].rank;
    double us = engine->options.processors > 0 ? wake_us(engine, rank) : 0;
    for (uint32_t other = engine->first_lane[rank]; other < engine->first_lane[rank + 1]; other++) {
        const struct tern__sim_lane *lane = &engine->lanes[other];
        if (!(us > 0) || (other != at && !lane->ended && lane->wanted == 0)) {
            return false;
        }
    }
    start(engine, at, us, 0);
    return true;
}

bool tern__processor_begin(struct tern__engine *engine, uint32_t rank)
{
    uint32_t first = engine->first_lane[rank];
    bool has_lanes = first != engine->first_lane[rank + 1];
    bool meets = engine->ranks > 1 && engine->program->spec.slots == 0;
    if (engine->options.processors == 0 || !has_lanes) {
        return false;
    }
    engine->lanes[first].begins = true;
    engine->lanes[first].kind = TERN_PLAN_WAIT;
    start(engine, first, meets ? wake_us(engine, rank) : 0,
          engine->options.begin_us + (meets ? engine->options.meet_us : 0));
    return true;
}
