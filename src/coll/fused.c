// SPDX-License-Identifier: Apache-2.0
// AllReduce in one pass over memory: rank r owns slice r, reads it from all inputs and stores the
// sum into all outputs, in one op. Each input is read once and each output written once, which is
// the least that memory can be asked for; each link carries S/n there and S/n back. Right in place:
// only its owner touches a slice.

#include "coll/coll.h"

void tern__emit_fused(struct tern__emit *e)
{
    int n = e->nranks;
    for (int rank = 0; rank < n; rank++) {
        struct tern__at at = {.rank = rank};
        uint64_t offset = tern__slice(e, n, rank);
        tern__emit_from_all_inputs(e, offset);
        for (int step = 0; step < n; step++) {
            tern__emit_to(e, (rank + step) % n, TERN_PLAN_OUT, offset);
        }
        tern__emit_move(e, at, tern__slice_length(e, n, rank, rank + 1));
        tern__emit_finish(e, at);
    }
}
