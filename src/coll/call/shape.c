// SPDX-License-Identifier: Apache-2.0
// What is remembered of calls that were made before.

#include <stdlib.h>
#include <string.h>

#include "coll/call/place.h"
#include "comm/checking.h"

static void let_go(const struct tern__shape *shape)
{
    free(shape->rows);
    free(shape->again);
}

void tern__shapes_free(struct tern__calls *calls)
{
    for (int i = 0; i < TERN__SHAPES; i++) {
        let_go(&calls->shapes[i]);
        calls->shapes[i] = (struct tern__shape){0};
    }
}

// Calls of a shape that was made before: the common case, and the one where time counts.
static uint64_t key_of(const struct tern__coll *call)
{
    return call->algorithm != NULL || call->order != TERN_ORDER_RANK
               ? TERN__NO_KEY
               : tern__key(call->kind, call->dtype, call->op, call->root);
}

static const size_t *alike_counts(const struct tern__coll *call)
{
    return call->in_counts != NULL ? call->in_counts : call->out_counts;
}

// With what a shape of the call is found: of a v-collective, small only where the counts are alike.
static struct tern__shape *shape_of(const struct tern__coll *call, uint64_t key, bool small,
                                    size_t *count)
{
    *count = !call->counts ? call->count
             : small       ? tern__counts_digest(alike_counts(call), call->calls->nranks, true)
                           : 0;
    return tern__shape_of(call->calls, key, *count);
}

static bool is_shape(const struct tern__coll *call, const struct tern__shape *shape, uint64_t key,
                     size_t count, bool small)
{
    size_t bytes = (size_t)call->calls->nranks * sizeof *shape->counts;
    return key != TERN__NO_KEY && shape->key == key && shape->count == count &&
           (small ? shape->slot : shape->window) != NULL &&
           (shape->counts == NULL || memcmp(shape->counts, alike_counts(call), bytes) == 0);
}

// The counts that all ranks have alike are part of what they compare.
void tern__call_sign_counts(struct tern__coll *call, bool small)
{
    if (tern__kind_counts_alike(call->kind)) {
        call->digest = tern__counts_digest(alike_counts(call), call->calls->nranks, small);
        call->signature |=
            tern__signature_pack(0, 0, 0, 0, 0, 0, call->digest >> TERN__SIGNATURE_BYTES_AT);
    }
}

static bool find_small(struct tern__coll *call)
{
    size_t count;
    uint64_t key = key_of(call);
    const struct tern__shape *shape = shape_of(call, key, true, &count);
    if (!is_shape(call, shape, key, count, true)) {
        return false;
    }
    call->signature = shape->signature;
    call->digest = shape->rows != NULL ? count : 0;
    call->early = shape->early;
    call->small = shape->small;
    call->way = TERN__WAY_SLOT;
    call->pieces = 1;
    call->slot = shape->slot;
    call->slot->users++;
    return true;
}

bool tern__call_find_shape(struct tern__coll *call)
{
    size_t count;
    if ((!call->counts || tern__kind_counts_alike(call->kind)) && find_small(call)) {
        return true;
    }
    uint64_t key = key_of(call);
    const struct tern__shape *shape = shape_of(call, key, false, &count);
    if (!is_shape(call, shape, key, count, false)) {
        return false;
    }
    call->signature = shape->signature;
    tern__call_sign_counts(call, false);
    call->early = shape->early;
    call->way = TERN__WAY_UNKNOWN;
    call->window = shape->window;
    call->staged = shape->staged;
    call->tail = shape->staged;
    call->few = shape->few;
    call->window->users++;
    call->staged->users += 2;
    if (call->few != NULL) {
        call->few->users++;
    }
    call->piece_bytes = shape->piece_bytes;
    call->piece_room = shape->piece_room;
    call->slot_limit = shape->slot_limit;
    call->copied = shape->copied;
    call->small = tern__call_is_short(call);
    return true;
}

// A table of packed shares, and the counts that it is of, in one block; NULL: no memory.
static struct tern__share *make_rows(const struct tern__coll *call)
{
    size_t n = (size_t)call->calls->nranks;
    struct tern__share *rows = malloc(n * (sizeof *rows + sizeof *call->in_counts));
    if (rows != NULL) {
        tern__call_shares(call, rows);
        tern__call_pack(call, rows);
        memcpy(rows + n, alike_counts(call), n * sizeof *call->in_counts);
    }
    return rows;
}

// Only plans that scale: the others may be forgotten.
void tern__call_remember_small(const struct tern__coll *call)
{
    size_t count;
    uint64_t key = key_of(call);
    const struct tern__program *program = call->slot;
    struct tern__share *rows = NULL;
    if (key == TERN__NO_KEY || !program->scaled || call->in_offsets != NULL ||
        call->out_offsets != NULL || (call->counts && (call->ins != NULL || call->outs != NULL)) ||
        (call->counts && (rows = make_rows(call)) == NULL)) {
        return;
    }
    uint64_t longest = call->counts ? tern__call_longest_in(call)
                       : tern__kind_in_all(call->plan_kind)
                           ? call->share_bytes * (uint64_t)call->calls->nranks
                           : call->share_bytes;
    struct tern__shape *shape = shape_of(call, key, true, &count);
    let_go(shape);
    // A scaled plan for shares has ops of length 1, and so has one for slices of one rank.
    // A barrier in a job of several machines looks at what was sent before.
    bool quick = program->plain && call->function == NULL && !tern__call_is_fence(call) &&
                 (call->counts || call->share_bytes > 0 || program->staged.lanes_count == 0) &&
                 !tern__checking_asked(); // which looks at each call
    *shape = (struct tern__shape){
        .key = key,
        .count = count,
        .signature = call->signature,
        .slot = call->slot,
        .quick = quick,
        .early = call->early,
        .small = call->small,
        .alone = tern__call_is_alone(call),
        .gates = call->early ? program->gates : call->calls->others,
        .in_line = longest <= TERN__LINE_BYTES,
        .share_bytes = call->share_bytes,
        .stride = tern__kind_has_shares(call->plan_kind) ? call->share_bytes : 0,
        .bytes = call->bytes,
        .in_bytes = call->in_bytes,
        .out_bytes = call->out_bytes,
        .elements = call->counts ? call->out_bytes / call->element_bytes : call->count,
        .reduce = call->reduce,
        .rows = rows,
        .counts = rows != NULL ? (size_t *)(void *)(rows + call->calls->nranks) : NULL,
    };
}

