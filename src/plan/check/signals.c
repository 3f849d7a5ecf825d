// SPDX-License-Identifier: Apache-2.0
// Which signals a plan uses, which lanes post each, and which counts are waited for. Only signals
// in use take memory: a plan may number them up to a million on every rank.

#include <stdlib.h>

#include "plan/check/order.h"

static size_t slot_of(const struct order *order, uint64_t key)
{
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - order->table_bits));
}

static uint64_t key_of(const struct checking *checking, uint32_t lane, const struct tern__op *op)
{
    int rank = op->kind == TERN_PLAN_POST ? op->peer : checking->lanes.rank[lane];
    return (uint64_t)rank << 32 | op->signal;
}

// The slot of a key, or the free one where it belongs.
static uint32_t *find_slot(const struct order *order, uint64_t key)
{
    size_t mask = ((size_t)1 << order->table_bits) - 1;
    size_t at = slot_of(order, key);
    while (order->table[at] != 0 && order->signals[order->table[at] - 1].key != key) {
        at = (at + 1) & mask;
    }
    return &order->table[at];
}

struct signal *tern__signal_of(const struct order *order, uint32_t lane, const struct tern__op *op)
{
    return &order->signals[*find_slot(order, key_of(order->checking, lane, op)) - 1];
}

static int compare_lane(const void *key, const void *poster)
{
    uint32_t lane = *(const uint32_t *)key;
    uint32_t other = ((const struct poster *)poster)->lane;
    return lane < other ? -1 : lane > other;
}

struct poster *tern__signal_poster(const struct signal *signal, uint32_t lane)
{
    return bsearch(&lane, signal->posters, signal->posters_count, sizeof *signal->posters,
                   compare_lane);
}

static int compare_count(const void *key, const void *awaited)
{
    uint64_t count = *(const uint64_t *)key;
    uint32_t other = ((const struct awaited *)awaited)->count;
    return count < other ? -1 : count > other;
}

struct awaited *tern__signal_awaited(const struct signal *signal, uint64_t count)
{
    return bsearch(&count, signal->awaited, signal->awaited_count, sizeof *signal->awaited,
                   compare_count);
}

static int compare_awaited(const void *a, const void *b)
{
    uint32_t one = ((const struct awaited *)a)->count;
    uint32_t other = ((const struct awaited *)b)->count;
    return one < other ? -1 : one > other;
}

// Sorts the counts that are waited for, and makes one of equal ones.
static void sort_awaited(struct signal *signal)
{
    uint32_t kept = 0;
    qsort(signal->awaited, signal->awaited_count, sizeof *signal->awaited, compare_awaited);
    for (uint32_t i = 0; i < signal->awaited_count; i++) {
        if (kept > 0 && signal->awaited[kept - 1].count == signal->awaited[i].count) {
            signal->awaited[kept - 1].waits++;
        } else {
            signal->awaited[kept++] = signal->awaited[i];
        }
    }
    signal->awaited_count = kept;
}

typedef bool (*signal_visitor)(struct order *order, uint32_t lane, const struct tern__op *op);

// Visits all posts and waits, lane by lane.
static bool visit_signals(struct order *order, signal_visitor visit)
{
    const struct checking *checking = order->checking;
    for (uint32_t lane = 0; lane < checking->lanes.count; lane++) {
        const struct tern__lane *row = tern__lane_of(checking, lane);
        for (size_t i = 0; i < row->count; i++) {
            const struct tern__op *op = &row->ops[i];
            if ((op->kind == TERN_PLAN_POST || op->kind == TERN_PLAN_WAIT) &&
                !visit(order, lane, op)) {
                return false;
            }
        }
    }
    return true;
}

static bool count_op(struct order *order, uint32_t lane, const struct tern__op *op)
{
    (void)lane;
    (void)op;
    order->ops++;
    return true;
}

// Counts a post or a wait, and an upper bound of the lanes that post.
static bool count_signal(struct order *order, uint32_t lane, const struct tern__op *op)
{
    uint64_t key = key_of(order->checking, lane, op);
    uint32_t *slot = find_slot(order, key);
    if (*slot == 0) {
        if (order->signals_count == order->signals_room) {
            uint32_t room = order->signals_room == 0 ? 64 : 2 * order->signals_room;
            uint64_t more = (uint64_t)(room - order->signals_room) * sizeof *order->signals;
            struct signal *grown = tern__budget_take(&order->checking->budget, more)
                                       ? realloc(order->signals, room * sizeof *grown)
                                       : NULL;
            if (grown == NULL) {
                return false;
            }
            order->signals = grown;
            order->signals_room = room;
        }
        order->signals[order->signals_count++] = (struct signal){.key = key};
        *slot = order->signals_count;
    }
    struct signal *signal = &order->signals[*slot - 1];
    if (op->kind == TERN_PLAN_WAIT) {
        signal->awaited_count++;
    } else if (signal->done != (uint64_t)lane + 1) { // here: the last lane seen
        signal->done = (uint64_t)lane + 1;
        signal->posters_count++;
    }
    return true;
}

static bool enter_signal(struct order *order, uint32_t lane, const struct tern__op *op)
{
    struct signal *signal = tern__signal_of(order, lane, op);
    if (op->kind == TERN_PLAN_WAIT) {
        signal->awaited[signal->awaited_count++] =
            (struct awaited){.count = (uint32_t)op->length, .waits = 1};
        return true;
    }
    uint32_t count = signal->posters_count;
    if (count == 0 || signal->posters[count - 1].lane != lane) {
        signal->posters[signal->posters_count++] = (struct poster){.lane = lane};
    }
    signal->posters[signal->posters_count - 1].total++;
    signal->total++;
    return true;
}

static bool reserve(struct order *order)
{
    size_t posters = 0;
    size_t awaited = 0;
    for (uint32_t i = 0; i < order->signals_count; i++) {
        posters += order->signals[i].posters_count;
        awaited += order->signals[i].awaited_count;
    }
    if (!tern__budget_take(&order->checking->budget,
                           posters * sizeof *order->posters + awaited * sizeof *order->awaited)) {
        return false;
    }
    order->posters = calloc(posters + 1, sizeof *order->posters);
    order->awaited = calloc(awaited + 1, sizeof *order->awaited);
    if (order->posters == NULL || order->awaited == NULL) {
        return false;
    }
    posters = awaited = 0;
    for (uint32_t i = 0; i < order->signals_count; i++) {
        struct signal *signal = &order->signals[i];
        signal->posters = &order->posters[posters];
        signal->awaited = &order->awaited[awaited];
        posters += signal->posters_count;
        awaited += signal->awaited_count;
        signal->posters_count = signal->awaited_count = 0;
        signal->done = 0;
    }
    return true;
}

bool tern__signals_create(struct order *order)
{
    visit_signals(order, count_op);
    order->table_bits = 6;
    while ((size_t)1 << order->table_bits < 2 * order->ops) {
        order->table_bits++;
    }
    size_t slots = (size_t)1 << order->table_bits;
    if (!tern__budget_take(&order->checking->budget, slots * sizeof *order->table)) {
        return false;
    }
    order->table = calloc(slots, sizeof *order->table);
    if (order->table == NULL || !visit_signals(order, count_signal) || !reserve(order)) {
        return false;
    }
    visit_signals(order, enter_signal);
    for (uint32_t i = 0; i < order->signals_count; i++) {
        sort_awaited(&order->signals[i]);
    }
    return true;
}

void tern__signals_destroy(struct order *order)
{
    free(order->signals);
    free(order->table);
    free(order->posters);
    free(order->awaited);
}
