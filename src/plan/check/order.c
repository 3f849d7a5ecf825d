// SPDX-License-Identifier: Apache-2.0
// The one execution, and what must happen before what. A wait for `count` of a signal that is
// posted `total` times cannot end without the first count - (total - k) posts of a lane that posts
// it k times: those must have happened, in every interleaving, and with them what was before them.
// So the i-th post of that lane tells those what was before it who wait for total - k + i, and
// nobody else more. The lanes that post one signal are taken to be independent of one another: if
// one of them posts only after another, a wait for fewer than all posts may order more than is seen
// here.

#include "plan/check/order.h"

#include <stdlib.h>

static void replace(struct clock_pool *pool, struct clock **clock, struct clock *by)
{
    tern__clock_hold(by);
    tern__clock_drop(pool, *clock);
    *clock = by;
}

static bool execute_wait(struct order *order, uint32_t lane, const struct signal *signal,
                         struct awaited *awaited)
{
    struct clock_pool *pool = &order->checking->pool;
    struct clock **clock = &order->checking->clocks[lane];
    if (awaited->to == NULL && !tern__begun_wait(order, signal, awaited)) {
        return false;
    }
    if (*clock != awaited->from || awaited->to == NULL) {
        replace(pool, &awaited->from, *clock);
        replace(pool, &awaited->to, *clock);
        if (!tern__clock_join(pool, &awaited->to, awaited->clock)) {
            return false;
        }
    }
    replace(pool, clock, awaited->to);
    if (--awaited->waits == 0) {
        replace(pool, &awaited->clock, NULL);
        replace(pool, &awaited->from, NULL);
        replace(pool, &awaited->to, NULL);
    }
    return true;
}

static bool execute_post(struct order *order, struct place place, struct signal *signal)
{
    struct checking *checking = order->checking;
    struct poster *poster = tern__signal_poster(signal, place.lane);
    tern__begun_post(order, signal, poster);
    poster->done++;
    signal->done++;
    struct awaited *told =
        tern__signal_awaited(signal, signal->total - poster->total + poster->done);
    if (told != NULL &&
        (!tern__clock_join(&checking->pool, &told->clock, checking->clocks[place.lane]) ||
         !tern__clock_raise(&checking->pool, &told->clock, place.lane, place.index + 1) ||
         !tern__network_post(checking, place, (int)(signal->key >> 32), &told->clock))) {
        return false;
    }
    struct awaited *next = &signal->awaited[signal->reached];
    if (signal->reached < signal->awaited_count && next->count == signal->done) {
        signal->reached++;
        for (uint32_t waiter = next->first_waiter; waiter != 0;
             waiter = order->next_waiter[waiter - 1]) {
            order->ready[order->ready_count++] = waiter - 1;
        }
    }
    return true;
}

// Executes a lane until it has to wait or has ended.
static bool run_lane(struct order *order, uint32_t lane)
{
    struct checking *checking = order->checking;
    const struct tern__lane *row = tern__lane_of(checking, lane);
    for (; checking->position[lane] < row->count; checking->position[lane]++) {
        struct place place = {.lane = lane, .index = checking->position[lane]};
        const struct tern__op *op = &row->ops[place.index];
        bool good = true;
        if (op->kind == TERN_PLAN_WAIT) {
            struct signal *signal = tern__signal_of(order, lane, op);
            struct awaited *awaited = tern__signal_awaited(signal, op->length);
            if (signal->done < op->length) {
                order->next_waiter[lane] = awaited->first_waiter;
                awaited->first_waiter = lane + 1;
                return true;
            }
            good = execute_wait(order, lane, signal, awaited);
        } else if (op->kind == TERN_PLAN_POST) {
            good = execute_post(order, place, tern__signal_of(order, lane, op));
        } else if (!checking->unfit[checking->unfit_first[lane] + place.index]) {
            good = tern__memory_execute(checking, place, op) &&
                   (!checking->check->in_place || tern__in_place_execute(checking, place, op));
        }
        if (!good) {
            return false;
        }
    }
    return true;
}

static bool prepare(struct order *order)
{
    struct checking *checking = order->checking;
    uint32_t lanes = checking->lanes.count;
    order->next_waiter = calloc((size_t)lanes + 1, sizeof *order->next_waiter);
    order->ready = calloc((size_t)lanes + 1, sizeof *order->ready);
    checking->clocks = calloc((size_t)lanes + 1, sizeof(struct clock *));
    checking->position = calloc((size_t)lanes + 1, sizeof *checking->position);
    if (order->next_waiter == NULL || order->ready == NULL || checking->clocks == NULL ||
        checking->position == NULL) {
        return false;
    }
    for (uint32_t lane = 0; lane < lanes; lane++) {
        order->ready[order->ready_count++] = lane;
    }
    return tern__signals_create(order) && tern__begun_prepare(order);
}

bool tern__check_order(struct checking *checking)
{
    struct order *order = calloc(1, sizeof *order);
    checking->order = order;
    if (order == NULL) {
        return false;
    }
    order->checking = checking;
    bool good = prepare(order);
    while (good && order->ready_count > 0) {
        good = run_lane(order, order->ready[--order->ready_count]);
    }
    return good && tern__check_stuck(order) && !checking->check->out_of_memory;
}

void tern__order_destroy(struct checking *checking)
{
    struct order *order = checking->order;
    if (order != NULL) {
        tern__begun_destroy(order);
        tern__signals_destroy(order);
        free(order->next_waiter);
        free(order->ready);
        free(order);
    }
}
