// SPDX-License-Identifier: Apache-2.0
// The simulator: how long a plan or a program takes on a topology, and where the time goes, without
// such a machine.
//
// The model. The ops of a lane run one after the other. An op makes a flow from each remote source
// to its rank and from its rank to each remote destination, each of its length, all at once; it
// ends when all have ended. A flow first waits for the latency of its link, which takes no capacity
// from anybody. Then it gets a max-min fair share of its link and of the resources that the link
// uses (the ports of machines): no flow could get more without one that has no more getting less. A
// post arrives after the latency of its link; a wait takes no time of its own. What an op reads and
// writes in its own rank's memory takes time only if the options say how fast that is.
//
// The same plan, topology and options give the same result, whatever the machine.
#ifndef TERN_SIM_H
#define TERN_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tern/api.h"
#include "tern/plan.h"
#include "tern/program.h"
#include "tern/status.h"
#include "tern/topo.h"

TERN_BEGIN_DECLS

#define TERN_SIM_FAILS_MAX 64
#define TERN_SIM_JITTER_MAX 100.0
#define TERN_SIM_NAME_BYTES 64
#define TERN_SIM_TRACE_EVENTS (UINT32_C(1) << 18)
#define TERN_SIM_TRACE_MAX (UINT32_C(1) << 26)

typedef struct tern_sim tern_sim;

// What happened, as it is told while a simulation runs. Of an op: when its last flow has ended. Of
// a flow: when it has ended. Posts: when they arrive; waits: when they are over, if the lane had to
// wait.
typedef struct tern_sim_event {
    bool is_flow;           // one of the flows of the op
    tern_plan_op_kind kind; // of the op
    int rank, lane;         // who executes it
    uint64_t index;         // of the op in its lane
    int from, to;           // of a flow (equal: in the rank's own memory) and of a post
    uint32_t signal;        // of a post and of a wait; of the rank `to`
    uint64_t bytes;         // of a flow; of an op: its length
    double begin_us;        // since the beginning of the run
    double active_us;       // of a flow: when the latency was over
    double end_us;
} tern_sim_event;

typedef void tern_sim_see(const tern_sim_event *event, void *arg);

// Zero in all fields is the default. Rates in GB/s: 10^9 bytes per second.
typedef struct tern_sim_options {
    // What all ops of a rank, and of a machine, share for the bytes that they read and write in
    // their rank's own memory; 0: those take no time. A topology without machines is one machine.
    double memory_GBps, machine_memory_GBps;
    // The most of that which one op reaches: a copy; a reduce of elements of 1, 2, 4 and 8 bytes.
    // 0: all.
    double copy_GBps, reduce_GBps[4];
    double op_us; // before each copy and reduce that has bytes to move, beside the latency

    // Ranks of a machine that share memory and processors, as processes of a computer do; 0: not.
    // Then an op is no flow on links of its machine. A processor reads and writes all its bytes, at
    // copy_GBps and reduce_GBps, which must be given, after op_us; an op has one processor at most,
    // and ops of more ranks share them. A post arrives there after post_us. Before the first op of
    // a rank it takes begin_us; if the plan has no slots, meet_us more, since such a run begins
    // with a meeting. Where a machine has more ranks than processors, a rank all of whose lanes
    // wait takes wake_us of a processor until it goes on, and so does each one at that meeting.
    // What an op reads of another rank's `out` or `scratch` was written in this run, so it lies in
    // the cache of another processor: it comes at fresh_GBps at most; 0: as everything.
    // Memories and uses then count a reduce as the bytes that a copy moves in its time.
    int processors;
    double fresh_GBps;
    double begin_us, meet_us, post_us, wake_us;

    // Each flow takes up to 1 + jitter times its latency and its bytes (as if its link were
    // slower), by chance, from 0 to TERN_SIM_JITTER_MAX. The same seed gives the same chance.
    double jitter;
    uint64_t seed;

    // Links that fail: "0-1@100" both directions between ranks 0 and 1, 100 us after the beginning,
    // "0>1@100" that one. What is on the link then, and later, never arrives.
    const char *fails[TERN_SIM_FAILS_MAX];
    int fails_count;

    bool without_path;  // the critical path is not kept: less memory, and less time
    bool without_bound; // the bound, which can take longer than the simulation, is not worked out
    tern_sim_see *see;  // may be NULL; called by the thread that simulates
    void *see_arg;

    // A file for the run as a trace, for Perfetto and for tern.timeline; NULL: none. Ranks are
    // processes and lanes threads; ops, posts and waits are slices, flows pairs that may overlap,
    // and arrows lead from posts to waits; how much of each link and resource is used are counters.
    // It holds the first trace_events events; 0: TERN_SIM_TRACE_EVENTS; up to TERN_SIM_TRACE_MAX,
    // each about 200 bytes of memory.
    const char *trace;
    size_t trace_events;
} tern_sim_options;

