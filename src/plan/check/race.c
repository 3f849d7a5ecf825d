// SPDX-License-Identifier: Apache-2.0
// Races by what they follow from. Two accesses that nothing orders were meant to be ordered, most
// often by a post after the one and a wait before the other. So a post after either of them that
// nobody waits for is the mistake to be told; one such post can leave thousands of accesses
// unordered.

#include <stdio.h>

#include "plan/check/order.h"

// Whether some wait for the signal of a post cannot end without it.
static bool is_awaited(struct checking *checking, struct place place, const struct signal *signal)
{
    const struct poster *poster = tern__signal_poster(signal, place.lane);
    uint64_t most =
        signal->awaited_count > 0 ? signal->awaited[signal->awaited_count - 1].count : 0;
    if (most >= signal->total) {
        return true;
    }
    const struct tern__lane *row = tern__lane_of(checking, place.lane);
    uint64_t before = 0; // posts of this lane that come before it, and itself
    for (uint32_t i = 0; i <= place.index; i++, checking->causes_visits++) {
        before += row->ops[i].kind == TERN_PLAN_POST &&
                  tern__signal_of(checking->order, place.lane, &row->ops[i]) == signal;
    }
    return most >= signal->total - poster->total + before;
}

// The first post behind a place, to a signal of some rank (-1: of any), that nobody waits for.
static struct place unawaited_post(struct checking *checking, struct place place, int rank)
{
    const struct tern__lane *row = tern__lane_of(checking, place.lane);
    for (place.index++;
         place.index < row->count && checking->causes_visits < TERN__CAUSES_VISITS_MAX;
         place.index++, checking->causes_visits++) {
        const struct tern__op *op = &row->ops[place.index];
        if (op->kind == TERN_PLAN_POST && (rank < 0 || op->peer == rank) &&
            !is_awaited(checking, place, tern__signal_of(checking->order, place.lane, op))) {
            return place;
        }
    }
    return TERN__NO_PLACE;
}

static void cause_text(const struct checking *checking, struct place post,
                       const struct signal *signal, char *text, size_t size)
{
    const struct tern__op *op = tern__place_op(checking, post);
    char where[96];
    tern__place_text(checking, post, where, sizeof where);
    if (signal->awaited_count == 0) {
        snprintf(text, size, "rank %u never waits for its signal %u, posted by %s", op->peer,
                 op->signal, where);
    } else {
        snprintf(text, size,
                 "rank %u waits for %u of the %llu posts of its signal %u, perhaps without that "
                 "of %s",
                 op->peer, signal->awaited[signal->awaited_count - 1].count,
                 (unsigned long long)signal->total, op->signal, where);
    }
}

void tern__race_add(struct checking *checking, struct place early, struct place late, int rank,
                    const char *text)
{
    struct place post = unawaited_post(checking, early, rank);
    if (!tern__is_place(post) && tern__is_place(late)) {
        post = unawaited_post(checking, late, checking->lanes.rank[early.lane]);
    }
    if (!tern__is_place(post)) {
        post = unawaited_post(checking, early, -1);
    }
    if (!tern__is_place(post)) {
        tern__check_add(checking->check, TERN_CHECK_RACE, "%s", text);
        tern__check_mark(checking, TERN_CHECK_RACE, TERN_CHECK_CONFLICT, early, late);
        return;
    }
    const struct signal *signal =
        tern__signal_of(checking->order, post.lane, tern__place_op(checking, post));
    if (!tern__check_follows(checking->check, TERN_CHECK_RACE, signal->key)) {
        char cause[220];
        cause_text(checking, post, signal, cause, sizeof cause);
        tern__check_add(checking->check, TERN_CHECK_RACE, "%s: %s", cause, text);
        tern__check_mark(checking, TERN_CHECK_RACE, TERN_CHECK_UNAWAITED, early, late);
    }
}
