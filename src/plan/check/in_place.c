// SPDX-License-Identifier: Apache-2.0
// In place: on some ranks, nobody knows which, `out` is the memory of `in`, as tern/coll.h says for
// the kind. A byte that is in both is called *shared* here. The rule:
//
//     Every access to a shared byte as `in` happens before every write to it as `out`.
//
// A copy of shared bytes onto themselves is no write: executors leave it out. Why the rule is
// enough for a plan that is right with `in` and `out` apart, whichever ranks are in place: a read
// as `in` finds no write as `out` before it, so it gives what it gives when they are apart. A read
// as `out` follows the same last write as when they are apart, because what was done as `in`
// happened before that write; or there was no write before it, then it is undefined when they are
// apart, and, as the plan is right, no output depends on it. So all ops compute the same, and all
// outputs are the same. It would not do to check the plan with all ranks in place: one rank's error
// could make up for another's.
//
// Shared bytes of a rank are counted from the first one; memory.c keeps who touched them.

#include <stdio.h>

#include "plan/check/check.h"

// Where the shared bytes of a rank begin in a buffer: the smaller of `in` and `out` is the rank's
// own share of the larger.
static uint64_t shared_begin(const tern_plan *plan, int rank, tern_plan_buffer buffer)
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

// The shared bytes of an operand; begin == end: none. `whole` is where the operand itself begins,
// also when that is before the first shared byte.
struct part {
    uint64_t begin, end;
    int64_t whole;
};

static struct part part_of(const tern_plan *plan, const tern_plan_range *range, uint64_t length)
{
    struct part part = {0};
    if (range->buffer == TERN_PLAN_SCRATCH) {
        return part;
    }
    uint64_t bytes = tern__shared_bytes(plan, range->rank);
    uint64_t first = shared_begin(plan, range->rank, (tern_plan_buffer)range->buffer);
    uint64_t begin = range->offset > first ? range->offset - first : 0;
    uint64_t end = range->offset + length > first ? range->offset + length - first : 0;
    part.begin = begin < bytes ? begin : bytes;
    part.end = end < bytes ? end : bytes;
    part.whole = (int64_t)range->offset - (int64_t)first;
    return part;
}

static bool is_copy_onto_itself(const tern_plan *plan, const struct tern__op *op,
                                const tern_plan_range *source, const tern_plan_range *destination)
{
    struct part from = part_of(plan, source, op->length);
    struct part to = part_of(plan, destination, op->length);
    return op->kind == TERN_PLAN_COPY && source->buffer == TERN_PLAN_IN &&
           destination->buffer == TERN_PLAN_OUT && source->rank == destination->rank &&
           from.end > from.begin && from.whole == to.whole;
}

// Within an op: a destination in `out` may be the very bytes of a source in `in` (a reduce reads
// them first), but for an atomic reduce; it may not overlap an operand in `in` otherwise.
static void check_within(struct checking *checking, struct place place, const struct tern__op *op)
{
    const tern_plan *plan = checking->plan;
    const tern_plan_range *operands = tern__op_operands(plan, op);
    int sources = op->sources_count;
    int count = sources + op->destinations_count;
    for (int d = sources; d < count; d++) {
        struct part to = part_of(plan, &operands[d], op->length);
        for (int i = 0; i < count && operands[d].buffer == TERN_PLAN_OUT && to.end > to.begin;
             i++) {
            struct part from = part_of(plan, &operands[i], op->length);
            bool same =
                i < sources && from.whole == to.whole && (op->flags & TERN_PLAN_ATOMIC) == 0;
            if (operands[i].buffer == TERN_PLAN_IN && operands[i].rank == operands[d].rank &&
                from.begin < to.end && to.begin < from.end && !same) {
                char where[96];
                tern__place_text(checking, place, where, sizeof where);
                tern__check_add(checking->check, TERN_CHECK_IN_PLACE,
                                "%s: %s %d and destination %d overlap when rank %u is in place",
                                where, i < sources ? "source" : "destination",
                                i < sources ? i : i - sources, d - sources, operands[d].rank);
                tern__check_mark(checking, TERN_CHECK_IN_PLACE, TERN_CHECK_OVERWRITTEN, place,
                                 TERN__NO_PLACE);
                return;
            }
        }
    }
}

void tern__in_place_report(struct checking *checking, int rank, uint64_t begin, uint64_t end,
                           struct place as_in, struct place as_out, bool ordered)
{
    struct place *reported = checking->in_place_reported;
    if (reported[0].lane == as_in.lane && reported[0].index == as_in.index &&
        reported[1].lane == as_out.lane && reported[1].index == as_out.index) {
        return; // said of other bytes
    }
    reported[0] = as_in;
    reported[1] = as_out;
    uint64_t first = shared_begin(checking->plan, rank, TERN_PLAN_IN);
    char reader[96];
    char writer[96];
    tern__place_text(checking, as_in, reader, sizeof reader);
    tern__place_text(checking, as_out, writer, sizeof writer);
    tern__check_add(checking->check, TERN_CHECK_IN_PLACE,
                    ordered ? "%s uses bytes %llu..%llu of in of rank %d after %s has overwritten "
                              "them as out"
                            : "%s uses bytes %llu..%llu of in of rank %d, %s overwrites them as "
                              "out, and nothing orders them",
                    reader, (unsigned long long)first + begin, (unsigned long long)first + end,
                    rank, writer);
    tern__check_mark(checking, TERN_CHECK_IN_PLACE, TERN_CHECK_OVERWRITTEN, as_in, as_out);
}

bool tern__in_place_execute(struct checking *checking, struct place place,
                            const struct tern__op *op)
{
    const tern_plan *plan = checking->plan;
    const tern_plan_range *operands = tern__op_operands(plan, op);
    int sources = op->sources_count;
    if (op->length == 0) {
        return true;
    }
    check_within(checking, place, op);
    for (int i = 0; i < sources + op->destinations_count; i++) {
        struct part part = part_of(plan, &operands[i], op->length);
        bool overwrites = operands[i].buffer == TERN_PLAN_OUT;
        if (part.begin == part.end || (overwrites && i < sources) ||
            (overwrites && is_copy_onto_itself(plan, op, &operands[0], &operands[i]))) {
            continue; // reads of `out` need no look
        }
        if (!tern__memory_share(checking, operands[i].rank, part.begin, part.end, place,
                                overwrites)) {
            return false;
        }
    }
    return true;
}
