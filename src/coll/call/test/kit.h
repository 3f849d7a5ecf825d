// SPDX-License-Identifier: Apache-2.0
// For the tests of the collective calls: communicators that overlap, memory of every sort, the
// inputs of a call, and the comparison of every byte in and around its buffers with the reference
// (support/coll_ref.h). How calls are made: calls.h.
#ifndef TERN_COLL_CALL_TEST_KIT_H
#define TERN_COLL_CALL_TEST_KIT_H

#include "support/cmocka.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/coll_ref.h"
#include "support/look.h"
#include "support/random.h"
#include "support/ranks.h"
#include "support/sanitized.h"
#include "tern/coll.h"
#include "tern/memory.h"
#include "tern/window.h"

#define KIT __attribute__((unused)) static

// Whether ranks are spread over machines (support/ranks.h).
KIT bool kit_is_spread(void)
{
    return getenv("TERN_TEST_MACHINES") != NULL;
}

// A number from the environment that makes a test longer, or repeats it; else the default, which is
// shorter under sanitizers.
KIT uint64_t kit_number(const char *variable, uint64_t otherwise)
{
    const char *given = getenv(variable);
    char *end = NULL;
    if (given == NULL || *given == 0) {
        return ROUNDS_OF(otherwise);
    }
    uint64_t number = strtoull(given, &end, 10);
    if (number == 0 || *end != 0) { // else a test would run nothing and pass
        fprintf(stderr, "%s is '%s'; it must be a whole number from 1 on\n", variable, given);
        exit(2);
    }
    return number;
}

// Whether the last sentence has these words, not as a part of longer ones.
KIT bool kit_mentions(const char *words)
{
    const char *text = tern_last_error();
    size_t length = strlen(words);
    for (const char *at = text; (at = strstr(at, words)) != NULL; at++) {
        unsigned char before = at == text ? ' ' : (unsigned char)at[-1];
        unsigned char after = (unsigned char)at[length];
        if (!isalnum(before) && before != '_' && !isalnum(after) && after != '_') {
            return true;
        }
    }
    return false;
}

// Communicators of a job: all its ranks; all of them, numbered backwards; those with the same
// parity; the lower and the upper half.
enum kit_comm { KIT_WORLD, KIT_BACKWARDS, KIT_PARITY, KIT_HALVES, KIT_COMMS };

// Where a buffer lies.
enum kit_place {
    KIT_WINDOW,    // in a window of the communicator
    KIT_HEAP,      // anywhere
    KIT_ODD,       // on odd ranks in a window
    KIT_SHIFTED,   // in a window, one element further than a cache line
    KIT_BYTE,      // anywhere, at an odd address
    KIT_OTHER,     // in a window of another communicator that has all of its ranks
    KIT_PART,      // in a window of a communicator that has not
    KIT_NEIGHBOUR, // in another rank's part of a window
    KIT_TWO,       // on odd ranks in one window, on even ranks in another
    KIT_UNEVEN,    // in a window, on each rank somewhere else
    KIT_ALLOC,     // in memory of tern_alloc, on each rank somewhere else
    KIT_PLACES,
};

KIT const char *const kit_places[KIT_PLACES] = {
    "window",        "heap",           "window on odd ranks", "window + 1 element",
    "heap + 1 byte", "its window",     "part window",         "neighbour's part",
    "two windows",   "window, uneven", "tern_alloc",
};

#define KIT_GUARD 64 // bytes before and after each buffer
#define KIT_PATTERN 0xa5
#define KIT_SLACK ((size_t)4096) // guards, shifts

struct kit_bench {
    int rank, n; // in the world
    tern_comm *comms[KIT_COMMS];
    tern_window *windows[KIT_COMMS]; // one of each communicator
    tern_window *neighbours;         // whose parts the neighbours use
    char *heap, *scratch;
    char *given;         // by tern_alloc
    size_t region_bytes; // of a buffer with its guards
    int slots;           // calls that may be under way at a time
};

// Collective. A call's buffer has at most `bytes`.
KIT int kit_open(tern_comm *world, size_t bytes, int slots, struct kit_bench *b)
{
    *b = (struct kit_bench){.rank = tern_comm_rank(world), .n = tern_comm_size(world)};
    b->slots = slots;
    b->region_bytes = (bytes + KIT_SLACK) / 64 * 64;
    size_t all = b->region_bytes * 2 * (size_t)slots;
    int r = b->rank;
    b->comms[KIT_WORLD] = world;
    CHECK(tern_comm_split(world, 0, b->n - r, &b->comms[KIT_BACKWARDS]) == TERN_OK);
    CHECK(tern_comm_split(world, r % 2, r, &b->comms[KIT_PARITY]) == TERN_OK);
    CHECK(tern_comm_split(world, r < (b->n + 1) / 2, r, &b->comms[KIT_HALVES]) == TERN_OK);
    for (int i = 0; i < KIT_COMMS; i++) {
        CHECK(tern_window_create(b->comms[i], all, NULL, &b->windows[i]) == TERN_OK);
    }
    CHECK(tern_window_create(world, all, NULL, &b->neighbours) == TERN_OK);
    CHECK(tern_alloc(world, all + (size_t)r * 4160, (void **)&b->given) == TERN_OK);
    b->heap = malloc(all);
    b->scratch = malloc(b->region_bytes);
    CHECK(b->heap != NULL && b->scratch != NULL);
    return 0;
}

