// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a call are: what a rank puts into shared memory when it publishes a run, and what
// the ranges of the plan mean once all ranks have. The way of a large call is decided here, by what
// all ranks have published, hence the same on all of them.

#include <string.h>

#include "base/error.h"
#include "coll/call/call.h"
#include "comm/registry.h"

#define NO_BYTES UINT64_MAX // for in_window, out_window: nothing to be found

static uint64_t times(const struct tern__coll *call, bool wide, uint64_t bytes)
{
    return wide ? bytes * (uint64_t)call->calls->nranks : bytes;
}

// The bytes of each share (of everything, where there are none) that run `index` of the pieces is
// about, and where they begin.
static uint64_t piece_of(const struct tern__coll *call, uint64_t length, uint64_t index,
                         uint64_t *skip)
{
    *skip = index * call->piece_bytes;
    uint64_t rest = length > *skip ? length - *skip : 0;
    return rest < call->piece_bytes ? rest : call->piece_bytes;
}

// Slices as src/coll/emit.c makes them: whole elements, large ones whole lines.
static void slices(uint64_t *bounds, int n, uint64_t bytes, uint64_t element)
{
    uint64_t grain = bytes / (uint64_t)n >= 64 * TERN_CACHE_LINE ? TERN_CACHE_LINE : element;
    uint64_t grains = bytes / grain;
    uint64_t each = grains / (uint64_t)n;
    uint64_t larger = grains % (uint64_t)n;
    for (uint64_t i = 0; i < (uint64_t)n; i++) {
        bounds[i] = grain * (i * each + (i < larger ? i : larger));
    }
    bounds[n] = bytes;
}

// Publishing.

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
        return NO_BYTES;
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

static void fill_shares(struct tern__coll *call, struct tern__placement *placement, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    char *payload = tern__area_payload(calls->area, calls->rank, run);
    struct tern__share *table = (struct tern__share *)(void *)payload;
    tern__call_shares(call, table);
    for (int rank = 0; rank < calls->nranks; rank++) {
        placement->longest =
            table[rank].in_bytes > placement->longest ? table[rank].in_bytes : placement->longest;
    }
    uint64_t table_bytes = tern__round_line(sizeof *table * (uint64_t)calls->nranks);
    if (!tern__call_fits_slot(call, placement->in_window != 0 && placement->out_window != 0)) {
        return;
    }
    placement->in_slot = 1;
    uint64_t at = table_bytes;
    bool wide = tern__kind_in_all(call->plan_kind);
    if (!wide && call->in != NULL) {
        memcpy(payload + at, call->in, call->in_bytes);
    }
    for (int rank = 0; rank < calls->nranks; rank++) {
        struct tern__share *row = &table[rank];
        if (wide && row->in_bytes > 0) {
            memcpy(payload + at, call->in + row->in_offset, row->in_bytes);
        }
        row->in_offset = at;
        at += wide ? tern__round_line(row->in_bytes) : 0;
    }
}

static void fill_opening(struct tern__coll *call, uint32_t run, struct tern__head *head)
{
    struct tern__placement placement = {.in_place = call->in_place};
    placement.in_window =
        tern__call_place(call->calls, call->in, call->in_bytes, &placement.in_offset);
    placement.out_window =
        tern__call_place(call->calls, call->out, call->out_bytes, &placement.out_offset);
    if (call->counts) {
        fill_shares(call, &placement, run);
    }
    memcpy(head->data, &placement, sizeof placement);
}

// Whether this rank's ops read its input where it is, so that only what others read goes into the
// slot. Not in place: then an op may overwrite what another one has yet to read.
static bool reads_own_input(const struct tern__coll *call)
{
    return !tern__kind_has_shares(call->plan_kind) && call->staged->scaled && !call->copied &&
           !call->in_place && call->in != NULL;
}

// The slices of a piece that others read.
static void fill_exposed(const struct tern__coll *call, char *payload, uint64_t index)
{
    uint64_t bounds[TERN_RANKS_MAX + 1];
    uint64_t skip;
    uint64_t part = piece_of(call, call->share_bytes, index, &skip);
    int n = call->calls->nranks;
    slices(bounds, n, part, call->element_bytes);
    for (int unit = 0; unit < n;) {
        int first = unit;
        while (unit < n && (call->staged->exposed >> unit & 1) != 0) {
            unit++;
        }
        memcpy(payload + bounds[first], call->in + skip + bounds[first],
               bounds[unit] - bounds[first]);
        unit += unit == first;
    }
}

