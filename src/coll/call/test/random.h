// SPDX-License-Identifier: Apache-2.0
// Random calls, and ends of calls in a random order, for the tests that mix them.
#ifndef TERN_COLL_CALL_TEST_RANDOM_H
#define TERN_COLL_CALL_TEST_RANDOM_H

#include "coll/call/test/calls.h"

// Any kind, dtype and op that fit; counts of the given size at most, mostly small ones.
KIT struct ref_case random_case(uint64_t *state, size_t bytes_max)
{
    static const size_t bytes[] = {0, 8, 64, 100, 1000, 5000, 20000, 66000, 300000, 4 << 20};
    struct ref_case c = {.kind = (tern_coll_kind)random_below(state, TERN_COLL_RECV + 1),
                         .dtype = (tern_dtype)random_below(state, 12),
                         .op = (tern_reduce_op)random_below(state, TERN_FUNCTION + 1),
                         .root = (int)random_below(state, TERN_RANKS_MAX),
                         .spread = random_below(state, 2) == 0};
    bool bitwise = c.op == TERN_AND || c.op == TERN_OR || c.op == TERN_XOR;
    bool floats =
        c.dtype == TERN_F32 || c.dtype == TERN_F16 || c.dtype == TERN_BF16 || c.dtype == TERN_F64;
    c.op = (bitwise && floats) || !ref_reduces(c.kind) ? TERN_SUM : c.op;
    // Of ten sizes the small ones come most often: the smaller of two, or of three.
    uint64_t size = random_below(state, 10);
    uint64_t other = random_below(state, 10);
    size = other < size ? other : size;
    size_t most = bytes[size] < bytes_max ? bytes[size] : bytes_max;
    c.count = (size_t)random_below(state, most + 1) / ref_element(&c);
    c.count = c.kind == TERN_COLL_BARRIER ? 0 : c.count;
    c.seed = random_below(state, UINT64_C(1) << 32);
    return c;
}

// The most bytes that a buffer of such a case takes, shares of n ranks and their variations
// included.
KIT size_t random_most(size_t bytes_max, int n)
{
    return (bytes_max + 16 * 8) * (size_t)n + 4 * 8 * TERN_RANKS_MAX;
}

// Calls under way. Each rank ends them in an order of its own.
enum { RANDOM_SLOTS = 24 };

struct random_calls {
    struct kit_bench *bench;
    struct kit_work works[RANDOM_SLOTS];
    bool busy[RANDOM_SLOTS];
    int count;      // that are busy
    uint64_t state; // of this rank's own random numbers
    uint64_t ended;
};

// The lowest slot without a call; -1.
KIT int random_free_slot(const struct random_calls *r)
{
    for (int slot = 0; slot < r->bench->slots; slot++) {
        if (!r->busy[slot]) {
            return slot;
        }
    }
    return -1;
}

KIT bool random_is_over(const struct kit_work *w)
{
    return w->requests[0] == 0 && w->requests[1] == 0;
}

// Compares what has ended.
KIT int random_collect(struct random_calls *r)
{
    for (int slot = 0; slot < r->bench->slots; slot++) {
        if (r->busy[slot] && random_is_over(&r->works[slot])) {
            r->busy[slot] = false;
            r->count--;
            r->ended++;
            if (kit_compare(&r->works[slot], true) != 0) {
                return 1;
            }
        }
    }
    return 0;
}

// All requests in an array, of SEND and RECV two; and back.
KIT int random_gather(struct random_calls *r, tern_request *requests)
{
    int count = 0;
    for (int slot = 0; slot < r->bench->slots; slot++) {
        for (int half = 0; half < 2 && r->busy[slot]; half++) {
            requests[count++] = r->works[slot].requests[half];
        }
    }
    return count;
}

KIT void random_scatter(struct random_calls *r, const tern_request *requests)
{
    int count = 0;
    for (int slot = 0; slot < r->bench->slots; slot++) {
        for (int half = 0; half < 2 && r->busy[slot]; half++) {
            r->works[slot].requests[half] = requests[count++];
        }
    }
}

KIT int random_wait_any(struct random_calls *r)
{
    tern_request requests[2 * RANDOM_SLOTS];
    tern_request before[2 * RANDOM_SLOTS];
    int count = random_gather(r, requests);
    int index = -2;
    memcpy(before, requests, sizeof before);
    CHECK(tern_request_wait_any(requests, count, &index) >= 0);
    CHECK(index >= 0 && index < count); // one was under way
    CHECK(before[index] != 0 && requests[index] == 0);
    for (int i = 0; i < count; i++) {
        CHECK(i == index || requests[i] == before[i]);
    }
    random_scatter(r, requests);
    return 0;
}

KIT int random_wait_all(struct random_calls *r)
{
    tern_request requests[2 * RANDOM_SLOTS];
    int count = random_gather(r, requests);
    CHECK(tern_request_wait_all(requests, count) >= 0);
    for (int i = 0; i < count; i++) {
        CHECK(requests[i] == 0);
    }
    random_scatter(r, requests);
    return 0;
}

// Ends some: one by waiting or by testing, any one, or all.
KIT int random_end_some(struct random_calls *r)
{
    if (r->count == 0) {
        return 0;
    }
    int slot = (int)random_below(&r->state, (uint64_t)r->bench->slots);
    while (!r->busy[slot]) {
        slot = (slot + 1) % r->bench->slots;
    }
    struct kit_work *work = &r->works[slot];
    switch (random_below(&r->state, 10)) {
    case 0:
        CHECK(random_wait_all(r) == 0);
        break;
    case 1:
    case 2:
    case 3:
        CHECK(random_wait_any(r) == 0);
        break;
    case 4:
    case 5:
        CHECK(kit_wait_by_testing(work) >= 0);
        break;
    case 6:
        for (int i = 0; i < 2; i++) { // may or may not
            CHECK(tern_request_test(&work->requests[i]) >= 0);
        }
        break;
    default:
        CHECK(kit_wait(work) >= 0);
        CHECK(random_is_over(work));
    }
    return random_collect(r);
}

KIT int random_end_all(struct random_calls *r)
{
    while (r->count > 0) {
        CHECK(random_end_some(r) == 0);
    }
    return 0;
}

// Starts a call in a free slot, which there is. All ranks pass the same case, and places of their
// own.
KIT int random_start(struct random_calls *r, enum kit_comm comm, const struct ref_case *c)
{
    int slot = random_free_slot(r);
    struct kit_work *work = &r->works[slot];
    int in = (int)random_below(&r->state, KIT_PLACES);
    int out = (int)random_below(&r->state, KIT_PLACES);
    if (random_below(&r->state, 2) == 0) {
        in = out = KIT_WINDOW;
    }
    kit_make(r->bench, comm, c, random_below(&r->state, 4) == 0, in, out, slot, work);
    kit_fill(work);
    CHECK(kit_start(work) >= 0);
    r->busy[slot] = true;
    r->count++;
    return 0;
}

#endif
