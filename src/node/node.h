// SPDX-License-Identifier: Apache-2.0
// A node from inside. Its runs are those of a chip (src/graph) whose cores call the kernels of
// tasks for the host. A task for chips is handed over when it is ready (graph/away.h): it becomes a
// *member* of the lane of each chip that it is for, goes to the chips when its turn has come, and
// ends when the last of them has said so. All lanes are under one lock.
#ifndef TERN_NODE_NODE_H
#define TERN_NODE_NODE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/handle.h"
#include "comm/window.h"
#include "graph/away.h"
#include "mem/extents.h"
#include "node/wire.h"

struct tern__node_call;

struct tern__node_member {
    struct tern__node_call *call;
    struct tern__node_member *next; // in the lane
    int chip;
    uint32_t number; // of the message, when it has been sent
    bool ended;
};

struct tern__node_arg {
    bool is_region;
    uint8_t access; // tern_access, as the message has it
    uint64_t value; // or which of the task's regions
};

// A task for chips, from its submission to its end.
struct tern__node_call {
    struct tern__task *task; // when it is ready
    struct tern__node_call *next;
    char function[TERN_NODE_NAME_BYTES];
    bool orchestrates;
    bool any;          // one chip, which is not known yet
    bool sent;         // to all its chips
    bool gone;         // from the lanes: it is being ended
    uint32_t left;     // members that have not ended
    int64_t failed_ns; // when the first has failed
    int failed_chip;   // or -1
    int args_count;    // of each member
    uint32_t domains_count;
    const struct tern__node_arg *args;
    const struct tern__node_domain *domains;
    char failure[TERN__NODE_REPORT_BYTES];
    int members_count;
    struct tern__node_member members[];
};

// What is to be done by a chip, in its order.
struct tern__node_lane {
    struct tern__node_member *first, *last; // not sent yet
    uint32_t waiting;                       // of these
    uint32_t sent;
    _Atomic uint32_t done;                              // written under the lock
    struct tern__node_member *flight[TERN__NODE_SLOTS]; // message n at n % SLOTS; NULL: no task's
};

struct tern_node {
    struct tern__handle handle;
    struct tern__away away; // tern__node_away
    struct tern_comm *comm; // the node's own
    tern_window *window;
    tern_chip *chip;
    tern_graph *graph;
    int chips;
    pthread_mutex_t lock; // of all that follows
    struct tern__node_lane lanes[TERN_NODE_CHIPS_MAX];
    _Atomic uint32_t flying;          // messages that have not been answered
    bool broken;                      // nothing is sent any more
    struct tern__node_report refused; // of the first chip that could not do what is no task
    int refused_by;                   // -1: all could
    struct tern__extents memory;      // of domains, from MAIL_BYTES on; the same of all parts
    tern_domain *domains;
    tern_domain *destroyed; // whose memory is in use until the runs have ended
    uint32_t domains_made;
    bool launched; // runs that have not been synchronized
};

struct tern_domain {
    struct tern__handle handle;
    tern_node *node;
    tern_domain *next;
    struct tern__node_domain shape;
};

static inline tern_node *tern__node_of(struct tern__away *away)
{
    return (tern_node *)(void *)((char *)away - offsetof(tern_node, away));
}

static inline uint32_t tern__node_in_flight(const struct tern__node_lane *lane)
{
    return lane->sent - tern__peek(&lane->done);
}

// lanes.c: of tern__away.
bool tern__node_ready(struct tern__away *away, struct tern__task *task);
void tern__node_drop(struct tern__away *away, struct tern__task *task);
void tern__node_look(struct tern__away *away, bool must);

// The lane has room. When the communicator has failed nothing arrives, and the scheduler ends the
// run. Under the lock; member: NULL for what is no task's.
void tern__node_send(tern_node *node, int chip, const void *message, size_t size,
                     struct tern__node_member *member);

// Ends the tasks of a list of calls. Not under the lock.
void tern__node_finish(tern_node *node, struct tern__node_call *calls);

// watch.c: the other functions of tern__away.
extern const struct tern__away tern__node_away;

// Tells every chip, while no task is in flight, and waits until all have done it. The error of the
// first that has not, with its sentence after `call`.
int tern__node_tell(const char *call, tern_node *node, enum tern__node_kind kind, const char *path);

// domain.c: gives back what was destroyed; no run goes on. Under the lock.
void tern__node_collect(tern_node *node);

#endif
