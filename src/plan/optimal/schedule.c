// SPDX-License-Identifier: Apache-2.0
// Borders are rounded sums of shares, so that ranges fit together; what a task has sent is rounded
// alike for all tasks of a tree, then held to what came before.

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "plan/optimal/order.h"
#include "plan/optimal/schedule.h"

// Rounded, with halves and what the program leaves of them always the same way.
static uint64_t whole(double value, uint64_t most)
{
    double rounded = floor(value + 0.5 + 1e-6);
    return rounded <= 0 ? 0 : rounded >= (double)most ? most : (uint64_t)rounded;
}

static uint64_t commodity_elements(const struct tern__schedule *s, int commodity)
{
    bool all = s->aim.commodities[commodity].demand >= 1;
    return all ? s->elements : s->elements / (uint64_t)s->aim.graph->n;
}

// Both parts of a tree whose sums go the way back that the results come.
static int make_both(struct tern__arena *arena, const struct tern__schedule *s,
                     const struct tern__net_tree *tree, const struct tern__net_tree **both)
{
    struct tern__net_tree *made;
    TERN_TRY(tern__tree_make(arena, &s->aim, tree->commodity, tree->root, tree->out_from,
                             tree->out_from, &made));
    *both = made;
    return TERN_OK;
}

// What one task of the amounts has sent, in elements; in both parts of a schedule in sequence.
static void round_task(struct tern__schedule *s, const struct tern__rounds *rounds, int j,
                       int range, int task, bool twice)
{
    int n = s->aim.graph->n;
    const double *amounts = tern__rounds_sent(rounds, n, j, task);
    uint64_t *sent = tern__schedule_sent(s, range, task);
    uint64_t length = s->ranges[range].length;
    int k = rounds->count;
    for (int round = 0; round <= s->rounds; round++) {
        int at = twice ? (round > k ? round - k : 0) : round;
        double part = amounts[at] / rounds->share[j];
        sent[round] = part > 1 - 1e-7 ? length : whole(part * (double)length, length);
    }
    if (twice) { // inward the same edge, backwards in time
        uint64_t *inward = tern__schedule_sent(s, range, task - n);
        for (int round = 0; round <= s->rounds; round++) {
            inward[round] = length - (round < k ? sent[s->rounds - round] : 0);
        }
    }
}

static int task_by_level(const struct tern__net_tree *tree, int n, int *tasks)
{
    int count = 0;
    for (int level = 1; level <= tree->depth; level++) {
        for (int task = 0; task < 2 * n; task++) {
            if (tree->level[task] == level) {
                tasks[count++] = task;
            }
        }
    }
    return count;
}

// Holds each task to what came to it a round before, and to what it has sent already.
static int hold(struct tern__schedule *s, int range)
{
    int n = s->aim.graph->n;
    const struct tern__net_tree *tree = s->ranges[range].tree;
    int tasks[2 * TERN__NET_RANKS_MAX];
    int before[TERN__NET_RANKS_MAX];
    int count = task_by_level(tree, n, tasks);
    for (int i = 0; i < count; i++) {
        uint64_t *sent = tern__schedule_sent(s, range, tasks[i]);
        int befores = tern__tree_before(&s->aim, tree, tasks[i], before);
        sent[0] = 0;
        for (int round = 1; round <= s->rounds; round++) {
            for (int b = 0; b < befores; b++) {
                uint64_t came = tern__schedule_sent(s, range, before[b])[round - 1];
                sent[round] = came < sent[round] ? came : sent[round];
            }
            sent[round] = sent[round] < sent[round - 1] ? sent[round - 1] : sent[round];
        }
        if (sent[s->rounds] != s->ranges[range].length) {
            return tern__fail(TERN_ERR_STATE, "the planner lost elements while rounding");
        }
    }
    return TERN_OK;
}

static int add_range(struct tern__arena *arena, struct tern__schedule *s,
                     const struct tern__rounds *rounds, int j, uint64_t begin, uint64_t end)
{
    bool twice = s->twice;
    int n = s->aim.graph->n;
    const struct tern__net_tree *tree = rounds->trees->at[j];
    struct tern__range *range = &s->ranges[s->count];
    *range = (struct tern__range){.tree = tree, .index = j, .begin = begin, .length = end - begin};
    if (twice) {
        TERN_TRY(make_both(arena, s, tree, &range->tree));
    }
    for (int task = twice ? n : 0; task < 2 * n; task++) {
        if (tree->level[task] > 0) {
            round_task(s, rounds, j, s->count, task, twice);
        }
    }
    return hold(s, s->count++);
}

