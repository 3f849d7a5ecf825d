// SPDX-License-Identifier: Apache-2.0
// AllReduce around a cut link in four rounds that reach the lower bound, 2(n-1)/((n-2)(n+1)) S: all
// links are busy all the time (7/27 S for 8 ranks). The vector is (n-2)(n+1) units; a member x of
// the pair owns m = n - 2 of them, x[h] for each relay h, a healthy rank h owns n - 1. Relay h adds
// its own part of x[h] to that of the other member before it passes both on as one. Units on each
// link by round (length), with L = n / 2, for 6 ranks or more:
//
//     x -> h   1 (L): feed for the other's [h], own h.0..L-2    2 (n-L): own h.L-1..n-2
//              3 (1): final x[h]    4 (n-3): the other finals of x
//     g -> h   1: own h.0..L-1    2: own h.L..n-2, final g.0    3: final g.1    4: final g.2..n-2
//     h -> x   1: own part of L of x[g], g != h    2: of the others, both of x[h], final h.0, h.1
//              3: final h.2    4: final h.3..n-2, the other's final [h]
//
// A link may send a finished unit only after all its parts came in earlier rounds: the waits below.

#include "coll/cut.h"

static int early(const struct tern__cut_plan *plan) // L
{
    return plan->e->nranks / 2;
}

static void from_pair(const struct tern__cut_plan *plan, int x, int h)
{
    int done = early(plan) - 1;
    int i = plan->cut.index[h];
    struct tern__at at = tern__cut_lane(plan, x, h);
    tern__cut_push_feed(plan, at, h);
    tern__cut_push_own(plan, at, h, 0, done);
    tern__cut_end_round(plan, &at);

    tern__cut_push_own(plan, at, h, done, plan->healthy_units - done);
    tern__cut_end_round(plan, &at);

    tern__cut_push_summed(plan, at, h, 1, i, 1);
    tern__cut_end_round(plan, &at);

    tern__cut_push_final(plan, at, h, x, i + 1, plan->healthy - 1);
    tern__cut_end_round(plan, &at);
}

static void between_healthy(const struct tern__cut_plan *plan, int g, int h)
{
    int done = early(plan);
    struct tern__at at = tern__cut_lane(plan, g, h);
    tern__cut_push_own(plan, at, h, 0, done);
    tern__cut_end_round(plan, &at);

    tern__cut_push_own(plan, at, h, done, plan->healthy_units - done);
    tern__cut_push_summed(plan, at, h, 1, 0, 1);
    tern__cut_end_round(plan, &at);

    tern__cut_push_summed(plan, at, h, 2, 1, 1);
    tern__cut_end_round(plan, &at);

    tern__cut_push_final(plan, at, h, g, 2, plan->healthy_units - 2);
    tern__cut_end_round(plan, &at);
}

// The relay's own part of x[h] and the other member's, as one, into the relay's slot at x.
static void push_both(const struct tern__cut_plan *plan, struct tern__at at, int x)
{
    struct tern__emit *e = plan->e;
    int i = plan->cut.index[at.rank];
    uint64_t begin = tern__cut_unit(plan, x, i);
    tern__emit_wait(e, at, (uint32_t)tern__cut_other(plan, x), 1);
    tern__emit_from(e, at.rank, TERN_PLAN_IN, begin);
    tern__emit_from(e, at.rank, TERN_PLAN_SCRATCH, tern__cut_feed(plan, tern__cut_other(plan, x)));
    tern__emit_to(e, x, TERN_PLAN_SCRATCH, tern__cut_slot(plan, x, at.rank, i));
    tern__emit_move(e, at, tern__cut_unit(plan, x, i + 1) - begin);
}

static void to_pair(const struct tern__cut_plan *plan, int h, int x)
{
    int i = plan->cut.index[h];
    struct tern__at at = tern__cut_lane(plan, h, x);
    tern__cut_push_own(plan, at, x, i + 1, early(plan));
    tern__cut_end_round(plan, &at);

    tern__cut_push_own(plan, at, x, i + 1 + early(plan), plan->healthy - 1 - early(plan));
    push_both(plan, at, x);
    tern__cut_push_summed(plan, at, x, 1, 0, 2);
    tern__cut_end_round(plan, &at);

    tern__cut_push_summed(plan, at, x, 2, 2, 1);
    tern__cut_end_round(plan, &at);

    tern__cut_push_final(plan, at, x, h, 3, plan->healthy_units - 3);
    tern__cut_relay_final(plan, at, x);
    tern__cut_end_round(plan, &at);
}

static void healthy_sums(const struct tern__cut_plan *plan, int h)
{
    struct tern__at at = {.rank = h, .round = 0};
    tern__cut_wait_all(plan, at, 1);
    tern__cut_sum(plan, at, 0, early(plan) - 1);
    at.round = 1;
    tern__cut_wait_all(plan, at, 2);
    tern__cut_sum(plan, at, early(plan) - 1, plan->healthy_units);
    at.round = 3;
    tern__cut_wait_all(plan, at, 4);
}

void tern__emit_cut_optimal(struct tern__emit *e)
{
    struct tern__cut_plan plan;
    if (tern__cut_begin(&plan, e, e->nranks - 1)) {
        tern__cut_emit(&plan, &(struct tern__cut_roles){healthy_sums, between_healthy, from_pair,
                                                        to_pair});
    }
}
