// SPDX-License-Identifier: Apache-2.0
// Flows and the resources they share. Rates are a max-min fair share: fill all flows at the same
// speed; when a resource is full, those on it stay as they are; go on with the rest (Bertsekas and
// Gallager, Data Networks, 6.5.2).
//
// A flow is brought up to date only when its rate changes. Rates depend only on flows that are
// connected by resources, so what has changed at an instant is marked, and then each component that
// has a mark is filled once. A resource with one flow connects nothing: it is a limit of that flow.
#ifndef TERN_PLAN_SIM_SHARE_H
#define TERN_PLAN_SIM_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/sim/queue.h"
#include "plan/sim/route.h"
#include "plan/sim/trace.h"

#define TERN__FLOW_ON (TERN__ROUTE_USES + 1) // its link and what that uses
#define TERN__FLOW_SLOTS 8                   // a place of a flow in a list is flow * SLOTS + k

struct tern__flow {
    double left; // bytes, at seen_us
    double rate; // bytes per us; 0: nothing can flow
    double seen_us;
    double cap; // the most it may have, whatever is free; infinite: anything
    double begin_us, active_us;
    uint64_t bytes;
    uint32_t lane;       // whose op it is of
    uint32_t event;      // of its end, or of the end of its latency; TERN__NONE
    uint32_t bottleneck; // the resource that gives it its rate; TERN__NONE: its own cap
    // While a component is filled.
    double limit;
    uint32_t stamp, limit_by;
    bool fixed;
    uint8_t on_count;
    struct {
        uint32_t resource, next, prev; // places in the list of the resource
    } on[TERN__FLOW_ON];
};

struct tern__resource {
    double capacity; // bytes per us
    double whole;    // the same before it failed
    uint32_t first;  // place in the list of its flows; TERN__NONE: none
    uint32_t flows;
    bool marked;
    // While a component is filled.
    uint32_t stamp, open; // open: flows that have no rate yet
    double left;
    // What it did.
    uint64_t bytes;
    double busy_us, since_us, first_us, last_us;
};

// An entry of the heap of a component: a resource with what it can give each of its open flows, or
// (from TERN__FILL_FLOW on) a flow with its own limit.
#define TERN__FILL_FLOW UINT32_C(0x80000000)
struct tern__fill {
    double rate;
    uint32_t which;
};

struct tern__shares {
    struct tern__sim_queue *queue;
    uint32_t end_kind; // of the event that a flow ends
    struct tern__flow *flows;
    uint32_t flows_count, flows_room, flows_free; // free ones by on[0].next
    struct tern__resource *resources;
    uint32_t resources_count, resources_room;
    uint32_t *marked; // resources
    uint32_t marked_count, marked_room;
    uint32_t stamp;
    // The component at hand.
    uint32_t *members, *shared; // flows; resources with two flows or more
    uint32_t members_count, members_room, shared_count, shared_room;
    struct tern__fill *heap;
    uint32_t heap_count, heap_room;
    struct tern__sim_trace *trace; // NULL: none is wanted
    bool failed;                   // no memory
};

void tern__shares_open(struct tern__shares *shares, struct tern__sim_queue *queue,
                       uint32_t end_kind);
void tern__shares_close(struct tern__shares *shares);

// The index of a new resource; TERN__NONE when there is no memory.
uint32_t tern__shares_add(struct tern__shares *shares, double capacity);

// A flow that is nowhere yet, all zero but for `event`; TERN__NONE when there is no memory.
uint32_t tern__flow_new(struct tern__shares *shares);
void tern__flow_free(struct tern__shares *shares, uint32_t flow);

// It begins to use the resources in on[]; it ends, or is taken away, and uses them no more.
void tern__flow_join(struct tern__shares *shares, uint32_t flow, double now_us);
void tern__flow_leave(struct tern__shares *shares, uint32_t flow, double now_us);

// Changes what a resource can give.
void tern__shares_set(struct tern__shares *shares, uint32_t resource, double capacity);

// Gives their rates to all flows that what has changed may concern.
void tern__shares_settle(struct tern__shares *shares, double now_us);

#endif
