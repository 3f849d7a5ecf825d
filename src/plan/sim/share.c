// SPDX-License-Identifier: Apache-2.0
// Flows that come and go, and what they get. Settling takes time in proportion to the flows of the
// components that have changed, and a heap's logarithm.

#include "plan/sim/share.h"

#include <math.h>
#include <stdlib.h>

#include "plan/sim/time.h"

#define EQUAL (1 + 1e-12) // shares that differ by less are the same but for rounding

void tern__shares_open(struct tern__shares *shares, struct tern__sim_queue *queue,
                       uint32_t end_kind)
{
    *shares = (struct tern__shares){.queue = queue, .end_kind = end_kind, .flows_free = TERN__NONE};
}

void tern__shares_close(struct tern__shares *shares)
{
    free(shares->flows);
    free(shares->resources);
    free(shares->marked);
    free(shares->members);
    free(shares->shared);
    free(shares->heap);
    *shares = (struct tern__shares){0};
}

// Room for one more in an array.
static bool has_room(struct tern__shares *shares, void **array, uint32_t count, uint32_t *room,
                     size_t element_bytes)
{
    if (count == *room && !tern__sim_grow(array, room, element_bytes)) {
        shares->failed = true;
    }
    return count < *room;
}

uint32_t tern__shares_add(struct tern__shares *shares, double capacity)
{
    if (!has_room(shares, (void **)&shares->resources, shares->resources_count,
                  &shares->resources_room, sizeof *shares->resources)) {
        return TERN__NONE;
    }
    shares->resources[shares->resources_count] = (struct tern__resource){.capacity = capacity,
                                                                         .whole = capacity,
                                                                         .first = TERN__NONE,
                                                                         .first_us = -1};
    return shares->resources_count++;
}

uint32_t tern__flow_new(struct tern__shares *shares)
{
    uint32_t flow = shares->flows_free;
    if (flow != TERN__NONE) {
        shares->flows_free = shares->flows[flow].on[0].next;
    } else if (has_room(shares, (void **)&shares->flows, shares->flows_count, &shares->flows_room,
                        sizeof *shares->flows) &&
               shares->flows_count < TERN__NONE / TERN__FLOW_SLOTS) {
        flow = shares->flows_count++;
    } else {
        shares->failed = true;
        return TERN__NONE;
    }
    shares->flows[flow] = (struct tern__flow){.event = TERN__NONE};
    return flow;
}

void tern__flow_free(struct tern__shares *shares, uint32_t flow)
{
    shares->flows[flow].on[0].next = shares->flows_free;
    shares->flows_free = flow;
}

static void mark(struct tern__shares *shares, uint32_t index)
{
    struct tern__resource *resource = &shares->resources[index];
    if (!resource->marked && has_room(shares, (void **)&shares->marked, shares->marked_count,
                                      &shares->marked_room, sizeof *shares->marked)) {
        resource->marked = true;
        shares->marked[shares->marked_count++] = index;
    }
}

void tern__shares_set(struct tern__shares *shares, uint32_t resource, double capacity)
{
    shares->resources[resource].capacity = capacity;
    mark(shares, resource);
}

static void set_rate(struct tern__shares *shares, struct tern__flow *flow, double rate,
                     uint32_t bottleneck, double now_us);

void tern__flow_join(struct tern__shares *shares, uint32_t index, double now_us)
{
    struct tern__flow *flow = &shares->flows[index];
    flow->active_us = flow->seen_us = now_us;
    flow->event = TERN__NONE;
    for (uint32_t k = 0; k < flow->on_count; k++) {
        struct tern__resource *resource = &shares->resources[flow->on[k].resource];
        flow->on[k].next = resource->first;
        flow->on[k].prev = TERN__NONE;
        uint32_t place = index * TERN__FLOW_SLOTS + k;
        if (resource->first != TERN__NONE) {
            shares->flows[resource->first / TERN__FLOW_SLOTS]
                .on[resource->first % TERN__FLOW_SLOTS]
                .prev = place;
        }
        resource->first = place;
        if (resource->flows++ == 0) {
            resource->since_us = now_us;
            resource->first_us = resource->first_us < 0 ? now_us : resource->first_us;
        }
        mark(shares, flow->on[k].resource);
    }
    if (flow->on_count == 0) {
        set_rate(shares, flow, flow->cap, TERN__NONE, now_us);
    }
}

