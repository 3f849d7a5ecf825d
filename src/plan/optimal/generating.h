// SPDX-License-Identifier: Apache-2.0
// Inside of a generation of trees in time (generate.c): the program (generating.c), and, when its
// time is found, how it spares scratch (spare.c).
#ifndef TERN_OPTIMAL_GENERATING_H
#define TERN_OPTIMAL_GENERATING_H

#include "plan/optimal/generate.h"
#include "plan/optimal/lp.h"
#include "plan/optimal/timed.h"

struct tern__timed_list {
    struct tern__timed *at;
    int count, room;
};

struct tern__generating {
    struct tern__arena *arena;
    const struct tern__aim *aim;
    const struct tern__generation *how;
    struct tern__trees known; // the pool, and what was found
    struct tern__lp *lp;
    int n, k, resources;
    bool sparing;  // of scratch: the program has a row for each rank, behind all others
    double *rents; // then, by rank: what a byte in its scratch costs
    uint64_t seed;
    struct tern__timed_list columns; // behind the rounds' times
    struct tern__timed_list candidates;
    double *dual, *best, *halfway; // [round * resources + resource], from round 1
    double *there, *back;
    double *paid;     // for a byte of each commodity
    double *cheapest; // by commodity, at the prices that are looked at
    double *use;      // by row
    int *touched;
    struct tern__lp_entry *entries;
    double time, bound;
};

// The columns are the rounds' times, the scratch beyond enough, then trees.
static inline int tern__generating_column(const struct tern__generating *g, int tree)
{
    return g->k + 1 + tree;
}

// Behind resources, commodities and the row of the whole time.
static inline int tern__generating_rent(const struct tern__generating *g, int rank)
{
    return g->k * g->resources + g->aim->count + 1 + rank;
}

// Makes the program, without trees; adds one.
int tern__generating_make(struct tern__generating *g);
int tern__generating_add(struct tern__generating *g, const struct tern__timed *timed);

// Solves the program with the columns that it has; takes the prices that come of it; and looks for
// trees at some prices, which returns how many it added.
int tern__generating_solve(struct tern__generating *g);
void tern__generating_duals(struct tern__generating *g);
int tern__generating_look(struct tern__generating *g, const double *dual);

// spare.c: the scratch of the rank that needs the most, in parts of the plan's bytes; and of all
// amounts of the time that was found, those that need little.
double tern__generating_scratch(const struct tern__generating *g);
int tern__generating_spare(struct tern__generating *g);

#endif
