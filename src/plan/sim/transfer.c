// SPDX-License-Identifier: Apache-2.0
// The flows of an op. Data path of the simulator.

#include <math.h>

#include "plan/sim/engine.h"

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
