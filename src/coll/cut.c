// SPDX-License-Identifier: Apache-2.0
// The plans around a cut link: which pair, and what they share.

#include "coll/cut.h"

// True when a link of the pair a, b is missing; else its slower bandwidth.
static bool pair_missing(const tern_topo *topo, int a, int b, double *slower_GBps)
{
    tern_link there = {0};
    tern_link back = {0};
    if (!tern_topo_link(topo, a, b, &there) || !tern_topo_link(topo, b, a, &back)) {
        return true;
    }
    *slower_GBps =
        there.bandwidth_GBps < back.bandwidth_GBps ? there.bandwidth_GBps : back.bandwidth_GBps;
    return false;
}

bool tern__cut_find(const tern_topo *topo, struct tern__cut *cut)
{
    int n = tern_topo_size(topo);
    if (n < 2) {
        return false;
    }
    int missing = 0;
    double slowest_GBps = 0;
    *cut = (struct tern__cut){.pair = {0, 1}};
    for (int a = 0; a < n; a++) {
        for (int b = a + 1; b < n; b++) {
            double GBps = 0;
            bool gone = pair_missing(topo, a, b, &GBps);
            bool slowest = missing == 0 && (slowest_GBps <= 0 || GBps < slowest_GBps);
            if (gone || slowest) {
                cut->pair[0] = a;
                cut->pair[1] = b;
                slowest_GBps = GBps;
            }
            missing += gone;
        }
    }
    for (int rank = 0; rank < n; rank++) {
        if (rank != cut->pair[0] && rank != cut->pair[1]) {
            cut->index[rank] = cut->healthy_count;
            cut->healthy[cut->healthy_count++] = rank;
        }
    }
    cut->index[cut->pair[0]] = -1;
    cut->index[cut->pair[1]] = -2;
    return missing <= 1;
}

// Units are numbered over all owners: those of the pair first.
static int first_unit(const struct tern__cut_plan *plan, int owner)
{
    int index = plan->cut.index[owner];
    return index < 0 ? (-index - 1) * plan->healthy
                     : 2 * plan->healthy + index * plan->healthy_units;
}

static int all_units(const struct tern__cut_plan *plan)
{
    return 2 * plan->healthy + plan->healthy * plan->healthy_units;
}

int tern__cut_units(const struct tern__cut_plan *plan, int owner)
{
    return plan->cut.index[owner] < 0 ? plan->healthy : plan->healthy_units;
}

uint64_t tern__cut_unit(const struct tern__cut_plan *plan, int owner, int unit)
{
    return tern__slice(plan->e, all_units(plan), first_unit(plan, owner) + unit);
}

bool tern__cut_begin(struct tern__cut_plan *plan, struct tern__emit *e, int healthy_units)
{
    *plan = (struct tern__cut_plan){.e = e};
    if (!tern__cut_find(e->topo, &plan->cut)) {
        return false;
    }
    plan->healthy = plan->cut.healthy_count;
    plan->healthy_units = healthy_units;
    for (int owner = 0; owner < e->nranks; owner++) {
        uint64_t block = tern__cut_unit(plan, owner, tern__cut_units(plan, owner)) -
                         tern__cut_unit(plan, owner, 0);
        plan->slot_bytes = block > plan->slot_bytes ? block : plan->slot_bytes;
    }
    tern__emit_scratch(e, (uint64_t)(e->nranks - 1) * plan->slot_bytes +
                              2 * tern__slice_longest(e, all_units(plan)));
    return true;
}

uint64_t tern__cut_slot(const struct tern__cut_plan *plan, int owner, int sender, int unit)
{
    int slot = sender < owner ? sender : sender - 1;
    return (uint64_t)slot * plan->slot_bytes + tern__cut_unit(plan, owner, unit) -
           tern__cut_unit(plan, owner, 0);
}

uint64_t tern__cut_feed(const struct tern__cut_plan *plan, int x)
{
    uint64_t feeds = (uint64_t)(plan->e->nranks - 1) * plan->slot_bytes;
    return x == plan->cut.pair[0] ? feeds : feeds + tern__slice_longest(plan->e, all_units(plan));
}

struct tern__at tern__cut_lane(const struct tern__cut_plan *plan, int rank, int peer)
{
    int n = plan->e->nranks;
    return (struct tern__at){.rank = rank, .lane = (peer - rank + n) % n};
}

void tern__cut_end_round(const struct tern__cut_plan *plan, struct tern__at *at)
{
    int peer = (at->rank + at->lane) % plan->e->nranks;
    tern__emit_post(plan->e, *at, peer, (uint32_t)at->rank);
    at->round++;
}

int tern__cut_other(const struct tern__cut_plan *plan, int x)
{
    return plan->cut.pair[plan->cut.pair[0] == x];
}

static void push_own_run(const struct tern__cut_plan *plan, struct tern__at at, int owner, int from,
                         int to)
{
    uint64_t begin = tern__cut_unit(plan, owner, from);
    tern__emit_from(plan->e, at.rank, TERN_PLAN_IN, begin);
    tern__emit_to(plan->e, owner, TERN_PLAN_SCRATCH, tern__cut_slot(plan, owner, at.rank, from));
    tern__emit_move(plan->e, at, tern__cut_unit(plan, owner, to) - begin);
}

