// SPDX-License-Identifier: Apache-2.0
// AllReduce around a cut link in four rounds with sums in rank order. The vector is (n-2)(n+2)
// units; a member x of the pair owns m = n - 2 of them, x[h] for each relay h, a healthy rank h
// owns n. Only raw inputs travel to owners: what one member of the pair has for x[h] goes through
// relay h as it is, and each owner sums its n parts in one op. Units on each link by round, with L
// = n / 2:
//
//     x -> h   1 (m): feed for the other's [h], own h.0..n-4    2 (2): own h.n-3, n-2
//              3 (L): own h.n-1, final x[h] and L-2 more of x    4 (n-L): the other finals of x
//     g -> h   1: own h.0..n-3    2: own h.n-2, n-1    3: final g.0..L-1    4: final g.L..n-1
//     h -> x   1: own part of x[*]    2: the other's part of x[h], final h.0    3: final h.1..L
//              4: final h.L+1..n-1, the other's final [h]
//
// 2n units in all: 2n/(n^2-4) S, 4/15 S for 8 ranks; the best of the plans without partial sums. A
// link may send a finished unit only after all its parts came in earlier rounds: the waits below.

#include "coll/cut.h"

static int late(const struct tern__cut_plan *plan) // L
{
    return plan->e->nranks / 2;
}

static void from_pair(const struct tern__cut_plan *plan, int x, int h)
{
    int n = plan->healthy_units;
    int finals = late(plan) - 1;
    int i = plan->cut.index[h];
    struct tern__at at = tern__cut_lane(plan, x, h);
    tern__cut_push_feed(plan, at, h);
    tern__cut_push_own(plan, at, h, 0, n - 3);
    tern__cut_end_round(plan, &at);

    tern__cut_push_own(plan, at, h, n - 3, 2);
    tern__cut_end_round(plan, &at);

    tern__cut_push_own(plan, at, h, n - 1, 1);
    tern__cut_push_summed(plan, at, h, 1, i, finals);
    tern__cut_end_round(plan, &at);

    tern__cut_push_final(plan, at, h, x, i + finals, plan->healthy - finals);
    tern__cut_end_round(plan, &at);
}

static void between_healthy(const struct tern__cut_plan *plan, int g, int h)
{
    int n = plan->healthy_units;
    struct tern__at at = tern__cut_lane(plan, g, h);
    tern__cut_push_own(plan, at, h, 0, n - 2);
    tern__cut_end_round(plan, &at);

    tern__cut_push_own(plan, at, h, n - 2, 2);
    tern__cut_end_round(plan, &at);

    tern__cut_push_summed(plan, at, h, 2, 0, late(plan));
    tern__cut_end_round(plan, &at);

    tern__cut_push_summed(plan, at, h, 3, late(plan), n - late(plan));
    tern__cut_end_round(plan, &at);
}

// The other member's part of x[h], as it came, into that one's slot at x.
static void pass_on(const struct tern__cut_plan *plan, struct tern__at at, int x)
{
    struct tern__emit *e = plan->e;
    int i = plan->cut.index[at.rank];
    int other = tern__cut_other(plan, x);
    tern__emit_wait(e, at, (uint32_t)other, 1);
    tern__emit_from(e, at.rank, TERN_PLAN_SCRATCH, tern__cut_feed(plan, other));
    tern__emit_to(e, x, TERN_PLAN_SCRATCH, tern__cut_slot(plan, x, other, i));
    tern__emit_move(e, at, tern__cut_unit(plan, x, i + 1) - tern__cut_unit(plan, x, i));
}

static void to_pair(const struct tern__cut_plan *plan, int h, int x)
{
    int sent = late(plan) + 1;
    struct tern__at at = tern__cut_lane(plan, h, x);
    tern__cut_push_own(plan, at, x, 0, plan->healthy);
    tern__cut_end_round(plan, &at);

    pass_on(plan, at, x);
    tern__cut_push_summed(plan, at, x, 1, 0, 1);
    tern__cut_end_round(plan, &at);

    tern__cut_push_summed(plan, at, x, 2, 1, late(plan));
    tern__cut_end_round(plan, &at);

    tern__cut_push_summed(plan, at, x, 3, sent, plan->healthy_units - sent);
    tern__cut_relay_final(plan, at, x);
    tern__cut_end_round(plan, &at);
}

static void healthy_sums(const struct tern__cut_plan *plan, int h)
{
    int n = plan->healthy_units;
    struct tern__at at = {.rank = h, .round = 0};
    tern__cut_wait_all(plan, at, 1);
    tern__cut_sum(plan, at, 0, n - 3);
    at.round = 1;
    tern__cut_wait_all(plan, at, 2);
    tern__cut_sum(plan, at, n - 3, n - 1);
    at.round = 2;
    tern__emit_wait(plan->e, at, (uint32_t)plan->cut.pair[0], 3);
    tern__emit_wait(plan->e, at, (uint32_t)plan->cut.pair[1], 3);
    tern__cut_sum(plan, at, n - 1, n);
    at.round = 3;
    tern__cut_wait_all(plan, at, 4);
}

void tern__emit_cut_relay(struct tern__emit *e)
{
    struct tern__cut_plan plan;
    if (tern__cut_begin(&plan, e, e->nranks)) {
        plan.raw = true;
        tern__cut_emit(&plan, &(struct tern__cut_roles){healthy_sums, between_healthy, from_pair,
                                                        to_pair});
    }
}
