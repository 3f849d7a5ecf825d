// SPDX-License-Identifier: Apache-2.0
// The collectives that a full mesh does in one start-up, each rank dealing with every other
// directly: ReduceScatter by reads (one op, sums in rank order), AllGather and AllToAll by pushes;
// Broadcast and Scatter by reads and Gather by pushes, so that all ranks copy at the same time and
// not the root alone. Scatter also the other way about, by pushes of the root.

#include "coll/coll.h"

// The root's buffers are what others touch: it waits for everybody.
static void tell_root(struct tern__emit *e, struct tern__at at)
{
    if (at.rank == e->root) {
        tern__emit_wait(e, at, 0, e->nranks - 1);
    } else {
        tern__emit_post(e, at, e->root, 0);
    }
}

void tern__emit_direct_reduce_scatter(struct tern__emit *e)
{
    uint64_t share = e->bytes / (uint64_t)e->nranks;
    for (int rank = 0; rank < e->nranks; rank++) {
        struct tern__at at = {.rank = rank};
        tern__emit_from_all_inputs(e, (uint64_t)rank * share);
        tern__emit_to(e, rank, TERN_PLAN_OUT, 0);
        tern__emit_move(e, at, share);
        tern__emit_finish(e, at);
    }
}

void tern__emit_direct_all_gather(struct tern__emit *e)
{
    int n = e->nranks;
    uint64_t share = e->bytes / (uint64_t)n;
    for (int rank = 0; rank < n; rank++) {
        struct tern__at at = {.rank = rank};
        tern__emit_from(e, rank, TERN_PLAN_IN, 0);
        for (int step = 0; step < n; step++) {
            tern__emit_to(e, (rank + step) % n, TERN_PLAN_OUT, (uint64_t)rank * share);
        }
        tern__emit_move(e, at, share);
        tern__emit_finish(e, at);
    }
}

void tern__emit_direct_broadcast(struct tern__emit *e)
{
    for (int rank = 0; rank < e->nranks; rank++) {
        struct tern__at at = {.rank = rank};
        tern__emit_from(e, e->root, TERN_PLAN_IN, 0);
        tern__emit_to(e, rank, TERN_PLAN_OUT, 0);
        tern__emit_move(e, at, e->bytes);
        tell_root(e, at);
    }
}

void tern__emit_direct_all_to_all(struct tern__emit *e)
{
    int n = e->nranks;
    uint64_t share = e->bytes / (uint64_t)n;
    for (int rank = 0; rank < n; rank++) {
        // A lane for each peer, so that all links are busy at once; lane 0 is the rank's own.
        for (int step = 0; step < n; step++) {
            struct tern__at at = {.rank = rank, .lane = step};
            int peer = (rank + step) % n;
            tern__emit_from(e, rank, TERN_PLAN_IN, (uint64_t)peer * share);
            tern__emit_to(e, peer, TERN_PLAN_OUT, (uint64_t)rank * share);
            tern__emit_move(e, at, share);
            if (step == 0) {
                tern__emit_wait(e, at, 0, n - 1);
            } else {
                tern__emit_post(e, at, peer, 0);
            }
        }
    }
}

void tern__emit_direct_gather(struct tern__emit *e)
{
    uint64_t share = e->bytes / (uint64_t)e->nranks;
    for (int rank = 0; rank < e->nranks; rank++) {
        struct tern__at at = {.rank = rank};
        tern__emit_from(e, rank, TERN_PLAN_IN, 0);
        tern__emit_to(e, e->root, TERN_PLAN_OUT, (uint64_t)rank * share);
        tern__emit_move(e, at, share);
        tell_root(e, at);
    }
}

void tern__emit_direct_scatter(struct tern__emit *e)
{
    uint64_t share = e->bytes / (uint64_t)e->nranks;
    for (int rank = 0; rank < e->nranks; rank++) {
        struct tern__at at = {.rank = rank};
        tern__emit_from(e, e->root, TERN_PLAN_IN, (uint64_t)rank * share);
        tern__emit_to(e, rank, TERN_PLAN_OUT, 0);
        tern__emit_move(e, at, share);
        tell_root(e, at);
    }
}

void tern__emit_push_scatter(struct tern__emit *e)
{
    int n = e->nranks;
    uint64_t share = e->bytes / (uint64_t)n;
    struct tern__at at = {.rank = e->root};
    // The root's own share last: nobody waits for it.
    for (int step = 1; step <= n; step++) {
        int peer = (e->root + step) % n;
        tern__emit_from(e, e->root, TERN_PLAN_IN, (uint64_t)peer * share);
        tern__emit_to(e, peer, TERN_PLAN_OUT, 0);
        tern__emit_move(e, at, share);
        if (peer != e->root) {
            tern__emit_post(e, at, peer, 0);
            tern__emit_wait(e, (struct tern__at){.rank = peer}, 0, 1);
        }
    }
}
