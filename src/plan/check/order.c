// SPDX-License-Identifier: Apache-2.0
// The one execution, and what must happen before what. A wait for `count` of a signal that is posted
// `total` times cannot end without the first count - (total - k) posts of a lane that posts it k
// times: those must have happened, in every interleaving, and with them what was before them. The
// lanes that post one signal are taken to be independent of one another: if one of them posts only
// after another, a wait for fewer than all posts may order more than is seen here.

#include <stdlib.h>
#include <string.h>

#include "plan/check/check.h"

// A post that has been executed.
struct post {
    struct clock *clock;
    uint32_t index; // in its lane
};

// A lane's posts to one signal.
struct poster {
    uint32_t lane;
    uint32_t total;
    uint32_t done;
    struct post *posts; // total of them, `done` filled in
};

struct signal {
    uint64_t total;
    uint64_t done;
    struct poster *posters; // by lane
    uint32_t posters_count, posters_room;
    uint32_t first_waiter; // lane + 1, or 0
};

struct order {
    struct checking *checking;
    uint32_t *signals_first; // per rank, in `signals`
    struct signal *signals;
    uint32_t *next_waiter; // per lane: lane + 1 of the next that waits for the same signal
    uint32_t *ready;       // lanes that may go on
    uint32_t ready_count;
};

static struct signal *signal_of(const struct order *order, int rank, uint32_t number)
{
    return &order->signals[order->signals_first[rank] + number];
}

static const struct tern__lane *lane_of(const struct checking *checking, uint32_t lane)
{
    int rank = checking->lanes.rank[lane];
    return &checking->plan->ranks[rank].lanes[lane - checking->lanes.first[rank]];
}

// Counts a post in the plan. Lanes are visited in order, so posters stay sorted.
static bool count_post(struct signal *signal, uint32_t lane)
{
    struct poster *last =
        signal->posters_count > 0 ? &signal->posters[signal->posters_count - 1] : NULL;
    if (last == NULL || last->lane != lane) {
        if (signal->posters_count == signal->posters_room) {
            uint32_t room = signal->posters_room == 0 ? 1 : 2 * signal->posters_room;
            struct poster *grown = realloc(signal->posters, room * sizeof *grown);
            if (grown == NULL) {
                return false;
            }
            signal->posters = grown;
            signal->posters_room = room;
        }
        last = &signal->posters[signal->posters_count++];
        *last = (struct poster){.lane = lane};
    }
    last->total++;
    signal->total++;
    return true;
}

static bool count_posts(struct order *order)
{
    const struct checking *checking = order->checking;
    for (uint32_t lane = 0; lane < checking->lanes.count; lane++) {
        const struct tern__lane *row = lane_of(checking, lane);
        for (size_t i = 0; i < row->count; i++) {
            const struct tern__op *op = &row->ops[i];
            if (op->kind == TERN_PLAN_POST &&
                !count_post(signal_of(order, op->peer, op->signal), lane)) {
                return false;
            }
        }
    }
    for (uint32_t s = 0; s < order->signals_first[checking->plan->spec.nranks]; s++) {
        for (uint32_t i = 0; i < order->signals[s].posters_count; i++) {
            struct poster *poster = &order->signals[s].posters[i];
            poster->posts = calloc(poster->total, sizeof *poster->posts);
            if (poster->posts == NULL) {
                return false;
            }
        }
    }
    return true;
}

static struct clock *new_clock(uint32_t lanes, const struct clock *from)
{
    struct clock *clock = malloc(sizeof *clock + lanes * sizeof clock->done[0]);
    if (clock != NULL && from != NULL) {
        memcpy(clock->done, from->done, lanes * sizeof clock->done[0]);
    } else if (clock != NULL) {
        memset(clock->done, 0, lanes * sizeof clock->done[0]);
    }
    if (clock != NULL) {
        clock->references = 1;
    }
    return clock;
}

static void drop_clock(struct clock *clock)
{
    if (clock != NULL && --clock->references == 0) {
        free(clock);
    }
}

// Makes a lane's clock its own, so that it may change.
static bool own_clock(struct checking *checking, uint32_t lane)
{
    struct clock *clock = checking->clocks[lane];
    if (clock->references == 1) {
        return true;
    }
    struct clock *copy = new_clock(checking->lanes.count, clock);
    if (copy == NULL) {
        return false;
    }
    drop_clock(clock);
    checking->clocks[lane] = copy;
    return true;
}

// Takes over what must have happened before a post, and the post itself.
static void join_post(struct checking *checking, uint32_t lane, uint32_t poster_lane,
                      const struct post *post)
{
    uint32_t *done = checking->clocks[lane]->done;
    for (uint32_t i = 0; i < checking->lanes.count; i++) {
        done[i] = post->clock->done[i] > done[i] ? post->clock->done[i] : done[i];
    }
    if (done[poster_lane] <= post->index) {
        done[poster_lane] = post->index + 1;
    }
}

