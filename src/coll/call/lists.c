// SPDX-License-Identifier: Apache-2.0
// What a rank can see alone of buffers that are lists: what is missing, and what overlaps.

#include "base/error.h"
#include "coll/call/call.h"

// One side of a call, share by share. A buffer of one share has that alone.
struct side {
    const char *what;        // "in"
    const void *const *list; // or NULL
    const char *flat;
    const size_t *counts;  // of the shares, or NULL: all have `bytes`
    const size_t *offsets; // of a flat one with counts, or NULL: packed
    uint64_t element_bytes, bytes;
    int count; // of shares, 0: this rank has no such buffer
};

static uint64_t bytes_of(const struct side *side, int share)
{
    return side->counts != NULL ? side->counts[share] * side->element_bytes : side->bytes;
}

static uintptr_t address_of(const struct side *side, int share)
{
    if (side->list != NULL) {
        return (uintptr_t)side->list[share];
    }
    if (side->offsets != NULL) {
        return (uintptr_t)side->flat + side->offsets[share] * side->element_bytes;
    }
    uintptr_t address = (uintptr_t)side->flat;
    for (int before = 0; before < share; before++) {
        address += bytes_of(side, before);
    }
    return address;
}

static struct side side_of(const struct tern__coll *call, const tern_coll *from, bool out)
{
    const tern_kind_facts *kind = &tern__kinds[call->kind];
    int rank = call->calls->rank;
    bool has = out ? tern__kind_has_out(call->kind, rank, call->root)
                   : tern__kind_has_in(call->kind, rank, call->root);
    bool all = (out ? kind->out : kind->in) == TERN_KIND_ALL;
    struct side side = {.what = out ? "out" : "in",
                        .list = out ? (const void *const *)from->outs : from->ins,
                        .flat = out ? from->out : from->in,
                        .counts = !all  ? NULL
                                  : out ? call->out_counts
                                        : call->in_counts,
                        .offsets = !all  ? NULL
                                   : out ? call->out_offsets
                                         : call->in_offsets,
                        .element_bytes = call->element_bytes,
                        .count = !has  ? 0
                                 : all ? call->calls->nranks
                                       : 1};
    side.bytes = call->counts ? (out ? call->out_bytes : call->in_bytes) : call->share_bytes;
    side.list = has ? side.list : NULL;
    return side;
}

// That there is a buffer for each share that has bytes, and one sort of them.
static int check_side(const struct tern__coll *call, const struct side *side, bool all)
{
    if (side->list != NULL && !all) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: %ss is a list, and %s has one share; lists are for shares of all "
                          "ranks",
                          call->name, side->what, side->what);
    }
    if (side->list != NULL && side->flat != NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: %s and %ss are both given; one of them must be NULL",
                          call->name, side->what, side->what);
    }
    for (int share = 0; share < side->count; share++) {
        bool missing = side->list != NULL ? side->list[share] == NULL : side->flat == NULL;
        if (bytes_of(side, share) > 0 && missing) {
            return side->list != NULL ? tern__fail(TERN_ERR_ARG, "%s: %ss[%d] must not be NULL",
                                                   call->name, side->what, share)
                                      : tern__fail(TERN_ERR_ARG, "%s: %s must not be NULL",
                                                   call->name, side->what);
        }
    }
    return TERN_OK;
}

static bool overlap(const struct side *a, int i, const struct side *b, int k)
{
    uintptr_t first = address_of(a, i);
    uintptr_t second = address_of(b, k);
    uint64_t first_bytes = bytes_of(a, i);
    uint64_t second_bytes = bytes_of(b, k);
    return first_bytes > 0 && second_bytes > 0 && first < second + second_bytes &&
           second < first + first_bytes;
}

// In place: a share is the same memory where it comes from and where it goes.
static bool is_in_place(const struct tern__coll *call, const struct side *in, int i,
                        const struct side *out, int k)
{
    int self = call->calls->rank;
    bool same = in->count == out->count ? i == k : in->count > out->count ? i == self : k == self;
    return !call->counts && same && address_of(in, i) == address_of(out, k);
}

static int check_overlaps(struct tern__coll *call, const struct side *in, const struct side *out)
{
    for (int k = 0; k < out->count; k++) {
        for (int other = 0; other < k; other++) {
            if (overlap(out, k, out, other)) {
                return tern__fail(TERN_ERR_ARG,
                                  "%s: the shares of rank %d and rank %d overlap in out",
                                  call->name, other, k);
            }
        }
        for (int i = 0; i < in->count; i++) {
            if (!overlap(in, i, out, k)) {
                continue;
            }
            if (!is_in_place(call, in, i, out, k)) {
                return tern__fail(TERN_ERR_ARG,
                                  "%s: share %d of in and share %d of out overlap; %s", call->name,
                                  i, k,
                                  call->counts ? "with counts they may not"
                                               : "in place means that a share is in both at the "
                                                 "same address");
            }
            call->in_place = true;
        }
    }
    return TERN_OK;
}

// The lowest address, and how far it is from there to the end of the last share.
static uintptr_t base_of(const struct side *side, uint64_t *reach)
{
    uintptr_t base = UINTPTR_MAX;
    uintptr_t end = 0;
    for (int share = 0; share < side->count; share++) {
        uintptr_t address = address_of(side, share);
        uint64_t bytes = bytes_of(side, share);
        base = bytes > 0 && address < base ? address : base;
        end = bytes > 0 && address + bytes > end ? address + bytes : end;
    }
    *reach = end > 0 ? end - base : 0;
    return end > 0 ? base : 0;
}

int tern__call_check_lists(struct tern__coll *call, const tern_coll *from)
{
    struct side in = side_of(call, from, false);
    struct side out = side_of(call, from, true);
    TERN_TRY(check_side(call, &in, tern__kind_in_all(call->kind)));
    TERN_TRY(check_side(call, &out, tern__kind_out_all(call->kind)));
    TERN_TRY(check_overlaps(call, &in, &out));
    uintptr_t in_base = base_of(&in, &call->in_reach);
    uintptr_t out_base = base_of(&out, &call->out_reach);
    call->ins = in.list;
    call->outs = (void *const *)out.list;
    call->in = in.list != NULL ? (const char *)in_base : call->in_bytes > 0 ? from->in : NULL;
    call->out = out.list != NULL ? (char *)out_base : call->out_bytes > 0 ? from->out : NULL;
    return TERN_OK;
}
