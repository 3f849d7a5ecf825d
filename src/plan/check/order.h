// SPDX-License-Identifier: Apache-2.0
// The one execution from inside: the signals, who posts them, and who waits.
#ifndef TERN_PLAN_CHECK_ORDER_H
#define TERN_PLAN_CHECK_ORDER_H

#include "plan/check/check.h"

// A lane's posts to one signal.
struct poster {
    uint32_t lane;
    uint32_t total;
    uint32_t done;
    struct clock *known; // before its last post; only where begun ranks are counted
};

// A count of posts that some lanes wait for.
struct awaited {
    uint32_t count;
    uint32_t waits;        // for it that are not executed yet
    uint32_t first_waiter; // lane + 1, or 0
    struct clock *clock;   // what must have happened once it is reached, as far as it has
    struct clock *from;    // the last that was joined with it, and what came of it: the lanes of a
    struct clock *to;      // rank often know the same
};

struct signal {
    uint64_t key; // of rank and number
    uint64_t total;
    uint64_t done;
    struct poster *posters;  // by lane
    struct awaited *awaited; // by count
    uint32_t posters_count;
    uint32_t awaited_count;
    uint32_t reached;   // of the awaited counts
    uint64_t *unproved; // check/begun.c; per rank: posts that do not prove that it has begun
};

struct order {
    struct checking *checking;
    size_t ops;             // posts and waits
    struct signal *signals; // those that are posted or waited for
    uint32_t signals_count, signals_room;
    uint32_t *table; // finds them by key: signal + 1, or 0
    uint32_t table_bits;
    struct poster *posters; // of all signals
    struct awaited *awaited;
    uint32_t *next_waiter; // per lane: lane + 1 of the next that waits for the same
    uint32_t *ready;       // lanes that may go on
    uint32_t ready_count;
};

// The tables, from the plan (check/signals.c).
bool tern__signals_create(struct order *order);
void tern__signals_destroy(struct order *order);
// The signal that a post or a wait of a lane is about.
struct signal *tern__signal_of(const struct order *order, uint32_t lane, const struct tern__op *op);
struct poster *tern__signal_poster(const struct signal *signal, uint32_t lane);
// NULL when nobody waits for that count.
struct awaited *tern__signal_awaited(const struct signal *signal, uint64_t count);

// Barriers: which ranks have begun (check/begun.c). A clock tells that of a rank as one op of a
// lane behind all lanes.
static inline uint32_t tern__begun_lane(const struct checking *checking, int rank)
{
    return checking->lanes.count + (uint32_t)rank;
}
bool tern__begun_prepare(struct order *order);
// A post is executed, not yet counted.
void tern__begun_post(struct order *order, struct signal *signal, struct poster *poster);
// The first wait for a count is executed.
bool tern__begun_wait(struct order *order, const struct signal *signal, struct awaited *awaited);
void tern__begun_destroy(struct order *order);

// Whether a lane cannot go on, at the end of the execution.
static inline bool tern__lane_stuck(const struct checking *checking, uint32_t lane)
{
    return checking->position[lane] < tern__lane_of(checking, lane)->count;
}
// Adds the findings of deadlock (check/deadlock.c).
bool tern__check_stuck(const struct order *order);

#endif
