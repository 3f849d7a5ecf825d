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

static void from_pair(const struct tern__cut_plan *plan, int x, int h, int early)
{
    struct tern__emit *e = plan->e;
    int i = plan->cut.index[h];
    struct tern__at at = tern__cut_lane(plan, x, h, 0);
    tern__cut_push_feed(plan, at, h);
    tern__cut_push_own(plan, at, h, 0, early - 1);
    tern__emit_post(e, at, h, (uint32_t)x);

    at.round = 1;
    tern__cut_push_own(plan, at, h, early - 1, e->nranks - early);
    tern__emit_post(e, at, h, (uint32_t)x);

    at.round = 2;
    tern__emit_wait(e, at, (uint32_t)x, 1);
    tern__cut_push_final(plan, at, h, x, i, 1);
    tern__emit_post(e, at, h, (uint32_t)x);

    at.round = 3;
    tern__cut_push_final(plan, at, h, x, i + 1, plan->healthy - 1);
    tern__emit_post(e, at, h, (uint32_t)x);
}

static void between_healthy(const struct tern__cut_plan *plan, int g, int h, int early)
{
    struct tern__emit *e = plan->e;
    int n = e->nranks;
    struct tern__at at = tern__cut_lane(plan, g, h, 0);
    tern__cut_push_own(plan, at, h, 0, early);
    tern__emit_post(e, at, h, (uint32_t)g);

    at.round = 1;
    tern__cut_push_own(plan, at, h, early, n - 1 - early);
    tern__emit_wait(e, at, (uint32_t)g, 1);
    tern__cut_push_final(plan, at, h, g, 0, 1);
    tern__emit_post(e, at, h, (uint32_t)g);

    at.round = 2;
    tern__emit_wait(e, at, (uint32_t)g, 2);
    tern__cut_push_final(plan, at, h, g, 1, 1);
    tern__emit_post(e, at, h, (uint32_t)g);

    at.round = 3;
    tern__cut_push_final(plan, at, h, g, 2, n - 3);
    tern__emit_post(e, at, h, (uint32_t)g);
}

// The relay's own part of x[h] and the other member's, as one, into the relay's slot at x.
static void push_both(const struct tern__cut_plan *plan, struct tern__at at, int x)
{
    struct tern__emit *e = plan->e;
    int i = plan->cut.index[at.rank];
    uint64_t begin = tern__cut_unit(plan, x, i);
    tern__emit_from(e, at.rank, TERN_PLAN_IN, begin);
    tern__emit_from(e, at.rank, TERN_PLAN_SCRATCH, tern__cut_feed(plan, tern__cut_other(plan, x)));
    tern__emit_to(e, x, TERN_PLAN_SCRATCH, tern__cut_slot(plan, x, at.rank, i));
    tern__emit_move(e, at, tern__cut_unit(plan, x, i + 1) - begin);
}

static void to_pair(const struct tern__cut_plan *plan, int h, int x, int early)
{
    struct tern__emit *e = plan->e;
    int n = e->nranks;
    int i = plan->cut.index[h];
    int other = tern__cut_other(plan, x);
    struct tern__at at = tern__cut_lane(plan, h, x, 0);
    tern__cut_push_own(plan, at, x, i + 1, early);
    tern__emit_post(e, at, x, (uint32_t)h);

    at.round = 1;
    tern__cut_push_own(plan, at, x, i + 1 + early, n - 3 - early);
    tern__emit_wait(e, at, (uint32_t)other, 1);
    push_both(plan, at, x);
    tern__emit_wait(e, at, (uint32_t)h, 1);
    tern__cut_push_final(plan, at, x, h, 0, 2);
    tern__emit_post(e, at, x, (uint32_t)h);

    at.round = 2;
    tern__emit_wait(e, at, (uint32_t)h, 2);
    tern__cut_push_final(plan, at, x, h, 2, 1);
    tern__emit_post(e, at, x, (uint32_t)h);

    at.round = 3;
    tern__cut_push_final(plan, at, x, h, 3, n - 4);
    tern__emit_wait(e, at, (uint32_t)other, 3);
    tern__cut_push_final(plan, at, x, other, i, 1);
    tern__emit_post(e, at, x, (uint32_t)h);
}

static void healthy_sums(const struct tern__cut_plan *plan, int h, int early)
{
    struct tern__at at = {.rank = h, .round = 0};
    tern__cut_wait_all(plan, at, 1);
    tern__cut_sum(plan, at, 0, early - 1);
    at.round = 1;
    tern__cut_wait_all(plan, at, 2);
    tern__cut_sum(plan, at, early - 1, plan->healthy_units);
    at.round = 3;
    tern__cut_wait_all(plan, at, 4);
}

void tern__emit_cut_optimal(struct tern__emit *e)
{
    struct tern__cut_plan plan;
    if (!tern__cut_begin(&plan, e, e->nranks - 1)) {
        return;
    }
    int early = e->nranks / 2; // L
    for (int i = 0; i < plan.healthy; i++) {
        int h = plan.cut.healthy[i];
        healthy_sums(&plan, h, early);
        for (int j = 0; j < plan.healthy; j++) {
            if (j != i) {
                between_healthy(&plan, h, plan.cut.healthy[j], early);
            }
        }
        for (int k = 0; k < 2; k++) {
            from_pair(&plan, plan.cut.pair[k], h, early);
            to_pair(&plan, h, plan.cut.pair[k], early);
        }
    }
    for (int k = 0; k < 2; k++) {
        struct tern__at at = {.rank = plan.cut.pair[k], .round = 1};
        tern__cut_wait_all(&plan, at, 2);
        tern__cut_sum(&plan, at, 0, plan.healthy);
        at.round = 3;
        tern__cut_wait_all(&plan, at, 4);
    }
}
