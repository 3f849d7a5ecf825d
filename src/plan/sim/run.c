// SPDX-License-Identifier: Apache-2.0
// The run: what happens at an instant, and lanes that go through their ops. Data path of the
// simulator: an event takes no allocation but when arrays grow.

#include <math.h>
#include <string.h>

#include "plan/sim/engine.h"
#include "plan/sim/time.h"

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
        if (tern__processor_wake(engine, at)) {
            continue;
        }
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
        latency_us = tern__processor_is_near(engine, lane->rank, post.peer)
                         ? engine->options.post_us
                         : engine->links[link].latency_us;
        if (engine->options.jitter > 0) {
            latency_us *= tern__engine_chance(engine, at, lane->index, 0);
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
        tern__engine_no_memory(engine);
        return;
    }
    engine->posts[slot] = post;
    if (tern__sim_queue_add(&engine->queue, tern__sim_time(engine->now_us + latency_us),
                            TERN__SIM_POST, slot, 0) == TERN__NONE) {
        tern__engine_no_memory(engine);
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
            tern__engine_transfer(engine, at, &op);
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

// The beginning is over for a rank, whose first lane was at it.
static void begin_rank(struct tern__engine *engine, uint32_t first)
{
    struct tern__sim_lane *lane = &engine->lanes[first];
    for (uint32_t at = engine->first_lane[lane->rank + 1]; at-- > first;) {
        if (at != first) {
            engine->lanes[at].path = tern__path_hold(&engine->paths, lane->path);
        }
        make_ready(engine, at);
    }
    lane->begins = false;
}

// The last flow of an op has ended.
static void end_op(struct tern__engine *engine, uint32_t at, const struct tern__flow *last)
{
    struct tern__sim_lane *lane = &engine->lanes[at];
    lane->path = tern__path_add(&engine->paths, lane->path,
                                (struct tern__path_step){.begin_us = last->begin_us,
                                                         .active_us = last->active_us,
                                                         .end_us = engine->now_us,
                                                         .index = lane->index,
                                                         .lane = at,
                                                         .what = last->bottleneck,
                                                         .kind = lane->kind});
    if (is_told(engine) && !lane->begins) {
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
    if (lane->begins) {
        begin_rank(engine, at);
        return;
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
    for (uint32_t rank = engine->ranks; rank-- > 0;) {
        uint32_t at = engine->first_lane[rank + 1];
        bool meets = tern__processor_begin(engine, rank);
        while (!meets && at > engine->first_lane[rank]) {
            make_ready(engine, --at);
        }
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
                tern__engine_no_memory(engine);
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
