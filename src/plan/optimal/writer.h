// SPDX-License-Identifier: Apache-2.0
// Inside of write.c: where the bytes of a schedule lie (place.c), and who waits for which posts
// (need.c).
#ifndef TERN_OPTIMAL_WRITER_H
#define TERN_OPTIMAL_WRITER_H

#include "plan/optimal/schedule.h"

// What a move needs to have come: posts of a signal.
struct tern__net_need {
    int signal, count;
};

struct tern__writer {
    struct tern__arena *arena;
    const struct tern__schedule *s;
    const struct tern__net_graph *graph;
    uint64_t unit, share; // bytes of an element, and of a share
    int n;
    uint64_t *slot;   // [(range * n + rank) * n + whose]: where in the rank's scratch
    uint64_t scratch; // bytes of it, of the rank that needs the most
    // Marks, of rounds 0 to `rounds` each.
    bool *told;   // by edge: somebody waits for what has come by the end of the round
    bool *summed; // by range: its root sums what has come by then
    bool *self;   // by rank: lane 0 tells the others, of such sums or of what has come
    bool *meets;  // by rank: it waits for all that has come by then
};

static inline const struct tern__net_tree *tern__writer_tree(const struct tern__writer *w,
                                                             int range)
{
    return w->s->ranges[range].tree;
}

static inline bool *tern__writer_marks(const struct tern__writer *w, bool *marks, int index)
{
    return &marks[(size_t)index * (size_t)(w->s->rounds + 1)];
}

// place.c: gives each range slots in the scratch of the ranks where it rests.
int tern__place_slots(struct tern__writer *w);

// Where element `element` of a range lies: the rank's own input; what has come inward, from a child
// or, of raw inputs, of an origin; and what goes outward, on its way and at its end.
tern_plan_range tern__place_in(const struct tern__writer *w, int range, int rank, uint64_t element);
tern_plan_range tern__place_slot(const struct tern__writer *w, int range, int rank, int whose,
                                 uint64_t element);
tern_plan_range tern__place_out(const struct tern__writer *w, int range, int rank,
                                uint64_t element);

// The next rank inward on the way from `whose` to `rank`: the child of `rank` that its input comes
// from.
int tern__place_child(const struct tern__net_tree *tree, int rank, int whose);

// need.c: marks all rounds that somebody waits for.
int tern__need_mark(struct tern__writer *w);

// How much of a range has come to its root, inward, by the end of a round.
uint64_t tern__need_arrived(const struct tern__writer *w, int range, int round);

// What a task's first `part` elements need; or, of a root's sum, task < 0. `child` >= 0: only what
// comes from there. Returns how many, at most n.
int tern__need_of(const struct tern__writer *w, int range, int task, uint64_t part, int child,
                  struct tern__net_need *needs);

// The posts on an edge, by the end of a round.
int tern__need_posts(const struct tern__writer *w, int edge, int round);

#endif
