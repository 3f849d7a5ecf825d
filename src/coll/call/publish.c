// SPDX-License-Identifier: Apache-2.0
// What a rank puts into shared memory when it publishes a run: its input, or where that lies. Data
// path: no allocation, no lock, no log, and no system call.

#include <string.h>

#include "coll/call/place.h"
#include "comm/registry.h"
#include "plan/slices.h"
#include "xport/expose.h"

static bool has_all_ranks(const tern_comm *theirs, const tern_comm *ours)
{
    if (theirs == ours) {
        return true;
    }
    for (int rank = 0; rank < ours->group.size; rank++) {
        bool found = false;
        for (int other = 0; other < theirs->group.size && !found; other++) {
            found = theirs->group.members[other] == ours->group.members[rank];
        }
        if (!found) {
            return false;
        }
    }
    return theirs->group.job == ours->group.job;
}

uint64_t tern__call_place(const struct tern__calls *calls, const char *address, uint64_t bytes,
                          uint64_t *offset)
{
    tern_window *window;
    *offset = 0;
    if (address == NULL || bytes == 0) {
        return TERN__NO_BYTES;
    }
    if (!tern__registry_find(address, &window)) {
        return 0;
    }
    *offset = (uint64_t)(address - window->base);
    bool inside = bytes <= window->size_bytes * (uint64_t)window->nranks - *offset;
    if (!inside || !has_all_ranks(window->comm, calls->comm)) {
        return 0;
    }
    return (uint64_t)window->comm->group.slot << 32 | (window->number + 1);
}

// Of a root that gives to others: more than the caches between them hold.
#define GIVES_LONG (UINT64_C(128) << 10)
#define GIVES_PAST_FROM (UINT64_C(16) << 10)

// Inputs of v-collectives from so many bytes on lie in another part of the slot each time.
#define PARTS_FROM (UINT64_C(16) << 10)

// Whether each rank has a processor. Who share one share caches.
static bool are_alone(const struct tern__calls *calls)
{
    return tern__job_ladder(calls->work.job).alone;
}

// Into the slot. Lines are found in the cache that they were written to, unless that is far away.
// A root that gives much to others has nothing to read meanwhile, so it goes past the caches in any
// case, where that is ever quicker (xport/expose.h); but for the half that goes through slots while
// the other rank reads the rest, which finds it in a cache.
static void expose(const struct tern__coll *call, char *to, const char *from, uint64_t bytes)
{
    const struct tern__calls *calls = call->calls;
    bool gives = tern__kinds[call->kind].root == TERN_KIND_ROOT_FROM &&
                 call->in_reach > GIVES_LONG && call->way != TERN__WAY_DIRECT;
    if (gives && calls->distance.past && bytes >= GIVES_PAST_FROM && are_alone(calls)) {
        tern__expose(to, from, bytes);
    } else {
        tern__hand_over(&calls->distance, to, from, bytes);
    }
}

// What leaves room in its slot is in another part of it each time around. Else what a rank writes
// would be in the caches of those who have read it the time before, who must give up each line,
// which takes longer than to read it; so it has left them.
static uint64_t part_of_slot(const struct tern__calls *calls, uint32_t run, uint64_t room)
{
    if (calls->elsewhere != NULL || room > TERN__SLOT_BYTES || !are_alone(calls)) {
        return 0;
    }
    return run / TERN__SLOTS % (TERN__SLOT_BYTES / room) * room;
}

static bool in_windows(const struct tern__placement *placement)
{
    return placement->in_window != 0 && placement->out_window != 0;
}

// Which way the call will go, if buffers are not in windows. by_table, longest: of its shares, what
// tables ask about, and what this rank knows.
static void foresee(struct tern__coll *call, struct tern__placement *placement, uint64_t by_table,
                    uint64_t longest, uint32_t run)
{
    call->reads = tern__call_direct(call, by_table) != NULL;
    call->learned = NULL;
    call->timed_ns = 0;
    bool quick = call->calls->oldest == NULL; // through slots
    if (!quick && !in_windows(placement) && tern__call_learns(call, longest)) {
        placement->form |= tern__call_foresee(call, call->reads, longest, run);
    }
}

