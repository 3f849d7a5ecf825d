// SPDX-License-Identifier: Apache-2.0
// For tests: which way long work goes, as if all had been tried and this one were by far the
// quickest.
#ifndef TERN_TEST_QUICKEST_H
#define TERN_TEST_QUICKEST_H

#include "base/order.h"
#include "xport/quickest.h"

static inline void prefer_way(struct tern__quickest known[TERN__QUICKEST_CLASSES], int preferred)
{
    for (int class = 0; class < TERN__QUICKEST_CLASSES; class ++) {
        struct tern__quickest *quickest = &known[class];
        for (int way = 0; way < TERN__WAYS_MAX; way++) {
            tern__poke(&quickest->ns[way], way == preferred ? 1000 : 1000000000);
            tern__poke(&quickest->tried[way], TERN__QUICKEST_TRIALS);
        }
        tern__poke(&quickest->last, 0);
        tern__poke(&quickest->works, 0);
    }
}

// Whether work of any length has gone that way since then, the last time.
static inline bool went_way(const struct tern__quickest known[TERN__QUICKEST_CLASSES], int way)
{
    bool went = false;
    for (int class = 0; class < TERN__QUICKEST_CLASSES; class ++) {
        went = went || tern__peek(&known[class].last) == (uint32_t)way + 1;
    }
    return went;
}

#endif
