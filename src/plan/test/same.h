// SPDX-License-Identifier: Apache-2.0
// Whether two sealed plans are the same, by all that can be read of them: for tests and fuzz
// targets.
#ifndef TERN_PLAN_TEST_SAME_H
#define TERN_PLAN_TEST_SAME_H

#include <stdbool.h>
#include <string.h>

#include "tern/plan.h"

static inline bool same_ranges(const tern_plan_range *a, const tern_plan_range *b, int count)
{
    for (int i = 0; i < count; i++) {
        if (a[i].rank != b[i].rank || a[i].buffer != b[i].buffer || a[i].offset != b[i].offset) {
            return false;
        }
    }
    return true;
}

static inline bool same_ops(const tern_plan_op *a, const tern_plan_op *b)
{
    return a->kind == b->kind && a->flags == b->flags && a->round == b->round &&
           a->length == b->length && a->peer == b->peer && a->signal == b->signal &&
           a->count == b->count && a->sources_count == b->sources_count &&
           a->destinations_count == b->destinations_count &&
           same_ranges(a->sources, b->sources, a->sources_count) &&
           same_ranges(a->destinations, b->destinations, a->destinations_count);
}

static inline bool same_lanes(const tern_plan *a, const tern_plan *b, int rank, int lane)
{
    size_t count = tern_plan_op_count(a, rank, lane);
    if (count != tern_plan_op_count(b, rank, lane)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        tern_plan_op op_a;
        tern_plan_op op_b;
        if (tern_plan_get_op(a, rank, lane, i, &op_a) < 0 ||
            tern_plan_get_op(b, rank, lane, i, &op_b) < 0 || !same_ops(&op_a, &op_b)) {
            return false;
        }
    }
    return true;
}

static inline bool same_plans(const tern_plan *a, const tern_plan *b)
{
    const tern_plan_spec *spec_a = tern_plan_get_spec(a);
    const tern_plan_spec *spec_b = tern_plan_get_spec(b);
    if (spec_a->kind != spec_b->kind || spec_a->nranks != spec_b->nranks ||
        spec_a->bytes != spec_b->bytes || spec_a->unit != spec_b->unit ||
        spec_a->root != spec_b->root || spec_a->slots != spec_b->slots ||
        strcmp(spec_a->algorithm, spec_b->algorithm) != 0 ||
        tern_plan_buffer_bytes(a, TERN_PLAN_SCRATCH) !=
            tern_plan_buffer_bytes(b, TERN_PLAN_SCRATCH) ||
        tern_plan_round_count(a) != tern_plan_round_count(b) ||
        tern_plan_total_ops(a) != tern_plan_total_ops(b)) {
        return false;
    }
    for (int rank = 0; rank < spec_a->nranks; rank++) {
        int lanes = tern_plan_lane_count(a, rank);
        if (lanes != tern_plan_lane_count(b, rank) ||
            tern_plan_signal_count(a, rank) != tern_plan_signal_count(b, rank)) {
            return false;
        }
        for (int lane = 0; lane < lanes; lane++) {
            if (!same_lanes(a, b, rank, lane)) {
                return false;
            }
        }
    }
    return true;
}

#endif