KIT int kit_close(struct kit_bench *b)
{
    free(b->heap);
    free(b->scratch);
    CHECK(tern_free(b->given) == TERN_OK);
    CHECK(tern_window_destroy(b->neighbours) == TERN_OK);
    for (int i = KIT_COMMS - 1; i >= 0; i--) {
        CHECK(tern_window_destroy(b->windows[i]) == TERN_OK);
        CHECK(i == KIT_WORLD || tern_comm_destroy(b->comms[i]) == TERN_OK);
    }
    return 0;
}

// One rank's part in a call.
struct kit_work {
    struct kit_bench *bench;
    struct ref_case c;
    enum kit_comm comm;
    int rank;      // in that communicator
    bool in_place; // here
    int place_in, place_out;
    struct ref_shares shares;
    char *in, *out; // where the elements are, also when there are none
    size_t in_bytes, out_bytes;
    tern_coll call;
    tern_request requests[2]; // of SEND and RECV: receiving is the second
};

KIT void kit_describe(const struct kit_work *w, char *text, size_t size)
{
    static const char *const comms[] = {"world", "backwards", "parity", "halves"};
    snprintf(text, size,
             "rank %d of %d (%s): %s of %zu x %s, %s, root %d%s%s%s, in: %s, out: %s; seed %llu",
             w->rank, w->c.n, comms[w->comm], tern_coll_kind_name(w->c.kind), w->c.count,
             tern_dtype_name(w->c.dtype),
             ref_reduces(w->c.kind) ? tern_reduce_op_name(w->c.op) : "no op", w->c.root,
             w->c.exact ? ", exact" : "", w->c.spread ? ", spread" : "",
             w->in_place ? ", in place" : "", kit_places[w->place_in], kit_places[w->place_out],
             (unsigned long long)w->c.seed);
}

// Whether a rank may have ended such a call before all others have entered it.
KIT bool kit_may_be_early(tern_coll_kind kind)
{
    const char *agree = getenv("TERN_AGREE");
    bool strict = agree != NULL && strcmp(agree, "strict") == 0;
    return ref_has_root(kind) && kind != TERN_COLL_SEND && kind != TERN_COLL_RECV && !strict;
}

KIT bool kit_can_be_in_place(const struct ref_case *c)
{
    return !ref_is_v(c->kind) && c->kind != TERN_COLL_BARRIER && c->kind != TERN_COLL_SEND &&
           c->kind != TERN_COLL_RECV;
}

// The first byte of a buffer of the slot.
KIT char *kit_place(const struct kit_bench *b, enum kit_comm comm, int place, int slot, bool out,
                    size_t element)
{
    size_t at = (size_t)(2 * slot + out) * b->region_bytes + 2 * KIT_GUARD;
    bool odd = b->rank % 2 == 1;
    place = place == KIT_TWO ? (odd ? KIT_OTHER : KIT_WINDOW) : place;
    tern_window *window = b->windows[comm];
    int owner = tern_comm_rank(b->comms[comm]);
    switch (place) {
    case KIT_HEAP:
        return b->heap + at;
    case KIT_ODD:
        return odd ? (char *)tern_window_address(window, owner) + at : b->heap + at;
    case KIT_SHIFTED:
        at += element;
        break;
    case KIT_ALLOC:
        return b->given + (size_t)b->rank * 4160 + at;
    case KIT_BYTE:
        return b->heap + at + 1;
    case KIT_OTHER:
        window = b->windows[comm == KIT_WORLD ? KIT_BACKWARDS : KIT_WORLD];
        owner = comm == KIT_WORLD ? b->n - 1 - b->rank : b->rank;
        break;
    case KIT_PART:
        window = b->windows[comm == KIT_HALVES ? KIT_PARITY : KIT_HALVES];
        owner = tern_comm_rank(b->comms[comm == KIT_HALVES ? KIT_PARITY : KIT_HALVES]);
        break;
    case KIT_NEIGHBOUR:
        window = b->neighbours;
        owner = (b->rank + 1) % b->n;
        if (tern_window_address(window, owner) == NULL) { // on another machine
            return b->heap + at;
        }
        break;
    case KIT_UNEVEN:
        at += (size_t)b->rank * 3 * 8;
        break;
    default:
        break;
    }
    return (char *)tern_window_address(window, owner) + at;
}