void tern__cut_push_own(const struct tern__cut_plan *plan, struct tern__at at, int owner, int first,
                        int count)
{
    int units = tern__cut_units(plan, owner);
    int from = first % units;
    int run = from + count > units ? units - from : count;
    push_own_run(plan, at, owner, from, from + run);
    push_own_run(plan, at, owner, 0, count - run);
}

static void push_final_run(const struct tern__cut_plan *plan, struct tern__at at, int peer,
                           int owner, int from, int to)
{
    uint64_t begin = tern__cut_unit(plan, owner, from);
    tern__emit_from(plan->e, at.rank, TERN_PLAN_OUT, begin);
    tern__emit_to(plan->e, peer, TERN_PLAN_OUT, begin);
    tern__emit_move(plan->e, at, tern__cut_unit(plan, owner, to) - begin);
}

void tern__cut_push_final(const struct tern__cut_plan *plan, struct tern__at at, int peer,
                          int owner, int first, int count)
{
    int units = tern__cut_units(plan, owner);
    int from = first % units;
    int run = from + count > units ? units - from : count;
    push_final_run(plan, at, peer, owner, from, from + run);
    push_final_run(plan, at, peer, owner, 0, count - run);
}

void tern__cut_push_summed(const struct tern__cut_plan *plan, struct tern__at at, int peer,
                           int groups, int first, int count)
{
    tern__emit_wait(plan->e, at, (uint32_t)at.rank, groups);
    tern__cut_push_final(plan, at, peer, at.rank, first, count);
}

void tern__cut_push_feed(const struct tern__cut_plan *plan, struct tern__at at, int relay)
{
    int other = tern__cut_other(plan, at.rank);
    int unit = plan->cut.index[relay];
    uint64_t begin = tern__cut_unit(plan, other, unit);
    tern__emit_from(plan->e, at.rank, TERN_PLAN_IN, begin);
    tern__emit_to(plan->e, relay, TERN_PLAN_SCRATCH, tern__cut_feed(plan, at.rank));
    tern__emit_move(plan->e, at, tern__cut_unit(plan, other, unit + 1) - begin);
}

void tern__cut_relay_final(const struct tern__cut_plan *plan, struct tern__at at, int x)
{
    int other = tern__cut_other(plan, x);
    tern__emit_wait(plan->e, at, (uint32_t)other, 3);
    tern__cut_push_final(plan, at, x, other, plan->cut.index[at.rank], 1);
}

void tern__cut_wait_all(const struct tern__cut_plan *plan, struct tern__at at, int rounds)
{
    bool healthy = plan->cut.index[at.rank] >= 0;
    for (int step = 1; step < plan->e->nranks; step++) {
        int sender = (at.rank + step) % plan->e->nranks;
        if (healthy || plan->cut.index[sender] >= 0) {
            tern__emit_wait(plan->e, at, (uint32_t)sender, rounds);
        }
    }
}

void tern__cut_sum(const struct tern__cut_plan *plan, struct tern__at at, int first, int last)
{
    uint64_t begin = tern__cut_unit(plan, at.rank, first);
    bool healthy = plan->cut.index[at.rank] >= 0;
    for (int rank = 0; rank < plan->e->nranks; rank++) {
        if (rank == at.rank) {
            tern__emit_from(plan->e, rank, TERN_PLAN_IN, begin);
        } else if (healthy || plan->raw || plan->cut.index[rank] >= 0) {
            tern__emit_from(plan->e, at.rank, TERN_PLAN_SCRATCH,
                            tern__cut_slot(plan, at.rank, rank, first));
        }
    }
    tern__emit_to(plan->e, at.rank, TERN_PLAN_OUT, begin);
    tern__emit_move(plan->e, at, tern__cut_unit(plan, at.rank, last) - begin);
    tern__emit_post(plan->e, at, at.rank, (uint32_t)at.rank);
}

static void emit_healthy(const struct tern__cut_plan *plan, int h,
                         const struct tern__cut_roles *roles)
{
    roles->healthy_sums(plan, h);
    for (int i = 0; i < plan->healthy; i++) {
        if (plan->cut.healthy[i] != h) {
            roles->between_healthy(plan, h, plan->cut.healthy[i]);
        }
    }
    for (int k = 0; k < 2; k++) {
        roles->from_pair(plan, plan->cut.pair[k], h);
        roles->to_pair(plan, h, plan->cut.pair[k]);
    }
}

void tern__cut_emit(const struct tern__cut_plan *plan, const struct tern__cut_roles *roles)
{
    for (int i = 0; i < plan->healthy; i++) {
        emit_healthy(plan, plan->cut.healthy[i], roles);
    }
    for (int k = 0; k < 2; k++) {
        struct tern__at at = {.rank = plan->cut.pair[k], .round = 1};
        tern__cut_wait_all(plan, at, 2);
        tern__cut_sum(plan, at, 0, plan->healthy);
        at.round = 3;
        tern__cut_wait_all(plan, at, 4);
    }
}
