// SPDX-License-Identifier: Apache-2.0
// The checker on plans small enough to see what is right about them and what is wrong: each rule
// proves the right plan and refutes one that breaks just that rule, and says where.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>

#include "plan/check/check.h"
#include "support/by_hand.h"
#include "tern/check.h"
#include "tern/status.h"

// How the one-pass AllReduce may be spoiled.
enum fault { NONE, NO_WAIT, SHORT_WAIT, NO_POST, LONG, WRONG_ORDER, RANK_TWICE, SHIFTED, ATOMIC };

// Rank r sums its slice of all inputs into all outputs, tells everybody, and waits for everybody.
static tern_plan *fused(int nranks, uint64_t slice, enum fault fault)
{
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, nranks, slice * (uint64_t)nranks, 4);
    for (int rank = 0; rank < nranks; rank++) {
        tern_plan_range from[64];
        tern_plan_range to[64];
        for (int peer = 0; peer < nranks; peer++) {
            from[peer] = hand_at(peer, TERN_PLAN_IN, slice * (uint64_t)rank);
            to[peer] = hand_at(peer, TERN_PLAN_OUT, slice * (uint64_t)rank);
        }
        bool spoil = rank == nranks - 1;
        if (spoil && fault == WRONG_ORDER) {
            tern_plan_range first = from[0];
            from[0] = from[1];
            from[1] = first;
        }
        if (spoil && fault == RANK_TWICE) {
            from[0] = from[1];
        }
        if (spoil && fault == SHIFTED) {
            from[0].offset -= 4;
        }
        tern_plan_op op = {.kind = TERN_PLAN_REDUCE,
                           .flags = spoil && fault == ATOMIC ? TERN_PLAN_ATOMIC : 0,
                           .length = slice + (spoil && fault == LONG ? 4 : 0),
                           .sources = from,
                           .sources_count = nranks,
                           .destinations = to,
                           .destinations_count = nranks};
        assert_int_equal(tern_plan_add(plan, rank, 0, &op), TERN_OK);
        for (int peer = 0; peer < nranks; peer++) {
            if (!(spoil && fault == NO_POST && peer == 0)) {
                hand_post(plan, rank, 0, peer, 0);
            }
        }
        if (!(spoil && fault == NO_WAIT)) {
            int count = spoil && fault == SHORT_WAIT ? nranks - 1 : nranks;
            hand_wait(plan, rank, 0, 0, (uint32_t)count);
        }
    }
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    return plan;
}

static tern_check *check_plan(tern_plan *plan)
{
    tern_check *check;
    assert_int_equal(tern_check_plan(plan, NULL, &check), TERN_OK);
    tern_plan_destroy(plan);
    return check;
}

static void assert_proved(tern_plan *plan, tern_check_order order)
{
    tern_check *check = check_plan(plan);
    if (!tern_check_proved(check)) {
        tern_status_ignore(tern_check_print(check, stderr)); // the test fails anyway
    }
    assert_true(tern_check_proved(check));
    assert_int_equal(tern_check_sum_order(check), order);
    tern_check_destroy(check);
}

// The sort of a finding belongs to its rule, and its sentence names its ops.
static void assert_detail(const tern_check *check, tern_check_rule rule, size_t index)
{
    static const tern_check_cause first[] = {
        [TERN_CHECK_BOUNDS] = TERN_CHECK_OUTSIDE,       [TERN_CHECK_LINK] = TERN_CHECK_NO_LINK,
        [TERN_CHECK_DEADLOCK] = TERN_CHECK_STARVED,     [TERN_CHECK_RACE] = TERN_CHECK_CONFLICT,
        [TERN_CHECK_REACH] = TERN_CHECK_REMOTE,         [TERN_CHECK_RESULT] = TERN_CHECK_UNWRITTEN,
        [TERN_CHECK_IN_PLACE] = TERN_CHECK_OVERWRITTEN, [TERN_CHECK_RULES] = TERN_CHECK_CAUSES};
    tern_check_detail detail;
    assert_true(tern_check_get_detail(check, rule, index, &detail));
    assert_in_range(detail.cause, first[rule], first[rule + 1] - 1);
    assert_true(detail.ops_count > 0 || rule == TERN_CHECK_RESULT);
    for (int i = 0; i < detail.ops_count; i++) {
        char place[80];
        snprintf(place, sizeof place, "rank %d, lane %d, op %zu (", detail.ops[i].rank,
                 detail.ops[i].lane, detail.ops[i].index);
        assert_non_null(strstr(tern_check_finding(check, rule, index), place));
    }
    assert_false(tern_check_get_detail(check, rule, tern_check_count(check, rule), &detail));
}

