// SPDX-License-Identifier: Apache-2.0
// What tests ask of the kinds of plans. Written down here once more, not taken from the library, so
// that the two can disagree.
#ifndef TERN_TEST_KINDS_H
#define TERN_TEST_KINDS_H

#include <stdbool.h>

#include "tern/plan.h"

enum { KINDS_COUNT = TERN_PLAN_SCATTER + 1 };

// The bytes are a multiple of the ranks.
static inline bool kind_has_shares(tern_plan_kind kind)
{
    return kind == TERN_PLAN_REDUCE_SCATTER || kind == TERN_PLAN_ALL_GATHER ||
           kind == TERN_PLAN_ALL_TO_ALL || kind == TERN_PLAN_GATHER || kind == TERN_PLAN_SCATTER;
}

static inline bool kind_has_root(tern_plan_kind kind)
{
    return kind == TERN_PLAN_BROADCAST || kind == TERN_PLAN_REDUCE_TO_ROOT ||
           kind == TERN_PLAN_GATHER || kind == TERN_PLAN_SCATTER;
}

static inline bool kind_sums(tern_plan_kind kind)
{
    return kind == TERN_PLAN_ALL_REDUCE || kind == TERN_PLAN_REDUCE_SCATTER ||
           kind == TERN_PLAN_REDUCE_TO_ROOT;
}

// Only the root has an output.
static inline bool kind_ends_at_root(tern_plan_kind kind)
{
    return kind == TERN_PLAN_REDUCE_TO_ROOT || kind == TERN_PLAN_GATHER;
}

#endif
