// SPDX-License-Identifier: Apache-2.0
// AllReduce by recursive vector halving and distance doubling (Thakur, Rabenseifner, Gropp 2005).
// Of the largest power of two p <= n ranks each ends with slice r of p after log2 p halvings, and
// with all slices after log2 p doublings. A rank e >= p is served by rank e - p, which reads e's
// input beside its own and at the end copies the result back. Partial sums travel: the order is
// fixed, not rank order. What a rank passes on in a step is summed on the fly from its input and
// the slots it got so far: at most 2S are read in all, and no accumulator is written. All by pushes
// but for e's input.

#include "coll/coll.h"

struct halving {
    struct tern__emit *e;
    int ranks;          // p
    int steps;          // log2 p
    uint64_t slots[16]; // where the slot of each step begins in scratch
};

// The slices that a rank still has before a step: p >> step of them, from this one.
static int first_slice(const struct halving *h, int rank, int step)
{
    return rank & ~((h->ranks >> step) - 1);
}

static uint64_t slice_at(const struct halving *h, int slice)
{
    return tern__slice(h->e, h->ranks, slice);
}

// The sources of a rank's partial sum before a step, from a slice on.
static void from_partial(const struct halving *h, int rank, int step, int slice)
{
    struct tern__emit *e = h->e;
    uint64_t offset = slice_at(h, slice);
    tern__emit_from(e, rank, TERN_PLAN_IN, offset);
    if (rank + h->ranks < e->nranks) {
        tern__emit_from(e, rank + h->ranks, TERN_PLAN_IN, offset);
    }
    for (int earlier = 0; earlier < step; earlier++) {
        uint64_t base = slice_at(h, first_slice(h, rank, earlier + 1));
        tern__emit_from(e, rank, TERN_PLAN_SCRATCH, h->slots[earlier] + offset - base);
    }
}

static void halve(const struct halving *h, int rank)
{
    struct tern__emit *e = h->e;
    for (int step = 0; step < h->steps; step++) {
        struct tern__at at = {.rank = rank, .round = step};
        int half = h->ranks >> (step + 1);
        int partner = rank ^ half;
        int given = first_slice(h, partner, step + 1);
        if (step > 0) {
            tern__emit_wait(e, at, (uint32_t)step - 1, 1);
        }
        from_partial(h, rank, step, given);
        tern__emit_to(e, partner, TERN_PLAN_SCRATCH, h->slots[step]);
        tern__emit_move(e, at, tern__slice_length(e, h->ranks, given, given + half));
        tern__emit_post(e, at, partner, (uint32_t)step);
    }
}

static void twice(const struct halving *h, int rank)
{
    struct tern__emit *e = h->e;
    struct tern__at at = {.rank = rank, .round = h->steps};
    tern__emit_wait(e, at, (uint32_t)h->steps - 1, 1);
    from_partial(h, rank, h->steps, rank);
    tern__emit_to(e, rank, TERN_PLAN_OUT, slice_at(h, rank));
    for (int step = 0; step < h->steps; step++, at.round++) {
        int partner = rank ^ (1 << step);
        int first = rank & ~((1 << step) - 1);
        if (step > 0) {
            tern__emit_wait(e, at, (uint32_t)(h->steps + step - 1), 1);
            tern__emit_from(e, rank, TERN_PLAN_OUT, slice_at(h, first));
        } // else the sources are named above, and the sum goes to both outputs
        tern__emit_to(e, partner, TERN_PLAN_OUT, slice_at(h, first));
        tern__emit_move(e, at, tern__slice_length(e, h->ranks, first, first + (1 << step)));
        tern__emit_post(e, at, partner, (uint32_t)(h->steps + step));
    }
    at.round = 2 * h->steps - 1;
    tern__emit_wait(e, at, (uint32_t)(2 * h->steps - 1), 1);
}

static void serve(const struct halving *h, int rank)
{
    struct tern__emit *e = h->e;
    int served = rank + h->ranks;
    struct tern__at at = {.rank = rank, .round = 2 * h->steps};
    tern__emit_from(e, rank, TERN_PLAN_OUT, 0);
    tern__emit_to(e, served, TERN_PLAN_OUT, 0);
    tern__emit_move(e, at, e->bytes);
    tern__emit_post(e, at, served, 0);
    at.rank = served;
    tern__emit_wait(e, at, 0, 1);
}

void tern__emit_halving_doubling(struct tern__emit *e)
{
    struct halving h = {.e = e, .ranks = 1};
    for (; h.ranks * 2 <= e->nranks; h.steps++) {
        h.ranks *= 2;
    }
    uint64_t scratch = 0;
    for (int step = 0; step < h.steps; step++) {
        int half = h.ranks >> (step + 1);
        uint64_t longest = 0;
        for (int first = 0; first < h.ranks; first += half) {
            uint64_t length = tern__slice_length(e, h.ranks, first, first + half);
            longest = length > longest ? length : longest;
        }
        h.slots[step] = scratch;
        scratch += longest;
    }
    tern__emit_scratch(e, scratch);
    for (int rank = 0; rank < h.ranks; rank++) {
        halve(&h, rank);
        twice(&h, rank);
        if (rank + h.ranks < e->nranks) {
            serve(&h, rank);
        }
    }
}