static void fill_shares(struct tern__coll *call, struct tern__placement *placement, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    char *payload = tern__call_payload(call, calls->rank, run);
    struct tern__share *table = (struct tern__share *)(void *)payload;
    tern__call_shares(call, table);
    for (int rank = 0; rank < calls->nranks; rank++) {
        placement->longest =
            table[rank].in_bytes > placement->longest ? table[rank].in_bytes : placement->longest;
    }
    foresee(call, placement, placement->longest, tern__call_longest_share(call), run);
    uint64_t table_bytes = tern__round_line(sizeof *table * (uint64_t)calls->nranks);
    bool stays = in_windows(placement) && calls->elsewhere == NULL;
    stays = stays || call->reads;
    bool keeps = tern__call_keeps_input(call);
    placement->in_slot = call->small                                  ? TERN__IN_SMALL
                         : keeps || tern__call_fits_slot(call, stays) ? TERN__IN_SLOT
                                                                      : 0;
    if (keeps || placement->in_slot == 0) {
        return;
    }
    uint64_t at = table_bytes;
    uint64_t bytes = tern__call_packed_bytes(call);
    if (bytes >= PARTS_FROM) {
        at += part_of_slot(calls, run, table_bytes + bytes);
    }
    bool wide = tern__kind_in_all(call->plan_kind);
    if (!wide && call->in != NULL) {
        expose(call, payload + at, call->in, call->in_bytes);
    }
    for (int rank = 0; rank < calls->nranks; rank++) {
        struct tern__share *row = &table[rank];
        if (wide && row->in_bytes > 0) {
            expose(call, payload + at, call->in + row->in_offset, row->in_bytes);
        }
        row->in_offset = at;
        at += wide ? tern__round_line(row->in_bytes) : 0;
    }
}