// Lays out the call of a case; c->n and c->root are set to what the communicator has. Elements are
// not written yet. A rank's buffer without elements is now NULL, now an address.
KIT void kit_make(struct kit_bench *b, enum kit_comm comm, const struct ref_case *c, bool in_place,
                  int place_in, int place_out, int slot, struct kit_work *w)
{
    *w = (struct kit_work){.bench = b, .c = *c, .comm = comm, .place_in = place_in};
    w->place_out = place_out;
    w->c.n = tern_comm_size(b->comms[comm]);
    w->c.root = c->root % w->c.n;
    w->rank = tern_comm_rank(b->comms[comm]);
    w->in_place =
        in_place && kit_can_be_in_place(c) && (!ref_has_root(c->kind) || w->rank == w->c.root);
    ref_shares(&w->c, w->rank, &w->shares);
    size_t element = ref_element(&w->c);
    w->in_bytes = w->shares.in_extent * element;
    w->out_bytes = w->shares.out_extent * element;
    if (w->in_bytes + KIT_SLACK > b->region_bytes + 64 ||
        w->out_bytes + KIT_SLACK > b->region_bytes + 64) {
        fprintf(stderr, "the test's buffers have %zu bytes, the call %zu and %zu\n",
                b->region_bytes, w->in_bytes, w->out_bytes);
        abort();
    }
    w->in = kit_place(b, comm, place_in, slot, false, element);
    w->out = kit_place(b, comm, place_out, slot, true, element);
    if (w->in_place) {
        size_t own = (size_t)w->rank * c->count * element; // of this rank's share among n
        w->out = w->in_bytes > w->out_bytes ? w->in + own : w->in;
        w->in = w->in_bytes < w->out_bytes ? w->in + own : w->in;
    }
    bool null = ref_mix(c->seed, 4, 4) % 2 == 0;
    ref_call(&w->c, w->rank, &w->shares, null && w->in_bytes == 0 ? NULL : w->in,
             null && w->out_bytes == 0 ? NULL : w->out, &w->call);
}

// What the memory around and in one buffer of the call is: before it, or after it. In place, that
// of the two buffers together.
KIT char *kit_image(const struct kit_work *w, bool out, bool ended, char *to, size_t *bytes)
{
    const char *begin = out ? w->out : w->in;
    *bytes = out ? w->out_bytes : w->in_bytes;
    if (w->in_place) {
        begin = w->in < w->out ? w->in : w->out;
        *bytes = w->in_bytes > w->out_bytes ? w->in_bytes : w->out_bytes;
    }
    memset(to, KIT_PATTERN, *bytes + (size_t)2 * KIT_GUARD);
    if (!out || w->in_place) {
        ref_input(&w->c, w->rank, 0, w->shares.in_extent, to + KIT_GUARD + (w->in - begin));
    }
    if (ended && (out || w->in_place)) {
        ref_output(&w->c, w->rank, to + KIT_GUARD + (w->out - begin));
    }
    *bytes += (size_t)2 * KIT_GUARD;
    return (char *)(uintptr_t)begin - KIT_GUARD;
}

// Writes the inputs and the guards.
KIT void kit_fill(struct kit_work *w)
{
    size_t bytes;
    for (int out = 0; out < 2; out++) {
        char *at = kit_image(w, out != 0, false, w->bench->scratch, &bytes);
        if (out == 0 || !w->in_place) {
            memcpy(at, w->bench->scratch, bytes);
        }
    }
}

// 0 when every byte is as it must be: after a call that ended, or after one that was refused.
KIT int kit_compare(struct kit_work *w, bool ended)
{
    size_t bytes;
    char text[400];
    kit_describe(w, text, sizeof text);
    if (w->call.function != NULL && ((struct ref_function_arg *)w->call.function_arg)->misaligned) {
        fprintf(stderr, "%s: the function was handed an odd address\n", text);
        return 1;
    }
    ref_clean(&w->c, w->out, ended ? w->shares.out_extent : 0);
    for (int out = 0; out < 2; out++) {
        if (out != 0 && w->in_place) {
            break;
        }
        const char *expected = w->bench->scratch;
        const char *seen = kit_image(w, out != 0, ended, w->bench->scratch, &bytes);
        if (memcmp(seen, expected, bytes) == 0) {
            continue;
        }
        size_t first = 0;
        size_t wrong = 0;
        for (size_t i = bytes; i-- > 0;) {
            if (seen[i] != expected[i]) {
                first = i;
                wrong++;
            }
        }
        fprintf(stderr, "%s: %zu bytes of its %s differ, first byte %lld of %zu\n   is      ", text,
                wrong,
                w->in_place ? "buffer"
                : out != 0  ? "out"
                            : "in",
                (long long)first - KIT_GUARD, bytes - (size_t)2 * KIT_GUARD);
        for (int row = 0; row < 2; row++) {
            for (size_t i = first / 8 * 8; i < first / 8 * 8 + 24 && i < bytes; i++) {
                fprintf(stderr, " %02x", (unsigned)(unsigned char)(row == 0 ? seen : expected)[i]);
            }
            fprintf(stderr, row == 0 ? "\n   must be " : "\n");
        }
        return 1;
    }
    return 0;
}

#endif