// The ranges of one commodity: trees in the order of `order`, with shares.
static int add_commodity(struct tern__arena *arena, struct tern__schedule *s,
                         const struct tern__rounds *rounds, int commodity, const int *order,
                         int count)
{
    const struct tern__trees *trees = rounds->trees;
    uint64_t elements = commodity_elements(s, commodity);
    double total = 0;
    double sum = 0;
    uint64_t begin = 0;
    for (int i = 0; i < count; i++) {
        total += trees->at[order[i]]->commodity == commodity ? rounds->share[order[i]] : 0;
    }
    for (int i = 0; i < count; i++) {
        int j = order[i];
        if (trees->at[j]->commodity != commodity) {
            continue;
        }
        sum += rounds->share[j];
        uint64_t end = whole(sum / total * (double)elements, elements);
        if (end > begin && rounds->share[j] > 1e-9) {
            TERN_TRY(add_range(arena, s, rounds, j, begin, end));
            begin = end;
        }
    }
    return begin == elements
               ? TERN_OK
               : tern__fail(TERN_ERR_STATE, "the planner lost elements while rounding");
}

static int add_ranges(struct tern__arena *arena, struct tern__schedule *s,
                      const struct tern__rounds *rounds, const int *order, int count)
{
    s->count = 0;
    for (int c = 0; c < s->aim.count; c++) {
        TERN_TRY(add_commodity(arena, s, rounds, c, order, count));
    }
    return TERN_OK;
}

int tern__schedule_make(struct tern__arena *arena, const struct tern__aim *aim,
                        const struct tern__rounds *rounds, uint64_t elements,
                        struct tern__schedule *schedule)
{
    const struct tern__trees *trees = rounds->trees;
    bool twice = aim->in_sequence;
    *schedule = (struct tern__schedule){.aim = *aim,
                                        .twice = twice,
                                        .elements = elements,
                                        .rounds = twice ? 2 * rounds->count : rounds->count};
    schedule->aim.in_sequence = false;
    int *order;
    int *way;
    TERN__ARENA_TAKE(arena, order, trees->count + 1);
    TERN__ARENA_TAKE(arena, way, trees->count + 1);
    TERN__ARENA_TAKE(arena, schedule->ranges, trees->count);
    TERN__ARENA_TAKE(arena, schedule->sent,
                     (size_t)trees->count * 2 * (size_t)aim->graph->n *
                         (size_t)(schedule->rounds + 1));
    for (int i = 0; i < trees->count; i++) {
        order[i] = i;
    }
    TERN_TRY(add_ranges(arena, schedule, rounds, order, trees->count));
    int count = schedule->count;
    TERN_TRY(tern__schedule_order(arena, schedule, way));
    for (int i = 0; i < count; i++) {
        order[i] = schedule->ranges[way[i]].index;
    }
    return add_ranges(arena, schedule, rounds, order, count);
}

double tern__schedule_time(const struct tern__schedule *schedule)
{
    const struct tern__net_graph *graph = schedule->aim.graph;
    double time = 0;
    for (int round = 1; round <= schedule->rounds; round++) {
        double busy[graph->resources_count + 1];
        double most = 0;
        memset(busy, 0, sizeof busy);
        for (int i = 0; i < schedule->count * 2 * graph->n; i++) {
            int task = i % (2 * graph->n);
            const struct tern__net_tree *tree = schedule->ranges[i / (2 * graph->n)].tree;
            if (tree->level[task] == 0) {
                continue;
            }
            const uint64_t *sent = tern__schedule_sent(schedule, i / (2 * graph->n), task);
            const struct tern__net_edge *edge =
                &graph->edges[tern__tree_edge(&schedule->aim, tree, task)];
            for (int u = 0; u < edge->uses_count; u++) {
                int r = edge->uses[u];
                busy[r] += (double)(sent[round] - sent[round - 1]) * tree->many[task] /
                           graph->capacity[r] * graph->reference;
                most = busy[r] > most ? busy[r] : most;
            }
        }
        time += most;
    }
    return time;
}
