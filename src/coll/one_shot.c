// SPDX-License-Identifier: Apache-2.0
// AllReduce in one shot: every rank reads all inputs whole and sums them into its own output. One
// start-up, S on every link: for small messages. Wrong in place: others still read the input.

#include "coll/coll.h"

void tern__emit_one_shot(struct tern__emit *e)
{
    for (int rank = 0; rank < e->nranks; rank++) {
        struct tern__at at = {.rank = rank};
        tern__emit_from_all_inputs(e, 0);
        tern__emit_to(e, rank, TERN_PLAN_OUT, 0);
        tern__emit_move(e, at, e->bytes);
        tern__emit_finish(e, at);
    }
}
