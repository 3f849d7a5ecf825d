// SPDX-License-Identifier: Apache-2.0
// Amounts for a number of rounds when the trees of the least time without rounds are not the right
// ones: column generation over trees in time (timed.h).
#ifndef TERN_OPTIMAL_GENERATE_H
#define TERN_OPTIMAL_GENERATE_H

#include "plan/optimal/rounds.h"

struct tern__generation {
    int rounds;
    double enough; // a time that need not be improved
    int iterations_max;
    uint64_t seed;
    const struct tern__patience *patience; // NULL: any time
};

// Begins with the trees of a pool. In the amounts each task sends all of its tree's range in one
// round; the trees are a list of their own, in which one may be several times. TERN_ERR_LIMIT when
// all trees of some commodity are too deep.
int tern__rounds_generate(struct tern__arena *arena, const struct tern__aim *aim,
                          const struct tern__trees *pool, const struct tern__generation *how,
                          struct tern__rounds *rounds);

#endif
