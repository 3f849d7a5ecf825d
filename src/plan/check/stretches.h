// SPDX-License-Identifier: Apache-2.0
// A buffer as stretches: each knows what its bytes hold and who touched them since they were last
// written. Sorted by position, in blocks, so that one can be split without moving all behind it.
#ifndef TERN_PLAN_CHECK_STRETCHES_H
#define TERN_PLAN_CHECK_STRETCHES_H

#include "plan/check/check.h"

struct stretch {
    uint64_t begin; // its end is the next one's begin
    struct content content;
    struct place write;    // the last one; lane UINT32_MAX: none
    struct clock *reads;   // since then: per lane, one more than the index of the last
    struct clock *atomics; // since then, alike
};

#define TERN__BLOCK_STRETCHES 64

struct stretch_block {
    uint32_t count; // 1 or more
    struct stretch items[TERN__BLOCK_STRETCHES];
};

struct stretches {
    uint64_t size; // of the buffer; with 0 there is one stretch, of no bytes
    struct stretch_block **blocks;
    size_t count, room;
};

// A stretch by where it is kept; valid until the next change of this buffer.
struct cursor {
    size_t block;
    uint32_t item;
};

// All of the buffer holds `content`; nobody has touched it. False when memory or the budget runs
// out.
bool tern__stretches_create(struct stretches *stretches, struct budget *budget, uint64_t size,
                            struct content content);
// Leaves the clocks to their pool.
void tern__stretches_destroy(struct stretches *stretches);

// The stretch that holds a position below `size`, or the last.
struct cursor tern__stretches_find(const struct stretches *stretches, uint64_t position);

static inline struct stretch *tern__stretch_at(const struct stretches *stretches,
                                               struct cursor cursor)
{
    return &stretches->blocks[cursor.block]->items[cursor.item];
}

// Goes on to the next; false behind the last.
bool tern__stretches_next(const struct stretches *stretches, struct cursor *cursor);
uint64_t tern__stretch_end(const struct stretches *stretches, struct cursor cursor);

// Makes a stretch begin at a position; at `size` and beyond there is nothing to do.
bool tern__stretches_split(struct stretches *stretches, struct budget *budget, uint64_t position);

// Makes one of the stretches from `begin`, where one begins, to `end`, where one ends: the first.
void tern__stretches_merge(struct stretches *stretches, struct clock_pool *pool, uint64_t begin,
                           uint64_t end);

#endif
