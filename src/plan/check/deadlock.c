// SPDX-License-Identifier: Apache-2.0
// Lanes that can never go on: which signal each waits for, and why it does not come. There is
// always a finding: whoever waits for posts that the plan has waits for a lane that is stuck
// itself, so going from each to the next ends at one that waits for posts that do not exist, or in
// a cycle.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/check/order.h"

// The shortest cycle is looked for through so many lanes, and over so many in all.
enum { STARTS_MAX = 64, VISITS_MAX = 1 << 22 };

// A search by breadth, from waiting lanes to those that would still post what they wait for. All
// that wait for one signal wait for the same lanes, so these are looked at once a signal.
struct search {
    const struct order *order;
    uint32_t *before; // per lane: who led to it; UINT32_MAX: nobody yet
    uint32_t *queue;
    uint32_t *next;   // per lane of a cycle: whom it waits for
    uint32_t *walks;  // per lane: the walk that came by, or 0; a walk is its first lane + 1
    uint32_t *ends;   // per lane that a walk starts from: where it ends
    uint32_t *behind; // per lane that walks end at: how many lanes they came through
    uint32_t *owing;  // per signal: a lane that would still post it, + 1; 0: not looked for yet
    bool *signals_seen;
    size_t visits;
};

static struct signal *awaited_by(const struct order *order, uint32_t lane)
{
    const struct checking *checking = order->checking;
    struct place place = {.lane = lane, .index = checking->position[lane]};
    return tern__signal_of(order, lane, tern__place_op(checking, place));
}

// ": rank 0, lane 0, op 1; rank 2, lane 0, op 4": the posts of a signal, up to three.
static void list_posts(const struct order *order, const struct signal *signal, char *text,
                       size_t size)
{
    struct checking *checking = order->checking;
    size_t used = 0;
    uint64_t listed = 0;
    for (uint32_t i = 0; i < signal->posters_count && listed < 3; i++) {
        struct place place = {.lane = signal->posters[i].lane};
        const struct tern__lane *row = tern__lane_of(checking, place.lane);
        for (; place.index < row->count && listed < 3 &&
               checking->causes_visits++ < TERN__CAUSES_VISITS_MAX;
             place.index++) {
            const struct tern__op *op = &row->ops[place.index];
            if (op->kind == TERN_PLAN_POST && tern__signal_of(order, place.lane, op) == signal) {
                char where[96];
                tern__place_text(checking, place, where, sizeof where);
                used += (size_t)snprintf(text + used, size - used, "%s%s",
                                         listed++ == 0 ? ": " : "; ", where);
            }
        }
    }
    if (listed > 0 && listed < signal->total) {
        snprintf(text + used, size - used, "; and %llu more",
                 (unsigned long long)(signal->total - listed));
    }
}

static void report_starved(const struct search *search, uint32_t lane)
{
    const struct order *order = search->order;
    struct checking *checking = order->checking;
    struct place place = {.lane = lane, .index = checking->position[lane]};
    const struct tern__op *wait = tern__place_op(checking, place);
    const struct signal *signal = awaited_by(order, lane);
    char where[96];
    char posts[240] = "";
    tern__place_text(checking, place, where, sizeof where);
    if (checking->check->rules[TERN_CHECK_DEADLOCK].kept < TERN__FINDINGS_KEPT) {
        list_posts(order, signal, posts, sizeof posts);
    }
    tern__check_add(checking->check, TERN_CHECK_DEADLOCK,
                    "%s waits for %llu posts of signal %u, and the whole plan has %llu%s", where,
                    (unsigned long long)wait->length, wait->signal,
                    (unsigned long long)signal->total, posts);
    tern__check_mark(checking, TERN_CHECK_DEADLOCK, TERN_CHECK_STARVED, place, TERN__NO_PLACE);
    tern__check_followed(checking->check, TERN_CHECK_DEADLOCK, search->behind[lane]);
}

// Words a cycle: each lane waits for the next.
static void report_cycle(const struct search *search, uint32_t start)
{
    struct checking *checking = search->order->checking;
    char text[360];
    size_t used = 0;
    uint32_t lane = start;
    uint32_t left_out = 0;
    do {
        char where[96];
        struct place place = {.lane = lane, .index = checking->position[lane]};
        tern__place_text(checking, place, where, sizeof where);
        if (used + 130 < sizeof text) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s needs signal %u from",
                                     used == 0 ? "" : " ", where,
                                     tern__place_op(checking, place)->signal);
        } else {
            left_out++;
        }
        lane = search->next[lane];
    } while (lane != start);
    if (left_out > 0) {
        snprintf(text + used, sizeof text - used, " one of %u more, the last of which from",
                 left_out);
    }
    tern__check_add(checking->check, TERN_CHECK_DEADLOCK, "a cycle: %s the first", text);
    uint32_t then = search->next[start];
    tern__check_mark(checking, TERN_CHECK_DEADLOCK, TERN_CHECK_CYCLE,
                     (struct place){.lane = start, .index = checking->position[start]},
                     then == start
                         ? TERN__NO_PLACE
                         : (struct place){.lane = then, .index = checking->position[then]});
}

