// SPDX-License-Identifier: Apache-2.0
// The run: what happens at an instant, and lanes that go through their ops. Data path of the
// simulator: an event takes no allocation but when arrays grow.

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "plan/sim/engine.h"
#include "plan/sim/time.h"

static void no_memory(struct tern__engine *engine)
{
    engine->status = tern__fail(TERN_ERR_MEMORY, "no memory to simulate %u ranks", engine->ranks);
}

static void tell(struct tern__engine *engine, const struct tern__sim_lane *lane,
                 tern_sim_event event)
{
    if (engine->options.see != NULL) {
        event.rank = (int)lane->rank;
        event.lane = lane->lane;
        engine->options.see(&event, engine->options.see_arg);
    }
    if (engine->trace != NULL) {
        tern__sim_trace_tell(engine->trace, (uint32_t)(lane - engine->lanes), &event);
    }
}

static bool is_told(const struct tern__engine *engine)
{
    return engine->options.see != NULL || engine->trace != NULL;
}

static void make_ready(struct tern__engine *engine, uint32_t lane)
{
    engine->ready[engine->ready_count++] = lane;
}

// From 1 to 1 + jitter, by seed, lane, op and flow only: the order of events has no part in it.
static double chance(const struct tern__engine *engine, uint32_t lane, uint64_t index,
                     uint32_t flow)
{
    uint64_t state = engine->options.seed + UINT64_C(0x9e3779b97f4a7c15) * lane +
                     UINT64_C(0xd1342543de82ef95) * (index + 1) +
                     UINT64_C(0xa0761d6478bd642f) * flow;
    return 1 + engine->options.jitter * (double)(tern__random_next(&state) >> 11) * 0x1p-53;
}

