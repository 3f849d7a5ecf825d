// SPDX-License-Identifier: Apache-2.0
// The naive reference of the collective calls: what goes where. Written for being right, not for
// speed; only inputs' first REF_PERIOD elements are ever computed, the others are copies of them.

#include "coll_ref.h"

#include <stdlib.h>
#include <string.h>

uint64_t ref_mix(uint64_t a, uint64_t b, uint64_t c) // splitmix64's finisher, three times
{
    uint64_t numbers[] = {a, b, c};
    uint64_t hash = 0;
    for (int i = 0; i < 3; i++) {
        hash = (hash ^ numbers[i]) + UINT64_C(0x9e3779b97f4a7c15);
        hash = (hash ^ (hash >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        hash = (hash ^ (hash >> 27)) * UINT64_C(0x94d049bb133111eb);
        hash ^= hash >> 31;
    }
    return hash;
}

bool ref_reduces(tern_coll_kind kind)
{
    return kind == TERN_COLL_ALL_REDUCE || kind == TERN_COLL_REDUCE_SCATTER ||
           kind == TERN_COLL_REDUCE || kind == TERN_COLL_REDUCE_SCATTER_V;
}

bool ref_is_v(tern_coll_kind kind)
{
    return kind >= TERN_COLL_REDUCE_SCATTER_V && kind <= TERN_COLL_SCATTER_V;
}

bool ref_has_shares(tern_coll_kind kind)
{
    return kind == TERN_COLL_REDUCE_SCATTER || kind == TERN_COLL_ALL_GATHER ||
           kind == TERN_COLL_GATHER || kind == TERN_COLL_SCATTER || kind == TERN_COLL_ALL_TO_ALL ||
           ref_is_v(kind);
}

bool ref_has_root(tern_coll_kind kind)
{
    return kind == TERN_COLL_BROADCAST || kind == TERN_COLL_REDUCE || kind == TERN_COLL_GATHER ||
           kind == TERN_COLL_SCATTER || kind == TERN_COLL_GATHER_V || kind == TERN_COLL_SCATTER_V;
}

// Makes `count` elements out of the first REF_PERIOD.
static void repeat(char *to, size_t size, size_t count)
{
    for (size_t done = REF_PERIOD; done < count;) {
        size_t more = done < count - done ? done : count - done;
        memcpy(to + done * size, to, more * size);
        done += more;
    }
}

void ref_input(const struct ref_case *c, int rank, size_t begin, size_t count, void *to)
{
    size_t size = ref_element(c);
    for (size_t i = 0; i < count && i < REF_PERIOD; i++) {
        ref_make_element(c, rank, (begin + i) % REF_PERIOD, (char *)to + i * size);
    }
    repeat(to, size, count);
}

// Who passes what.

// About count, sometimes none; how many elements go from one rank to another, or have a share.
static size_t vary(const struct ref_case *c, uint64_t from, uint64_t to)
{
    uint64_t hash = ref_mix(c->seed ^ 77, from, to);
    switch (hash % 8) {
    case 0:
        return 0;
    case 1:
        return c->count / 2;
    case 2:
        return c->count + 1;
    case 3:
        return (hash >> 8) % 8;
    default:
        return c->count;
    }
}

// Puts shares one after the other, or backwards with gaps; returns the elements they span.
static size_t lay_out(const struct ref_case *c, const size_t *counts, size_t *offsets)
{
    size_t at = 0;
    bool spread = c->spread && ref_is_v(c->kind) && c->kind != TERN_COLL_REDUCE_SCATTER_V;
    for (int i = 0; i < c->n; i++) {
        int share = spread ? c->n - 1 - i : i;
        at += spread ? ref_mix(c->seed, 5, (uint64_t)share) % 4 : 0;
        offsets[share] = at;
        at += counts[share];
    }
    return at;
}

static size_t share_of(const struct ref_case *c, int from, int to)
{
    switch (c->kind) {
    case TERN_COLL_ALL_TO_ALL_V:
        return vary(c, (uint64_t)from, (uint64_t)to);
    case TERN_COLL_REDUCE_SCATTER_V:
    case TERN_COLL_SCATTER_V:
        return vary(c, 100, (uint64_t)to);
    case TERN_COLL_ALL_GATHER_V:
    case TERN_COLL_GATHER_V:
        return vary(c, (uint64_t)from, 100);
    default:
        return c->count;
    }
}

void ref_shares(const struct ref_case *c, int rank, struct ref_shares *s)
{
    for (int q = 0; q < c->n; q++) {
        s->in_counts[q] = share_of(c, rank, q);
        s->out_counts[q] = share_of(c, q, rank);
    }
    size_t in = lay_out(c, s->in_counts, s->in_offsets);
    size_t out = lay_out(c, s->out_counts, s->out_offsets);
    bool root = rank == c->root;
    size_t in_one = s->in_counts[rank];
    size_t out_one = s->out_counts[rank];
    s->in_extent = in_one;
    s->out_extent = out_one;
    switch (c->kind) {
    case TERN_COLL_BARRIER:
        s->in_extent = s->out_extent = 0;
        break;
    case TERN_COLL_ALL_TO_ALL:
    case TERN_COLL_ALL_TO_ALL_V:
        s->in_extent = in;
        s->out_extent = out;
        break;
    case TERN_COLL_REDUCE_SCATTER:
    case TERN_COLL_REDUCE_SCATTER_V:
        s->in_extent = in;
        break;
    case TERN_COLL_ALL_GATHER:
    case TERN_COLL_ALL_GATHER_V:
        s->out_extent = out;
        break;
    case TERN_COLL_GATHER:
    case TERN_COLL_GATHER_V:
        s->out_extent = root ? out : 0;
        break;
    case TERN_COLL_SCATTER:
    case TERN_COLL_SCATTER_V:
        s->in_extent = root ? in : 0;
        break;
    case TERN_COLL_BROADCAST:
        s->in_extent = root ? in_one : 0;
        break;
    case TERN_COLL_REDUCE:
        s->out_extent = root ? out_one : 0;
        break;
    default:
        break;
    }
}

int ref_to(const struct ref_case *c, int rank)
{
    if (c->kind == TERN_COLL_SEND) {
        return (rank + 1) % c->n;
    }
    return (rank ^ 1) < c->n ? rank ^ 1 : rank;
}

int ref_from(const struct ref_case *c, int rank)
{
    return c->kind == TERN_COLL_SEND ? (rank + c->n - 1) % c->n : ref_to(c, rank);
}

// Outputs.

static void reduce_range(const struct ref_case *c, size_t begin, size_t count, char *to)
{
    size_t size = ref_element(c);
    size_t computed = count < REF_PERIOD ? count : REF_PERIOD;
    char *inputs = malloc(computed * size * (size_t)c->n + 1);
    if (inputs == NULL) {
        abort();
    }
    for (int rank = 0; rank < c->n; rank++) {
        ref_input(c, rank, begin, computed, inputs + (size_t)rank * computed * size);
    }
    for (size_t i = 0; i < computed; i++) {
        const char *from[TERN_RANKS_MAX];
        for (int rank = 0; rank < c->n; rank++) {
            from[rank] = inputs + ((size_t)rank * computed + i) * size;
        }
        ref_reduce_element(c, from, to + i * size);
    }
    free(inputs);
    repeat(to, size, count);
}

// Where in its input the source has what goes to this rank.
static size_t place_at_source(const struct ref_case *c, int source, int rank)
{
    struct ref_shares shares;
    ref_shares(c, source, &shares);
    bool cut = c->kind == TERN_COLL_SCATTER || c->kind == TERN_COLL_SCATTER_V ||
               c->kind == TERN_COLL_ALL_TO_ALL || c->kind == TERN_COLL_ALL_TO_ALL_V;
    return cut ? shares.in_offsets[rank] : 0;
}

void ref_output(const struct ref_case *c, int rank, void *to)
{
    struct ref_shares own;
    ref_shares(c, rank, &own);
    size_t size = ref_element(c);
    if (own.out_extent == 0) {
        return;
    }
    if (ref_reduces(c->kind)) {
        bool cut = c->kind == TERN_COLL_REDUCE_SCATTER || c->kind == TERN_COLL_REDUCE_SCATTER_V;
        reduce_range(c, cut ? own.in_offsets[rank] : 0, own.out_extent, to);
        return;
    }
    switch (c->kind) {
    case TERN_COLL_BROADCAST:
    case TERN_COLL_SCATTER:
    case TERN_COLL_SCATTER_V:
        ref_input(c, c->root, place_at_source(c, c->root, rank), own.out_extent, to);
        return;
    case TERN_COLL_SEND:
    case TERN_COLL_RECV:
        ref_input(c, ref_from(c, rank), 0, own.out_extent, to);
        return;
    default:
        for (int q = 0; q < c->n; q++) {
            ref_input(c, q, place_at_source(c, q, rank), own.out_counts[q],
                      (char *)to + own.out_offsets[q] * size);
        }
    }
}

void ref_call(const struct ref_case *c, int rank, const struct ref_shares *shares, const void *in,
              void *out, tern_coll *call)
{
    *call =
        (tern_coll){.kind = c->kind, .in = in, .out = out, .count = c->count, .dtype = c->dtype};
    bool root = rank == c->root;
    if (ref_reduces(c->kind)) {
        call->op = c->op;
    }
    if (ref_reduces(c->kind) && c->op == TERN_FUNCTION) {
        call->function = ref_function;
        call->function_arg = &ref_function_args[ref_element(c)][c->exact];
    }
    if (ref_has_root(c->kind)) {
        call->root = c->root;
    }
    switch (c->kind) {
    case TERN_COLL_SEND:
    case TERN_COLL_RECV:
        call->kind = TERN_COLL_SEND;
        call->root = ref_to(c, rank);
        break;
    case TERN_COLL_REDUCE_SCATTER_V:
        call->in_counts = shares->in_counts;
        break;
    case TERN_COLL_ALL_GATHER_V:
        call->out_counts = shares->out_counts;
        call->out_offsets = c->spread ? shares->out_offsets : NULL;
        break;
    case TERN_COLL_GATHER_V:
        call->count = shares->in_counts[rank];
        call->out_counts = root ? shares->out_counts : NULL;
        call->out_offsets = root && c->spread ? shares->out_offsets : NULL;
        break;
    case TERN_COLL_SCATTER_V:
        call->count = shares->out_counts[rank];
        call->in_counts = root ? shares->in_counts : NULL;
        call->in_offsets = root && c->spread ? shares->in_offsets : NULL;
        break;
    case TERN_COLL_ALL_TO_ALL_V:
        call->in_counts = shares->in_counts;
        call->in_offsets = c->spread ? shares->in_offsets : NULL;
        call->out_counts = shares->out_counts;
        call->out_offsets = c->spread ? shares->out_offsets : NULL;
        break;
    default:
        break;
    }
    if (ref_is_v(c->kind) && c->kind != TERN_COLL_GATHER_V && c->kind != TERN_COLL_SCATTER_V) {
        call->count = 0;
    }
}
