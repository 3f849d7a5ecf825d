// SPDX-License-Identifier: Apache-2.0
// What all that happens in a run is made of: a flow, chance, and what an op costs. Data path of the
// simulator.

#include "base/error.h"
#include "base/random.h"
#include "plan/sim/engine.h"
#include "plan/sim/time.h"

void tern__engine_no_memory(struct tern__engine *engine)
{
    engine->status = tern__fail(TERN_ERR_MEMORY, "no memory to simulate %u ranks", engine->ranks);
}

// From 1 to 1 + jitter, by seed, lane, op and flow only: the order of events has no part in it.
double tern__engine_chance(const struct tern__engine *engine, uint32_t lane, uint64_t index,
                           uint32_t flow)
{
    uint64_t state = engine->options.seed + UINT64_C(0x9e3779b97f4a7c15) * lane +
                     UINT64_C(0xd1342543de82ef95) * (index + 1) +
                     UINT64_C(0xa0761d6478bd642f) * flow;
    return 1 + engine->options.jitter * (double)(tern__random_next(&state) >> 11) * 0x1p-53;
}

void tern__engine_flow(struct tern__engine *engine, uint32_t at, uint32_t index, double latency_us)
{
    struct tern__sim_lane *lane = &engine->lanes[at];
    struct tern__flow *flow = &engine->shares.flows[index];
    flow->lane = at;
    flow->begin_us = engine->now_us;
    flow->left = (double)flow->bytes;
    if (engine->options.jitter > 0) {
        double factor = tern__engine_chance(engine, at, lane->index, lane->pending);
        flow->left *= factor;
        latency_us *= factor;
    }
    lane->pending++;
    engine->flows++;
    if (!(latency_us > 0)) {
        tern__flow_join(&engine->shares, index, engine->now_us);
        return;
    }
    flow->event = tern__sim_queue_add(&engine->queue, tern__sim_time(engine->now_us + latency_us),
                                      TERN__SIM_ACTIVE, index, 0);
    if (flow->event == TERN__NONE) {
        tern__engine_no_memory(engine);
    }
}

double tern__engine_op_GBps(const struct tern__engine *engine, tern_plan_op_kind kind)
{
    int unit = engine->program->spec.unit == 8   ? 3
               : engine->program->spec.unit == 4 ? 2
                                                 : (int)engine->program->spec.unit - 1;
    return kind == TERN_PLAN_COPY ? engine->options.copy_GBps : engine->options.reduce_GBps[unit];
}

uint32_t tern__engine_machine(const struct tern__engine *engine, uint32_t rank)
{
    return tern_topo_machine_count(engine->topo) > 0
               ? (uint32_t)tern_topo_machine_of(engine->topo, (int)rank)
               : 0;
}
