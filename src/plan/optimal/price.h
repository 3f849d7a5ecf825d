// SPDX-License-Identifier: Apache-2.0
// The shortest trees of an aim, and first trees to begin with.
#ifndef TERN_OPTIMAL_PRICE_H
#define TERN_OPTIMAL_PRICE_H

#include "plan/optimal/tree.h"

// The shortest trees of each commodity at these prices of the resources, several of one length
// where any root will do; cost[commodity] is the length of the shortest.
int tern__price(struct tern__arena *arena, const struct tern__aim *aim, const int64_t *prices,
                struct tern__trees *trees, int64_t *cost);

// Trees to begin with: of shortest paths, when lengths vary by some percent, and through each
// neighbour of a root.
int tern__price_seeds(struct tern__arena *arena, const struct tern__aim *aim, uint64_t seed,
                      struct tern__trees *trees);

// Adds shallow trees that are short at these prices.
int tern__price_shallow(struct tern__arena *arena, const struct tern__aim *aim,
                        const int64_t *prices, uint64_t seed, struct tern__trees *trees);

#endif