// Refuted by this rule alone, with a finding that contains the text.
static void assert_refuted(tern_plan *plan, tern_check_rule rule, const char *text)
{
    tern_check *check = check_plan(plan);
    assert_false(tern_check_proved(check));
    for (int other = 0; other < TERN_CHECK_RULES; other++) {
        if (other != (int)rule && tern_check_count(check, (tern_check_rule)other) > 0) {
            tern_status_ignore(tern_check_print(check, stderr)); // the test fails anyway
            fail_msg("refuted by rule %d, not by %d", other, (int)rule);
        }
    }
    bool found = false;
    for (size_t i = 0; i < tern_check_count(check, rule); i++) {
        assert_detail(check, rule, i);
        found = found || strstr(tern_check_finding(check, rule, i), text) != NULL;
    }
    if (!found) {
        tern_status_ignore(tern_check_print(check, stderr)); // the test fails anyway
        fail_msg("no finding says: %s", text);
    }
    tern_check_destroy(check);
}

static void one_pass_all_reduce_is_proved(void **state)
{
    for (int nranks = 1; nranks <= 17; nranks++) {
        assert_proved(fused(nranks, 64, NONE), TERN_CHECK_ORDER_RANK);
    }
    assert_proved(fused(5, 0, NONE), TERN_CHECK_ORDER_RANK);
}

static void a_missing_wait_is_a_race_with_the_end(void **state)
{
    assert_refuted(
        fused(3, 64, NO_WAIT), TERN_CHECK_RACE,
        "rank 2 never waits for its signal 0, posted by rank 0, lane 0, op 3 (post): rank "
        "0, lane 0, op 0 (reduce) reads in of rank 2, whose lanes may have ended before: "
        "it does not wait for that op (and 1 more that follows from it)");
}

static void a_wait_for_too_few_posts_is_a_race(void **state)
{
    assert_refuted(
        fused(3, 64, SHORT_WAIT), TERN_CHECK_RACE,
        "rank 2 waits for 2 of the 3 posts of its signal 0, perhaps without that of rank "
        "0, lane 0, op 3 (post): rank 0, lane 0, op 0 (reduce) reads in of rank 2, whose "
        "lanes may have ended before: it does not wait for that op (and 1 more that "
        "follows from it)");
}

static void a_missing_post_is_a_deadlock(void **state)
{
    assert_refuted(fused(3, 64, NO_POST), TERN_CHECK_DEADLOCK,
                   "rank 0, lane 0, op 4 (wait) waits for 3 posts of signal 0, and the whole plan "
                   "has 2: rank 0, lane 0, op 1 (post); rank 1, lane 0, op 1 (post)");
}

// Rank 0 waits for a post too many, and ranks 1 to 5 for rank 0, one behind the other.
static void lanes_behind_a_wait_without_posts_are_counted(void **state)
{
    tern_plan *plan = hand_plan(TERN_PLAN_BARRIER, 6, 0, 4);
    for (int rank = 0; rank < 6; rank++) {
        if (rank > 0) {
            hand_post(plan, rank, 0, 0, 0);
        }
        hand_wait(plan, rank, 0, rank == 0 ? 0 : 1, rank == 0 ? 6 : 1);
        if (rank < 5) {
            hand_post(plan, rank, 0, rank + 1, 1);
        }
    }
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    assert_refuted(plan, TERN_CHECK_DEADLOCK,
                   "rank 0, lane 0, op 0 (wait) waits for 6 posts of signal 0, and the whole plan "
                   "has 5: rank 1, lane 0, op 0 (post); rank 2, lane 0, op 0 (post); rank 3, lane "
                   "0, op 0 (post); and 2 more (and 5 more that follow from it)");
}

// Rank 1 passes on what comes from rank 0 and does not wait for it.
static void races_that_follow_from_a_missing_wait_are_counted(void **state)
{
    tern_plan *plan = hand_plan(TERN_PLAN_BROADCAST, 6, 32, 4);
    hand_copy(plan, 0, 0, hand_at(0, TERN_PLAN_IN, 0), hand_at(0, TERN_PLAN_OUT, 0), 32);
    hand_copy(plan, 0, 0, hand_at(0, TERN_PLAN_IN, 0), hand_at(1, TERN_PLAN_OUT, 0), 32);
    hand_post(plan, 0, 0, 1, 0);
    for (int rank = 2; rank < 6; rank++) {
        hand_copy(plan, 1, 0, hand_at(1, TERN_PLAN_OUT, 0), hand_at(rank, TERN_PLAN_OUT, 0), 32);
        hand_post(plan, 1, 0, rank, 0);
        hand_wait(plan, rank, 0, 0, 1);
    }
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    tern_check *check = check_plan(plan);
    assert_int_equal(tern_check_count(check, TERN_CHECK_RACE), 1);
    const char *text = tern_check_finding(check, TERN_CHECK_RACE, 0);
    static const char cause[] =
        "rank 1 never waits for its signal 0, posted by rank 0, lane 0, op 2 (post): ";
    assert_memory_equal(text, cause, sizeof cause - 1);
    assert_non_null(strstr(text, "bytes 0..32 of out of rank 1, and nothing orders them (and "));
    tern_check_destroy(check);
}