// A stretch of time in which a flow had one rate is over.
static void record(const struct tern__shares *shares, const struct tern__flow *flow, double now_us)
{
    for (uint32_t k = 0; k < flow->on_count && flow->rate > 0; k++) {
        double whole = shares->resources[flow->on[k].resource].whole;
        tern__sim_trace_use(shares->trace, flow->on[k].resource, flow->rate / whole, flow->seen_us,
                            now_us);
    }
}

void tern__flow_leave(struct tern__shares *shares, uint32_t index, double now_us)
{
    struct tern__flow *flow = &shares->flows[index];
    if (shares->trace != NULL) {
        record(shares, flow, now_us);
    }
    for (uint32_t k = 0; k < flow->on_count; k++) {
        struct tern__resource *resource = &shares->resources[flow->on[k].resource];
        uint32_t next = flow->on[k].next;
        uint32_t prev = flow->on[k].prev;
        if (next != TERN__NONE) {
            shares->flows[next / TERN__FLOW_SLOTS].on[next % TERN__FLOW_SLOTS].prev = prev;
        }
        if (prev != TERN__NONE) {
            shares->flows[prev / TERN__FLOW_SLOTS].on[prev % TERN__FLOW_SLOTS].next = next;
        } else {
            resource->first = next;
        }
        resource->bytes += flow->bytes;
        resource->last_us = now_us;
        if (--resource->flows == 0) {
            resource->busy_us += now_us - resource->since_us;
        } else {
            mark(shares, flow->on[k].resource);
        }
    }
}

static void push(struct tern__shares *shares, double rate, uint32_t which)
{
    if (!has_room(shares, (void **)&shares->heap, shares->heap_count, &shares->heap_room,
                  sizeof *shares->heap)) {
        return;
    }
    struct tern__fill *heap = shares->heap;
    uint32_t at = shares->heap_count++;
    while (at > 0 && heap[(at - 1) / 2].rate > rate) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = (struct tern__fill){rate, which};
}

// Puts an entry into the place of the first one.
static void replace_first(struct tern__shares *shares, struct tern__fill entry)
{
    struct tern__fill *heap = shares->heap;
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= shares->heap_count) {
            break;
        }
        if (child + 1 < shares->heap_count && heap[child + 1].rate < heap[child].rate) {
            child++;
        }
        if (heap[child].rate >= entry.rate) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = entry;
}

static void pop(struct tern__shares *shares)
{
    struct tern__fill last = shares->heap[--shares->heap_count];
    if (shares->heap_count > 0) {
        replace_first(shares, last);
    }
}

// Gives a flow its rate, and makes the event of its end anew.
static void set_rate(struct tern__shares *shares, struct tern__flow *flow, double rate,
                     uint32_t bottleneck, double now_us)
{
    flow->bottleneck = bottleneck;
    if (rate == flow->rate && flow->event != TERN__NONE) {
        return;
    }
    if (shares->trace != NULL) {
        record(shares, flow, now_us);
    }
    flow->left -= flow->rate * (now_us - flow->seen_us);
    flow->left = flow->left > 0 ? flow->left : 0;
    flow->seen_us = now_us;
    flow->rate = rate;
    if (flow->event != TERN__NONE) {
        tern__sim_queue_remove(shares->queue, flow->event);
        flow->event = TERN__NONE;
    }
    if (rate > 0) {
        double end_us = tern__sim_time(now_us + flow->left / rate);
        flow->event = tern__sim_queue_add(shares->queue, end_us, shares->end_kind,
                                          (uint32_t)(flow - shares->flows), 0);
        shares->failed = shares->failed || flow->event == TERN__NONE;
    }
}

// Takes a flow into the component, with its limit, and the resources that it shares with others.
static void gather(struct tern__shares *shares, uint32_t index)
{
    struct tern__flow *flow = &shares->flows[index];
    if (flow->stamp == shares->stamp ||
        !has_room(shares, (void **)&shares->members, shares->members_count, &shares->members_room,
                  sizeof *shares->members)) {
        return;
    }
    flow->stamp = shares->stamp;
    flow->fixed = false;
    flow->limit = flow->cap;
    flow->limit_by = TERN__NONE;
    shares->members[shares->members_count++] = index;
    for (uint32_t k = 0; k < flow->on_count; k++) {
        struct tern__resource *resource = &shares->resources[flow->on[k].resource];
        if (resource->flows == 1) {
            if (resource->capacity < flow->limit) {
                flow->limit = resource->capacity;
                flow->limit_by = flow->on[k].resource;
            }
        } else if (resource->stamp != shares->stamp &&
                   has_room(shares, (void **)&shares->shared, shares->shared_count,
                            &shares->shared_room, sizeof *shares->shared)) {
            resource->stamp = shares->stamp;
            resource->left = resource->capacity;
            resource->open = resource->flows;
            shares->shared[shares->shared_count++] = flow->on[k].resource;
        }
    }
}