static bool execute_wait(struct order *order, uint32_t lane, const struct tern__op *op)
{
    struct checking *checking = order->checking;
    const struct signal *signal = signal_of(order, checking->lanes.rank[lane], op->signal);
    if (!own_clock(checking, lane)) {
        return false;
    }
    for (uint32_t i = 0; i < signal->posters_count; i++) {
        const struct poster *poster = &signal->posters[i];
        uint64_t others = signal->total - poster->total;
        if (op->length > others) {
            join_post(checking, lane, poster->lane, &poster->posts[op->length - others - 1]);
        }
    }
    return true;
}

static int compare_lane(const void *key, const void *poster)
{
    uint32_t lane = *(const uint32_t *)key;
    uint32_t other = ((const struct poster *)poster)->lane;
    return (lane > other) - (lane < other);
}

// The lane among those that post the signal, or NULL.
static struct poster *find_poster(const struct signal *signal, uint32_t lane)
{
    if (signal->posters_count == 0) {
        return NULL;
    }
    return bsearch(&lane, signal->posters, signal->posters_count, sizeof *signal->posters,
                   compare_lane);
}

static void execute_post(struct order *order, struct place place, const struct tern__op *op)
{
    struct checking *checking = order->checking;
    struct signal *signal = signal_of(order, op->peer, op->signal);
    struct poster *poster = find_poster(signal, place.lane);
    struct clock *clock = checking->clocks[place.lane];
    clock->references++;
    poster->posts[poster->done++] = (struct post){.clock = clock, .index = place.index};
    signal->done++;
    // All that wait for this signal look again.
    for (uint32_t waiter = signal->first_waiter; waiter != 0;) {
        uint32_t next = order->next_waiter[waiter - 1];
        order->ready[order->ready_count++] = waiter - 1;
        waiter = next;
    }
    signal->first_waiter = 0;
}

// Executes a lane until it has to wait or has ended.
static bool run_lane(struct order *order, uint32_t lane)
{
    struct checking *checking = order->checking;
    const struct tern__lane *row = lane_of(checking, lane);
    while (checking->position[lane] < row->count) {
        struct place place = {.lane = lane, .index = checking->position[lane]};
        const struct tern__op *op = &row->ops[place.index];
        bool good = true;
        if (op->kind == TERN_PLAN_WAIT) {
            struct signal *signal = signal_of(order, checking->lanes.rank[lane], op->signal);
            if (signal->done < op->length) {
                order->next_waiter[lane] = signal->first_waiter;
                signal->first_waiter = lane + 1;
                return true;
            }
            good = execute_wait(order, lane, op);
        } else if (op->kind == TERN_PLAN_POST) {
            execute_post(order, place, op);
        } else if (!checking->unfit[checking->unfit_first[lane] + place.index]) {
            good = tern__memory_execute(checking, place, op) &&
                   (!checking->check->in_place || tern__in_place_execute(checking, place, op));
        }
        if (!good) {
            return false;
        }
        checking->position[lane]++;
    }
    return true;
}

// The lanes that can never go on: which signal, and why.
static bool stuck(const struct checking *checking, uint32_t lane)
{
    return checking->position[lane] < lane_of(checking, lane)->count;
}

static const struct tern__op *stuck_op(const struct checking *checking, uint32_t lane)
{
    return &lane_of(checking, lane)->ops[checking->position[lane]];
}

// Whether a stuck lane would still post the signal that another waits for.
static bool would_post(const struct order *order, uint32_t poster, uint32_t waiter)
{
    const struct checking *checking = order->checking;
    const struct tern__op *wait = stuck_op(checking, waiter);
    const struct signal *signal = signal_of(order, checking->lanes.rank[waiter], wait->signal);
    const struct poster *found = find_poster(signal, poster);
    return found != NULL && found->done < found->total;
}

static void report_starved(const struct order *order, uint32_t lane)
{
    struct checking *checking = order->checking;
    const struct tern__op *wait = stuck_op(checking, lane);
    const struct signal *signal = signal_of(order, checking->lanes.rank[lane], wait->signal);
    char where[96];
    struct place place = {.lane = lane, .index = checking->position[lane]};
    tern__place_text(checking, place, where, sizeof where);
    tern__check_add(checking->check, TERN_CHECK_DEADLOCK,
                    "%s waits for %llu posts of signal %u, and the whole plan has %llu", where,
                    (unsigned long long)wait->length, wait->signal,
                    (unsigned long long)signal->total);
}

// Words a cycle: from `start` along `before`, each lane waits for the next.
static void report_cycle(const struct order *order, const uint32_t *next, uint32_t start)
{
    struct checking *checking = order->checking;
    char text[360];
    size_t used = 0;
    uint32_t lane = start;
    do {
        char where[96];
        struct place place = {.lane = lane, .index = checking->position[lane]};
        tern__place_text(checking, place, where, sizeof where);
        const struct tern__op *wait = stuck_op(checking, lane);
        if (used + 130 < sizeof text) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s needs signal %u from",
                                     used == 0 ? "" : " ", where, wait->signal);
        }
        lane = next[lane];
    } while (lane != start);
    tern__check_add(checking->check, TERN_CHECK_DEADLOCK, "a cycle: %s the first", text);
}

