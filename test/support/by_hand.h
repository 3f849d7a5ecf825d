// SPDX-License-Identifier: Apache-2.0
// Plans made by hand, op by op. What cannot be added is a mistake of the test and ends it.
#ifndef TERN_TEST_BY_HAND_H
#define TERN_TEST_BY_HAND_H

#include <stdio.h>
#include <stdlib.h>

#include "tern/plan.h"
#include "tern/status.h"

static inline void hand_must(int status)
{
    if (status != TERN_OK) {
        fprintf(stderr, "building a plan: %s\n", tern_last_error());
        abort();
    }
}

static inline tern_plan *hand_plan(tern_plan_kind kind, int nranks, uint64_t bytes, uint32_t unit)
{
    tern_plan *plan;
    tern_plan_spec spec = {.kind = kind, .nranks = nranks, .bytes = bytes, .unit = unit};
    hand_must(tern_plan_create(&spec, &plan));
    return plan;
}

static inline tern_plan_range hand_at(int rank, tern_plan_buffer buffer, uint64_t offset)
{
    return (tern_plan_range){.offset = offset, .rank = (uint16_t)rank, .buffer = (uint16_t)buffer};
}

static inline void hand_copy(tern_plan *plan, int rank, int lane, tern_plan_range from,
                             tern_plan_range to, uint64_t length)
{
    tern_plan_op op = {.kind = TERN_PLAN_COPY,
                       .length = length,
                       .sources = &from,
                       .sources_count = 1,
                       .destinations = &to,
                       .destinations_count = 1};
    hand_must(tern_plan_add(plan, rank, lane, &op));
}

static inline void hand_post(tern_plan *plan, int rank, int lane, int peer, uint32_t signal)
{
    tern_plan_op op = {.kind = TERN_PLAN_POST, .peer = peer, .signal = signal};
    hand_must(tern_plan_add(plan, rank, lane, &op));
}

static inline void hand_wait(tern_plan *plan, int rank, int lane, uint32_t signal, uint32_t count)
{
    tern_plan_op op = {.kind = TERN_PLAN_WAIT, .signal = signal, .count = count};
    hand_must(tern_plan_add(plan, rank, lane, &op));
}

#endif
