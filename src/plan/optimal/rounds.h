// SPDX-License-Identifier: Apache-2.0
// How much of each tree's range is sent by the end of each round, when a round is over before what
// came in it is sent on: a linear program over the amounts. What a task has sent is always the
// first part of its range, so amounts say which bytes.
#ifndef TERN_OPTIMAL_ROUNDS_H
#define TERN_OPTIMAL_ROUNDS_H

#include "plan/optimal/lp.h"
#include "plan/optimal/tree.h"

struct tern__rounds {
    int count;                       // K
    const struct tern__trees *trees; // some of them may have no share
    double *share;                   // of the plan's bytes, of each tree
    double *sent;   // [(tree * 2n + task) * (K + 1) + round]: what is sent by its end
    double time;    // as in plan/optimal/master.h
    int columns;    // of the program
    double scratch; // of the rank that needs the most, in parts of the plan's bytes
};

static inline double *tern__rounds_sent(const struct tern__rounds *rounds, int n, int tree,
                                        int task)
{
    return &rounds
                ->sent[((size_t)tree * 2 * (size_t)n + (size_t)task) * (size_t)(rounds->count + 1)];
}

// Where less scratch can be had for next to no time, it is: down to this.
#define TERN__SCRATCH_ENOUGH 1.0

// What a search for amounts is to heed.
struct tern__rounds_limits {
    int columns_max;                       // of the program
    const struct tern__patience *patience; // NULL: any time
    // Amounts of as many rounds, of which those with less in their trees and parts are to have
    // nothing, where that takes next to no time; NULL: time alone counts.
    const struct tern__rounds *thin;
    double scratch; // of a rank, in parts of the plan's bytes; 0: as much as it takes
};

// The best amounts for `count` rounds over trees that are not deeper. TERN_ERR_LIMIT when all trees
// of some commodity are, or when the program has more than `limits->columns_max` columns.
#define TERN__ROUNDS_COLUMNS_MAX 60000
int tern__rounds_solve(struct tern__arena *arena, const struct tern__aim *aim,
                       const struct tern__trees *trees, int count,
                       const struct tern__rounds_limits *limits, struct tern__rounds *rounds);

#endif
