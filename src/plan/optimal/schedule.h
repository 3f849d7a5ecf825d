// SPDX-License-Identifier: Apache-2.0
// What each tree carries in whole elements: where its range begins, and how much of it each task
// has sent by the end of each round.
#ifndef TERN_OPTIMAL_SCHEDULE_H
#define TERN_OPTIMAL_SCHEDULE_H

#include "plan/optimal/rounds.h"

struct tern__range {
    const struct tern__net_tree *tree;
    int index;              // of the tree, in the amounts
    uint64_t begin, length; // elements of its commodity
};

struct tern__schedule {
    struct tern__aim aim; // of its trees: both parts, also where the amounts were of one
    bool twice;           // the amounts are of one phase of two
    uint64_t elements;    // of the plan
    int rounds;
    int count;
    struct tern__range *ranges;
    uint64_t *sent; // [(range * 2n + task) * (rounds + 1) + round]
};

static inline uint64_t *tern__schedule_sent(const struct tern__schedule *schedule, int range,
                                            int task)
{
    size_t at = (size_t)range * 2 * (size_t)schedule->aim.graph->n + (size_t)task;
    return &schedule->sent[at * (size_t)(schedule->rounds + 1)];
}

// Rounds amounts to elements. A task sends nothing before it came, whatever the rounding. Ranges
// lie in an order in which copies of neighbours join (order.h).
int tern__schedule_make(struct tern__arena *arena, const struct tern__aim *aim,
                        const struct tern__rounds *rounds, uint64_t elements,
                        struct tern__schedule *schedule);

// The time of a schedule, in elements over the fastest link's bandwidth: each round takes as long
// as its busiest resource.
double tern__schedule_time(const struct tern__schedule *schedule);

#endif
