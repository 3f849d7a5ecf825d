// SPDX-License-Identifier: Apache-2.0
// The simulator from inside. All events of an instant are taken, lanes that may go on do so until
// they wait for something, and then the rates of flows are settled once (plan/sim/share.h). Memory
// is in proportion to lanes, signals, and the links that are used; an op is asked for when its lane
// reaches it.
#ifndef TERN_PLAN_SIM_ENGINE_H
#define TERN_PLAN_SIM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/program.h"
#include "plan/sim/path.h"
#include "plan/sim/queue.h"
#include "plan/sim/route.h"
#include "plan/sim/share.h"
#include "plan/sim/trace.h"
#include "tern/sim.h"

enum tern__sim_kind {
    TERN__SIM_ACTIVE, // target: a flow, whose latency is over
    TERN__SIM_END,    // target: a flow that has ended
    TERN__SIM_POST,   // target: a post
    TERN__SIM_FAIL,   // target: of engine->fails
};

struct tern__sim_lane {
    uint64_t index;   // of the op that it executes, or comes to next
    double begin_us;  // of that op
    uint32_t pending; // flows of that op that have not ended
    uint32_t rank;
    uint32_t link;        // the last one it used; TERN__NONE
    uint32_t next_waiter; // of the signal it waits for: a lane + 1; 0: none
    uint32_t wanted;      // posts that it waits for; 0: it does not wait
    uint32_t path;
    uint32_t signal; // of its rank, that it waits for
    uint16_t lane;   // of its rank
    uint8_t kind;    // of the op: tern_plan_op_kind
    bool ended;
    bool begins; // the flow that it waits for is the beginning of its rank
};

struct tern__sim_signal {
    uint32_t posted;
    uint32_t waiters; // the first lane that waits, + 1; 0: none
};

// A post under way.
struct tern__sim_post {
    double begin_us;
    uint64_t index;
    uint32_t signal; // numbered through; of a free one: the next free one
    uint32_t lane;
    uint32_t path;
    uint32_t peer;
    uint32_t record; // of the trace, + 1; 0: none
};

struct tern__sim_link {
    uint32_t from, to;
    double latency_us;
    uint32_t uses[TERN__ROUTE_USES];
    uint32_t uses_count;
    bool failed;
};

struct tern__sim_fail {
    int from, to;
    double us;
};

struct tern__engine {
    const tern_program *program;
    const tern_topo *topo;
    tern_sim_options options;
    double now_us;
    struct tern__sim_queue queue;
    struct tern__shares shares;
    struct tern__paths paths;
    uint32_t ranks;

    struct tern__sim_lane *lanes; // of all ranks, rank by rank
    uint32_t lanes_count;
    uint32_t *first_lane; // per rank, and one past the last
    uint32_t *ready;      // lanes that may go on; each at most once
    uint32_t ready_count;
    uint32_t ended; // lanes

    uint64_t *first_signal; // per rank, and one past the last
    struct tern__sim_signal *signals;
    struct tern__sim_post *posts;
    uint32_t posts_count, posts_room, posts_free;

    // Resources: those of the topology, the memory of each rank if it has a rate, that of each
    // machine if it has one, the processors of each machine if they are counted, then links as they
    // are first used.
    uint32_t first_memory, first_machine, first_processor, first_link;
    struct tern__sim_link *links;
    uint32_t links_count, links_room;
    uint32_t *link_table; // by hash: a link
    uint32_t link_bits;

    struct tern__sim_fail fails[2 * TERN_SIM_FAILS_MAX];
    uint32_t fails_count;

    tern_plan_range *room; // for the operands of an op
    double *rank_us;       // per rank, when its last lane ended
    uint32_t last_lane;    // that ended
    uint64_t ops, flows, events;
    struct tern__sim_trace *trace; // NULL: none is wanted
    int status;
};

// engine.c: makes it ready to run and lets go of it. A status with a sentence.
int tern__engine_open(struct tern__engine *engine, const tern_program *program,
                      const tern_topo *topo, const tern_sim_options *options);
void tern__engine_close(struct tern__engine *engine);

// run.c: runs until nothing happens any more. A status with a sentence.
int tern__engine_run(struct tern__engine *engine);

// transfer.c: starts the flows of an op that moves bytes.
void tern__engine_transfer(struct tern__engine *engine, uint32_t at, const tern_plan_op *op);

// flow.c, which calls nobody here: ends the run with a sentence.
void tern__engine_no_memory(struct tern__engine *engine);

// From 1 to 1 + jitter, for a flow of the op that a lane is at.
double tern__engine_chance(const struct tern__engine *engine, uint32_t lane, uint64_t index,
                           uint32_t flow);

// Starts a flow of a lane's op, that has its resources; `latency_us` is over before it uses them.
void tern__engine_flow(struct tern__engine *engine, uint32_t at, uint32_t flow, double latency_us);

// The rate of an op of this kind, 0: not given; the number of a rank's machine.
double tern__engine_op_GBps(const struct tern__engine *engine, tern_plan_op_kind kind);
uint32_t tern__engine_machine(const struct tern__engine *engine, uint32_t rank);

// processor.c: machines whose ranks share processors. Whether an op of one of these ranks moves
// bytes of the other by itself; carries out an op with so many such bytes, of
// which `fresh` were written by other ranks in this run; wakes a lane whose wait
// is over, or at the beginning of a run, unless it can go on at once: false.
bool tern__processor_is_near(const struct tern__engine *engine, uint32_t rank, uint32_t other);
void tern__processor_start(struct tern__engine *engine, uint32_t at, tern_plan_op_kind kind,
                           uint64_t bytes, uint64_t fresh);
bool tern__processor_wake(struct tern__engine *engine, uint32_t at);
bool tern__processor_begin(struct tern__engine *engine, uint32_t rank);

// link.c: the link of a lane's rank to another one, or back; TERN__NONE without such a link or
// without memory, after a sentence in engine->status. The op at hand is named in it.
uint32_t tern__engine_link(struct tern__engine *engine, struct tern__sim_lane *lane, uint32_t from,
                           uint32_t to, const tern_plan_op *op);
// Takes the links that fail now out of service; `which` is of engine->fails.
void tern__engine_fail(struct tern__engine *engine, uint32_t which);
// Reads "0-1@100" into engine->fails.
int tern__engine_read_fails(struct tern__engine *engine);

// name.c: what a resource is called.
void tern__engine_name(const struct tern__engine *engine, uint32_t resource, char *name,
                       size_t bytes);

// stuck.c: the sentence about lanes that never end.
void tern__engine_stuck(struct tern__engine *engine, char *text, size_t bytes);

static inline uint32_t tern__engine_resource(const struct tern__engine *engine, uint32_t link)
{
    return engine->first_link + link;
}

#endif
