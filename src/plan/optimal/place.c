// SPDX-License-Identifier: Apache-2.0
// Places. Each child of a rank in a tree has a slot of its own there, as long as the range; of
// inputs that go raw each origin has one, and sums of the first ranks lie in that of rank 0. Slots
// that one edge fills lie side by side in the order of their ranges, so that neighbours can go as
// one copy.

#include "base/error.h"
#include "plan/optimal/writer.h"

static uint64_t *slot(const struct tern__writer *w, int range, int rank, int whose)
{
    return &w->slot[((size_t)range * (size_t)w->n + (size_t)rank) * (size_t)w->n + (size_t)whose];
}

int tern__place_child(const struct tern__net_tree *tree, int rank, int whose)
{
    while (whose >= 0 && tree->in_to[whose] != rank) {
        whose = tree->in_to[whose];
    }
    return whose;
}

// Whether something of `whose` rests on a rank.
static bool rests(const struct tern__writer *w, int range, int rank, int whose)
{
    const struct tern__net_tree *tree = tern__writer_tree(w, range);
    int destination = w->s->aim.commodities[tree->commodity].destination;
    if (destination >= 0) {
        return whose == tree->root && rank != destination && tree->out_from[rank] >= 0;
    }
    if (!w->s->aim.inward || whose == rank) {
        return false;
    }
    if (!w->s->aim.raw) {
        return tree->in_to[whose] == rank;
    }
    int child = tern__place_child(tree, rank, whose);
    return child >= 0 && tern__tree_goes_alone(&w->s->aim, tree, child, whose);
}

int tern__place_slots(struct tern__writer *w)
{
    size_t n = (size_t)w->n;
    TERN__ARENA_TAKE(w->arena, w->slot, (size_t)w->s->count * n * n + 1);
    for (int rank = 0; rank < w->n; rank++) {
        uint64_t used = 0;
        for (int whose = 0; whose < w->n; whose++) {
            for (int range = 0; range < w->s->count; range++) {
                if (rests(w, range, rank, whose)) {
                    *slot(w, range, rank, whose) = used;
                    used += w->s->ranges[range].length * w->unit;
                }
            }
        }
        w->scratch = used > w->scratch ? used : w->scratch;
    }
    return TERN_OK;
}

// In a buffer of all shares each lies behind those of lower ranks.
static tern_plan_range at(const struct tern__writer *w, int range, int rank,
                          tern_plan_buffer buffer, int share, uint64_t element)
{
    const struct tern__range *r = &w->s->ranges[range];
    const tern_kind_facts *facts = tern_coll_kind_facts(w->s->aim.kind);
    bool all = (buffer == TERN_PLAN_IN ? facts->in : facts->out) == TERN_KIND_ALL;
    return (tern_plan_range){.rank = (uint16_t)rank,
                             .buffer = (uint16_t)buffer,
                             .offset = (all ? (uint64_t)share * w->share : 0) +
                                       (r->begin + element) * w->unit};
}

tern_plan_range tern__place_in(const struct tern__writer *w, int range, int rank, uint64_t element)
{
    const struct tern__commodity *c =
        &w->s->aim.commodities[tern__writer_tree(w, range)->commodity];
    int share = c->destination >= 0 ? c->destination : c->origin;
    return at(w, range, rank, TERN_PLAN_IN, share, element);
}

tern_plan_range tern__place_slot(const struct tern__writer *w, int range, int rank, int whose,
                                 uint64_t element)
{
    return (tern_plan_range){.rank = (uint16_t)rank,
                             .buffer = TERN_PLAN_SCRATCH,
                             .offset = *slot(w, range, rank, whose) + element * w->unit};
}

tern_plan_range tern__place_out(const struct tern__writer *w, int range, int rank, uint64_t element)
{
    const struct tern__net_tree *tree = tern__writer_tree(w, range);
    const struct tern__commodity *c = &w->s->aim.commodities[tree->commodity];
    if (rank == tree->root && !w->s->aim.inward) {
        return tern__place_in(w, range, rank, element);
    }
    return c->destination < 0 || c->destination == rank
               ? at(w, range, rank, TERN_PLAN_OUT, c->origin, element)
               : tern__place_slot(w, range, rank, tree->root, element);
}
