// SPDX-License-Identifier: Apache-2.0
// Which ranks have begun, for barriers. A post proves that its sender has begun, and every rank
// that the sender knew of. A wait for `count` posts therefore proves that a rank has begun when
// fewer than `count` posts could come without proving it: of each lane those before its first post
// that does. So two lanes of a rank that post one signal prove by either post that the rank has
// begun, though a wait for one post says nothing of either lane.

#include <stdlib.h>

#include "plan/check/order.h"

static bool counts(const struct order *order, const struct signal *signal)
{
    // Where all posts are waited for each of them tells what it knows.
    return order->checking->plan->spec.kind == TERN_PLAN_BARRIER && signal->awaited_count > 0 &&
           signal->awaited[0].count < signal->total;
}

static bool prepare_signal(struct order *order, struct signal *signal)
{
    struct checking *checking = order->checking;
    size_t nranks = (size_t)checking->plan->spec.nranks;
    signal->unproved = tern__budget_take(&checking->budget, nranks * sizeof *signal->unproved)
                           ? calloc(nranks, sizeof *signal->unproved)
                           : NULL;
    if (signal->unproved == NULL) {
        return false;
    }
    for (size_t rank = 0; rank < nranks; rank++) {
        signal->unproved[rank] = signal->total;
    }
    for (uint32_t i = 0; i < signal->posters_count; i++) {
        struct poster *poster = &signal->posters[i];
        signal->unproved[checking->lanes.rank[poster->lane]] -= poster->total;
        poster->known = tern__clock_hold(checking->clocks[poster->lane]);
    }
    return true;
}

bool tern__begun_prepare(struct order *order)
{
    struct checking *checking = order->checking;
    bool good = true;
    if (checking->plan->spec.kind != TERN_PLAN_BARRIER) {
        return true;
    }
    for (uint32_t lane = 0; good && lane < checking->lanes.count; lane++) {
        uint32_t begun = tern__begun_lane(checking, checking->lanes.rank[lane]);
        good = tern__clock_raise(&checking->pool, &checking->clocks[lane], begun, 1);
    }
    for (uint32_t i = 0; good && i < order->signals_count; i++) {
        good = !counts(order, &order->signals[i]) || prepare_signal(order, &order->signals[i]);
    }
    return good;
}

struct proof {
    const struct order *order;
    struct signal *signal;
    uint32_t posts; // this one and those that follow it in its lane
};

static void prove(void *arg, uint32_t lane, uint32_t done)
{
    const struct proof *proof = arg;
    (void)done;
    const struct checking *checking = proof->order->checking;
    uint32_t first = tern__begun_lane(checking, 0);
    if (lane >= first && lane - first < (uint32_t)checking->plan->spec.nranks) {
        proof->signal->unproved[lane - first] -= proof->posts;
    }
}

void tern__begun_post(struct order *order, struct signal *signal, struct poster *poster)
{
    struct checking *checking = order->checking;
    struct clock *known = checking->clocks[poster->lane];
    if (signal->unproved != NULL && known != poster->known) {
        struct proof proof = {order, signal, poster->total - poster->done};
        tern__clock_beyond(known, poster->known, prove, &proof);
        tern__clock_hold(known);
        tern__clock_drop(&checking->pool, poster->known);
        poster->known = known;
    }
}

bool tern__begun_wait(struct order *order, const struct signal *signal, struct awaited *awaited)
{
    struct checking *checking = order->checking;
    int nranks = signal->unproved != NULL ? checking->plan->spec.nranks : 0;
    bool good = true;
    for (int rank = 0; good && rank < nranks; rank++) {
        good = signal->unproved[rank] >= awaited->count ||
               tern__clock_raise(&checking->pool, &awaited->clock, tern__begun_lane(checking, rank),
                                 1);
    }
    return good;
}

void tern__begun_destroy(struct order *order)
{
    for (uint32_t i = 0; i < order->signals_count; i++) {
        free(order->signals[i].unproved);
    }
}
