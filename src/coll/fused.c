// SPDX-License-Identifier: Apache-2.0
// The collectives of all bytes in one pass over memory: rank r owns slice r. In AllReduce it reads
// it from all inputs and stores the sum into all outputs, in one op; Reduce is the same with the
// root's output alone, Broadcast with the root's input alone. Each input is read once and each
// output written once, which is the least that memory can be asked for. Right in place: only its
// owner touches a slice.

#include "coll/coll.h"

void tern__emit_fused(struct tern__emit *e)
{
    int n = e->nranks;
    for (int rank = 0; rank < n; rank++) {
        struct tern__at at = {.rank = rank};
        uint64_t offset = tern__slice(e, n, rank);
        tern__emit_from_all_inputs(e, offset);
        tern__emit_to_all_outputs(e, rank, offset);
        tern__emit_move(e, at, tern__slice_length(e, n, rank, rank + 1));
        tern__emit_finish(e, at);
    }
}

void tern__emit_fused_reduce(struct tern__emit *e)
{
    int n = e->nranks;
    for (int rank = 0; rank < n; rank++) {
        struct tern__at at = {.rank = rank};
        uint64_t offset = tern__slice(e, n, rank);
        tern__emit_from_all_inputs(e, offset);
        tern__emit_to(e, e->root, TERN_PLAN_OUT, offset);
        tern__emit_move(e, at, tern__slice_length(e, n, rank, rank + 1));
        tern__emit_finish(e, at); // everybody reads everybody's input
    }
}

void tern__emit_fused_broadcast(struct tern__emit *e)
{
    int n = e->nranks;
    for (int rank = 0; rank < n; rank++) {
        struct tern__at at = {.rank = rank};
        uint64_t offset = tern__slice(e, n, rank);
        tern__emit_from(e, e->root, TERN_PLAN_IN, offset);
        tern__emit_to_all_outputs(e, rank, offset);
        tern__emit_move(e, at, tern__slice_length(e, n, rank, rank + 1));
        tern__emit_finish(e, at); // everybody writes everybody's output
    }
}
