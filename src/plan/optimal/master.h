// SPDX-License-Identifier: Apache-2.0
// The trees that together take the least time, when everything flows at once, and the bound that
// proves it: column generation over a linear program with a row for each resource and each
// commodity. Times are in bytes of the plan over the fastest link's bandwidth.
#ifndef TERN_OPTIMAL_MASTER_H
#define TERN_OPTIMAL_MASTER_H

#include "plan/optimal/lp.h"
#include "plan/optimal/tree.h"

struct tern__master {
    struct tern__trees trees; // all that were tried
    double *share;            // of the plan's bytes that each carries
    double time;              // that they take
    double bound;             // no trees of this sort take less
    int64_t *prices;          // of the resources, that prove the bound
    int iterations;
};

// Solves until time and bound meet, or until the deadline (base/clock.h), with what there is then.
int tern__master_solve(struct tern__arena *arena, const struct tern__aim *aim, uint64_t seed,
                       const struct tern__patience *patience, struct tern__master *master);

#endif
