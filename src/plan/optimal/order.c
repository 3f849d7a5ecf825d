// SPDX-License-Identifier: Apache-2.0
// A way through all ranges of a commodity on which as many copies join as can be: it begins as the
// best next one each time, then short pieces of it are moved to where they fit better.

#include <string.h>

#include "plan/optimal/order.h"

struct ways {
    const struct tern__schedule *s;
    int count;
    int *joins; // [a * count + b]: copies that are saved when b follows a
};

// The round in which a task sends the first elements of a range, or, of the end, the last ones.
static int round_at(const struct tern__schedule *s, int range, int task, bool end)
{
    const uint64_t *sent = tern__schedule_sent(s, range, task);
    int round = 1;
    while (end ? sent[round] < s->ranges[range].length : sent[round] == 0) {
        round++;
    }
    return round;
}

// Whether a rank gets something inward from the same ranks in both.
static bool same_children(const struct tern__schedule *s, int a, int b, int rank)
{
    const int *one = s->ranges[a].tree->in_to;
    const int *other = s->ranges[b].tree->in_to;
    for (int v = 0; v < s->aim.graph->n; v++) {
        if ((one[v] == rank) != (other[v] == rank)) {
            return false;
        }
    }
    return true;
}

// How many copies and sums there are fewer when one range lies behind another.
static int joins(const struct tern__schedule *s, int a, int b)
{
    const struct tern__net_tree *one = s->ranges[a].tree;
    const struct tern__net_tree *other = s->ranges[b].tree;
    int n = s->aim.graph->n;
    int count = s->aim.inward && one->root == other->root && same_children(s, a, b, one->root);
    for (int task = 0; task < 2 * n; task++) {
        int v = task % n;
        bool both = one->level[task] > 0 && other->level[task] > 0;
        bool alike = both && (task < n ? one->in_to[v] == other->in_to[v] &&
                                             (s->aim.raw || same_children(s, a, b, v))
                                       : one->out_from[v] == other->out_from[v]);
        count += alike && round_at(s, a, task, true) == round_at(s, b, task, false);
    }
    return count;
}

static int gain(const struct ways *w, int a, int b)
{
    return a < 0 || b < 0 ? 0 : w->joins[a * w->count + b];
}

// Begins with the first range, and goes on with the one that joins best.
static void go_greedily(const struct ways *w, int *way)
{
    for (int i = 1; i < w->count; i++) {
        int best = i;
        for (int k = i + 1; k < w->count; k++) {
            if (gain(w, way[i - 1], way[k]) > gain(w, way[i - 1], way[best])) {
                best = k;
            }
        }
        int next = way[best];
        memmove(&way[i + 1], &way[i], (size_t)(best - i) * sizeof *way);
        way[i] = next;
    }
}

static int at(const struct ways *w, const int *way, int i)
{
    return i < 0 || i >= w->count ? -1 : way[i];
}

// What is gained when the ranges from `from` to `to` go behind the one at `behind`.
static int gain_of_move(const struct ways *w, const int *way, int from, int to, int behind)
{
    int before = at(w, way, from - 1);
    int after = at(w, way, to + 1);
    int left = at(w, way, behind);
    int right = at(w, way, behind + 1);
    return gain(w, before, after) + gain(w, left, way[from]) + gain(w, way[to], right) -
           gain(w, before, way[from]) - gain(w, way[to], after) - gain(w, left, right);
}

static void move(int *way, int from, int to, int behind)
{
    int piece[8];
    size_t length = (size_t)(to - from) + 1;
    memcpy(piece, &way[from], length * sizeof *way);
    if (behind > to) {
        memmove(&way[from], &way[to + 1], (size_t)(behind - to) * sizeof *way);
        memcpy(&way[behind - (int)length + 1], piece, length * sizeof *way);
    } else {
        memmove(&way[behind + 1 + (int)length], &way[behind + 1],
                (size_t)(from - behind - 1) * sizeof *way);
        memcpy(&way[behind + 1], piece, length * sizeof *way);
    }
}

// Moves pieces of up to 8 ranges while that joins more; returns whether any was moved.
static bool improve(const struct ways *w, int *way)
{
    bool moved = false;
    for (int from = 0; from < w->count; from++) {
        for (int to = from; to < w->count && to < from + 8; to++) {
            int best = 0;
            int where = 0;
            for (int behind = -1; behind < w->count; behind++) {
                bool outside = behind < from - 1 || behind > to;
                int found = outside ? gain_of_move(w, way, from, to, behind) : 0;
                if (found > best) {
                    best = found;
                    where = behind;
                }
            }
            if (best > 0) {
                move(way, from, to, where);
                moved = true;
            }
        }
    }
    return moved;
}

int tern__schedule_order(struct tern__arena *arena, const struct tern__schedule *schedule,
                         int *order)
{
    enum { PASSES = 8 };
    int begin = 0;
    while (begin < schedule->count) {
        int end = begin;
        int commodity = schedule->ranges[begin].tree->commodity;
        while (end < schedule->count && schedule->ranges[end].tree->commodity == commodity) {
            order[end] = end - begin;
            end++;
        }
        struct ways w = {.s = schedule, .count = end - begin};
        TERN__ARENA_TAKE(arena, w.joins, w.count * w.count);
        for (int i = 0; i < w.count * w.count; i++) {
            w.joins[i] = joins(schedule, begin + i / w.count, begin + i % w.count);
        }
        go_greedily(&w, &order[begin]);
        for (int pass = 0; pass < PASSES && improve(&w, &order[begin]); pass++) {
        }
        for (int i = begin; i < end; i++) {
            order[i] += begin;
        }
        begin = end;
    }
    return TERN_OK;
}