// Finds the shortest cycle through a lane that is in one; next[l] is then the lane that l waits
// for. Returns its length.
static uint32_t shortest_cycle(struct search *search, uint32_t start)
{
    const struct order *order = search->order;
    uint32_t head = 0;
    uint32_t tail = 0;
    memset(search->before, 0xff, order->checking->lanes.count * sizeof *search->before);
    memset(search->signals_seen, 0, order->signals_count * sizeof *search->signals_seen);
    search->queue[tail++] = start;
    while (head < tail) {
        uint32_t lane = search->queue[head++];
        search->visits++;
        const struct signal *signal = awaited_by(order, lane);
        bool seen = search->signals_seen[signal - order->signals];
        search->signals_seen[signal - order->signals] = true;
        for (uint32_t i = 0; !seen && i < signal->posters_count; i++) {
            uint32_t other = signal->posters[i].lane;
            if (signal->posters[i].done == signal->posters[i].total) {
                continue;
            }
            if (other == start) {
                uint32_t length = 1;
                search->next[lane] = start;
                for (uint32_t at = lane; at != start; at = search->before[at], length++) {
                    search->next[search->before[at]] = at;
                }
                return length;
            }
            if (search->before[other] == UINT32_MAX) {
                search->before[other] = lane;
                search->queue[tail++] = other;
            }
        }
    }
    return 0;
}

static bool starved(const struct order *order, uint32_t lane)
{
    struct place place = {.lane = lane, .index = order->checking->position[lane]};
    return awaited_by(order, lane)->total < tern__place_op(order->checking, place)->length;
}

// A lane that would still post what a stuck lane waits for.
static uint32_t owing_lane(struct search *search, uint32_t lane)
{
    const struct signal *signal = awaited_by(search->order, lane);
    uint32_t *owing = &search->owing[signal - search->order->signals];
    for (uint32_t i = 0; *owing == 0; i++) {
        if (signal->posters[i].done < signal->posters[i].total) {
            *owing = signal->posters[i].lane + 1;
        }
    }
    return *owing - 1;
}

// Goes from a stuck lane to one that it waits for, and so on, until it comes to a starved lane or
// to where a walk has been. True when this walk has closed a cycle; it ends in a lane of it.
static bool walk(struct search *search, uint32_t start)
{
    uint32_t lane = start;
    uint32_t lanes = 0;
    while (search->walks[lane] == 0 && !starved(search->order, lane)) {
        search->walks[lane] = start + 1;
        lane = owing_lane(search, lane);
        lanes++;
    }
    bool closed = search->walks[lane] == start + 1;
    bool joined = search->walks[lane] != 0 && !closed;
    search->ends[start] = joined ? search->ends[search->walks[lane] - 1] : lane;
    search->behind[search->ends[start]] += lanes;
    return closed;
}

static void report_all(struct search *search)
{
    const struct order *order = search->order;
    struct checking *checking = order->checking;
    uint32_t best = UINT32_MAX;
    uint32_t best_start = 0;
    int starts = 0;
    for (uint32_t lane = 0; lane < checking->lanes.count; lane++) {
        if (!tern__lane_stuck(checking, lane) || search->walks[lane] != 0 || starved(order, lane)) {
            continue;
        }
        if (walk(search, lane) && starts < STARTS_MAX && search->visits < VISITS_MAX) {
            starts++;
            uint32_t start = search->ends[lane];
            uint32_t length = shortest_cycle(search, start);
            if (length < best) {
                best = length;
                best_start = start;
            }
        }
    }
    for (uint32_t lane = 0; lane < checking->lanes.count; lane++) {
        if (tern__lane_stuck(checking, lane) && starved(order, lane)) {
            report_starved(search, lane);
        }
    }
    if (best != UINT32_MAX) {
        shortest_cycle(search, best_start);
        report_cycle(search, best_start);
        tern__check_followed(checking->check, TERN_CHECK_DEADLOCK,
                             search->behind[best_start] - best);
    }
}

bool tern__check_stuck(const struct order *order)
{
    struct checking *checking = order->checking;
    uint32_t lanes = checking->lanes.count;
    uint32_t lane = 0;
    while (lane < lanes && !tern__lane_stuck(checking, lane)) {
        lane++;
    }
    if (lane == lanes) {
        return true;
    }
    struct search search = {.order = order};
    search.before = calloc((size_t)lanes * 6, sizeof *search.before);
    search.owing = calloc(order->signals_count, sizeof *search.owing);
    search.signals_seen = calloc(order->signals_count, sizeof *search.signals_seen);
    bool good = search.before != NULL && search.owing != NULL && search.signals_seen != NULL;
    if (good) {
        search.queue = search.before + lanes;
        search.next = search.queue + lanes;
        search.walks = search.next + lanes;
        search.ends = search.walks + lanes;
        search.behind = search.ends + lanes;
        report_all(&search);
    }
    free(search.before);
    free(search.owing);
    free(search.signals_seen);
    return good;
}
