// SPDX-License-Identifier: Apache-2.0
// The flows of an op. Data path of the simulator.

#include <math.h>

#include "base/random.h"
#include "plan/sim/engine.h"
#include "plan/sim/time.h"

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

static void start_remote(struct tern__engine *engine, uint32_t at, uint32_t from, uint32_t to,
                         const tern_plan_op *op)
{
    uint32_t index = tern__engine_link(engine, &engine->lanes[at], from, to, op);
    uint32_t made = index != TERN__NONE ? tern__flow_new(&engine->shares) : TERN__NONE;
    if (made == TERN__NONE) {
        return;
    }
    const struct tern__sim_link *link = &engine->links[index];
    struct tern__flow *flow = &engine->shares.flows[made];
    flow->bytes = op->length;
    flow->cap = INFINITY;
    flow->on[0].resource = tern__engine_resource(engine, index);
    for (uint32_t k = 0; k < link->uses_count; k++) {
        flow->on[k + 1].resource = link->uses[k];
    }
    flow->on_count = (uint8_t)(link->uses_count + 1);
    tern__engine_flow(engine, at, made, link->latency_us + engine->options.op_us);
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

// What an op reads and writes in its own rank's memory.
static void start_local(struct tern__engine *engine, uint32_t at, const tern_plan_op *op,
                        uint64_t bytes)
{
    const tern_sim_options *options = &engine->options;
    double most_GBps = tern__engine_op_GBps(engine, op->kind);
    uint32_t resources[2];
    uint32_t count = 0;
    uint32_t rank = engine->lanes[at].rank;
    if (options->memory_GBps > 0) {
        resources[count++] = engine->first_memory + rank;
    }
    if (options->machine_memory_GBps > 0) {
        resources[count++] = engine->first_machine + tern__engine_machine(engine, rank);
    }
    if (bytes == 0 || (count == 0 && !(most_GBps > 0) && !(options->op_us > 0))) {
        return;
    }
    uint32_t made = tern__flow_new(&engine->shares);
    if (made == TERN__NONE) {
        return;
    }
    struct tern__flow *flow = &engine->shares.flows[made];
    // Without any rate only the time before it counts.
    flow->bytes = count > 0 || most_GBps > 0 ? bytes : 0;
    flow->cap = most_GBps > 0 ? most_GBps * 1e3 : count > 0 ? INFINITY : 1;
    for (uint32_t k = 0; k < count; k++) {
        flow->on[k].resource = resources[k];
    }
    flow->on_count = (uint8_t)count;
    tern__engine_flow(engine, at, made, options->op_us);
}

// The bytes of an operand that no flow on a link moves.
static uint64_t start_operand(struct tern__engine *engine, uint32_t at, uint32_t from, uint32_t to,
                              const tern_plan_op *op)
{
    bool near = from == to;
    if (!near && tern__processor_is_near(engine, from, to)) {
        uint32_t link = tern__engine_link(engine, &engine->lanes[at], from, to, op);
        near = link != TERN__NONE && !engine->links[link].failed;
    }
    if (!near) {
        start_remote(engine, at, from, to, op);
    }
    return near ? op->length : 0;
}

void tern__engine_transfer(struct tern__engine *engine, uint32_t at, const tern_plan_op *op)
{
    uint32_t rank = engine->lanes[at].rank;
    uint64_t near = 0;
    uint64_t fresh = 0;
    for (int i = 0; i < op->sources_count && op->length > 0; i++) {
        const tern_plan_range *source = &op->sources[i];
        uint64_t bytes = start_operand(engine, at, source->rank, rank, op);
        fresh += source->rank != rank && source->buffer != TERN_PLAN_IN ? bytes : 0;
        near += bytes;
    }
    for (int i = 0; i < op->destinations_count && op->length > 0; i++) {
        near += start_operand(engine, at, rank, op->destinations[i].rank, op);
    }
    if (engine->options.processors == 0) {
        start_local(engine, at, op, near);
    } else if (op->length > 0) {
        tern__processor_start(engine, at, op->kind, near, fresh);
    }
    if (engine->shares.failed && engine->status == TERN_OK) {
        tern__engine_no_memory(engine);
    }
}
