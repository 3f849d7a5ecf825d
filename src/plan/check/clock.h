// SPDX-License-Identifier: Apache-2.0
// Vector clocks that cost what they know: for each lane, how many of its ops must have happened; of
// most lanes nothing. A clock never changes once it is made, so clocks share their parts: most of
// what a lane knows it knows from somebody. NULL is the clock that knows nothing.
//
// A tree over the lane numbers. A leaf has the counts of 32 lanes, an inner node 16 parts, of which
// at least two know something; levels between that would have one part are left out (as in a
// PATRICIA tree, Morrison 1968). Joining and comparing stop where both sides have the same node.
// Not for threads: a join makes one of parts that are equal.
#ifndef TERN_PLAN_CHECK_CLOCK_H
#define TERN_PLAN_CHECK_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Memory that the check may still take.
struct budget {
    uint64_t left_bytes;
    bool exceeded;
};

// Takes from the budget; false, and exceeded, when there is not enough.
static inline bool tern__budget_take(struct budget *budget, uint64_t bytes)
{
    if (bytes > budget->left_bytes) {
        budget->exceeded = true;
        return false;
    }
    budget->left_bytes -= bytes;
    return true;
}

#define TERN__CLOCK_LANES 32 // of a leaf
#define TERN__CLOCK_PARTS 16 // of an inner node

struct clock {
    uint32_t references;
    uint32_t base;  // the first lane it may know of
    uint32_t level; // 0: a leaf
    union {
        int32_t
            done[TERN__CLOCK_LANES]; // signed: what vector units compare; ops are fewer than 2^28
        struct clock *parts[TERN__CLOCK_PARTS];
    };
};

struct clock_slab;

struct clock_pool {
    struct budget *budget;
    struct clock_slab *slabs;
    struct clock *free; // chained through parts[0]
};

void tern__clock_pool_destroy(struct clock_pool *pool);

// A reference more, or less.
static inline struct clock *tern__clock_hold(struct clock *clock)
{
    if (clock != NULL) {
        clock->references++;
    }
    return clock;
}
void tern__clock_drop(struct clock_pool *pool, struct clock *clock);

// *clock becomes the larger of both, lane by lane. False when memory or the budget runs out; then
// *clock is as before.
bool tern__clock_join(struct clock_pool *pool, struct clock **clock, struct clock *other);
// The same with a clock that knows of `done` ops of one lane.
bool tern__clock_raise(struct clock_pool *pool, struct clock **clock, uint32_t lane, uint32_t done);

uint32_t tern__clock_done(const struct clock *clock, uint32_t lane);

// Visits the lanes of which `clock` knows more ops than `other`, in order.
typedef void (*tern__clock_visitor)(void *arg, uint32_t lane, uint32_t done);
void tern__clock_beyond(const struct clock *clock, const struct clock *other,
                        tern__clock_visitor visit, void *arg);

#endif