// Starts a flow of an op that has its resources; `latency_us` is over before it uses them.
static void start_flow(struct tern__engine *engine, uint32_t at, uint32_t index, double latency_us)
{
    struct tern__sim_lane *lane = &engine->lanes[at];
    struct tern__flow *flow = &engine->shares.flows[index];
    flow->lane = at;
    flow->begin_us = engine->now_us;
    flow->left = (double)flow->bytes;
    latency_us += engine->options.op_us;
    if (engine->options.jitter > 0) {
        double factor = chance(engine, at, lane->index, lane->pending);
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
        no_memory(engine);
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
    start_flow(engine, at, made, link->latency_us);
}

// What an op reads and writes in its own rank's memory.
static void start_local(struct tern__engine *engine, uint32_t at, const tern_plan_op *op,
                        uint64_t bytes)
{
    const tern_sim_options *options = &engine->options;
    int unit = engine->program->spec.unit == 8   ? 3
               : engine->program->spec.unit == 4 ? 2
                                                 : (int)engine->program->spec.unit - 1;
    double most_GBps = op->kind == TERN_PLAN_COPY ? options->copy_GBps : options->reduce_GBps[unit];
    uint32_t resources[2];
    uint32_t count = 0;
    uint32_t rank = engine->lanes[at].rank;
    if (options->memory_GBps > 0) {
        resources[count++] = engine->first_memory + rank;
    }
    if (options->machine_memory_GBps > 0) {
        int machine = tern_topo_machine_count(engine->topo) > 0
                          ? tern_topo_machine_of(engine->topo, (int)rank)
                          : 0;
        resources[count++] = engine->first_machine + (uint32_t)machine;
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
    start_flow(engine, at, made, 0);
}

static void start_transfer(struct tern__engine *engine, uint32_t at, const tern_plan_op *op)
{
    uint32_t rank = engine->lanes[at].rank;
    uint64_t local = 0;
    for (int i = 0; i < op->sources_count && op->length > 0; i++) {
        if (op->sources[i].rank == rank) {
            local += op->length;
        } else {
            start_remote(engine, at, op->sources[i].rank, rank, op);
        }
    }
    for (int i = 0; i < op->destinations_count && op->length > 0; i++) {
        if (op->destinations[i].rank == rank) {
            local += op->length;
        } else {
            start_remote(engine, at, rank, op->destinations[i].rank, op);
        }
    }
    start_local(engine, at, op, local);
    if (engine->shares.failed && engine->status == TERN_OK) {
        no_memory(engine);
    }
}

static void wake(struct tern__engine *engine, const struct tern__sim_post *post)
{
    struct tern__sim_signal *signal = &engine->signals[post->signal];
    uint32_t *link = &signal->waiters;
    while (*link != 0) {
        uint32_t at = *link - 1;
        struct tern__sim_lane *lane = &engine->lanes[at];
        if (lane->wanted > signal->posted) {
            link = &lane->next_waiter;
            continue;
        }
        *link = lane->next_waiter;
        lane->wanted = 0;
        tern__path_drop(&engine->paths, lane->path);
        lane->path = tern__path_hold(&engine->paths, post->path);
        tell(engine, lane,
             (tern_sim_event){.kind = TERN_PLAN_WAIT,
                              .index = lane->index,
                              .from = (int)lane->rank,
                              .to = (int)lane->rank,
                              .signal = lane->signal,
                              .begin_us = lane->begin_us,
                              .end_us = engine->now_us});
        lane->index++;
        make_ready(engine, at);
    }
}

static tern_sim_event event_of_post(const struct tern__engine *engine,
                                    const struct tern__sim_lane *lane,
                                    const struct tern__sim_post *post)
{
    return (tern_sim_event){.kind = TERN_PLAN_POST,
                            .index = post->index,
                            .from = (int)lane->rank,
                            .to = (int)post->peer,
                            .signal = post->signal - (uint32_t)engine->first_signal[post->peer],
                            .begin_us = post->begin_us,
                            .end_us = engine->now_us};
}

// A post has arrived.
static void arrive(struct tern__engine *engine, struct tern__sim_post *post)
{
    struct tern__sim_lane *lane = &engine->lanes[post->lane];
    engine->signals[post->signal].posted++;
    if (post->begin_us < engine->now_us) {
        post->path = tern__path_add(&engine->paths, post->path,
                                    (struct tern__path_step){.begin_us = post->begin_us,
                                                             .active_us = engine->now_us,
                                                             .end_us = engine->now_us,
                                                             .index = post->index,
                                                             .lane = post->lane,
                                                             .what = TERN__NONE,
                                                             .kind = TERN_PLAN_POST});
    }
    tell(engine, lane, event_of_post(engine, lane, post));
    if (engine->trace != NULL) {
        engine->trace->arrived = post->record;
    }
    wake(engine, post);
    tern__path_drop(&engine->paths, post->path);
}

static void send_post(struct tern__engine *engine, uint32_t at, const tern_plan_op *op)
{
    struct tern__sim_lane *lane = &engine->lanes[at];
    struct tern__sim_post post = {.begin_us = engine->now_us,
                                  .index = lane->index,
                                  .signal = (uint32_t)engine->first_signal[op->peer] + op->signal,
                                  .lane = at,
                                  .peer = (uint32_t)op->peer};
    double latency_us = 0;
    if (post.peer != lane->rank) {
        uint32_t link = tern__engine_link(engine, lane, lane->rank, post.peer, op);
        if (link == TERN__NONE || engine->links[link].failed) {
            return;
        }
        latency_us = engine->links[link].latency_us;
        if (engine->options.jitter > 0) {
            latency_us *= chance(engine, at, lane->index, 0);
        }
    }
    if (engine->trace != NULL) {
        tern_sim_event event = event_of_post(engine, lane, &post);
        post.record = tern__sim_trace_post(engine->trace, at, &event);
    }
    post.path = tern__path_hold(&engine->paths, lane->path);
    if (!(latency_us > 0)) {
        arrive(engine, &post);
        return;
    }
    uint32_t slot = engine->posts_free;
    if (slot != TERN__NONE) {
        engine->posts_free = engine->posts[slot].signal;
    } else if (engine->posts_count < engine->posts_room ||
               tern__sim_grow((void **)&engine->posts, &engine->posts_room,
                              sizeof *engine->posts)) {
        slot = engine->posts_count++;
    } else {
        no_memory(engine);
        return;
    }
    engine->posts[slot] = post;
    if (tern__sim_queue_add(&engine->queue, tern__sim_time(engine->now_us + latency_us),
                            TERN__SIM_POST, slot, 0) == TERN__NONE) {
        no_memory(engine);
    }
}

static void end_lane(struct tern__engine *engine, uint32_t at)
{
    struct tern__sim_lane *lane = &engine->lanes[at];
    lane->ended = true;
    engine->ended++;
    engine->rank_us[lane->rank] = engine->now_us;
    engine->last_lane = at;
}

// Until it has to wait for something.
static void run_lane(struct tern__engine *engine, uint32_t at)
{
    struct tern__sim_lane *lane = &engine->lanes[at];
    const struct tern__program_sort *sort = engine->program->sort;
    tern_plan_op op;
    while (engine->status == TERN_OK) {
        if (!sort->next(engine->program, (int)lane->rank, lane->lane, lane->index, engine->room,
                        &op)) {
            end_lane(engine, at);
            return;
        }
        engine->ops++;
        lane->begin_us = engine->now_us;
        lane->kind = (uint8_t)op.kind;
        if (op.kind == TERN_PLAN_WAIT) {
            struct tern__sim_signal *signal =
                &engine->signals[engine->first_signal[lane->rank] + op.signal];
            if (signal->posted < op.count) {
                lane->wanted = op.count;
                lane->signal = op.signal;
                lane->next_waiter = signal->waiters;
                signal->waiters = at + 1;
                return;
            }
        } else if (op.kind == TERN_PLAN_POST) {
            send_post(engine, at, &op);
        } else {
            start_transfer(engine, at, &op);
            if (lane->pending > 0) {
                return;
            }
        }
        lane->index++;
    }
}

// Asks again for the op at hand.
static uint64_t length_of_op(struct tern__engine *engine, const struct tern__sim_lane *lane)
{
    tern_plan_op op;
    return engine->program->sort->next(engine->program, (int)lane->rank, lane->lane, lane->index,
                                       engine->room, &op)
               ? op.length
               : 0;
}

// The last flow of an op has ended.
static void end_op(struct tern__engine *engine, uint32_t at, const struct tern__flow *last)
{
    struct tern__sim_lane *lane = &engine->lanes[at];
    lane->path = tern__path_add(&engine->paths, lane->path,
                                (struct tern__path_step){.begin_us = lane->begin_us,
                                                         .active_us = last->active_us,
                                                         .end_us = engine->now_us,
                                                         .index = lane->index,
                                                         .lane = at,
                                                         .what = last->bottleneck,
                                                         .kind = lane->kind});
    if (is_told(engine)) {
        tell(engine, lane,
             (tern_sim_event){.kind = (tern_plan_op_kind)lane->kind,
                              .index = lane->index,
                              .from = (int)lane->rank,
                              .to = (int)lane->rank,
                              .bytes = length_of_op(engine, lane),
                              .begin_us = lane->begin_us,
                              .active_us = lane->begin_us,
                              .end_us = engine->now_us});
    }
    lane->index++;
    make_ready(engine, at);
}

static void tell_flow(struct tern__engine *engine, const struct tern__flow *flow)
{
    const struct tern__sim_lane *lane = &engine->lanes[flow->lane];
    bool remote = flow->on_count > 0 && flow->on[0].resource >= engine->first_link;
    const struct tern__sim_link *link =
        remote ? &engine->links[flow->on[0].resource - engine->first_link] : NULL;
    tell(engine, lane,
         (tern_sim_event){.is_flow = true,
                          .kind = (tern_plan_op_kind)lane->kind,
                          .index = lane->index,
                          .from = (int)(remote ? link->from : lane->rank),
                          .to = (int)(remote ? link->to : lane->rank),
                          .bytes = flow->bytes,
                          .begin_us = flow->begin_us,
                          .active_us = flow->active_us,
                          .end_us = engine->now_us});
}

static void end_flow(struct tern__engine *engine, uint32_t index)
{
    struct tern__flow *flow = &engine->shares.flows[index];
    uint32_t lane = flow->lane;
    tern__flow_leave(&engine->shares, index, engine->now_us);
    if (is_told(engine)) {
        tell_flow(engine, flow);
    }
    if (--engine->lanes[lane].pending == 0) {
        end_op(engine, lane, flow);
    }
    tern__flow_free(&engine->shares, index);
}

static void happen(struct tern__engine *engine, const struct tern__sim_happening *event)
{
    switch ((enum tern__sim_kind)event->kind) {
    case TERN__SIM_ACTIVE:
        tern__flow_join(&engine->shares, event->target, engine->now_us);
        break;
    case TERN__SIM_END:
        end_flow(engine, event->target);
        break;
    case TERN__SIM_POST: {
        struct tern__sim_post post = engine->posts[event->target];
        engine->posts[event->target].signal = engine->posts_free;
        engine->posts_free = event->target;
        arrive(engine, &post);
        break;
    }
    case TERN__SIM_FAIL:
        tern__engine_fail(engine, event->target);
        break;
    }
    engine->events++;
}

int tern__engine_run(struct tern__engine *engine)
{
    for (uint32_t at = engine->lanes_count; at > 0; at--) {
        make_ready(engine, at - 1);
    }
    while (engine->status == TERN_OK) {
        while (engine->ready_count > 0 && engine->status == TERN_OK) {
            run_lane(engine, engine->ready[--engine->ready_count]);
        }
        if (tern__sim_queue_first_us(&engine->queue) <= engine->now_us) {
            struct tern__sim_happening event = tern__sim_queue_take(&engine->queue);
            happen(engine, &event);
            continue;
        }
        if (engine->shares.marked_count > 0) {
            tern__shares_settle(&engine->shares, engine->now_us);
            if (engine->shares.failed) {
                no_memory(engine);
            }
            continue;
        }
        double next_us = tern__sim_queue_first_us(&engine->queue);
        if (isinf(next_us) || engine->ended == engine->lanes_count) {
            break;
        }
        engine->now_us = next_us;
    }
    return engine->status;
}
