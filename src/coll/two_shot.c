// SPDX-License-Identifier: Apache-2.0
// AllReduce in two shots: rank r sums slice r of all inputs (reduce-scatter), then pushes it into
// all other outputs (all-gather). Two start-ups, 2S/n on every link: the least that a full mesh can
// be asked for. Pushes need half the signals of reads, since one post says both "here it is" and "I
// have read yours". Right in place, as fused.

#include "coll/coll.h"

void tern__emit_two_shot(struct tern__emit *e)
{
    int n = e->nranks;
    for (int rank = 0; rank < n; rank++) {
        uint64_t offset = tern__slice(e, n, rank);
        uint64_t length = tern__slice_length(e, n, rank, rank + 1);
        tern__emit_from_all_inputs(e, offset);
        tern__emit_to(e, rank, TERN_PLAN_OUT, offset);
        tern__emit_move(e, (struct tern__at){.rank = rank, .round = 0}, length);

        struct tern__at at = {.rank = rank, .round = 1};
        tern__emit_from(e, rank, TERN_PLAN_OUT, offset);
        for (int step = 1; step < n; step++) {
            tern__emit_to(e, (rank + step) % n, TERN_PLAN_OUT, offset);
        }
        tern__emit_move(e, at, length);
        tern__emit_finish(e, at);
    }
}
