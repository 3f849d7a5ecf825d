// SPDX-License-Identifier: Apache-2.0
// Waits. First all rounds are marked that somebody waits for; posts are made after those alone, so
// what a wait counts is marks.

#include "base/error.h"
#include "plan/optimal/writer.h"

static uint64_t sent(const struct tern__writer *w, int range, int task, int round)
{
    return tern__schedule_sent(w->s, range, task)[round];
}

// The round by whose end a task has sent a first part.
static int round_of(const struct tern__writer *w, int range, int task, uint64_t part)
{
    int round = 1;
    while (sent(w, range, task, round) < part) {
        round++;
    }
    return round;
}

uint64_t tern__need_arrived(const struct tern__writer *w, int range, int round)
{
    const struct tern__net_tree *tree = tern__writer_tree(w, range);
    uint64_t least = w->s->ranges[range].length;
    for (int v = 0; v < w->n; v++) {
        if (tree->in_to[v] == tree->root && sent(w, range, v, round) < least) {
            least = sent(w, range, v, round);
        }
    }
    return least;
}

static int arrival_of(const struct tern__writer *w, int range, uint64_t part)
{
    int round = 1;
    while (tern__need_arrived(w, range, round) < part) {
        round++;
    }
    return round;
}

static int count_marks(const bool *marks, int last)
{
    int count = 0;
    for (int round = 1; round <= last; round++) {
        count += marks[round];
    }
    return count;
}

// Whether a task begins with the root's own sum.
static bool begins_with_sum(const struct tern__writer *w, const struct tern__net_tree *tree,
                            int task)
{
    return w->s->aim.inward && task >= w->n && tree->out_from[task - w->n] == tree->root;
}

// The tasks that a task, or a root's sum, waits for.
static int tasks_before(const struct tern__writer *w, int range, int task, int *before)
{
    const struct tern__net_tree *tree = tern__writer_tree(w, range);
    if (task >= 0) {
        return tern__tree_before(&w->s->aim, tree, task, before);
    }
    int count = 0;
    for (int v = 0; v < w->n; v++) {
        if (tree->in_to[v] == tree->root) {
            before[count++] = v;
        }
    }
    return count;
}

static void mark_needs(struct tern__writer *w, int range, int task, uint64_t part)
{
    const struct tern__net_tree *tree = tern__writer_tree(w, range);
    if (begins_with_sum(w, tree, task)) {
        int round = arrival_of(w, range, part);
        tern__writer_marks(w, w->summed, range)[round] = true;
        tern__writer_marks(w, w->self, tree->root)[round] = true;
        return;
    }
    int before[TERN__NET_RANKS_MAX];
    int count = tasks_before(w, range, task, before);
    for (int i = 0; i < count; i++) {
        int edge = tern__tree_edge(&w->s->aim, tree, before[i]);
        tern__writer_marks(w, w->told, edge)[round_of(w, range, before[i], part)] = true;
    }
}

// Also notes the last round in which an edge sends.
static void mark_task(struct tern__writer *w, int range, int task, int *last)
{
    int edge = tern__tree_edge(&w->s->aim, tern__writer_tree(w, range), task);
    for (int round = 1; round <= w->s->rounds; round++) {
        uint64_t part = sent(w, range, task, round);
        if (part > sent(w, range, task, round - 1)) {
            mark_needs(w, range, task, part);
            last[edge] = round > last[edge] ? round : last[edge];
        }
    }
}

int tern__need_mark(struct tern__writer *w)
{
    int *last;
    size_t rounds = (size_t)w->s->rounds + 1;
    TERN__ARENA_TAKE(w->arena, last, w->graph->edges_count);
    TERN__ARENA_TAKE(w->arena, w->told, (size_t)w->graph->edges_count * rounds);
    TERN__ARENA_TAKE(w->arena, w->self, (size_t)w->n * rounds);
    TERN__ARENA_TAKE(w->arena, w->meets, (size_t)w->n * rounds);
    TERN__ARENA_TAKE(w->arena, w->summed, (size_t)w->s->count * rounds);
    for (int range = 0; range < w->s->count; range++) {
        const struct tern__net_tree *tree = tern__writer_tree(w, range);
        for (int task = 0; task < 2 * w->n; task++) {
            if (tree->level[task] > 0) {
                mark_task(w, range, task, last);
            }
        }
    }
    for (int range = 0; range < w->s->count && w->s->aim.inward; range++) {
        uint64_t length = w->s->ranges[range].length;
        bool *summed = tern__writer_marks(w, w->summed, range);
        summed[arrival_of(w, range, length)] = true;
        for (int round = 1; round <= w->s->rounds; round++) {
            if (summed[round]) {
                mark_needs(w, range, -1, tern__need_arrived(w, range, round));
            }
        }
    }
    for (int edge = 0; edge < w->graph->edges_count; edge++) {
        if (last[edge] > 0) { // the end of the run waits for all
            tern__writer_marks(w, w->told, edge)[last[edge]] = true;
        }
    }
    return TERN_OK;
}

int tern__need_of(const struct tern__writer *w, int range, int task, uint64_t part, int child,
                  struct tern__net_need *needs)
{
    const struct tern__net_tree *tree = tern__writer_tree(w, range);
    if (begins_with_sum(w, tree, task)) {
        int round = arrival_of(w, range, part);
        int count = count_marks(tern__writer_marks(w, w->self, tree->root), round);
        needs[0] = (struct tern__net_need){.signal = tree->root, .count = count};
        return 1;
    }
    int before[TERN__NET_RANKS_MAX];
    int count = tasks_before(w, range, task, before);
    int taken = 0;
    for (int i = 0; i < count; i++) {
        if (child >= 0 && before[i] != child) {
            continue;
        }
        int edge = tern__tree_edge(&w->s->aim, tree, before[i]);
        int round = round_of(w, range, before[i], part);
        needs[taken++] = (struct tern__net_need){.signal = w->graph->edges[edge].from,
                                                 .count = tern__need_posts(w, edge, round)};
    }
    return taken;
}

int tern__need_posts(const struct tern__writer *w, int edge, int round)
{
    return count_marks(tern__writer_marks(w, w->told, edge), round);
}
