// SPDX-License-Identifier: Apache-2.0
// Collectives by reads alone: a rank reads what it wants from the inputs of others and stores only
// into its own output, so these work where no other rank can reach an output. In AllGather and
// AllToAll everybody reads from everybody, each beginning with itself and going on with the next,
// so that no two read from one rank at the same time; in Reduce and Gather the root reads
// everything. All but AllToAll are right in place: nobody stores into what another still reads.

#include "coll/coll.h"

// Everybody reads a share from everybody: each owner's only one, or that at the reader's place.
static void read_from_all(struct tern__emit *e, bool own_place)
{
    int n = e->nranks;
    uint64_t share = e->bytes / (uint64_t)n;
    for (int rank = 0; rank < n; rank++) {
        struct tern__at at = {.rank = rank};
        uint64_t from = own_place ? (uint64_t)rank * share : 0;
        for (int step = 0; step < n; step++) {
            int owner = (rank + step) % n;
            tern__emit_from(e, owner, TERN_PLAN_IN, from);
            tern__emit_to(e, rank, TERN_PLAN_OUT, (uint64_t)owner * share);
            tern__emit_move(e, at, share);
        }
        tern__emit_finish(e, at);
    }
}

void tern__emit_pull_all_gather(struct tern__emit *e)
{
    read_from_all(e, false);
}

void tern__emit_pull_all_to_all(struct tern__emit *e)
{
    read_from_all(e, true);
}

// Everybody but the root waits until it has read everything; nobody touches the root's buffers.
static void wait_for_root(struct tern__emit *e)
{
    for (int rank = 0; rank < e->nranks; rank++) {
        if (rank != e->root) {
            tern__emit_wait(e, (struct tern__at){.rank = rank}, 0, 1);
        }
    }
}

void tern__emit_pull_reduce(struct tern__emit *e)
{
    struct tern__at at = {.rank = e->root};
    tern__emit_from_all_inputs(e, 0);
    tern__emit_to(e, e->root, TERN_PLAN_OUT, 0);
    tern__emit_move(e, at, e->bytes);
    tern__emit_tell_all(e, at, 0);
    wait_for_root(e);
}

void tern__emit_pull_gather(struct tern__emit *e)
{
    int n = e->nranks;
    uint64_t share = e->bytes / (uint64_t)n;
    struct tern__at at = {.rank = e->root};
    for (int step = 0; step < n; step++) {
        int owner = (e->root + step) % n;
        tern__emit_from(e, owner, TERN_PLAN_IN, 0);
        tern__emit_to(e, e->root, TERN_PLAN_OUT, (uint64_t)owner * share);
        tern__emit_move(e, at, share);
    }
    tern__emit_tell_all(e, at, 0);
    wait_for_root(e);
}