static void a_range_beyond_its_buffer_is_found(void **state)
{
    assert_refuted(fused(3, 64, LONG), TERN_CHECK_BOUNDS,
                   "rank 2, lane 0, op 0 (reduce): bytes 128..196 of in of rank 0; it has 192");
}

static void another_order_of_the_sum_is_said(void **state)
{
    assert_proved(fused(3, 64, WRONG_ORDER), TERN_CHECK_ORDER_FIXED);
}

static void a_contribution_twice_is_found(void **state)
{
    assert_refuted(
        fused(3, 64, RANK_TWICE), TERN_CHECK_RESULT,
        "out of rank 0, bytes 128..192: the contribution of rank 1 from in+128 twice (source 1, "
        "in+128 of rank 1), made by rank 2, lane 0, op 0 (reduce) (and 2 more that follow from it)");
}

static void a_shifted_source_is_found(void **state)
{
    assert_refuted(
        fused(3, 64, SHIFTED), TERN_CHECK_RESULT,
        "out of rank 0, bytes 128..192: the contribution of rank 0 from in+124 instead of "
        "in+128, shifted by -4 (source 0, in+124 of rank 0), made by rank 2, lane 0, op "
        "0 (reduce) (and 2 more that follow from it)");
}

// A sum that goes from rank to rank, and from the last to all: rank 1 is the first to spoil it.
static tern_plan *chain(int nranks, enum fault fault)
{
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, nranks, 32, 4);
    assert_int_equal(tern_plan_need_scratch(plan, 32), TERN_OK);
    hand_copy(plan, 0, 0, hand_at(0, TERN_PLAN_IN, 0), hand_at(1, TERN_PLAN_SCRATCH, 0), 32);
    hand_post(plan, 0, 0, 1, 0);
    for (int rank = 1; rank < nranks; rank++) {
        bool last = rank == nranks - 1;
        bool spoil = rank == 1;
        tern_plan_range from[] = {hand_at(rank, TERN_PLAN_SCRATCH, 0),
                                  hand_at(rank, TERN_PLAN_IN, 0), hand_at(0, TERN_PLAN_IN, 0)};
        tern_plan_range to =
            hand_at(last ? rank : rank + 1, last ? TERN_PLAN_OUT : TERN_PLAN_SCRATCH, 0);
        from[1].offset = spoil && fault == SHIFTED ? 8 : 0;
        tern_plan_op op = {.kind = TERN_PLAN_REDUCE,
                           .length = spoil && fault == SHIFTED ? 24 : 32,
                           .sources = from,
                           .sources_count = spoil && fault == RANK_TWICE ? 3 : 2,
                           .destinations = &to,
                           .destinations_count = 1};
        hand_wait(plan, rank, 0, 0, 1);
        assert_int_equal(tern_plan_add(plan, rank, 0, &op), TERN_OK);
        for (int peer = 0; peer < nranks - 1 && last; peer++) {
            hand_copy(plan, rank, 0, hand_at(rank, TERN_PLAN_OUT, 0),
                      hand_at(peer, TERN_PLAN_OUT, 0), 32);
            hand_post(plan, rank, 0, peer, 1);
        }
        if (!last) {
            hand_post(plan, rank, 0, rank + 1, 0);
            hand_wait(plan, rank, 0, 1, 1);
        }
    }
    hand_wait(plan, 0, 0, 1, 1);
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    return plan;
}

static void the_first_wrong_sum_is_named(void **state)
{
    assert_proved(chain(5, NONE), TERN_CHECK_ORDER_CHAIN);
    assert_refuted(chain(5, RANK_TWICE), TERN_CHECK_RESULT,
                   "out of rank 0, bytes 0..32: the contribution of rank 0 from in+0 twice (source "
                   "2, in+0 of rank 0), made by rank 1, lane 0, op 1 (reduce) (and 4 more that "
                   "follow from it)");
    assert_refuted(chain(5, SHIFTED), TERN_CHECK_RESULT,
                   "out of rank 0, bytes 0..24: the contribution of rank 1 from in+8 instead of "
                   "in+0, shifted by 8 (source 1, in+8 of rank 1), made by rank 1, lane 0, op 1 "
                   "(reduce) (and 4 more that follow from it)");
}

