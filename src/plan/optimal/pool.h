// SPDX-License-Identifier: Apache-2.0
// The trees that a plan of few rounds is made of: those with a share in the least time, turned so
// that they are as flat as can be, and shallow ones.
#ifndef TERN_OPTIMAL_POOL_H
#define TERN_OPTIMAL_POOL_H

#include "plan/optimal/master.h"

int tern__pool_make(struct tern__arena *arena, const struct tern__aim *aim,
                    const struct tern__master *master, uint64_t seed, struct tern__trees *pool);

// The fewest rounds in which trees of the pool reach all.
int tern__pool_rounds(const struct tern__aim *aim, const struct tern__trees *pool);

#endif
