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
// Shared bytes of a rank are counted from the first one; memory.h keeps who touched them.

#include <stdio.h>

#include "plan/check/memory.h"
#include "plan/shared.h"

// Within an op: a destination in `out` may be the very bytes of a source in `in` (a reduce reads
// them first), but for an atomic reduce; it may not overlap an operand in `in` otherwise.
static void check_within(struct checking *checking, struct place place, const struct tern__op *op)
{
    const tern_plan *plan = checking->plan;
    const tern_plan_range *operands = tern__op_operands(plan, op);
    int sources = op->sources_count;
    int count = sources + op->destinations_count;
    for (int d = sources; d < count; d++) {
        struct tern__shared to = tern__shared_part(plan, &operands[d], op->length);
        for (int i = 0; i < count && operands[d].buffer == TERN_PLAN_OUT && to.end > to.begin;
             i++) {
            struct tern__shared from = tern__shared_part(plan, &operands[i], op->length);
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

static void report(struct checking *checking, int rank, uint64_t begin, uint64_t end,
                   struct place as_in, struct place as_out, bool ordered)
{
    struct place *reported = checking->in_place_reported;
    if (reported[0].lane == as_in.lane && reported[0].index == as_in.index &&
        reported[1].lane == as_out.lane && reported[1].index == as_out.index) {
        return; // said of other bytes
    }
    reported[0] = as_in;
    reported[1] = as_out;
    uint64_t first = tern__shared_begin(checking->plan, rank, TERN_PLAN_IN);
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

struct sharing {
    struct checking *checking;
    int rank;
    struct place now;
    uint64_t begin, end; // of the stretch
};

static void share_late(void *arg, uint32_t lane, uint32_t done)
{
    const struct sharing *sharing = arg;
    if (lane != sharing->now.lane) {
        report(sharing->checking, sharing->rank, sharing->begin, sharing->end,
               (struct place){.lane = lane, .index = done - 1}, sharing->now, false);
    }
}

// An access to such bytes: as `out`, which overwrites them, or as `in`, which must come before.
static bool share(struct checking *checking, int rank, uint64_t begin, uint64_t end,
                  struct place now, bool overwrites)
{
    struct clock_pool *pool = &checking->pool;
    struct stretches *buffer = tern__memory_buffer(checking, rank, SHARED);
    struct sharing sharing = {.checking = checking, .rank = rank, .now = now};
    if (!tern__memory_isolate(checking, buffer, begin, end)) {
        return false;
    }
    struct cursor at = tern__stretches_find(buffer, begin);
    do {
        struct stretch *stretch = tern__stretch_at(buffer, at);
        sharing.begin = stretch->begin;
        sharing.end = tern__stretch_end(buffer, at);
        if (overwrites) { // what comes later is ordered after this write, or is a race
            tern__clock_beyond(stretch->reads, checking->clocks[now.lane], share_late, &sharing);
            stretch->write = now;
            tern__clock_drop(pool, stretch->reads);
            stretch->reads = NULL;
        } else if (tern__is_place(stretch->write)) {
            report(checking, rank, sharing.begin, sharing.end, now, stretch->write,
                   tern__must_precede(checking, stretch->write, now.lane));
        } else if (!tern__clock_raise(pool, &stretch->reads, now.lane, now.index + 1)) {
            return false;
        }
    } while (sharing.end < end && tern__stretches_next(buffer, &at));
    return true;
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
        struct tern__shared part = tern__shared_part(plan, &operands[i], op->length);
        bool overwrites = operands[i].buffer == TERN_PLAN_OUT;
        if (part.begin == part.end || (overwrites && i < sources) ||
            (overwrites && tern__copies_onto_itself(plan, op, &operands[0], &operands[i]))) {
            continue; // reads of `out` need no look
        }
        if (!share(checking, operands[i].rank, part.begin, part.end, place, overwrites)) {
            return false;
        }
    }
    return true;
}