static uint32_t bounded(uint64_t bytes)
{
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

void tern__letter_write(const struct tern__calls *calls, uint64_t signature, uint64_t number,
                        uint32_t in_slot, uint32_t run)
{
    const char *payload =
        tern__area_run_payload(calls->area, calls->rank, run, in_slot == TERN__IN_SMALL);
    const struct tern__share *table = (const struct tern__share *)(const void *)payload;
    const struct tern__share *row = &table[1 - calls->rank];
    const struct tern__share *own = &table[calls->rank];
    struct tern__letter *letter = tern__area_letter(calls->area, calls->rank, run);
    letter->age = tern__letter_age(number);
    letter->signature = signature;
    letter->in_bytes = bounded(row->in_bytes);
    letter->out_bytes = bounded(row->out_bytes);
    letter->in_offset = bounded(row->in_offset);
    // What this rank has for itself is otherwise compared by the tables.
    letter->in_slot = own->in_bytes == own->out_bytes ? in_slot : 0;
    if (letter->in_slot != 0 && row->in_bytes > 0 && row->in_bytes <= TERN__LETTER_BYTES) {
        memcpy(letter->data, payload + row->in_offset, row->in_bytes);
    }
    tern__publish(&letter->run, run); // partner: tern__quick_comes; nobody sleeps for it
}

// The slices of a piece that others read, one by one: each one's last line stays in the cache.
static void fill_slices(const struct tern__coll *call, uint64_t slices, char *payload,
                        uint64_t index)
{
    uint64_t bounds[TERN_RANKS_MAX + 1];
    uint64_t skip;
    uint64_t part = tern__piece_of(call, call->share_bytes, index, &skip);
    int n = call->calls->nranks;
    tern__slice_bounds(bounds, part, (uint64_t)n, call->element_bytes);
    for (int unit = 0; unit < n; unit++) {
        if ((slices >> unit & 1) != 0) {
            expose(call, payload + bounds[unit], call->in + skip + bounds[unit],
                   bounds[unit + 1] - bounds[unit]);
        }
    }
}

static void fill_piece(const struct tern__coll *call, char *payload)
{
    const struct tern__calls *calls = call->calls;
    uint64_t skip;
    uint64_t index = call->published - call->announced;
    if (call->in == NULL) {
        return;
    }
    if (!tern__kind_has_shares(call->plan_kind) &&
        (tern__kinds[call->kind].sums || tern__reads_own_input(call))) {
        fill_slices(call, tern__reads_own_input(call) ? call->staged->exposed : UINT64_MAX, payload,
                    index);
        return;
    }
    if (tern__reads_own_input(call) && call->staged->exposed == 0) { // the root of a gather
        return;
    }
    if (!tern__kind_in_all(call->plan_kind)) {
        uint64_t length = call->counts ? call->in_bytes : call->share_bytes;
        uint64_t part = tern__piece_of(call, length, index, &skip);
        expose(call, payload, call->in + (part > 0 ? skip : 0), part);
        return;
    }
    bool own_stays = tern__reads_own_input(call) && (call->staged->exposed >> calls->rank & 1) == 0;
    for (int rank = 0; rank < calls->nranks; rank++) {
        if (own_stays && rank == calls->rank) {
            continue;
        }
        struct tern__share own = {.in_offset = tern__call_in_at(call, rank),
                                  .in_bytes = call->share_bytes};
        if (call->counts) {
            tern__call_share(call, rank, &own);
        }
        uint64_t part = tern__piece_of(call, own.in_bytes, index, &skip);
        uint64_t stride = call->counts ? call->piece_bytes : part;
        if (part > 0) {
            expose(call, payload + (uint64_t)rank * stride, call->in + own.in_offset + skip, part);
        }
    }
}

static void fill_run(const struct tern__coll *call, uint32_t run, struct tern__head *head)
{
    const struct tern__calls *calls = call->calls;
    struct tern__piece_place place = {.at = part_of_slot(calls, run, call->piece_room)};
    memcpy(head->data, &place, sizeof place);
    fill_piece(call, call->wide ? tern__area_wide_payload(calls->area, calls->rank, run)
                                : tern__area_payload(calls->area, calls->rank, run) + place.at);
}

// Whether the call goes through slots as far as this rank's buffers tell, so that the first piece
// can come with what announces it.
static bool goes_staged(const struct tern__coll *call, const struct tern__placement *placement)
{
    const struct tern__calls *calls = call->calls;
    const struct tern__program *window = call->window;
    if (calls->elsewhere != NULL || call->reads) {
        return false;
    }
    return call->in == NULL || window == NULL ||
           ((window->in_shared >> calls->rank & 1) != 0 && placement->in_window == 0) ||
           ((window->out_shared >> calls->rank & 1) != 0 && placement->out_window == 0);
}

// What the root of two says about halves, and a line that tells the other one how far it is.
static uint32_t form_of_halves(const struct tern__coll *call, uint64_t in_window, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    if (call->root != calls->rank || in_window != 0 ||
        !tern__call_can_halve(call, call->reads ? tern__call_reader(call) : NULL)) {
        return 0;
    }
    tern__area_payload(calls->area, calls->rank, run)[0] = 0;
    return are_alone(calls) && !tern__distance_is_long(&calls->distance) ? TERN__FORM_HALF : 0;
}

static void fill_announcement(struct tern__coll *call, uint32_t run, struct tern__head *head)
{
    struct tern__placement placement = {
        .form = (call->in_place ? TERN__FORM_IN_PLACE : 0u) |
                (call->ins != NULL && !call->counts ? TERN__FORM_INS : 0u) |
                (call->outs != NULL && !call->counts ? TERN__FORM_OUTS : 0u)};
    placement.in_window =
        tern__call_place(call->calls, call->in, call->in_reach, &placement.in_offset);
    if (placement.in_window == 0) {
        placement.in_offset = (uintptr_t)call->in;
    }
    placement.out_window =
        tern__call_place(call->calls, call->out, call->out_reach, &placement.out_offset);
    if (call->counts) {
        fill_shares(call, &placement, run);
    } else {
        foresee(call, &placement, call->share_bytes, call->share_bytes, run);
    }
    if (!call->counts && goes_staged(call, &placement)) {
        uint64_t at = part_of_slot(call->calls, run, call->piece_room);
        placement.in_slot = (uint32_t)(1 + at / TERN_CACHE_LINE);
        fill_piece(call, tern__area_payload(call->calls->area, call->calls->rank, run) + at);
    }
    placement.form |= form_of_halves(call, placement.in_window, run);
    memcpy(head->data, &placement, sizeof placement);
    if (call->counts && call->calls->nranks == 2 && call->calls->elsewhere == NULL) {
        tern__letter_write(call->calls, call->signature, call->number, placement.in_slot, run);
    }
}

// Small counts that all ranks have alike: the table, and the input, packed.
static void fill_packed(const struct tern__coll *call, uint32_t run, struct tern__head *head)
{
    const struct tern__calls *calls = call->calls;
    char *payload = tern__area_payload(calls->area, calls->rank, run);
    struct tern__share *table = (struct tern__share *)(void *)payload;
    bool line = tern__call_longest_in(call) <= TERN__LINE_BYTES;
    char *to = line ? (char *)head->data
                    : payload + tern__round_line(sizeof *table * (uint64_t)calls->nranks);
    tern__call_shares(call, table);
    for (int rank = 0; tern__kind_in_all(call->kind) && rank < calls->nranks; rank++) {
        if (table[rank].in_bytes > 0) {
            expose(call, to, call->in + table[rank].in_offset, table[rank].in_bytes);
            to += table[rank].in_bytes;
        }
    }
    if (!tern__kind_in_all(call->kind) && call->in_bytes > 0) {
        expose(call, to, call->in, call->in_bytes);
    }
    tern__call_pack(call, table);
}

// A whole input that is a list.
static void fill_list(const struct tern__coll *call, uint32_t run, struct tern__head *head)
{
    const struct tern__calls *calls = call->calls;
    bool line = call->in_bytes <= TERN__LINE_BYTES;
    char *to = line ? (char *)head->data : tern__call_payload(call, calls->rank, run);
    for (int rank = 0; call->share_bytes > 0 && rank < calls->nranks; rank++) {
        if (line) {
            memcpy(to, call->ins[rank], call->share_bytes);
        } else {
            expose(call, to, call->ins[rank], call->share_bytes);
        }
        to += call->share_bytes;
    }
}

// A whole input, its shares one by one: each one's last line stays in the cache.
static void fill_input(const struct tern__coll *call, char *payload)
{
    uint64_t part = tern__kind_in_all(call->plan_kind) ? call->share_bytes : call->in_bytes;
    for (uint64_t at = 0; at < call->in_bytes; at += part) {
        expose(call, payload + at, call->in + at, part);
    }
}

void tern__call_fill(struct tern__coll *call, uint32_t run, struct tern__head *head)
{
    if (call->way == TERN__WAY_UNKNOWN) {
        fill_announcement(call, run, head);
    } else if (tern__sums_direct(call)) {
        return; // what it reads stays where it is
    } else if (call->way == TERN__WAY_STAGED || call->way == TERN__WAY_DIRECT) {
        fill_run(call, run, head);
    } else if (call->counts) {
        fill_packed(call, run, head);
    } else if (call->ins != NULL) {
        fill_list(call, run, head);
    } else if (call->in_bytes > TERN__LINE_BYTES) {
        fill_input(call, tern__call_payload(call, call->calls->rank, run));
    } else if (call->in_bytes > 0) {
        memcpy(head->data, call->in, call->in_bytes);
    }
}