static void fill_piece(const struct tern__coll *call, uint32_t run)
{
    const struct tern__calls *calls = call->calls;
    char *payload = tern__area_payload(calls->area, calls->rank, run);
    uint64_t skip;
    uint64_t index = call->published - 1; // the opening is not one
    if (call->in == NULL) {
        return;
    }
    if (reads_own_input(call)) {
        fill_exposed(call, payload, index);
        return;
    }
    if (!tern__kind_in_all(call->plan_kind)) {
        uint64_t length = call->counts ? call->in_bytes : call->share_bytes;
        uint64_t part = piece_of(call, length, index, &skip);
        memcpy(payload, call->in + (part > 0 ? skip : 0), part);
        return;
    }
    for (int rank = 0; rank < calls->nranks; rank++) {
        struct tern__share own = {.in_offset = (uint64_t)rank * call->share_bytes,
                                  .in_bytes = call->share_bytes};
        if (call->counts) {
            tern__call_share(call, rank, &own);
        }
        uint64_t part = piece_of(call, own.in_bytes, index, &skip);
        uint64_t stride = call->counts ? call->piece_bytes : part;
        if (part > 0) {
            memcpy(payload + (uint64_t)rank * stride, call->in + own.in_offset + skip, part);
        }
    }
}

void tern__call_fill(struct tern__coll *call, uint32_t run, struct tern__head *head)
{
    if (call->way == TERN__WAY_UNKNOWN) {
        fill_opening(call, run, head);
    } else if (call->way == TERN__WAY_STAGED) {
        fill_piece(call, run);
    } else if (call->in_bytes > TERN__LINE_BYTES) {
        memcpy(tern__area_payload(call->calls->area, call->calls->rank, run), call->in,
               call->in_bytes);
    } else if (call->in_bytes > 0) {
        memcpy(head->data, call->in, call->in_bytes);
    }
}

// Opening.

static const struct tern__placement *placement_of(const struct tern__calls *calls, int rank,
                                                  uint32_t run)
{
    const struct tern__head *head = tern__area_head(calls->area, rank, run);
    return (const struct tern__placement *)(const void *)head->data;
}

static const struct tern__share *table_of(const struct tern__calls *calls, int rank, uint32_t run)
{
    return (const struct tern__share *)(const void *)tern__area_payload(calls->area, rank, run);
}

// Every pair must agree on what goes from one to the other; all ranks look at all pairs.
static int compare_shares(struct tern__coll *call, uint32_t run)
{
    const struct tern__calls *calls = call->calls;
    for (int from = 0; from < calls->nranks; from++) {
        const struct tern__share *sent = table_of(calls, from, run);
        for (int to = 0; to < calls->nranks; to++) {
            uint64_t wanted = table_of(calls, to, run)[from].out_bytes;
            if (sent[to].in_bytes != wanted) {
                return tern__call_counts_differ(call, from, to, sent[to].in_bytes, wanted);
            }
        }
        const struct tern__placement *placement = placement_of(calls, from, run);
        call->longest = placement->longest > call->longest ? placement->longest : call->longest;
    }
    return TERN_OK;
}

static bool all_in_slots(const struct tern__calls *calls, uint32_t run)
{
    for (int rank = 0; rank < calls->nranks; rank++) {
        if (placement_of(calls, rank, run)->in_slot == 0) {
            return false;
        }
    }
    return true;
}

// Whether the plan can run on the buffers: all that others touch are in windows, and where a rank is in
// place, the plan is right so. The ranks need not be alike in this; all see what each has published.
static bool suits_windows(const struct tern__coll *call, uint32_t run)
{
    const struct tern__program *program = call->window;
    for (int rank = 0; program != NULL && rank < call->calls->nranks; rank++) {
        const struct tern__placement *placement = placement_of(call->calls, rank, run);
        if (((program->in_shared >> rank & 1) != 0 && placement->in_window == 0 &&
             placement->in_slot == 0) ||
            ((program->out_shared >> rank & 1) != 0 && placement->out_window == 0) ||
            (placement->in_place != 0 && !program->in_place)) {
            return false;
        }
    }
    return program != NULL;
}

