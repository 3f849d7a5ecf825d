// SPDX-License-Identifier: Apache-2.0
// Algorithms: each is a function that emits a plan for a kind, a topology and a size; none moves a
// byte. The one for a request is selected by the topology's latency and bandwidth, or by name.
#ifndef TERN_ALGO_H
#define TERN_ALGO_H

#include <stdbool.h>

#include "tern/comm.h"
#include "tern/plan.h"
#include "tern/topo.h"

TERN_BEGIN_DECLS

typedef enum tern_order {
    // Sums in rank order 0..n-1: the same bits from every algorithm. Elements of 2 bytes, which
    // may be f16 or bf16, are summed by one reduce of all inputs, and so rounded once. Of others, a
    // rank on the way may pass on the sum of the inputs of ranks 0 to k, in the type itself, and
    // the next ones are added to it. That is what one reduce does, too, so the bits are the same.
    TERN_ORDER_RANK,
    TERN_ORDER_ANY, // the algorithm may take another order (still the same in every run)
} tern_order;

// The algorithm that searches, for any links that connect the ranks: it plans (docs/planner.md),
// simulates each plan and those of all other algorithms that fit, with start-up (tern/sim.h), and
// takes the quickest. For all kinds but barrier, and up to 64 ranks. It needs GLPK. It is none of
// those by index below, since a search takes from milliseconds to minutes.
#define TERN_ALGO_OPTIMAL "optimal"

// How far a search has come.
typedef struct tern_search_news {
    double bound_us; // no plan of the order asked for takes less, start-up left out; 0: unknown yet
    double best_us;  // the best plan so far, start-up included; 0: none yet
    int plans;       // that were timed
    int rounds;      // of the plan that is looked for now
    char best[32];   // the algorithm of the best plan
} tern_search_news;

// How a search goes on. Zero in all fields is the default.
typedef struct tern_search {
    double seconds; // after which the best plan so far is taken; 0: no limit
    uint64_t seed;  // of the planner's choices by chance: the same seed, the same plan, if there is
                    // no limit
    bool (*stop)(void *context); // true: take the best plan so far. May be NULL
    void (*progress)(void *context, const tern_search_news *news); // may be NULL
    void *context;
} tern_search;

// kind, topo, bytes and unit are needed; zero in the other fields means the default.
typedef struct tern_algo_request {
    tern_plan_kind kind;
    const tern_topo *topo; // the plan is for all of its ranks and uses only its links
    uint64_t bytes;        // as in tern_plan_spec
    uint32_t unit;         // bytes of an element
    int root;
    tern_order order;
    const char *algorithm; // NULL: selected by tern
    // Without an algorithm: it may also be found by a search, where the others are more than a
    // tenth off what the links allow and there are at most 16 ranks. NULL: it may not. With
    // TERN_ALGO_OPTIMAL: how it goes on; may be NULL.
    const tern_search *search;
} tern_algo_request;

// Emits a sealed plan. TERN_ERR_ARG says which algorithms there are when the name is unknown, why
// this one cannot do it (links it needs and which are cut, sums in another order than asked for),
// or that none can. Of TERN_ALGO_OPTIMAL also TERN_ERR_STATE without GLPK, TERN_ERR_LIMIT with too
// many ranks, and TERN_ERR_TIMEOUT and TERN_ERR_INTERRUPTED where a search ended without any plan.
TERN_CALL int tern_algo_plan(const tern_algo_request *request, tern_plan **plan);

// The algorithms of a kind by index, NULL after the last; and what one is, in a line.
TERN_API const char *tern_algo_name(tern_plan_kind kind, int index);
TERN_API const char *tern_algo_text(tern_plan_kind kind, int index);

// Whether its plans are right also in place: when `out` of any of the ranks is the memory of `in`,
// as the table in tern/coll.h says for the kind. Calls in place use no other plan on buffers in
// windows. False for an index that does not exist.
TERN_API bool tern_algo_in_place(tern_plan_kind kind, int index);

// Whether it is for topologies in which one pair of ranks has no link; it works on others too, but
// is never the best there.
TERN_API bool tern_algo_around_cut(tern_plan_kind kind, int index);

// Whether it is for topologies with two machines or more, and only for those. Others are right
// there, too, where no rank reads the memory of another machine.
TERN_API bool tern_algo_across_machines(tern_plan_kind kind, int index);

// The ranks of a communicator as a topology, for plans that it can run (tern/exec.h): a mesh with
// the machines that they are on, whose links are all alike, since nobody has measured them.
TERN_CALL int tern_comm_topo(tern_comm *comm, tern_topo **topo);

TERN_END_DECLS

#endif
