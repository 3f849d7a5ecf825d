// SPDX-License-Identifier: Apache-2.0
// Which bytes are both in `in` and in `out`.

#include "plan/shared.h"

// Where the shared bytes of a rank begin in a buffer: the smaller of `in` and `out` is the rank's
// own share of the larger.
uint64_t tern__shared_begin(const tern_plan *plan, int rank, tern_plan_buffer buffer)
{
    tern_plan_buffer other = buffer == TERN_PLAN_IN ? TERN_PLAN_OUT : TERN_PLAN_IN;
    return tern_plan_buffer_bytes(plan, buffer) > tern_plan_buffer_bytes(plan, other)
               ? (uint64_t)rank * tern__plan_share(plan)
               : 0;
}

uint64_t tern__shared_bytes(const tern_plan *plan, int rank)
{
    uint64_t in = tern_plan_buffer_bytes(plan, TERN_PLAN_IN);
    uint64_t out = tern_plan_buffer_bytes(plan, TERN_PLAN_OUT);
    return tern__plan_in_slots(plan, TERN_PLAN_IN) || // a copy is never in place
                   !tern__plan_has_buffer(plan, rank, TERN_PLAN_IN) ||
                   !tern__plan_has_buffer(plan, rank, TERN_PLAN_OUT)
               ? 0
           : in < out ? in
                      : out;
}

struct tern__shared tern__shared_part(const tern_plan *plan, const tern_plan_range *range,
                                      uint64_t length)
{
    struct tern__shared part = {0};
    if (range->buffer == TERN_PLAN_SCRATCH) {
        return part;
    }
    uint64_t bytes = tern__shared_bytes(plan, range->rank);
    uint64_t first = tern__shared_begin(plan, range->rank, (tern_plan_buffer)range->buffer);
    uint64_t begin = range->offset > first ? range->offset - first : 0;
    uint64_t end = range->offset + length > first ? range->offset + length - first : 0;
    part.begin = begin < bytes ? begin : bytes;
    part.end = end < bytes ? end : bytes;
    part.whole = (int64_t)range->offset - (int64_t)first;
    return part;
}

bool tern__copies_onto_itself(const tern_plan *plan, const struct tern__op *op,
                              const tern_plan_range *source, const tern_plan_range *destination)
{
    struct tern__shared from = tern__shared_part(plan, source, op->length);
    struct tern__shared to = tern__shared_part(plan, destination, op->length);
    return op->kind == TERN_PLAN_COPY && source->buffer == TERN_PLAN_IN &&
           destination->buffer == TERN_PLAN_OUT && source->rank == destination->rank &&
           from.end > from.begin && from.whole == to.whole;
}