// Of three ranks the two last ones are summed first: right, but in no order of the ranks, since
// (0 + 1) + 2 has other bits than 0 + (1 + 2).
static void an_interval_in_the_middle_is_no_chain(void **state)
{
    for (int first = 0; first <= 1; first++) {
        tern_plan *plan = hand_plan(TERN_PLAN_REDUCE_TO_ROOT, 3, 32, 4);
        assert_int_equal(tern_plan_need_scratch(plan, 32), TERN_OK);
        tern_plan_range begin[] = {hand_at(first, TERN_PLAN_IN, 0),
                                   hand_at(first + 1, TERN_PLAN_IN, 0)};
        tern_plan_range slot = hand_at(0, TERN_PLAN_SCRATCH, 0);
        tern_plan_range end[] = {hand_at(0, TERN_PLAN_IN, 0), slot, hand_at(2, TERN_PLAN_IN, 0)};
        tern_plan_range out = hand_at(0, TERN_PLAN_OUT, 0);
        tern_plan_op op = {.kind = TERN_PLAN_REDUCE,
                           .length = 32,
                           .sources = begin,
                           .sources_count = 2,
                           .destinations = &slot,
                           .destinations_count = 1};
        assert_int_equal(tern_plan_add(plan, 0, 0, &op), TERN_OK);
        op.sources = first == 0 ? &end[1] : &end[0];
        op.destinations = &out;
        assert_int_equal(tern_plan_add(plan, 0, 0, &op), TERN_OK);
        for (int rank = 1; rank < 3; rank++) { // its input is read until then
            hand_post(plan, 0, 0, rank, 0);
            hand_wait(plan, rank, 0, 0, 1);
        }
        assert_int_equal(tern_plan_seal(plan), TERN_OK);
        assert_proved(plan, first == 0 ? TERN_CHECK_ORDER_CHAIN : TERN_CHECK_ORDER_FIXED);
    }
}

// Rank 0 copies 8 bytes too far on, and rank 1 passes that on to four others.
static void the_first_wrong_copy_is_named(void **state)
{
    tern_plan *plan = hand_plan(TERN_PLAN_BROADCAST, 6, 32, 4);
    hand_copy(plan, 0, 0, hand_at(0, TERN_PLAN_IN, 0), hand_at(0, TERN_PLAN_OUT, 0), 32);
    hand_copy(plan, 0, 0, hand_at(0, TERN_PLAN_IN, 8), hand_at(1, TERN_PLAN_OUT, 0), 24);
    hand_copy(plan, 0, 0, hand_at(0, TERN_PLAN_IN, 24), hand_at(1, TERN_PLAN_OUT, 24), 8);
    hand_post(plan, 0, 0, 1, 0);
    hand_wait(plan, 1, 0, 0, 1);
    for (int rank = 2; rank < 6; rank++) {
        hand_copy(plan, 1, 0, hand_at(1, TERN_PLAN_OUT, 0), hand_at(rank, TERN_PLAN_OUT, 0), 32);
        hand_post(plan, 1, 0, rank, 0);
        hand_wait(plan, rank, 0, 0, 1);
    }
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    assert_refuted(plan, TERN_CHECK_RESULT,
                   "out of rank 1, bytes 0..24: in+8 of rank 0 instead of in+0, shifted by 8, made "
                   "by rank 0, lane 0, op 1 (copy) (and 4 more that follow from it)");
}

static void an_atomic_add_to_nothing_is_found(void **state)
{
    assert_refuted(fused(3, 64, ATOMIC), TERN_CHECK_RESULT,
                   "a sum of bytes that nobody has written");
}

// All ranks add their input to rank 0's output, which then goes to all: an order left to chance.
static void atomic_adds_are_proved_and_called_by_name(void **state)
{
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, 3, 32, 4);
    hand_copy(plan, 0, 0, hand_at(0, TERN_PLAN_IN, 0), hand_at(0, TERN_PLAN_OUT, 0), 32);
    hand_post(plan, 0, 0, 1, 0);
    hand_post(plan, 0, 0, 2, 0);
    hand_wait(plan, 0, 0, 0, 2);
    hand_copy(plan, 0, 0, hand_at(0, TERN_PLAN_OUT, 0), hand_at(1, TERN_PLAN_OUT, 0), 32);
    hand_copy(plan, 0, 0, hand_at(0, TERN_PLAN_OUT, 0), hand_at(2, TERN_PLAN_OUT, 0), 32);
    hand_post(plan, 0, 0, 1, 1);
    hand_post(plan, 0, 0, 2, 1);
    for (int rank = 1; rank < 3; rank++) {
        tern_plan_range from = hand_at(rank, TERN_PLAN_IN, 0);
        tern_plan_range to = hand_at(0, TERN_PLAN_OUT, 0);
        tern_plan_op op = {.kind = TERN_PLAN_REDUCE,
                           .flags = TERN_PLAN_ATOMIC,
                           .length = 32,
                           .sources = &from,
                           .sources_count = 1,
                           .destinations = &to,
                           .destinations_count = 1};
        hand_wait(plan, rank, 0, 0, 1);
        assert_int_equal(tern_plan_add(plan, rank, 0, &op), TERN_OK);
        hand_post(plan, rank, 0, 0, 0);
        hand_wait(plan, rank, 0, 1, 1);
    }
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    assert_proved(plan, TERN_CHECK_ORDER_ANY);
}

