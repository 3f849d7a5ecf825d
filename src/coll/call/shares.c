// SPDX-License-Identifier: Apache-2.0
// V-collectives: what goes from this rank to each other one and back, in bytes.

#include <string.h>

#include "coll/call/place.h"

// Of a root that gives to others: more goes in pieces, so that they read one while it writes the
// next.
#define GIVES_MOST (UINT64_C(80) << 10)

static uint64_t offset_of(const struct tern__coll *call, const size_t *counts,
                          const size_t *offsets, int rank)
{
    if (offsets != NULL) {
        return offsets[rank] * call->element_bytes;
    }
    uint64_t sum = 0;
    for (int before = 0; before < rank; before++) {
        sum += counts[before] * call->element_bytes;
    }
    return sum;
}

void tern__call_share(const struct tern__coll *call, int rank, struct tern__share *row)
{
    tern_coll_kind kind = call->kind;
    int self = call->calls->rank;
    int root = call->root;
    memset(row, 0, sizeof *row);
    if (call->in_counts != NULL) {
        row->in_bytes = call->in_counts[rank] * call->element_bytes;
        row->in_offset = call->ins != NULL && row->in_bytes > 0
                             ? tern__call_in_at(call, rank)
                             : offset_of(call, call->in_counts, call->in_offsets, rank);
    } else if (tern__kind_has_in(kind, self, root) && tern__kind_has_out(kind, rank, root)) {
        row->in_bytes = call->in_bytes; // one share, for all or for the root
    }
    if (call->out_counts != NULL) {
        row->out_bytes = call->out_counts[rank] * call->element_bytes;
        row->out_offset = call->outs != NULL && row->out_bytes > 0
                              ? tern__call_out_at(call, rank)
                              : offset_of(call, call->out_counts, call->out_offsets, rank);
    } else if (tern__kind_has_out(kind, self, root) && tern__kind_has_in(kind, rank, root)) {
        row->out_bytes = call->out_bytes;
    }
}

void tern__call_shares(const struct tern__coll *call, struct tern__share *rows)
{
    for (int rank = 0; rank < call->calls->nranks; rank++) {
        tern__call_share(call, rank, &rows[rank]);
    }
}

uint64_t tern__call_longest_share(const struct tern__coll *call)
{
    uint64_t longest = 0;
    for (int rank = 0; rank < call->calls->nranks; rank++) {
        struct tern__share row;
        tern__call_share(call, rank, &row);
        longest = row.in_bytes > longest ? row.in_bytes : longest;
        longest = row.out_bytes > longest ? row.out_bytes : longest;
    }
    return longest;
}

void tern__call_list_shares(const struct tern__coll *call, struct tern__share *rows)
{
    for (int rank = 0; rank < call->calls->nranks; rank++) {
        rows[rank] = (struct tern__share){.in_offset = tern__call_in_at(call, rank),
                                          .in_bytes = call->share_bytes,
                                          .out_offset = tern__call_out_at(call, rank),
                                          .out_bytes = call->share_bytes};
    }
}

uint64_t tern__counts_digest(const size_t *counts, int nranks, bool small)
{
    uint64_t digest = UINT64_C(0x9e3779b97f4a7c15);
    for (int rank = 0; rank < nranks; rank++) {
        digest = (digest ^ counts[rank]) * UINT64_C(0xd6e8feb86659fd93);
        digest ^= digest >> 32;
    }
    return small ? digest | 1 : digest & ~UINT64_C(1);
}

uint64_t tern__call_longest_in(const struct tern__coll *call)
{
    bool wide = tern__kind_in_all(call->kind);
    const size_t *counts = wide ? call->in_counts : call->out_counts;
    uint64_t sum = 0;
    uint64_t longest = 0;
    for (int rank = 0; rank < call->calls->nranks; rank++) {
        sum += counts[rank];
        longest = counts[rank] > longest ? counts[rank] : longest;
    }
    return (wide ? sum : longest) * call->element_bytes;
}

void tern__call_pack(const struct tern__coll *call, struct tern__share *rows)
{
    uint64_t at = 0;
    for (int rank = 0; rank < call->calls->nranks; rank++) {
        rows[rank].in_offset = at;
        at += tern__kind_in_all(call->kind) ? rows[rank].in_bytes : 0;
    }
}

// Whether so many bytes fit behind a table, and are no more than `most`.
static bool fits(const struct tern__coll *call, uint64_t bytes, uint64_t most)
{
    uint64_t n = (uint64_t)call->calls->nranks;
    uint64_t table_bytes = tern__round_line(sizeof(struct tern__share) * n);
    return table_bytes + bytes <= TERN__SLOT_BYTES && bytes <= most;
}

bool tern__call_keeps_input(const struct tern__coll *call)
{
    const struct tern__calls *calls = call->calls;
    return call->kind == TERN_COLL_GATHER_V && call->root == calls->rank && calls->nranks > 1;
}

bool tern__call_takes_slots(const struct tern__coll *call, uint32_t run)
{
    const struct tern__share *table = tern__call_table(call->calls, call->root, run);
    for (int rank = 0; rank < call->calls->nranks; rank++) {
        uint64_t bytes = table[rank].out_bytes;
        if (rank != call->root &&
            (bytes > TERN__SLOT_BYTES || !fits(call, tern__round_line(bytes), call->slot_limit))) {
            return false;
        }
    }
    return true;
}

uint64_t tern__call_packed_bytes(const struct tern__coll *call)
{
    uint64_t n = (uint64_t)call->calls->nranks;
    uint64_t bytes = 0;
    if (!tern__kind_in_all(call->kind)) {
        bytes = tern__round_line(call->in_bytes);
    }
    for (uint64_t rank = 0; rank < n && call->in_counts != NULL; rank++) {
        bytes += tern__round_line(call->in_counts[rank] * call->element_bytes);
    }
    return bytes;
}

bool tern__call_fits_slot(const struct tern__coll *call, bool stays)
{
    bool gives = tern__kinds[call->kind].root == TERN_KIND_ROOT_FROM;
    uint64_t most = stays ? call->slot_limit : gives ? GIVES_MOST : TERN__SLOT_BYTES;
    return fits(call, tern__call_packed_bytes(call), most);
}

_Static_assert(sizeof(struct tern__share) + TERN_CACHE_LINE <= TERN__SMALL_SHARE,
               "rows, and shares in whole lines, fit tern__area_small_bytes");

bool tern__call_is_short(const struct tern__coll *call)
{
    int n = call->calls->nranks;
    bool may = call->counts && call->early;
    if (!may || tern__call_keeps_input(call)) {
        return may;
    }
    uint64_t bytes = tern__kind_in_all(call->kind) ? 0 : call->in_bytes;
    for (int rank = 0; rank < n && call->in_counts != NULL; rank++) {
        bytes += call->in_counts[rank] * call->element_bytes; // checked: it fits
    }
    return bytes <= TERN__SMALL_BYTES && tern__call_fits_slot(call, true);
}
