// SPDX-License-Identifier: Apache-2.0
// AllReduce around a cut link in two rounds: each healthy rank owns a block, sums it over all
// inputs and pushes it to everybody; the two others own nothing and only wait. 2S/(n-2) on the
// busiest link, the least for two rounds. Sums in rank order. Blocks are whole multiples of 16 KiB,
// as chips like them, so a message below that has one owner. (The plan of the HCCL contest's "huge"
// executor.)

#include "coll/coll.h"

#define BLOCK_ALIGN 16384

void tern__emit_cut_owners(struct tern__emit *e)
{
    struct tern__cut cut;
    if (!tern__cut_find(e->topo, &cut)) {
        return;
    }
    uint64_t owners = (uint64_t)cut.healthy_count;
    uint64_t share = (e->bytes + owners - 1) / owners;
    uint64_t block = (share + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN;
    for (int i = 0; i < cut.healthy_count; i++) {
        int rank = cut.healthy[i];
        uint64_t begin = (uint64_t)i * block < e->bytes ? (uint64_t)i * block : e->bytes;
        uint64_t length = e->bytes - begin < block ? e->bytes - begin : block;
        tern__emit_from_all_inputs(e, begin);
        tern__emit_to(e, rank, TERN_PLAN_OUT, begin);
        tern__emit_move(e, (struct tern__at){.rank = rank, .round = 0}, length);

        struct tern__at at = {.rank = rank, .round = 1};
        tern__emit_from(e, rank, TERN_PLAN_OUT, begin);
        for (int step = 1; step < e->nranks; step++) {
            tern__emit_to(e, (rank + step) % e->nranks, TERN_PLAN_OUT, begin);
        }
        tern__emit_move(e, at, length);
        for (int step = 1; step < e->nranks; step++) {
            tern__emit_post(e, at, (rank + step) % e->nranks, 0);
        }
        tern__emit_wait(e, at, 0, cut.healthy_count - 1);
    }
    for (int i = 0; i < 2; i++) {
        tern__emit_wait(e, (struct tern__at){.rank = cut.pair[i], .round = 1}, 0,
                        cut.healthy_count);
    }
}