// Destination by destination it would read what it has just added to.
static void an_atomic_reduce_does_not_add_to_its_own_source(void **state)
{
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, 1, 16, 4);
    tern_plan_range from = hand_at(0, TERN_PLAN_SCRATCH, 0);
    tern_plan_range to[] = {hand_at(0, TERN_PLAN_SCRATCH, 0), hand_at(0, TERN_PLAN_OUT, 0)};
    tern_plan_op op = {.kind = TERN_PLAN_REDUCE,
                       .flags = TERN_PLAN_ATOMIC,
                       .length = 16,
                       .sources = &from,
                       .sources_count = 1,
                       .destinations = to,
                       .destinations_count = 2};
    assert_int_equal(tern_plan_need_scratch(plan, 16), TERN_OK);
    assert_int_equal(tern_plan_add(plan, 0, 0, &op), TERN_OK);
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    assert_refuted(plan, TERN_CHECK_BOUNDS, "source 0 and destination 0 overlap");
}

// Two ranks that each wait before they post.
static void a_cycle_is_shown(void **state)
{
    tern_plan *plan = hand_plan(TERN_PLAN_BARRIER, 2, 0, 4);
    for (int rank = 0; rank < 2; rank++) {
        hand_wait(plan, rank, 0, 0, 1);
        hand_post(plan, rank, 0, 1 - rank, 0);
    }
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    assert_refuted(plan, TERN_CHECK_DEADLOCK,
                   "a cycle: rank 0, lane 0, op 0 (wait) needs signal 0 from rank 1, lane 0, op 0 "
                   "(wait) needs signal 0 from the first");
}

// 70 ranks wait for rank 70, which waits for rank 71, and that one for rank 70: only the last two
// are in the cycle.
static void a_cycle_behind_many_that_wait_for_it_is_found(void **state)
{
    tern_plan *plan = hand_plan(TERN_PLAN_BARRIER, 72, 0, 4);
    for (int rank = 0; rank < 70; rank++) {
        hand_wait(plan, rank, 0, 0, 1);
        hand_post(plan, 70, 0, rank, 0);
    }
    hand_wait(plan, 70, 1, 0, 1);
    hand_post(plan, 70, 1, 71, 0);
    hand_wait(plan, 71, 0, 0, 1);
    hand_post(plan, 71, 0, 70, 0);
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    assert_refuted(
        plan, TERN_CHECK_DEADLOCK,
        "a cycle: rank 70, lane 1, op 0 (wait) needs signal 0 from rank 71, lane 0, op 0 "
        "(wait) needs signal 0 from the first");
}

static void a_barrier_that_does_not_meet_is_found(void **state)
{
    tern_plan *plan = hand_plan(TERN_PLAN_BARRIER, 3, 0, 4);
    for (int rank = 0; rank < 3; rank++) {
        hand_post(plan, rank, 0, (rank + 1) % 3, 0);
        hand_wait(plan, rank, 0, 0, 1);
    }
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    assert_refuted(plan, TERN_CHECK_RESULT, "rank 0 may end before rank 1 has begun");
}

// Rank 0 waits for one of two posts: by two lanes of rank 1, either of which proves that it has
// begun.
static void a_post_by_any_lane_proves_that_its_rank_has_begun(void **state)
{
    tern_plan *plan = hand_plan(TERN_PLAN_BARRIER, 2, 0, 4);
    hand_wait(plan, 0, 0, 0, 1);
    hand_post(plan, 0, 0, 1, 0);
    hand_post(plan, 1, 0, 0, 0);
    hand_wait(plan, 1, 0, 0, 1);
    hand_post(plan, 1, 1, 0, 0);
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    assert_proved(plan, TERN_CHECK_ORDER_NONE);
}