// NULL also when there is no memory: then it is not remembered.
static struct tern__again *new_again(const struct tern__coll *call)
{
    const struct tern__calls *calls = call->calls;
    size_t n = (size_t)calls->nranks;
    bool rooted = n > 2 && call->early && tern__kind_has_root(call->kind);
    struct tern__again *made = NULL;
    if (call->counts && (n == 2 || rooted) && calls->elsewhere == NULL &&
        !tern__kind_counts_alike(call->kind) && !tern__checking_asked()) {
        made = calloc(1, sizeof *made + n * (4 * sizeof *made->in_counts + sizeof *made->from +
                                             sizeof *made->rows));
    }
    if (made != NULL) {
        made->rows = (struct tern__share *)(void *)(made + 1);
        made->from = (uint64_t *)(void *)(made->rows + n);
        made->in_counts = (size_t *)(void *)(made->from + n);
        made->in_offsets = made->in_counts + n;
        made->out_counts = made->in_offsets + n;
        made->out_offsets = made->out_counts + n;
    }
    return made;
}

// Between machines it also depends on who is where.
void tern__call_remember_large(const struct tern__coll *call)
{
    size_t count;
    uint64_t key = key_of(call);
    bool alone = call->counts || call->calls->elsewhere == NULL;
    if (key != TERN__NO_KEY && alone && call->window != NULL && call->window->scaled &&
        call->staged->scaled && (call->few == NULL || call->few->scaled)) {
        struct tern__shape *shape = shape_of(call, key, false, &count);
        let_go(shape);
        *shape = (struct tern__shape){
            .key = key,
            .count = count,
            .signature = call->signature,
            .early = call->early,
            .window = call->window,
            .staged = call->staged,
            .few = call->few,
            .piece_bytes = call->piece_bytes,
            .piece_room = call->piece_room,
            .slot_limit = call->slot_limit,
            .copied = call->copied,
            .again = new_again(call),
        };
    }
}

static bool copy_list(size_t *known, const size_t *list, int nranks)
{
    if (list != NULL) {
        memcpy(known, list, (size_t)nranks * sizeof *known);
    }
    return list != NULL;
}

// Whether it waits for the same ranks whatever the others do: of more than two, who leaves a root
// that gathers waits for nobody, and others for those whose bytes they take.
static bool waits_so(const struct tern__coll *call, uint64_t gates)
{
    const struct tern__calls *calls = call->calls;
    bool is_root = call->root == calls->rank;
    uint64_t taken = call->kind == TERN_COLL_GATHER_V ? (is_root ? calls->others : 0)
                                                      : (is_root ? 0 : UINT64_C(1) << call->root);
    return calls->nranks == 2 || (call->small && gates == taken);
}

// The input is in the slot: where it is besides is nothing to the others.
void tern__call_remember_again(const struct tern__coll *call, uint64_t gates, uint32_t run)
{
    size_t count;
    uint64_t key = key_of(call);
    const struct tern__calls *calls = call->calls;
    const int n = calls->nranks;
    const struct tern__shape *shape = shape_of(call, key, false, &count);
    if (!is_shape(call, shape, key, count, false) || shape->again == NULL || call->ins != NULL ||
        call->outs != NULL) {
        return;
    }
    struct tern__again *again = shape->again;
    again->count = call->count;
    again->in_counted = copy_list(again->in_counts, call->in_counts, n);
    again->in_placed = copy_list(again->in_offsets, call->in_offsets, n);
    again->out_counted = copy_list(again->out_counts, call->out_counts, n);
    again->out_placed = copy_list(again->out_offsets, call->out_offsets, n);
    again->bytes = call->bytes;
    again->in_bytes = call->in_bytes;
    again->out_bytes = call->out_bytes;
    again->gates = gates;
    again->awaited = n == 2 && (!call->early || !tern__kind_has_root(call->kind) ||
                                (call->root == calls->rank) == (call->kind == TERN_COLL_SCATTER_V));
    again->small = call->small;
    again->alone = tern__call_is_alone(call);
    again->keeps = tern__call_keeps_input(call);
    again->payload_bytes = tern__round_line((uint64_t)n * sizeof *again->rows) +
                           (again->keeps ? 0 : tern__call_packed_bytes(call));
    for (int rank = 0; rank < n; rank++) {
        tern__call_share(call, rank, &again->rows[rank]);
        again->from[rank] = again->rows[rank].in_offset;
    }
    memcpy(again->rows, tern__call_table(calls, calls->rank, run), (size_t)n * sizeof *again->rows);
    again->placement = *tern__call_placement(calls, calls->rank, run);
    again->placement.in_window = TERN__NO_BYTES;
    again->placement.in_offset = 0;
    again->changes = 1; // odd: to be asked for
    again->known = again->rows[calls->rank].in_bytes == again->rows[calls->rank].out_bytes &&
                   waits_so(call, gates);
}
