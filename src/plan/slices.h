// SPDX-License-Identifier: Apache-2.0
// Where slices begin: contiguous, whole units, the first ones a unit larger where the bytes do not
// divide. Slices of at least 64 cache lines begin at one: two ranks then never store into the same
// line, and no slice gets longer by more than 2 %. Data path: no call, no lock, no log.
#ifndef TERN_PLAN_SLICES_H
#define TERN_PLAN_SLICES_H

#include <stdint.h>

#include "base/order.h"

struct tern__slices {
    uint64_t bytes, count;
    uint64_t grain;  // slices are whole multiples, but for the rest at the end of the last one
    uint64_t grains; // of a slice
    uint64_t larger; // that many, the first ones, have one more
};

static inline struct tern__slices tern__slices_of(uint64_t bytes, uint64_t count, uint64_t unit)
{
    uint64_t grain = bytes / count >= 64 * TERN_CACHE_LINE ? TERN_CACHE_LINE : unit;
    uint64_t grains = bytes / grain;
    return (struct tern__slices){.bytes = bytes,
                                 .count = count,
                                 .grain = grain,
                                 .grains = grains / count,
                                 .larger = grains % count};
}

// Where a slice begins; from `count` on: the end of all.
static inline uint64_t tern__slice_begin(const struct tern__slices *slices, uint64_t index)
{
    uint64_t larger = index < slices->larger ? index : slices->larger;
    return index < slices->count ? slices->grain * (index * slices->grains + larger)
                                 : slices->bytes;
}

// All of them: count + 1 bounds.
static inline void tern__slice_bounds(uint64_t *bounds, uint64_t bytes, uint64_t count,
                                      uint64_t unit)
{
    struct tern__slices slices = tern__slices_of(bytes, count, unit);
    for (uint64_t i = 0; i < count; i++) {
        bounds[i] = tern__slice_begin(&slices, i);
    }
    bounds[count] = bytes;
}

#endif