// Ranks 1 and 2 say to rank 0 that they have begun (signal 0), and then that rank 3 has told them
// so (signal 1). Rank 0 waits for one of the latter, and tells all. Rank 2 may be spoiled: it says
// so before it has heard of rank 3.
static tern_plan *told_by_others(bool spoiled)
{
    tern_plan *plan = hand_plan(TERN_PLAN_BARRIER, 4, 0, 4);
    hand_wait(plan, 0, 0, 0, 2);
    hand_wait(plan, 0, 0, 1, 1);
    for (int rank = 1; rank < 4; rank++) {
        hand_post(plan, 0, 0, rank, 1);
        if (rank < 3) {
            hand_post(plan, rank, 0, 0, 0);
            if (!(spoiled && rank == 2)) {
                hand_wait(plan, rank, 0, 0, 1);
            }
            hand_post(plan, rank, 0, 0, 1);
            hand_post(plan, 3, 0, rank, 0);
        }
        hand_wait(plan, rank, 0, 1, 1);
    }
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    return plan;
}

static void a_post_proves_that_those_before_its_sender_have_begun(void **state)
{
    assert_proved(told_by_others(false), TERN_CHECK_ORDER_NONE);
    assert_refuted(told_by_others(true), TERN_CHECK_RESULT,
                   "rank 0 may end before rank 3 has begun");
}

// A relay that forwards before it knows that the data has come.
static void forwarding_too_early_is_a_race(void **state)
{
    tern_plan *plan = hand_plan(TERN_PLAN_BROADCAST, 3, 32, 4);
    hand_copy(plan, 0, 0, hand_at(0, TERN_PLAN_IN, 0), hand_at(0, TERN_PLAN_OUT, 0), 32);
    hand_copy(plan, 0, 0, hand_at(0, TERN_PLAN_IN, 0), hand_at(1, TERN_PLAN_OUT, 0), 32);
    hand_post(plan, 0, 0, 1, 0);
    hand_copy(plan, 1, 0, hand_at(1, TERN_PLAN_OUT, 0), hand_at(2, TERN_PLAN_OUT, 0), 32);
    hand_wait(plan, 1, 0, 0, 1);
    hand_post(plan, 1, 0, 2, 0);
    hand_wait(plan, 2, 0, 0, 1);
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    tern_check *check = check_plan(plan);
    assert_true(tern_check_count(check, TERN_CHECK_RACE) >= 1);
    assert_non_null(strstr(tern_check_finding(check, TERN_CHECK_RACE, 0),
                           "bytes 0..32 of out of rank 1, and nothing orders them"));
    tern_check_destroy(check);
}

static void a_cut_link_is_not_used(void **state)
{
    tern_topo *topo;
    tern_check *check;
    tern_plan *plan = fused(4, 64, NONE);
    assert_int_equal(tern_topo_create("mesh:4", &topo), TERN_OK);
    assert_int_equal(tern_check_plan(plan, topo, &check), TERN_OK);
    assert_true(tern_check_proved(check));
    tern_check_destroy(check);
    assert_int_equal(tern_topo_cut(topo, "0>1"), TERN_OK);
    assert_int_equal(tern_check_plan(plan, topo, &check), TERN_OK);
    // rank 1 reads from 0; rank 0 writes to 1 and posts to it
    assert_int_equal(tern_check_count(check, TERN_CHECK_LINK), 3);
    assert_non_null(strstr(tern_check_finding(check, TERN_CHECK_LINK, 0), "the link 0>1"));
    tern_check_destroy(check);
    tern_topo_destroy(topo);
    tern_plan_destroy(plan);
}

static void all_findings_are_listed(void **state)
{
    tern_plan *plan = hand_plan(TERN_PLAN_BROADCAST, 3, 32, 4); // nobody does anything
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    tern_check *check = check_plan(plan);
    assert_int_equal(tern_check_count(check, TERN_CHECK_RESULT), 3);
    tern_check_destroy(check);
}

// By hand: each rank sums its slice of all inputs into the root's output.
static tern_plan *reduce_to(int root, bool to_others, bool waits)
{
    enum { N = 3, SLICE = 16 };
    tern_plan_spec spec = {
        .kind = TERN_PLAN_REDUCE_TO_ROOT, .nranks = N, .bytes = N * SLICE, .unit = 4, .root = root};
    tern_plan *plan;
    assert_int_equal(tern_plan_create(&spec, &plan), TERN_OK);
    for (int rank = 0; rank < N; rank++) {
        uint64_t offset = SLICE * (uint64_t)rank;
        tern_plan_range from[N];
        for (int peer = 0; peer < N; peer++) {
            from[peer] = hand_at(peer, TERN_PLAN_IN, offset);
        }
        tern_plan_range to = hand_at(to_others ? (root + 1) % N : root, TERN_PLAN_OUT, offset);
        tern_plan_op op = {.kind = TERN_PLAN_REDUCE,
                           .length = SLICE,
                           .sources = from,
                           .sources_count = N,
                           .destinations = &to,
                           .destinations_count = 1};
        assert_int_equal(tern_plan_add(plan, rank, 0, &op), TERN_OK);
        hand_post(plan, rank, 0, (rank + 1) % N, 0);
        hand_post(plan, rank, 0, (rank + 2) % N, 0);
        if (waits || rank == root) {
            hand_wait(plan, rank, 0, 0, N - 1);
        }
    }
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    return plan;
}

