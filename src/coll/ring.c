// SPDX-License-Identifier: Apache-2.0
// Rings: every rank pushes to its successor only, so that one direction of n links is enough. Chunk
// c starts at the rank behind position c and collects its sum on the way round to position c
// (reduce-scatter, n - 1 steps); finished chunks go round once more (all-gather, n - 1 steps). A
// step is one op: what has arrived plus the own input, written straight into a slot of the
// successor. A slot for each step, so nobody has to say that a slot is free again. Partial sums
// travel: the order is fixed but not rank order. (Patarasuk, Yuan 2009.)

#include "coll/coll.h"

struct ring {
    struct tern__emit *e;
    int ranks[TERN_TOPO_RANKS_MAX]; // by position
    uint64_t slot_bytes;
};

static int wrap(int position, int n)
{
    return ((position % n) + n) % n;
}

// Where the chunk of a position lies in a full-size buffer, and how long it is. With shares it is
// the share of the rank there.
static uint64_t chunk_at(const struct ring *ring, int position)
{
    const struct tern__emit *e = ring->e;
    if (e->kind == TERN_PLAN_ALL_REDUCE) {
        return tern__slice(e, e->nranks, position);
    }
    return (uint64_t)ring->ranks[position] * (e->bytes / (uint64_t)e->nranks);
}

static uint64_t chunk_length(const struct ring *ring, int position)
{
    const struct tern__emit *e = ring->e;
    return e->kind == TERN_PLAN_ALL_REDUCE
               ? tern__slice_length(e, e->nranks, position, position + 1)
               : e->bytes / (uint64_t)e->nranks;
}

static bool begin(struct ring *ring, struct tern__emit *e)
{
    ring->e = e;
    if (!tern__ring_find(e->topo, ring->ranks)) {
        return false;
    }
    ring->slot_bytes = 0;
    for (int position = 0; position < e->nranks; position++) {
        uint64_t length = chunk_length(ring, position);
        ring->slot_bytes = length > ring->slot_bytes ? length : ring->slot_bytes;
    }
    return true;
}

// The n - 1 steps that leave the parts of all other ranks for the own chunk in the last slot.
static void reduce_scatter(const struct ring *ring, int position)
{
    struct tern__emit *e = ring->e;
    int n = e->nranks;
    int rank = ring->ranks[position];
    int next = ring->ranks[wrap(position + 1, n)];
    for (int step = 0; step < n - 1; step++) {
        struct tern__at at = {.rank = rank, .round = step};
        int chunk = wrap(position - 1 - step, n);
        if (step > 0) {
            tern__emit_wait(e, at, 0, step);
            tern__emit_from(e, rank, TERN_PLAN_SCRATCH, (uint64_t)(step - 1) * ring->slot_bytes);
        }
        tern__emit_from(e, rank, TERN_PLAN_IN, chunk_at(ring, chunk));
        tern__emit_to(e, next, TERN_PLAN_SCRATCH, (uint64_t)step * ring->slot_bytes);
        tern__emit_move(e, at, chunk_length(ring, chunk));
        tern__emit_post(e, at, next, 0);
    }
    tern__emit_wait(e, (struct tern__at){.rank = rank, .round = n - 2}, 0, n - 1);
    tern__emit_from(e, rank, TERN_PLAN_SCRATCH, (uint64_t)(n - 2) * ring->slot_bytes);
    tern__emit_from(e, rank, TERN_PLAN_IN, chunk_at(ring, position));
}

// The steps 1..n-2 that pass on what came from behind, after `arrived` posts that were waited for.
static void pass_on(const struct ring *ring, int position, int arrived, int round)
{
    struct tern__emit *e = ring->e;
    int n = e->nranks;
    int rank = ring->ranks[position];
    int next = ring->ranks[wrap(position + 1, n)];
    for (int step = 1; step < n - 1; step++) {
        struct tern__at at = {.rank = rank, .round = round + step};
        int chunk = wrap(position - step, n);
        tern__emit_wait(e, at, 0, arrived + step);
        tern__emit_from(e, rank, TERN_PLAN_OUT, chunk_at(ring, chunk));
        tern__emit_to(e, next, TERN_PLAN_OUT, chunk_at(ring, chunk));
        tern__emit_move(e, at, chunk_length(ring, chunk));
        tern__emit_post(e, at, next, 0);
    }
    tern__emit_wait(e, (struct tern__at){.rank = rank, .round = round + n - 2}, 0, arrived + n - 1);
}

void tern__emit_ring_all_reduce(struct tern__emit *e)
{
    struct ring ring;
    if (!begin(&ring, e)) {
        return;
    }
    int n = e->nranks;
    tern__emit_scratch(e, (uint64_t)(n - 1) * ring.slot_bytes);
    for (int position = 0; position < n; position++) {
        int rank = ring.ranks[position];
        int next = ring.ranks[wrap(position + 1, n)];
        struct tern__at at = {.rank = rank, .round = n - 1};
        reduce_scatter(&ring, position);
        // The finished chunk goes into both outputs: its first step of the all-gather.
        tern__emit_to(e, rank, TERN_PLAN_OUT, chunk_at(&ring, position));
        tern__emit_to(e, next, TERN_PLAN_OUT, chunk_at(&ring, position));
        tern__emit_move(e, at, chunk_length(&ring, position));
        tern__emit_post(e, at, next, 0);
        pass_on(&ring, position, n - 1, n - 1);
    }
}

void tern__emit_ring_reduce_scatter(struct tern__emit *e)
{
    struct ring ring;
    if (!begin(&ring, e)) {
        return;
    }
    tern__emit_scratch(e, (uint64_t)(e->nranks - 1) * ring.slot_bytes);
    for (int position = 0; position < e->nranks; position++) {
        int rank = ring.ranks[position];
        reduce_scatter(&ring, position);
        tern__emit_to(e, rank, TERN_PLAN_OUT, 0);
        tern__emit_move(e, (struct tern__at){.rank = rank, .round = e->nranks - 2},
                        chunk_length(&ring, position));
    }
}

void tern__emit_ring_all_gather(struct tern__emit *e)
{
    struct ring ring;
    if (!begin(&ring, e)) {
        return;
    }
    for (int position = 0; position < e->nranks; position++) {
        int rank = ring.ranks[position];
        int next = ring.ranks[wrap(position + 1, e->nranks)];
        struct tern__at at = {.rank = rank, .round = 0};
        tern__emit_from(e, rank, TERN_PLAN_IN, 0);
        tern__emit_to(e, rank, TERN_PLAN_OUT, chunk_at(&ring, position));
        tern__emit_to(e, next, TERN_PLAN_OUT, chunk_at(&ring, position));
        tern__emit_move(e, at, chunk_length(&ring, position));
        tern__emit_post(e, at, next, 0);
        pass_on(&ring, position, 0, 0);
    }
}
