// SPDX-License-Identifier: Apache-2.0
// The events of collective calls and messages. Arrows: from the last rank that published a run to
// every rank that waited for it, from a post to its wait, from the last rank that came to a point
// where all meet, and from a piece that was sent to the one that took it.

#include "coll/call/trace.h"

#include <stdio.h>
#include <string.h>

#include "sync/record_text.h"

static void set_peer(struct tern__trace_event *event, const struct tern__calls *calls, int rank)
{
    event->peer = (int16_t)calls->comm->group.members[rank];
    event->has |= TERN__TRACE_HAS_PEER;
}

static void set_signal(struct tern__trace_event *event, uint64_t signal)
{
    event->signal = signal;
    event->has |= TERN__TRACE_HAS_SIGNAL;
}

static const struct tern__program *program_of(const struct tern__coll *call)
{
    return call->way == TERN__WAY_WINDOW || call->way == TERN__WAY_DIRECT ? call->placed
           : call->way == TERN__WAY_SLOT && call->slot != NULL            ? call->slot
           : call->way == TERN__WAY_UNKNOWN                               ? NULL
                                                                          : call->staged;
}

void tern__trace_call(const struct tern__coll *call)
{
    const struct tern__program *program = program_of(call);
    struct tern__trace_event event = {.begin_ns = call->traced_ns,
                                      .kind = TERN__TRACE_CALL,
                                      .number = call->number,
                                      .bytes = call->bytes,
                                      .has = call->overlaps ? TERN__TRACE_OVERLAPS : 0};
    tern__trace_name(&event, tern_coll_kind_name(call->kind));
    if (program != NULL) {
        snprintf(event.algorithm, sizeof event.algorithm, "%s", program->algorithm);
    }
    snprintf(event.way, sizeof event.way, "%s", tern__way_name(call->way));
    if (tern__kind_has_root(call->plan_kind)) {
        set_peer(&event, call->calls, call->root);
    }
    tern__trace_put(&event);
}

void tern__trace_message(const struct tern__message *message)
{
    struct tern__trace_event event = {.begin_ns = message->traced_ns,
                                      .kind = TERN__TRACE_CALL,
                                      .number = message->number,
                                      .bytes = message->bytes,
                                      .has = message->overlaps ? TERN__TRACE_OVERLAPS : 0};
    tern__trace_name(&event, message->sends ? "send" : "recv");
    snprintf(event.way, sizeof event.way, "%s", tern__way_name(TERN__WAY_MAIL));
    if (message->peer >= 0) {
        set_peer(&event, message->endpoint->calls, message->peer);
    }
    tern__trace_put(&event);
}

static uint64_t published(const struct tern__coll *call, uint32_t run)
{
    return tern__trace_arrow(TERN__ARROW_PUBLISHED, call->calls->comm->group.slot, run, 0);
}

void tern__trace_publish(const struct tern__coll *call, uint32_t run, int64_t begin_ns)
{
    struct tern__trace_event event = {.begin_ns = begin_ns,
                                      .kind = TERN__TRACE_NOTIFY,
                                      .number = call->number,
                                      .out = published(call, run)};
    tern__trace_name(&event, "publish");
    tern__trace_put(&event);
}

void tern__trace_meet(const struct tern__coll *call, uint32_t run, int64_t begin_ns)
{
    struct tern__trace_event event = {.begin_ns = begin_ns,
                                      .kind = TERN__TRACE_WAIT,
                                      .number = call->number,
                                      .in = call->calls->met_all ? published(call, run) : 0};
    tern__trace_name(&event, call->calls->met_all ? "all have come" : "its peers have come");
    tern__trace_put(&event);
}

void tern__trace_step(const struct tern__lanes *lanes, const struct tern__step *step,
                      int64_t begin_ns)
{
    const struct tern__calls *calls = lanes->owner;
    const struct tern__group *group = &calls->comm->group;
    uint32_t run = lanes->run;
    struct tern__trace_event event = {.begin_ns = begin_ns, .number = calls->oldest->number};
    bool notifies = step->kind == TERN__STEP_POST || step->kind == TERN__STEP_ARRIVE;
    uint64_t arrow;
    if (step->kind == TERN__STEP_POST || step->kind == TERN__STEP_WAIT) {
        int owner = notifies ? step->peer : calls->rank;
        arrow =
            tern__trace_arrow(TERN__ARROW_POSTED, group->slot,
                              (uint64_t)run << 32 | (uint32_t)group->members[owner], step->word);
        event.nth = notifies ? 0 : (uint16_t)step->count;
        set_signal(&event, step->word);
        tern__trace_name(&event, notifies ? "post" : "signal");
        if (notifies) {
            set_peer(&event, calls, step->peer);
        }
    } else {
        arrow = tern__trace_arrow(TERN__ARROW_ARRIVED, group->slot, run, step->signal + 1);
        tern__trace_name(&event, notifies ? "arrive" : "all have arrived");
    }
    event.kind = notifies ? TERN__TRACE_NOTIFY : TERN__TRACE_WAIT;
    event.out = notifies ? arrow : 0;
    event.in = notifies ? 0 : arrow;
    tern__trace_put(&event);
}

void tern__trace_piece(const struct tern__message *message, uint32_t number, uint64_t bytes,
                       int64_t begin_ns)
{
    const struct tern__calls *calls = message->endpoint->calls;
    const struct tern__group *group = &calls->comm->group;
    int self = group->members[calls->rank];
    int peer = group->members[message->peer];
    uint64_t pair = message->sends ? (uint64_t)self << 32 | (uint32_t)peer
                                   : (uint64_t)peer << 32 | (uint32_t)self;
    uint64_t arrow = tern__trace_arrow(TERN__ARROW_MAIL, group->slot, pair, number);
    struct tern__trace_event event = {.begin_ns = begin_ns,
                                      .kind = TERN__TRACE_TRANSFER,
                                      .bytes = bytes,
                                      .out = message->sends ? arrow : 0,
                                      .in = message->sends ? 0 : arrow};
    tern__trace_name(&event, message->sends ? "put piece" : "take piece");
    set_peer(&event, calls, message->peer);
    tern__trace_put(&event);
}

static void name_rest(struct tern__trace_event *event, const char *what, uint64_t number)
{
    char name[TERN__TRACE_NAME_BYTES];
    snprintf(name, sizeof name, "wait in %s", what);
    tern__trace_name(event, name);
    event->number = number;
}

void tern__trace_calls_rest(struct tern__calls *calls, struct tern__trace_event *event)
{
    const struct tern__coll *call = calls->oldest;
    if (call == NULL) {
        return;
    }
    name_rest(event, tern_coll_kind_name(call->kind), call->number);
    uint32_t run;
    uint64_t ranks = tern__calls_awaited(calls, &run);
    if (ranks != 0) {
        set_peer(event, calls, __builtin_ctzll(ranks));
    }
    if (ranks != 0 || !calls->bound) {
        return;
    }
    int lane;
    const struct tern__step *step = tern__lanes_stand(&calls->lanes, &lane);
    if (step != NULL && step->kind == TERN__STEP_WAIT) {
        set_signal(event, step->word);
    }
}

void tern__trace_message_rest(const struct tern__message *message, struct tern__trace_event *event)
{
    name_rest(event, message->sends ? "send" : "recv", message->number);
    if (message->peer >= 0) { // else it waits for any rank
        set_peer(event, message->endpoint->calls, message->peer);
    }
}