static void a_reduce_is_proved_at_the_root(void **state)
{
    for (int root = 0; root < 3; root++) {
        assert_proved(reduce_to(root, false, true), TERN_CHECK_ORDER_RANK);
    }
    // The root is right, but the others may end while their inputs are still read.
    assert_refuted(reduce_to(1, false, false), TERN_CHECK_RACE,
                   "reads in of rank 0, whose lanes may have ended before");
    assert_refuted(reduce_to(1, true, true), TERN_CHECK_BOUNDS,
                   "rank 0, lane 0, op 0 (reduce): rank 2 has no out; in a reduce only the root "
                   "has one, rank 1");
}

// A plan of one copy: only rank 1, the root, has what is named last.
static tern_plan *copy_of(tern_plan_kind kind, int from, int to, uint64_t length)
{
    tern_plan *plan;
    tern_plan_spec spec = {.kind = kind, .nranks = 2, .bytes = 16, .unit = 4, .root = 1};
    assert_int_equal(tern_plan_create(&spec, &plan), TERN_OK);
    hand_copy(plan, 0, 0, hand_at(from, TERN_PLAN_IN, 0), hand_at(to, TERN_PLAN_OUT, 0), length);
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    return plan;
}

static void buffers_that_a_rank_does_not_have_are_refused(void **state)
{
    static const struct {
        tern_plan_kind kind;
        const char *sentence; // NULL: every rank has both
    } cases[] = {
        {TERN_PLAN_BROADCAST, "rank 0 has no in; in a broadcast only the root has one, rank 1"},
        {TERN_PLAN_SCATTER, "rank 0 has no in; in a scatter only the root has one, rank 1"},
        {TERN_PLAN_GATHER, "rank 0 has no out; in a gather only the root has one, rank 1"},
        {TERN_PLAN_REDUCE_TO_ROOT, "rank 0 has no out; in a reduce only the root has one, rank 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_refuted(copy_of(cases[i].kind, 0, 0, 4), TERN_CHECK_BOUNDS, cases[i].sentence);
        // Of no bytes a range is legal everywhere, and of the root's there are as many as there
        // are.
        tern_check *check = check_plan(copy_of(cases[i].kind, 0, 0, 0));
        assert_int_equal(tern_check_count(check, TERN_CHECK_BOUNDS), 0);
        tern_check_destroy(check);
        check = check_plan(copy_of(cases[i].kind, 1, 1, 4));
        assert_int_equal(tern_check_count(check, TERN_CHECK_BOUNDS), 0);
        tern_check_destroy(check);
    }
}

// Gather and scatter by hand, right and with two shares exchanged.
static void gather_and_scatter_are_proved_share_by_share(void **state)
{
    for (int kind = TERN_PLAN_GATHER; kind <= TERN_PLAN_SCATTER; kind++) {
        for (int spoiled = 0; spoiled < 2; spoiled++) {
            bool gather = kind == TERN_PLAN_GATHER;
            tern_plan *plan;
            tern_plan_spec spec = {
                .kind = (tern_plan_kind)kind, .nranks = 3, .bytes = 24, .unit = 4, .root = 2};
            assert_int_equal(tern_plan_create(&spec, &plan), TERN_OK);
            for (int rank = 0; rank < 3; rank++) {
                int place = spoiled && rank < 2 ? 1 - rank : rank;
                tern_plan_range share =
                    hand_at(2, gather ? TERN_PLAN_OUT : TERN_PLAN_IN, 8 * (uint64_t)place);
                tern_plan_range own = hand_at(rank, gather ? TERN_PLAN_IN : TERN_PLAN_OUT, 0);
                hand_copy(plan, rank, 0, gather ? own : share, gather ? share : own, 8);
                hand_post(plan, rank, 0, 2, 0);
            }
            hand_wait(plan, 2, 0, 0, 3);
            assert_int_equal(tern_plan_seal(plan), TERN_OK);
            if (!spoiled) {
                assert_proved(plan, TERN_CHECK_ORDER_NONE);
            } else if (gather) {
                assert_refuted(
                    plan, TERN_CHECK_RESULT,
                    "out of rank 2, bytes 8..16: in+0 of rank 0 instead of in+0 of rank 1, "
                    "made by rank 0, lane 0, op 0 (copy)");
            } else {
                assert_refuted(
                    plan, TERN_CHECK_RESULT,
                    "out of rank 1, bytes 0..8: in+0 of rank 2 instead of in+8, shifted by "
                    "-8, made by rank 1, lane 0, op 0 (copy)");
            }
        }
    }
}

// One lane adds to scratch, another one overwrites it and takes it for the result: right if the sum
// comes first, wrong if it comes last. Whichever lane is executed first, that is seen.
static void a_store_and_an_atomic_reduce_are_a_race(void **state)
{
    for (int adder = 0; adder < 2; adder++) {
        tern_plan *plan = hand_plan(TERN_PLAN_BROADCAST, 1, 8, 4);
        tern_plan_range in = hand_at(0, TERN_PLAN_IN, 0);
        tern_plan_range scratch = hand_at(0, TERN_PLAN_SCRATCH, 0);
        tern_plan_op add = {.kind = TERN_PLAN_REDUCE,
                            .flags = TERN_PLAN_ATOMIC,
                            .length = 8,
                            .sources = &in,
                            .sources_count = 1,
                            .destinations = &scratch,
                            .destinations_count = 1};
        assert_int_equal(tern_plan_need_scratch(plan, 8), TERN_OK);
        assert_int_equal(tern_plan_add(plan, 0, adder, &add), TERN_OK);
        hand_copy(plan, 0, 1 - adder, in, scratch, 8);
        hand_copy(plan, 0, 1 - adder, scratch, hand_at(0, TERN_PLAN_OUT, 0), 8);
        assert_int_equal(tern_plan_seal(plan), TERN_OK);
        assert_refuted(plan, TERN_CHECK_RACE,
                       "bytes 0..8 of scratch of rank 0, and nothing orders them");
    }
}

static void a_check_that_takes_too_much_memory_says_so(void **state)
{
    tern_check *check = NULL;
    tern_plan *plan = fused(64, 64, NONE);
    assert_int_equal(tern__check_plan_within(plan, NULL, 1 << 19, &check), TERN_ERR_LIMIT);
    assert_null(check);
    assert_string_equal(
        tern_last_error(),
        "a check may take 0.5 MiB, and that of a plan of 64 ranks, 64 lanes and 4224 "
        "ops takes more: fewer ranks, lanes or separate ranges would fit");
    assert_int_equal(tern__check_plan_within(plan, NULL, 8 << 20, &check), TERN_OK);
    tern_check_destroy(check);
    tern_plan_destroy(plan);
}

static void unsealed_plans_are_refused(void **state)
{
    tern_check *check;
    tern_plan *plan = hand_plan(TERN_PLAN_BARRIER, 1, 0, 4);
    assert_int_equal(tern_check_plan(plan, NULL, &check), TERN_ERR_ARG);
    tern_plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_pass_all_reduce_is_proved),
        cmocka_unit_test(a_missing_wait_is_a_race_with_the_end),
        cmocka_unit_test(a_wait_for_too_few_posts_is_a_race),
        cmocka_unit_test(a_missing_post_is_a_deadlock),
        cmocka_unit_test(lanes_behind_a_wait_without_posts_are_counted),
        cmocka_unit_test(races_that_follow_from_a_missing_wait_are_counted),
        cmocka_unit_test(a_range_beyond_its_buffer_is_found),
        cmocka_unit_test(another_order_of_the_sum_is_said),
        cmocka_unit_test(a_contribution_twice_is_found),
        cmocka_unit_test(a_shifted_source_is_found),
        cmocka_unit_test(the_first_wrong_sum_is_named),
        cmocka_unit_test(an_interval_in_the_middle_is_no_chain),
        cmocka_unit_test(the_first_wrong_copy_is_named),
        cmocka_unit_test(an_atomic_add_to_nothing_is_found),
        cmocka_unit_test(atomic_adds_are_proved_and_called_by_name),
        cmocka_unit_test(an_atomic_reduce_does_not_add_to_its_own_source),
        cmocka_unit_test(a_cycle_is_shown),
        cmocka_unit_test(a_cycle_behind_many_that_wait_for_it_is_found),
        cmocka_unit_test(a_barrier_that_does_not_meet_is_found),
        cmocka_unit_test(a_post_by_any_lane_proves_that_its_rank_has_begun),
        cmocka_unit_test(a_post_proves_that_those_before_its_sender_have_begun),
        cmocka_unit_test(forwarding_too_early_is_a_race),
        cmocka_unit_test(a_cut_link_is_not_used),
        cmocka_unit_test(all_findings_are_listed),
        cmocka_unit_test(a_reduce_is_proved_at_the_root),
        cmocka_unit_test(buffers_that_a_rank_does_not_have_are_refused),
        cmocka_unit_test(gather_and_scatter_are_proved_share_by_share),
        cmocka_unit_test(a_store_and_an_atomic_reduce_are_a_race),
        cmocka_unit_test(a_check_that_takes_too_much_memory_says_so),
        cmocka_unit_test(unsealed_plans_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
