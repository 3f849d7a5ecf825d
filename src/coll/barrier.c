// SPDX-License-Identifier: Apache-2.0
// Barriers without bytes: dissemination in ceil(log2 n) rounds (Hensgen, Finkel, Manber 1988), and
// direct, where everybody tells everybody, in one.

#include "coll/coll.h"

void tern__emit_dissemination(struct tern__emit *e)
{
    for (int rank = 0; rank < e->nranks; rank++) {
        struct tern__at at = {.rank = rank};
        // A signal for each round: a post of round 1 must not pass for one of round 0.
        for (int distance = 1; distance < e->nranks; distance *= 2, at.round++) {
            tern__emit_post(e, at, (rank + distance) % e->nranks, (uint32_t)at.round);
            tern__emit_wait(e, at, (uint32_t)at.round, 1);
        }
    }
}

void tern__emit_direct_barrier(struct tern__emit *e)
{
    for (int rank = 0; rank < e->nranks; rank++) {
        tern__emit_finish(e, (struct tern__at){.rank = rank});
    }
}