int tern__call_open(struct tern__coll *call, uint32_t run)
{
    if (call->counts) {
        TERN_TRY(compare_shares(call, run));
        if (all_in_slots(call->calls, run)) {
            call->way = TERN__WAY_SLOT;
            call->pieces = 1;
            return TERN_OK;
        }
    }
    if (suits_windows(call, run)) {
        call->way = TERN__WAY_WINDOW;
        call->pieces = 1;
        return TERN_OK;
    }
    uint64_t length = call->counts ? call->longest : call->share_bytes;
    call->way = TERN__WAY_STAGED;
    call->pieces = 1 + (length + call->piece_bytes - 1) / call->piece_bytes;
    return TERN_OK;
}

// Binding.

static void bind_maps(struct tern__coll *call, const struct tern__program *program, uint64_t bytes)
{
    struct tern__binding *binding = &call->calls->binding;
    enum tern__map map = !program->scaled                         ? TERN__MAP_BYTES
                         : tern__kind_has_shares(call->plan_kind) ? TERN__MAP_SHARES
                                                                  : TERN__MAP_SLICES;
    binding->in_map = map;
    binding->out_map = map;
    binding->share_bytes = bytes;
    binding->in_stride = bytes;
    binding->out_stride = bytes;
    if (map == TERN__MAP_SLICES) {
        slices(binding->bounds, call->calls->nranks, bytes, call->element_bytes);
    }
}

static void bind_slot(struct tern__coll *call, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    struct tern__binding *binding = &calls->binding;
    uint64_t in_bytes = times(call, tern__kind_in_all(call->plan_kind), call->share_bytes);
    bool line = in_bytes <= TERN__LINE_BYTES;
    bind_maps(call, call->slot, call->share_bytes);
    for (int rank = 0; rank < calls->nranks; rank++) {
        char *payload = tern__area_payload(calls->area, rank, run);
        binding->in[rank] =
            line ? (const char *)tern__area_head(calls->area, rank, run)->data : payload;
        binding->scratch[rank] = payload + tern__round_line(in_bytes);
    }
    binding->out[calls->rank] = call->out;
    calls->lanes.script = &call->slot->staged;
}

// All inputs of a form with counts are in the slots that the opening was published with.
static void bind_slot_shares(struct tern__coll *call, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    struct tern__binding *binding = &calls->binding;
    binding->in_map = TERN__MAP_TABLE;
    binding->out_map = TERN__MAP_TABLE;
    binding->skip_bytes = 0;
    binding->piece_bytes = UINT64_MAX;
    for (int rank = 0; rank < calls->nranks; rank++) {
        binding->tables[rank] = table_of(calls, rank, run);
        binding->in[rank] = tern__area_payload(calls->area, rank, run);
    }
    binding->out[calls->rank] = call->out;
    calls->lanes.script = &call->staged->staged;
}

// The address of another rank's buffer. Usually all are in the same window.
static int find_base(struct tern__coll *call, int rank, uint64_t key, char **base)
{
    static const char nothing;
    if (key == NO_BYTES || key == 0) { // no op of this rank reads or writes a byte of it
        *base = (char *)(uintptr_t)&nothing;
        return TERN_OK;
    }
    *base = tern__registry_base(call->calls->comm->group.job, (int)(key >> 32), (uint32_t)key - 1);
    return *base != NULL ? TERN_OK : tern__call_window_gone(call, rank);
}

