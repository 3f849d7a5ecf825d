// SPDX-License-Identifier: Apache-2.0
// AllReduce and Reduce through scratch: rank r sums slice r of all inputs into its own scratch (and
// its own output), then who wants the sums copies the others' slices from there. One copy more than
// fused, but no rank stores into another one's memory: for outputs that only their owner can reach.
// Sums in rank order. Right in place: when a slice of an output is stored, all have read it as
// input.

#include "coll/coll.h"

// Of a rank's signals: FINISH is tern__emit_finish's, STAGED says that a slice lies in scratch.
enum { FINISH, STAGED };

// Rank r's slice of all inputs into its own scratch, and into its output if it has one.
static void stage(struct tern__emit *e, struct tern__at at, bool collects)
{
    uint64_t offset = tern__slice(e, e->nranks, at.rank);
    tern__emit_from_all_inputs(e, offset);
    if (!collects || e->kind == TERN_PLAN_ALL_REDUCE) { // nobody fetches the root's slice
        tern__emit_to(e, at.rank, TERN_PLAN_SCRATCH, offset);
    }
    if (collects) {
        tern__emit_to(e, at.rank, TERN_PLAN_OUT, offset);
    }
    tern__emit_move(e, at, tern__slice_length(e, e->nranks, at.rank, at.rank + 1));
}

// The others' slices from their scratches into a rank's own output.
static void collect(struct tern__emit *e, struct tern__at at)
{
    for (int step = 1; step < e->nranks; step++) {
        int owner = (at.rank + step) % e->nranks;
        uint64_t offset = tern__slice(e, e->nranks, owner);
        tern__emit_from(e, owner, TERN_PLAN_SCRATCH, offset);
        tern__emit_to(e, at.rank, TERN_PLAN_OUT, offset);
        tern__emit_move(e, at, tern__slice_length(e, e->nranks, owner, owner + 1));
    }
}

void tern__emit_staged_all_reduce(struct tern__emit *e)
{
    int n = e->nranks;
    tern__emit_scratch(e, e->bytes);
    for (int rank = 0; rank < n; rank++) {
        struct tern__at at = {.rank = rank};
        stage(e, at, true);
        tern__emit_tell_all(e, at, STAGED);
        tern__emit_wait(e, at, STAGED, n - 1);
        at.round = 1;
        collect(e, at);
        tern__emit_finish(e, at);
    }
}

// The root hears of each rank when it has read all inputs for the last time, so what the root says
// when it has copied everything is the end of all.
void tern__emit_staged_reduce(struct tern__emit *e)
{
    int n = e->nranks;
    tern__emit_scratch(e, e->bytes);
    for (int rank = 0; rank < n; rank++) {
        struct tern__at at = {.rank = rank};
        stage(e, at, rank == e->root);
        if (rank == e->root) {
            tern__emit_wait(e, at, STAGED, n - 1);
            at.round = 1;
            collect(e, at);
            tern__emit_tell_all(e, at, FINISH);
        } else {
            tern__emit_post(e, at, e->root, STAGED);
            at.round = 1;
            tern__emit_wait(e, at, FINISH, 1);
        }
    }
}