static void fix(struct tern__shares *shares, uint32_t index, double rate, uint32_t bottleneck,
                double now_us)
{
    struct tern__flow *flow = &shares->flows[index];
    flow->fixed = true;
    for (uint32_t k = 0; k < flow->on_count; k++) {
        struct tern__resource *resource = &shares->resources[flow->on[k].resource];
        if (resource->flows > 1) {
            resource->left = resource->left > rate ? resource->left - rate : 0;
            resource->open--;
        }
    }
    set_rate(shares, flow, rate, bottleneck, now_us);
}

// Whether the limit of a flow may be what holds it back: it could have more of what it shares.
static bool may_bind(const struct tern__shares *shares, const struct tern__flow *flow)
{
    double most = INFINITY;
    for (uint32_t k = 0; k < flow->on_count; k++) {
        const struct tern__resource *resource = &shares->resources[flow->on[k].resource];
        most = resource->flows > 1 && resource->capacity < most ? resource->capacity : most;
    }
    return flow->limit < most;
}

// Entries of the heap may be out of date, but what a resource can give only grows while its flows
// get less than that.
static void fill(struct tern__shares *shares, double now_us)
{
    shares->heap_count = 0;
    for (uint32_t i = 0; i < shares->shared_count; i++) {
        const struct tern__resource *resource = &shares->resources[shares->shared[i]];
        push(shares, resource->left / resource->open, shares->shared[i]);
    }
    for (uint32_t i = 0; i < shares->members_count; i++) {
        const struct tern__flow *flow = &shares->flows[shares->members[i]];
        if (may_bind(shares, flow)) {
            push(shares, flow->limit, shares->members[i] | TERN__FILL_FLOW);
        }
    }
    while (shares->heap_count > 0 && !shares->failed) {
        struct tern__fill first = shares->heap[0];
        if (first.which >= TERN__FILL_FLOW) {
            uint32_t index = first.which - TERN__FILL_FLOW;
            pop(shares);
            if (!shares->flows[index].fixed) {
                fix(shares, index, first.rate, shares->flows[index].limit_by, now_us);
            }
            continue;
        }
        struct tern__resource *resource = &shares->resources[first.which];
        if (resource->open == 0) {
            pop(shares);
            continue;
        }
        double rate = resource->left / resource->open;
        if (rate > first.rate * EQUAL) {
            replace_first(shares, (struct tern__fill){rate, first.which});
            continue;
        }
        pop(shares);
        for (uint32_t place = resource->first; place != TERN__NONE;) {
            uint32_t index = place / TERN__FLOW_SLOTS;
            struct tern__flow *flow = &shares->flows[index];
            if (!flow->fixed) {
                fix(shares, index, rate, first.which, now_us);
            }
            place = flow->on[place % TERN__FLOW_SLOTS].next;
        }
    }
}

// The component of a resource that has flows.
static void settle(struct tern__shares *shares, uint32_t from, double now_us)
{
    shares->members_count = shares->shared_count = 0;
    gather(shares, shares->resources[from].first / TERN__FLOW_SLOTS);
    for (uint32_t i = 0; i < shares->shared_count; i++) {
        uint32_t place = shares->resources[shares->shared[i]].first;
        while (place != TERN__NONE) {
            uint32_t index = place / TERN__FLOW_SLOTS;
            gather(shares, index);
            place = shares->flows[index].on[place % TERN__FLOW_SLOTS].next;
        }
    }
    if (shares->shared_count == 0 && shares->members_count == 1) {
        struct tern__flow *flow = &shares->flows[shares->members[0]];
        set_rate(shares, flow, flow->limit, flow->limit_by, now_us);
        return;
    }
    fill(shares, now_us);
}

void tern__shares_settle(struct tern__shares *shares, double now_us)
{
    shares->stamp++;
    for (uint32_t i = 0; i < shares->marked_count && !shares->failed; i++) {
        struct tern__resource *resource = &shares->resources[shares->marked[i]];
        resource->marked = false;
        if (resource->flows > 0 &&
            shares->flows[resource->first / TERN__FLOW_SLOTS].stamp != shares->stamp) {
            settle(shares, shares->marked[i], now_us);
        }
    }
    shares->marked_count = 0;
}
