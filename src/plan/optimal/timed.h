// SPDX-License-Identifier: Apache-2.0
// Trees in time: each task of a tree has one round. When each link has a price in each round, which
// tree, and which rounds, are the cheapest? For a given tree that is worked out; which tree it is
// is searched for, so it may be missed.
#ifndef TERN_OPTIMAL_TIMED_H
#define TERN_OPTIMAL_TIMED_H

#include "plan/optimal/tree.h"

#define TERN__ROUNDS_MAX 64 // of a form's one phase

// Prices by round, [(round * n + from) * n + to], rounds from 1; below 0: no link.
struct tern__timed_prices {
    int n, rounds;
    const double *there; // outward
    const double *back;  // inward: of the reverse links, the last round first
};

struct tern__timed {
    const struct tern__net_tree *tree;
    int *when;    // by task, its round; 0: no such task
    double price; // of a byte on it
    int number;   // in a list of them
};

// The cheapest rounds for a tree that is not deeper than there are rounds; when[] has room for 2n.
double tern__timed_when(const struct tern__aim *aim, const struct tern__timed_prices *prices,
                        const struct tern__net_tree *tree, int *when);

// Looks for a cheap tree of a commodity from a root; of trees with two parts, the first ends with
// round `middle`.
int tern__timed_find(struct tern__arena *arena, const struct tern__aim *aim,
                     const struct tern__timed_prices *prices, int commodity, int root, int middle,
                     uint64_t *seed, struct tern__timed *found);

#endif
