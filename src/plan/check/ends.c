// SPDX-License-Identifier: Apache-2.0
// The ends of ranks: whether anybody may still touch a rank's buffers when its lanes have ended,
// and for a barrier, whether every other rank has begun by then.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/check/order.h"

// A lane's last op that touches the buffers of some other rank.
struct last_touch {
    struct place place;
    int operand;
};

struct touches {
    struct checking *checking;
    struct last_touch *all; // by rank, and by lane
    size_t *first;          // per rank, and one past the last
    uint32_t *seen;         // per rank: the lane, + 1, that was last found to touch it
};

typedef void (*touch_visitor)(struct touches *touches, int rank, struct last_touch touch);

// Visits the last touch by each lane of each rank other than its own, but of what lies in slots and
// so outlasts the rank.
static void visit_touches(struct touches *touches, touch_visitor visit)
{
    const struct checking *checking = touches->checking;
    memset(touches->seen, 0, (size_t)checking->plan->spec.nranks * sizeof *touches->seen);
    for (uint32_t lane = 0; lane < checking->lanes.count; lane++) {
        touches->seen[checking->lanes.rank[lane]] = lane + 1;
        for (uint32_t index = checking->position[lane]; index > 0; index--) {
            struct place place = {.lane = lane, .index = index - 1};
            const struct tern__op *op = tern__place_op(checking, place);
            const tern_plan_range *operands = tern__op_operands(checking->plan, op);
            bool moves = tern__op_moves(op);
            int count = moves ? op->sources_count + op->destinations_count : 0;
            for (int i = 0; i < count; i++) {
                int rank = operands[i].rank;
                // What comes over a network may come after the slot has another use.
                bool stays = tern__plan_in_slots(checking->plan, operands[i].buffer) &&
                             (i < op->sources_count ||
                              !tern__is_remote(checking, checking->lanes.rank[lane], rank));
                if (!stays && touches->seen[rank] != lane + 1) {
                    touches->seen[rank] = lane + 1;
                    visit(touches, rank, (struct last_touch){place, i});
                }
            }
        }
    }
}

static void count_touch(struct touches *touches, int rank, struct last_touch touch)
{
    (void)touch;
    touches->first[rank + 1]++;
}

static void enter_touch(struct touches *touches, int rank, struct last_touch touch)
{
    touches->all[touches->first[rank]++] = touch;
}

static bool find_touches(struct touches *touches)
{
    int nranks = touches->checking->plan->spec.nranks;
    touches->first = calloc((size_t)nranks + 2, sizeof *touches->first);
    touches->seen = calloc((size_t)nranks, sizeof *touches->seen);
    if (touches->first == NULL || touches->seen == NULL) {
        return false;
    }
    visit_touches(touches, count_touch);
    for (int rank = 0; rank < nranks; rank++) {
        touches->first[rank + 1] += touches->first[rank];
    }
    size_t count = touches->first[nranks];
    touches->all = tern__budget_take(&touches->checking->budget, count * sizeof *touches->all)
                       ? calloc(count + 1, sizeof *touches->all)
                       : NULL;
    if (touches->all == NULL) {
        return false;
    }
    visit_touches(touches, enter_touch); // moves each first to the next rank's
    memmove(touches->first + 1, touches->first, (size_t)nranks * sizeof *touches->first);
    touches->first[0] = 0;
    return true;
}

static void report_late(struct checking *checking, int rank, struct last_touch touch)
{
    const struct tern__op *op = tern__place_op(checking, touch.place);
    const tern_plan_range *range = &tern__op_operands(checking->plan, op)[touch.operand];
    char where[96];
    tern__place_text(checking, touch.place, where, sizeof where);
    char text[240];
    snprintf(text, sizeof text,
             "%s %s %s of rank %d, whose lanes may have ended before: it does not wait for that op",
             where, touch.operand < op->sources_count ? "reads" : "writes",
             tern__buffer_name((tern_plan_buffer)range->buffer), rank);
    tern__race_add(checking, touch.place, TERN__NO_PLACE, rank, text);
}

// For a barrier: every other rank has begun before this one ends.
static void check_met(struct checking *checking, int rank, const struct clock *end)
{
    for (int other = 0; other < checking->plan->spec.nranks; other++) {
        // A copy of every input was there before the first op.
        bool begun = other == rank || tern__plan_in_slots(checking->plan, TERN_PLAN_IN) ||
                     tern__clock_done(end, tern__begun_lane(checking, other)) > 0;
        if (!begun) {
            tern__check_add(checking->check, TERN_CHECK_RESULT,
                            "rank %d may end before rank %d has begun", rank, other);
            tern__check_mark(checking, TERN_CHECK_RESULT, TERN_CHECK_NOT_MET, TERN__NO_PLACE,
                             TERN__NO_PLACE);
        }
    }
}

static bool check_end(struct checking *checking, const struct touches *touches, int rank)
{
    // What must have happened before the end of the rank: what its lanes know.
    struct clock *end = NULL;
    for (uint32_t lane = checking->lanes.first[rank]; lane < checking->lanes.first[rank + 1];
         lane++) {
        // Lanes of a rank often know the same.
        bool new = lane == checking->lanes.first[rank] ||
                   checking->clocks[lane] != checking->clocks[lane - 1];
        if (new && !tern__clock_join(&checking->pool, &end, checking->clocks[lane])) {
            return false;
        }
    }
    for (size_t i = touches->first[rank]; i < touches->first[rank + 1]; i++) {
        struct place place = touches->all[i].place;
        if (tern__clock_done(end, place.lane) <= place.index) {
            report_late(checking, rank, touches->all[i]);
        } else if (tern__is_remote(checking, checking->lanes.rank[place.lane], rank) &&
                   !tern__network_arrived(checking, place, rank, end)) {
            tern__network_late(checking, place, TERN__NO_PLACE, rank, NULL);
        }
    }
    if (checking->plan->spec.kind == TERN_PLAN_BARRIER) {
        check_met(checking, rank, end);
    }
    tern__clock_drop(&checking->pool, end);
    return true;
}

bool tern__check_ends(struct checking *checking)
{
    struct touches touches = {.checking = checking};
    bool good = find_touches(&touches);
    for (int rank = 0; good && rank < checking->plan->spec.nranks; rank++) {
        good = check_end(checking, &touches, rank);
    }
    free(touches.all);
    free(touches.first);
    free(touches.seen);
    return good && !checking->check->out_of_memory;
}