static int bind_window(struct tern__coll *call, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    struct tern__binding *binding = &calls->binding;
    uint64_t key = 0;
    char *base = NULL;
    bind_maps(call, call->window, call->share_bytes);
    if (call->counts) {
        binding->in_map = TERN__MAP_TABLE;
        binding->out_map = TERN__MAP_TABLE;
        binding->skip_bytes = 0;
        binding->piece_bytes = UINT64_MAX;
    }
    for (int rank = 0; rank < calls->nranks; rank++) {
        const struct tern__placement *placement = placement_of(calls, rank, run);
        binding->tables[rank] = table_of(calls, rank, run);
        const uint64_t keys[] = {placement->in_window, placement->out_window};
        char *bases[2];
        for (int i = 0; i < 2; i++) {
            if (keys[i] != key || base == NULL) {
                TERN_TRY(find_base(call, rank, keys[i], &base));
                key = keys[i];
            }
            bases[i] = base;
        }
        binding->in[rank] = bases[0] + placement->in_offset;
        binding->out[rank] = bases[1] + placement->out_offset;
    }
    binding->in[calls->rank] = call->in;
    binding->out[calls->rank] = call->out;
    // The table of a rank whose input is in its slot speaks of the slot.
    for (int rank = 0; call->counts && rank < calls->nranks; rank++) {
        if (placement_of(calls, rank, run)->in_slot != 0) {
            binding->in[rank] = tern__area_payload(calls->area, rank, run);
        }
    }
    calls->lanes.script = &call->window->whole;
    return TERN_OK;
}

static void bind_piece(struct tern__coll *call, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    struct tern__binding *binding = &calls->binding;
    uint64_t index = call->ended - 1;
    uint64_t length = call->counts ? call->longest : call->share_bytes;
    uint64_t skip;
    uint64_t part = piece_of(call, length, index, &skip);
    bool last = call->ended + 1 == call->pieces;
    struct tern__program *program = last ? call->tail : call->staged;
    uint64_t in_bytes =
        times(call, tern__kind_in_all(call->plan_kind), call->counts ? call->piece_bytes : part);
    uint64_t scratch_bytes = program->scratch_bytes == 0 ? 0
                             : program->scaled           ? part
                                                         : program->scratch_bytes;
    bind_maps(call, program, part);
    if (call->counts) {
        binding->in_stride = call->piece_bytes;
        binding->out_map = TERN__MAP_TABLE;
        binding->skip_bytes = skip;
        binding->piece_bytes = call->piece_bytes;
        tern__call_shares(call, calls->shares);
        binding->tables[calls->rank] = calls->shares;
    }
    for (int rank = 0; rank < calls->nranks; rank++) {
        char *payload = tern__area_payload(calls->area, rank, run);
        binding->in[rank] = payload;
        binding->scratch[rank] = payload + tern__round_line(in_bytes);
        binding->out[rank] = payload + tern__round_line(in_bytes) + tern__round_line(scratch_bytes);
    }
    if (reads_own_input(call)) {
        binding->in[calls->rank] = call->in + skip;
    }
    if (!call->copied) {
        binding->out_stride = call->share_bytes;
        binding->out[calls->rank] =
            call->counts || call->out == NULL ? call->out : call->out + skip;
    }
    calls->lanes.script = call->copied ? &program->whole : &program->staged;
}

// What is reduced.
static void bind_elements(const struct tern__coll *call)
{
    struct tern__binding *binding = &call->calls->binding;
    binding->dtype = call->dtype;
    binding->element_bytes = call->element_bytes;
    binding->reduce = call->reduce;
    binding->function = call->function;
    binding->function_arg = call->function_arg;
}

int tern__call_bind(struct tern__coll *call, uint32_t run)
{
    bind_elements(call);
    switch (call->way) {
    case TERN__WAY_SLOT:
        if (call->counts) {
            bind_slot_shares(call, run);
        } else {
            bind_slot(call, run);
        }
        return TERN_OK;
    case TERN__WAY_WINDOW:
        return bind_window(call, run);
    case TERN__WAY_STAGED:
        if (call->ended == 0) { // the opening has no ops
            call->calls->lanes.script = NULL;
        } else {
            bind_piece(call, run);
        }
        return TERN_OK;
    default:
        break;
    }
    return tern__fail(TERN_ERR_STATE, "%s: the call was not opened", call->name);
}

void tern__call_unload(struct tern__coll *call)
{
    const struct tern__calls *calls = call->calls;
    if (call->way != TERN__WAY_STAGED || !call->copied || call->ended == 0 || call->out == NULL) {
        return;
    }
    uint64_t skip;
    uint64_t part = piece_of(call, call->share_bytes, call->ended - 1, &skip);
    const char *from = calls->binding.out[calls->rank];
    int shares = tern__kind_out_all(call->plan_kind) ? calls->nranks : 1;
    for (int share = 0; share < shares; share++) {
        memcpy(call->out + (uint64_t)share * call->share_bytes + skip,
               from + (uint64_t)share * part, part);
    }
}
