// SPDX-License-Identifier: Apache-2.0
// A lane under way: the moves of its round, joined where they can be, and the waits before them.
#ifndef TERN_OPTIMAL_LANE_H
#define TERN_OPTIMAL_LANE_H

#include "plan/optimal/writer.h"

// A copy or a sum, and what must have come before it.
struct tern__net_move {
    uint64_t length; // bytes
    int sources_count, needs_count;
    tern_plan_range to, from[TERN__NET_RANKS_MAX];
    struct tern__net_need needs[TERN__NET_RANKS_MAX];
};

// What lane 0 had seen when it told the others of its rank.
struct tern__net_word {
    int round;
    int seen[TERN__NET_RANKS_MAX];
};

struct tern__net_lane {
    struct tern__writer *w;
    tern_plan *plan; // NULL: ops are only counted
    int rank, lane, round;
    int ops;
    struct tern__net_move *moves; // of the round; at `count` there is room for one more
    int count;
    int seen[TERN__NET_RANKS_MAX]; // posts of each signal
    struct tern__net_word *words;
    int words_count;
};

// A post to a rank; to the other lanes of its own, from lane 0.
int tern__lane_post(struct tern__net_lane *lane, int peer);
int tern__lane_tell(struct tern__net_lane *lane);

// A wait, unless the lane has seen as much.
int tern__lane_wait(struct tern__net_lane *lane, struct tern__net_need need);

// A copy, or a sum of several sources.
int tern__lane_copy(struct tern__net_lane *lane, const struct tern__net_move *move, int sources,
                    const tern_plan_range *to);

// Takes the move at moves[count].
void tern__lane_take(struct tern__net_lane *lane);

// Ends a round: its moves, those first that wait for the least.
int tern__lane_flush(struct tern__net_lane *lane);

#endif