// Finds the shortest cycle through a stuck lane by breadth-first search; next[l] is then the lane
// that l waits for. Returns its length, or 0.
static uint32_t shortest_cycle(const struct order *order, uint32_t start, uint32_t *before,
                               uint32_t *queue, uint32_t *next)
{
    const struct checking *checking = order->checking;
    uint32_t lanes = checking->lanes.count;
    uint32_t head = 0;
    uint32_t tail = 0;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        before[lane] = UINT32_MAX;
    }
    queue[tail++] = start;
    while (head < tail) {
        uint32_t lane = queue[head++];
        for (uint32_t other = 0; other < lanes; other++) {
            if (!stuck(checking, other) || !would_post(order, other, lane)) {
                continue;
            }
            if (other == start) {
                uint32_t length = 1;
                next[lane] = start;
                for (uint32_t at = lane; at != start; at = before[at], length++) {
                    next[before[at]] = at;
                }
                return length;
            }
            if (before[other] == UINT32_MAX) {
                before[other] = lane;
                queue[tail++] = other;
            }
        }
    }
    return 0;
}

static bool report_stuck(const struct order *order)
{
    struct checking *checking = order->checking;
    uint32_t lanes = checking->lanes.count;
    uint32_t *space = calloc((size_t)lanes * 3 + 1, sizeof *space);
    uint32_t best = UINT32_MAX;
    uint32_t best_start = 0;
    uint32_t searched = 0;
    if (space == NULL) {
        return false;
    }
    for (uint32_t lane = 0; lane < lanes; lane++) {
        if (!stuck(checking, lane)) {
            continue;
        }
        const struct tern__op *wait = stuck_op(checking, lane);
        if (signal_of(order, checking->lanes.rank[lane], wait->signal)->total < wait->length) {
            report_starved(order, lane);
        } else if (searched++ < 64) { // the shortest of the first ones, so that it stays quick
            uint32_t length =
                shortest_cycle(order, lane, space, space + lanes, space + 2 * (size_t)lanes);
            if (length > 0 && length < best) {
                best = length;
                best_start = lane;
            }
        }
    }
    if (best != UINT32_MAX) {
        shortest_cycle(order, best_start, space, space + lanes, space + 2 * (size_t)lanes);
        report_cycle(order, space + 2 * (size_t)lanes, best_start);
    }
    free(space);
    return true;
}

static bool prepare(struct order *order)
{
    struct checking *checking = order->checking;
    int nranks = checking->plan->spec.nranks;
    uint32_t lanes = checking->lanes.count;
    order->signals_first = calloc((size_t)nranks + 1, sizeof *order->signals_first);
    if (order->signals_first == NULL) {
        return false;
    }
    for (int rank = 0; rank < nranks; rank++) {
        order->signals_first[rank + 1] =
            order->signals_first[rank] + checking->plan->ranks[rank].signals;
    }
    order->signals = calloc((size_t)order->signals_first[nranks] + 1, sizeof *order->signals);
    order->next_waiter = calloc((size_t)lanes + 1, sizeof *order->next_waiter);
    order->ready = calloc((size_t)lanes + 1, sizeof *order->ready);
    checking->clocks = calloc((size_t)lanes + 1, sizeof(struct clock *));
    checking->position = calloc((size_t)lanes + 1, sizeof *checking->position);
    if (order->signals == NULL || order->next_waiter == NULL || order->ready == NULL ||
        checking->clocks == NULL || checking->position == NULL) {
        return false;
    }
    for (uint32_t lane = 0; lane < lanes; lane++) {
        checking->clocks[lane] = new_clock(lanes, NULL);
        if (checking->clocks[lane] == NULL) {
            return false;
        }
        order->ready[order->ready_count++] = lane;
    }
    return count_posts(order);
}

static void clean_up(struct order *order)
{
    int nranks = order->checking->plan->spec.nranks;
    uint32_t count = order->signals != NULL ? order->signals_first[nranks] : 0;
    for (uint32_t s = 0; s < count; s++) {
        for (uint32_t i = 0; i < order->signals[s].posters_count; i++) {
            struct poster *poster = &order->signals[s].posters[i];
            for (uint32_t p = 0; poster->posts != NULL && p < poster->done; p++) {
                drop_clock(poster->posts[p].clock);
            }
            free(poster->posts);
        }
        free(order->signals[s].posters);
    }
    free(order->signals);
    free(order->signals_first);
    free(order->next_waiter);
    free(order->ready);
}

bool tern__check_order(struct checking *checking)
{
    struct order order = {.checking = checking};
    bool good = prepare(&order);
    while (good && order.ready_count > 0) {
        good = run_lane(&order, order.ready[--order.ready_count]);
    }
    bool all = true;
    for (uint32_t lane = 0; good && lane < checking->lanes.count; lane++) {
        all = all && !stuck(checking, lane);
    }
    if (good && !all) {
        good = report_stuck(&order);
    }
    clean_up(&order);
    return good && !checking->check->out_of_memory;
}
