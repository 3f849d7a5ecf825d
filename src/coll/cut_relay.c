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

static void from_pair(const struct tern__cut_plan *plan, int x, int h, int late)
{
    struct tern__emit *e = plan->e;
    int n = e->nranks;
    int i = plan->cut.index[h];
    struct tern__at at = tern__cut_lane(plan, x, h, 0);
    tern__cut_push_feed(plan, at, h);
    tern__cut_push_own(plan, at, h, 0, n - 3);
    tern__emit_post(e, at, h, (uint32_t)x);

    at.round = 1;
    tern__cut_push_own(plan, at, h, n - 3, 2);
    tern__emit_post(e, at, h, (uint32_t)x);

    at.round = 2;
    tern__cut_push_own(plan, at, h, n - 1, 1);
    tern__emit_wait(e, at, (uint32_t)x, 1);
    tern__cut_push_final(plan, at, h, x, i, late - 1);
    tern__emit_post(e, at, h, (uint32_t)x);

    at.round = 3;
    tern__cut_push_final(plan, at, h, x, i + late - 1, plan->healthy - (late - 1));
    tern__emit_post(e, at, h, (uint32_t)x);
}

static void between_healthy(const struct tern__cut_plan *plan, int g, int h, int late)
{
    struct tern__emit *e = plan->e;
    int n = e->nranks;
    struct tern__at at = tern__cut_lane(plan, g, h, 0);
    tern__cut_push_own(plan, at, h, 0, n - 2);
    tern__emit_post(e, at, h, (uint32_t)g);

    at.round = 1;
    tern__cut_push_own(plan, at, h, n - 2, 2);
    tern__emit_post(e, at, h, (uint32_t)g);

    at.round = 2;
    tern__emit_wait(e, at, (uint32_t)g, 2);
    tern__cut_push_final(plan, at, h, g, 0, late);
    tern__emit_post(e, at, h, (uint32_t)g);

    at.round = 3;
    tern__emit_wait(e, at, (uint32_t)g, 3);
    tern__cut_push_final(plan, at, h, g, late, n - late);
    tern__emit_post(e, at, h, (uint32_t)g);
}

static void to_pair(const struct tern__cut_plan *plan, int h, int x, int late)
{
    struct tern__emit *e = plan->e;
    int n = e->nranks;
    int i = plan->cut.index[h];
    int other = tern__cut_other(plan, x);
    struct tern__at at = tern__cut_lane(plan, h, x, 0);
    tern__cut_push_own(plan, at, x, 0, plan->healthy);
    tern__emit_post(e, at, x, (uint32_t)h);

    at.round = 1;
    tern__emit_wait(e, at, (uint32_t)other, 1);
    tern__emit_from(e, h, TERN_PLAN_SCRATCH, tern__cut_feed(plan, other));
    tern__emit_to(e, x, TERN_PLAN_SCRATCH, tern__cut_slot(plan, x, other, i));
    tern__emit_move(e, at, tern__cut_unit(plan, x, i + 1) - tern__cut_unit(plan, x, i));
    tern__emit_wait(e, at, (uint32_t)h, 1);
    tern__cut_push_final(plan, at, x, h, 0, 1);
    tern__emit_post(e, at, x, (uint32_t)h);

    at.round = 2;
    tern__emit_wait(e, at, (uint32_t)h, 2);
    tern__cut_push_final(plan, at, x, h, 1, late);
    tern__emit_post(e, at, x, (uint32_t)h);

    at.round = 3;
    tern__emit_wait(e, at, (uint32_t)h, 3);
    tern__cut_push_final(plan, at, x, h, late + 1, n - late - 1);
    tern__emit_wait(e, at, (uint32_t)other, 3);
    tern__cut_push_final(plan, at, x, other, i, 1);
    tern__emit_post(e, at, x, (uint32_t)h);
}

static void healthy_sums(const struct tern__cut_plan *plan, int h)
{
    int n = plan->e->nranks;
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
    if (!tern__cut_begin(&plan, e, e->nranks)) {
        return;
    }
    plan.raw = true;
    int late = e->nranks / 2; // L
    for (int i = 0; i < plan.healthy; i++) {
        int h = plan.cut.healthy[i];
        healthy_sums(&plan, h);
        for (int j = 0; j < plan.healthy; j++) {
            if (j != i) {
                between_healthy(&plan, h, plan.cut.healthy[j], late);
            }
        }
        for (int k = 0; k < 2; k++) {
            from_pair(&plan, plan.cut.pair[k], h, late);
            to_pair(&plan, h, plan.cut.pair[k], late);
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