// Runs a sealed plan. `options` may be NULL. TERN_OK also when a link has failed and ranks do not
// end because of that (tern_sim_stuck). TERN_ERR_ARG, with a sentence that names rank, lane and op:
// an op or a post needs a link that is not there, a wait waits for posts that never come (with its
// signal); also for a plan that is not sealed, a topology of another number of ranks, and an option
// out of range. TERN_ERR_MEMORY. Any thread; several at a time.
TERN_CALL int tern_sim_run(const tern_plan *plan, const tern_topo *topo,
                           const tern_sim_options *options, tern_sim **sim);

// The same for a program.
TERN_CALL int tern_sim_run_program(const tern_program *program, const tern_topo *topo,
                                   const tern_sim_options *options, tern_sim **sim);

TERN_API int tern_sim_destroy(tern_sim *sim); // NULL is allowed

typedef struct tern_sim_facts {
    double time_us;                // when the last rank ended
    double algbw_GBps, busbw_GBps; // as `tern perf` counts them; 0 for a barrier
    // No plan takes less (tern/summary.h); below 0 when nobody knows: above TERN_PLAN_RANKS_MAX, or
    // when it was not wanted.
    double bound_us;
    char bound_text[160];
    uint64_t ops, flows,
        events;    // executed; events: beginnings and ends of flows, arrivals of posts
    double wall_s; // what the simulation itself took
    // What ended until then is in the trace: infinite when all is, 0 without a trace.
    double traced_us;
    uint64_t traced; // events in it
} tern_sim_facts;

// Valid until the simulation is destroyed; NULL for none.
TERN_API const tern_sim_facts *tern_sim_get_facts(const tern_sim *sim);

// When all lanes of a rank had ended, in us; infinite when they never do, below 0 for no such rank.
TERN_API double tern_sim_rank_us(const tern_sim *sim, int rank);

// Why ranks do not end after a link has failed: a sentence that names rank, lane, op and what it
// waits for. NULL: all end.
TERN_API const char *tern_sim_stuck(const tern_sim *sim);

// What links and resources carried: the one with the largest least_us first.
typedef struct tern_sim_use {
    char name[TERN_SIM_NAME_BYTES]; // "link 0>2", "a.out" (a port), "memory of rank 3"
    int from, to;                   // of a link; -1 of a resource
    double GBps;
    uint64_t bytes;
    double least_us;          // bytes / GBps
    double busy_us;           // how long it had flows
    double first_us, last_us; // from the first one's beginning to the last one's end
} tern_sim_use;

// By index, false behind the last. Links and resources that carried nothing are left out.
TERN_API bool tern_sim_get_use(const tern_sim *sim, size_t index, tern_sim_use *use);

// Where time could have been won, on the way from the bound to the time; the parts and the bound
// sum up to the time. All in us, of the first use above.
typedef struct tern_sim_loss {
    double bound_us;  // 0 when nobody knows
    double load_us;   // it carries more than the bound asks for
    double before_us; // it has nothing to do yet
    double slow_us;   // it has flows, but less than its rate
    double idle_us;   // it has no flows, between two
    double after_us;  // it has nothing to do any more
} tern_sim_loss;

// False when nothing was carried or a rank never ends.
TERN_API bool tern_sim_get_loss(const tern_sim *sim, tern_sim_loss *loss);

// The critical path: what the end waited for, what that waited for, and so on, back to the
// beginning. Its steps have no gaps between them.
typedef struct tern_sim_step {
    tern_plan_op_kind kind; // copy, reduce, or a post that a lane waited for
    int rank, lane;
    uint64_t index;                 // the op
    double begin_us, end_us;        // of the step
    double start_us;                // of these: start-up, the latency of the slowest flow
    char what[TERN_SIM_NAME_BYTES]; // what held back the slowest flow: "link 0>2"
} tern_sim_step;

// By index, first one first; false behind the last, and always when the path was not kept: it was
// not wanted, a rank never ends, or it would have taken more than TERN_SIM_STEPS_MAX steps of all
// lanes.
#define TERN_SIM_STEPS_MAX (UINT32_C(1) << 22)
TERN_API bool tern_sim_get_step(const tern_sim *sim, size_t index, tern_sim_step *step);

// The critical path by what it waited for: "start-up", "link 0>2", …; the largest part first. False
// behind the last.
typedef struct tern_sim_part {
    char what[TERN_SIM_NAME_BYTES];
    double us;
    size_t steps;
} tern_sim_part;
TERN_API bool tern_sim_get_part(const tern_sim *sim, size_t index, tern_sim_part *part);

TERN_END_DECLS

#endif
