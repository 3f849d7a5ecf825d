// SPDX-License-Identifier: Apache-2.0
// The buffers of all ranks, as stretches (memory.c says what they hold).
#ifndef TERN_PLAN_CHECK_MEMORY_H
#define TERN_PLAN_CHECK_MEMORY_H

#include "plan/check/check.h"
#include "plan/check/stretches.h"

// Beside the buffers of the plan: what is in both `in` and `out`, in place.
enum { SHARED = TERN_PLAN_SCRATCH + 1, BUFFERS };

struct memory {
    struct stretches *buffers; // BUFFERS per rank
    struct content *terms;     // of an op
    uint64_t *ends;            // of the stretches that the terms come from, from the op's begin
    struct place reported[2];  // the last race, so that it is not said once per stretch
};

static inline struct stretches *tern__memory_buffer(const struct checking *checking, int rank,
                                                    int buffer)
{
    return &checking->memory->buffers[rank * BUFFERS + buffer];
}

// Makes stretches begin and end at the ends of a range.
bool tern__memory_isolate(struct checking *checking, struct stretches *buffer, uint64_t begin,
                          uint64_t end);

#endif
