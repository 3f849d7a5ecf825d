// SPDX-License-Identifier: Apache-2.0
// AllReduce around a cut link for small messages: every healthy rank reads all inputs whole, as in
// one_shot, and the healthy ranks share the work of handing the result to the two others, a slice
// each. Sums in rank order. S on every link.

#include "coll/coll.h"

static void sum(struct tern__emit *e, struct tern__at at, const int *destinations, int count,
                uint64_t begin, uint64_t end)
{
    tern__emit_from_all_inputs(e, begin);
    for (int i = 0; i < count; i++) {
        tern__emit_to(e, destinations[i], TERN_PLAN_OUT, begin);
    }
    tern__emit_move(e, at, end - begin);
}

void tern__emit_cut_small(struct tern__emit *e)
{
    struct tern__cut cut;
    if (!tern__cut_find(e->topo, &cut)) {
        return;
    }
    for (int i = 0; i < cut.healthy_count; i++) {
        int rank = cut.healthy[i];
        struct tern__at at = {.rank = rank};
        uint64_t begin = tern__slice(e, cut.healthy_count, i);
        uint64_t end = tern__slice(e, cut.healthy_count, i + 1);
        int destinations[] = {rank, cut.pair[0], cut.pair[1]};
        sum(e, at, destinations, 3, begin, end);
        sum(e, at, destinations, 1, 0, begin);
        sum(e, at, destinations, 1, end, e->bytes);
        for (int step = 1; step < e->nranks; step++) {
            tern__emit_post(e, at, (rank + step) % e->nranks, 0);
        }
        tern__emit_wait(e, at, 0, cut.healthy_count - 1);
    }
    for (int i = 0; i < 2; i++) {
        tern__emit_wait(e, (struct tern__at){.rank = cut.pair[i]}, 0, cut.healthy_count);
    }
}
