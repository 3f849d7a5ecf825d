// SPDX-License-Identifier: Apache-2.0
// The planner: for any topology and kind, plans that come close to the least time that there can
// be, and prices that prove how close. Nothing depends on the time that it takes unless a deadline
// is met: the same goal gives the same plans.
#ifndef TERN_OPTIMAL_OPTIMAL_H
#define TERN_OPTIMAL_OPTIMAL_H

#include <stdbool.h>
#include <stdint.h>

#include "tern/algo.h"

struct tern__optimal;

struct tern__optimal_goal {
    const tern_topo *topo; // must outlive the planner
    tern_plan_kind kind;
    int root;
    tern_order order;
    uint64_t bytes; // as in tern_plan_spec
    uint32_t unit;
    uint64_t seed;
};

static inline struct tern__optimal_goal tern__optimal_goal_of(const tern_algo_request *request,
                                                              uint64_t seed)
{
    return (struct tern__optimal_goal){.topo = request->topo,
                                       .kind = request->kind,
                                       .root = request->root,
                                       .order = request->order,
                                       .bytes = request->bytes,
                                       .unit = request->unit,
                                       .seed = seed};
}

// How far a search has come, in microseconds without start-up.
struct tern__optimal_news {
    double bound_us; // no plan takes less
    double best_us;  // the best plan so far; 0: none yet
    int rounds;      // of the plan that is looked for now
};

// How a long search is watched and ended. All may be 0.
struct tern__optimal_watch {
    int64_t deadline_ns;         // base/clock.h; 0: none
    bool (*stop)(void *context); // asked between linear programs
    // Whether plans of so many rounds, or more, are worth being made.
    bool (*worth)(void *context, int rounds);
    void (*progress)(void *context, const struct tern__optimal_news *news);
    void *context;
};

// Finds the least time and its trees. TERN_ERR_STATE where there is no GLPK; TERN_ERR_LIMIT for
// more ranks than the planner is for; TERN_ERR_ARG where links do not connect the ranks;
// TERN_ERR_TIMEOUT.
int tern__optimal_create(const struct tern__optimal_goal *goal,
                         const struct tern__optimal_watch *watch, struct tern__optimal **optimal);

// Likewise, of what proves the bound alone; no plans can be searched for. At the deadline the bound
// is what was proved until then.
int tern__optimal_prove(const struct tern__optimal_goal *goal,
                        const struct tern__optimal_watch *watch, struct tern__optimal **optimal);
void tern__optimal_destroy(struct tern__optimal *optimal); // NULL is allowed

double tern__optimal_bound_us(const struct tern__optimal *optimal);

// The prices that prove the bound: of each link, in ascending order of from and to, then of each
// resource of the topology.
const int64_t *tern__optimal_prices(const struct tern__optimal *optimal, int *count);

// Makes plans of more and more rounds, and shows each to `visit`, with its time without start-up.
// What visit returns below 0 ends the search; above 0 says that the plan is no better than others,
// and after three such in a row no more rounds are tried in that form. The plan is destroyed
// afterwards, unless visit sets it to NULL. At the deadline, or when the watch says stop, the
// search ends with TERN_OK if there was a plan; else TERN_ERR_TIMEOUT or TERN_ERR_INTERRUPTED.
int tern__optimal_search(struct tern__optimal *optimal, const struct tern__optimal_watch *watch,
                         int (*visit)(void *context, tern_plan **plan, double us), void *context);

// The plan with the least time without start-up.
int tern__optimal_best(struct tern__optimal *optimal, const struct tern__optimal_watch *watch,
                       tern_plan **plan, double *us);

#endif
