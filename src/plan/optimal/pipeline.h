// SPDX-License-Identifier: Apache-2.0
// Amounts for many rounds without a program: the trees of the least time, each of which sends its
// range in equal parts, one after the other. All rounds but the first and the last few are alike,
// so the more rounds there are, the closer the time is to the least.
#ifndef TERN_OPTIMAL_PIPELINE_H
#define TERN_OPTIMAL_PIPELINE_H

#include "plan/optimal/master.h"
#include "plan/optimal/rounds.h"

// TERN_ERR_LIMIT when a tree is deeper than `count` rounds, or the plan would have too many ops.
// The amounts point into the master's; their time is one that they do not exceed.
int tern__pipeline_make(struct tern__arena *arena, const struct tern__aim *aim,
                        const struct tern__master *master, int count, struct tern__rounds *rounds);

#endif
