// SPDX-License-Identifier: Apache-2.0
// The AllReduce by owners, as executors for the chips' library write it: a block of 16 KiB or a
// multiple belongs to each owner, every other rank adds its own block to the owner's scratch by
// atomic reduces, all at the same time, and then everybody copies it from there. Lane 0 is the main
// stream, lane i talks to one peer in each of the two phases. Each use of a notify is a signal.
#ifndef TERN_TEST_OWNERS_H
#define TERN_TEST_OWNERS_H

#include <stdbool.h>

#include "support/by_hand.h"

struct owners {
    tern_plan *plan;
    int n;
    bool cut; // the link between ranks 0 and 1 is missing: these own nothing
    uint64_t bytes, block;
};

static inline bool owners_owns(const struct owners *o, int rank)
{
    return !o->cut || rank > 1;
}

static inline uint64_t owners_offset(const struct owners *o, int rank)
{
    uint64_t offset = (uint64_t)(o->cut ? rank - 2 : rank) * o->block;
    return offset < o->bytes ? offset : o->bytes;
}

static inline uint64_t owners_length(const struct owners *o, int rank)
{
    uint64_t rest = o->bytes - owners_offset(o, rank);
    return rest < o->block ? rest : o->block;
}

enum owners_notify { OWNERS_RELEASE, OWNERS_COLLECT, OWNERS_ACK, OWNERS_DATA, OWNERS_NOTIFIES };

// The signal of a notify in a phase; of lane or peer `from`.
static inline uint32_t owners_signal(const struct owners *o, int phase, enum owners_notify notify,
                                     int from)
{
    return (uint32_t)((phase * OWNERS_NOTIFIES + (int)notify) * o->n + from);
}

static inline void owners_move(const struct owners *o, int phase, int rank, int lane, int peer)
{
    tern_plan_range in = hand_at(rank, TERN_PLAN_IN, owners_offset(o, peer));
    tern_plan_range sum = hand_at(peer, TERN_PLAN_SCRATCH, 0);
    tern_plan_range out = hand_at(rank, TERN_PLAN_OUT, owners_offset(o, peer));
    tern_plan_op op = {.kind = phase == 0 ? TERN_PLAN_REDUCE : TERN_PLAN_COPY,
                       .flags = phase == 0 ? TERN_PLAN_ATOMIC : 0,
                       .length = owners_length(o, peer),
                       .sources = phase == 0 ? &in : &sum,
                       .sources_count = 1,
                       .destinations = phase == 0 ? &sum : &out,
                       .destinations_count = 1};
    hand_must(tern_plan_add(o->plan, rank, lane, &op));
}

// What a lane does in a phase: the rank that owns says when its scratch may be touched.
static inline void owners_lane(const struct owners *o, int phase, int rank, int lane)
{
    int peer = phase == 0 ? (rank + lane) % o->n : (rank - lane + o->n) % o->n;
    hand_wait(o->plan, rank, lane, owners_signal(o, phase, OWNERS_RELEASE, lane), 1);
    if (owners_owns(o, rank)) {
        hand_post(o->plan, rank, lane, peer, owners_signal(o, phase, OWNERS_ACK, rank));
    }
    if (owners_owns(o, peer)) {
        hand_wait(o->plan, rank, lane, owners_signal(o, phase, OWNERS_ACK, peer), 1);
        owners_move(o, phase, rank, lane, peer);
        hand_post(o->plan, rank, lane, peer, owners_signal(o, phase, OWNERS_DATA, rank));
    }
    if (owners_owns(o, rank)) {
        hand_wait(o->plan, rank, lane, owners_signal(o, phase, OWNERS_DATA, peer), 1);
    }
    hand_post(o->plan, rank, lane, rank, owners_signal(o, phase, OWNERS_COLLECT, lane));
}

static inline void owners_rank(const struct owners *o, int rank)
{
    for (int phase = 0; phase < 2; phase++) {
        tern_plan_range in = hand_at(rank, TERN_PLAN_IN, 0);
        tern_plan_range sum = hand_at(rank, TERN_PLAN_SCRATCH, 0);
        tern_plan_range out = hand_at(rank, TERN_PLAN_OUT, 0);
        uint64_t length = 0;
        if (owners_owns(o, rank)) {
            in.offset = out.offset = owners_offset(o, rank);
            length = owners_length(o, rank);
        }
        if (phase == 0) {
            hand_copy(o->plan, rank, 0, in, sum, length);
        }
        for (int lane = 1; lane < o->n; lane++) {
            hand_post(o->plan, rank, 0, rank, owners_signal(o, phase, OWNERS_RELEASE, lane));
            owners_lane(o, phase, rank, lane);
        }
        if (phase == 1) {
            hand_copy(o->plan, rank, 0, sum, out, length);
        }
        for (int lane = 1; lane < o->n; lane++) {
            hand_wait(o->plan, rank, 0, owners_signal(o, phase, OWNERS_COLLECT, lane), 1);
        }
    }
}

// n >= 1; with the cut n >= 3.
static inline tern_plan *owners_plan(int n, bool cut, uint64_t bytes, uint32_t unit)
{
    struct owners o = {.n = n, .cut = cut, .bytes = bytes};
    uint64_t count = (uint64_t)(cut ? n - 2 : n);
    uint64_t least = (bytes + count - 1) / count;
    o.block = (least + 16383) / 16384 * 16384;
    o.plan = hand_plan(TERN_PLAN_ALL_REDUCE, n, bytes, unit);
    hand_must(tern_plan_need_scratch(o.plan, o.block));
    for (int rank = 0; rank < n; rank++) {
        owners_rank(&o, rank);
    }
    hand_must(tern_plan_seal(o.plan));
    return o.plan;
}

#endif
