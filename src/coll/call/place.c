// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a call are: what the ranges of the plan mean once all ranks have published a
// run, and which way the call goes (way.c).

#include <string.h>

#include "base/error.h"
#include "base/memcpy.h"
#include "coll/call/place.h"
#include "comm/registry.h"
#include "plan/slices.h"

static uint64_t times(const struct tern__coll *call, bool wide, uint64_t bytes)
{
    return wide ? bytes * (uint64_t)call->calls->nranks : bytes;
}

static void bind_maps(const struct tern__coll *call, struct tern__binding *binding,
                      const struct tern__program *program, uint64_t bytes)
{
    enum tern__map map = !program->scaled                         ? TERN__MAP_BYTES
                         : tern__kind_has_shares(call->plan_kind) ? TERN__MAP_SHARES
                                                                  : TERN__MAP_SLICES;
    binding->in_map = map;
    binding->out_map = map;
    binding->share_bytes = bytes;
    binding->in_stride = bytes;
    binding->out_stride = bytes;
    if (map == TERN__MAP_SLICES) {
        tern__slice_bounds(binding->bounds, bytes, (uint64_t)call->calls->nranks,
                           call->element_bytes);
    }
}

// This rank's output, which is a list: shares from `skip` on, of at most so many bytes.
static void bind_outs(struct tern__coll *call, uint64_t skip, uint64_t bytes)
{
    struct tern__calls *calls = call->calls;
    struct tern__binding *binding = &calls->binding;
    tern__call_list_shares(call, calls->shares);
    binding->out_map = TERN__MAP_TABLE;
    binding->skip_bytes = skip;
    binding->piece_bytes = bytes;
    binding->tables[calls->rank] = calls->shares;
    binding->out[calls->rank] = call->out;
}

// What is reduced; and what is read was just written into slots, but for what bind_placed says.
static void bind_elements(const struct tern__coll *call)
{
    struct tern__binding *binding = &call->calls->binding;
    binding->far = 0;
    binding->helped = 0;
    call->calls->gives = NULL;
    binding->distance = &call->calls->distance;
    binding->elsewhere = 0;
    binding->left = call->left;
    binding->element_bytes = call->element_bytes;
    binding->reduce = call->divides ? tern__reduce_find(call->dtype, TERN_SUM) : call->reduce;
    binding->function = call->function;
    binding->function_arg = call->function_arg;
}

static void bind_slot(struct tern__coll *call, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    struct tern__binding *binding = &calls->binding;
    uint64_t in_bytes = times(call, tern__kind_in_all(call->plan_kind), call->share_bytes);
    bool line = in_bytes <= TERN__LINE_BYTES;
    bind_maps(call, binding, call->slot, call->share_bytes);
    for (int rank = 0; rank < calls->nranks; rank++) {
        char *payload = tern__call_payload(call, rank, run);
        binding->in[rank] =
            line ? (const char *)tern__area_head(calls->area, rank, run)->data : payload;
        binding->scratch[rank] = payload + tern__round_line(in_bytes);
    }
    binding->out[calls->rank] = call->flat != NULL ? call->flat : call->out;
    if (call->outs != NULL && call->flat == NULL) {
        bind_outs(call, 0, UINT64_MAX);
    }
    calls->lanes.script = &call->slot->staged;
}

// All inputs of a v-collective are in the slots that the first run was published with.
static void bind_slot_shares(struct tern__coll *call, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    struct tern__binding *binding = &calls->binding;
    binding->in_map = TERN__MAP_TABLE;
    binding->out_map = TERN__MAP_TABLE;
    binding->skip_bytes = 0;
    binding->piece_bytes = UINT64_MAX;
    for (int rank = 0; rank < calls->nranks; rank++) { // of one that is not met nothing is read
        bool met = calls->met_all || rank == calls->rank ||
                   tern__reached(tern__calls_compared(calls, rank), run);
        const char *payload = met ? tern__call_announced(calls, rank, run)
                                  : tern__area_payload(calls->area, rank, run);
        binding->tables[rank] = (const struct tern__share *)(const void *)payload;
        binding->in[rank] = payload;
    }
    if (tern__call_keeps_input(call)) {
        binding->in[calls->rank] = call->in;
    }
    binding->out[calls->rank] = call->out;
    calls->lanes.script = &call->staged->staged;
}

void tern__call_bind_letter(struct tern__coll *call, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    struct tern__binding *binding = &calls->binding;
    int other = 1 - calls->rank;
    const struct tern__letter *letter = tern__area_letter(calls->area, other, run);
    const struct tern__share *own = tern__call_table(calls, calls->rank, run);
    bind_elements(call);
    binding->in_map = TERN__MAP_SHARES; // of each input this rank's share is the only one
    binding->in_stride = 0;
    binding->out_map = TERN__MAP_TABLE;
    binding->skip_bytes = 0;
    binding->piece_bytes = UINT64_MAX;
    binding->tables[calls->rank] = own;
    binding->in[calls->rank] =
        tern__call_keeps_input(call)
            ? call->in
            : tern__call_payload(call, calls->rank, run) + own[calls->rank].in_offset;
    binding->in[other] = tern__letter_input(calls, letter, run);
    binding->out[calls->rank] = call->out;
    calls->lanes.script = &call->staged->staged;
    call->way = TERN__WAY_SLOT;
    call->pieces = 1;
}

// Small counts that all ranks have alike: this rank's table speaks for all.
static void bind_packed(struct tern__coll *call, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    struct tern__binding *binding = &calls->binding;
    uint64_t table_bytes = tern__round_line(sizeof(struct tern__share) * (uint64_t)calls->nranks);
    bool line = tern__call_longest_in(call) <= TERN__LINE_BYTES;
    binding->in_map = TERN__MAP_TABLE;
    binding->out_map = TERN__MAP_TABLE;
    binding->skip_bytes = 0;
    binding->piece_bytes = UINT64_MAX;
    tern__call_shares(call, calls->shares);
    tern__call_pack(call, calls->shares);
    for (int rank = 0; rank < calls->nranks; rank++) {
        binding->tables[rank] = calls->shares;
        binding->in[rank] = line ? (const char *)tern__area_head(calls->area, rank, run)->data
                                 : tern__area_payload(calls->area, rank, run) + table_bytes;
    }
    binding->out[calls->rank] = call->out;
    calls->lanes.script = &call->slot->staged;
}

// The address of another rank's buffer. Usually all are in the same window.
static int find_base(struct tern__coll *call, int rank, uint64_t key, char **base)
{
    static const char nothing;
    if (key == TERN__NO_BYTES || key == 0) { // no op of this rank reads or writes a byte of it
        *base = (char *)(uintptr_t)&nothing;
        return TERN_OK;
    }
    *base = tern__registry_base(call->calls->comm->group.job, (int)(key >> 32), (uint32_t)key - 1);
    return *base != NULL ? TERN_OK : tern__call_window_gone(call, rank);
}

// A rank that has its own share to copy before it can help comes late.
#define HELP_LATE_FROM (UINT64_C(2) << 20)

// From so many bytes of a rank on, of more than two.
#define HELP_MANY_LEAST (UINT64_C(128) << 10)

// Whether who gives helps in the call. All but a root that gathers have nothing else to do than to
// wait for it, and together they may get more of the processors than it alone. Of two ranks where
// one takes, the other one helps only on a processor of its own.
static bool is_helped(const struct tern__coll *call)
{
    const struct tern__calls *calls = call->calls;
    const tern_kind_facts *kind = &tern__kinds[call->kind];
    uint64_t longest = call->counts ? call->longest : calls->binding.share_bytes;
    uint64_t from = kind->root == TERN_KIND_ROOT_TO ? TERN__HELP_LEAST
                    : tern__kind_in_all(call->kind) ? HELP_LATE_FROM
                                                    : TERN__HELP_FROM;
    if (call->way != TERN__WAY_DIRECT || kind->root == TERN_KIND_ROOT_NONE || kind->sums) {
        return false;
    }
    return calls->nranks > 2 ? kind->root == TERN_KIND_ROOT_TO
                             : longest >= from && tern__job_ladder(calls->work.job).alone;
}

static void bind_help(struct tern__coll *call, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    struct tern__binding *binding = &calls->binding;
    if (!is_helped(call)) {
        return;
    }
    int taker = tern__kinds[call->kind].root == TERN_KIND_ROOT_TO ? call->root : 1 - call->root;
    if (taker != calls->rank) {
        calls->gives = tern__area_help(calls->area, calls->rank, run);
        calls->gives_to = taker;
        return;
    }
    binding->help_least = calls->nranks > 2 ? HELP_MANY_LEAST : TERN__HELP_LEAST;
    binding->helped = binding->far;
    for (int rank = 0; rank < calls->nranks; rank++) {
        binding->help[rank] = tern__area_help(calls->area, rank, run);
    }
    const struct tern__script *script = &call->placed->whole;
    for (uint32_t lane = 0; lane < script->lanes_count; lane++) {
        const struct tern__steps *steps = &script->lanes[lane];
        for (const struct tern__step *step = steps->begin; step != steps->end; step++) {
            tern__transfer_open(binding, step);
        }
    }
}

// The buffers where they are, from behind the pieces on.
static int bind_placed(struct tern__coll *call, uint32_t run)
{
    uint64_t skip = tern__sums_direct(call) ? 0 : (call->pieces - 1) * call->piece_bytes;
    struct tern__calls *calls = call->calls;
    struct tern__binding *binding = &calls->binding;
    uint64_t key = 0;
    char *base = NULL;
    bind_maps(call, binding, call->placed, call->share_bytes - skip);
    binding->distance = NULL;
    if (call->counts) {
        binding->in_map = TERN__MAP_TABLE;
        binding->out_map = TERN__MAP_TABLE;
        binding->skip_bytes = 0;
        binding->piece_bytes = UINT64_MAX;
    }
    for (int rank = 0; rank < calls->nranks; rank++) {
        const struct tern__placement *placement = tern__call_placement(calls, rank, run);
        binding->tables[rank] = tern__call_table(calls, rank, run);
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
        if (placement->in_window == 0) { // in_offset is an address there
            binding->in[rank] = (const char *)(uintptr_t)placement->in_offset;
            binding->far |= UINT64_C(1) << rank;
        }
        binding->out[rank] = bases[1] + placement->out_offset;
        binding->scratch[rank] = tern__area_payload(calls->area, rank, run);
    }
    binding->in[calls->rank] = call->in;
    binding->out[calls->rank] = call->out;
    for (int rank = 0; skip > 0 && rank < calls->nranks; rank++) {
        binding->in[rank] = (const char *)((uintptr_t)binding->in[rank] + skip);
        binding->out[rank] = (char *)((uintptr_t)binding->out[rank] + skip);
    }
    binding->far &= ~(UINT64_C(1) << calls->rank);
    // The table of a rank whose input is in its slot speaks of the slot.
    for (int rank = 0; call->counts && rank < calls->nranks; rank++) {
        if (tern__call_placement(calls, rank, run)->in_slot != 0 &&
            !(rank == calls->rank && tern__call_keeps_input(call))) {
            binding->in[rank] = tern__call_announced(calls, rank, run);
            binding->far &= ~(UINT64_C(1) << rank);
        }
    }
    if (!call->counts && call->outs != NULL) {
        bind_outs(call, 0, UINT64_MAX);
    }
    calls->lanes.script = &call->placed->whole;
    bind_help(call, run);
    if (call->left != 0) {
        tern__call_stand_in(call, run);
    }
    return TERN_OK;
}

// The next piece of sums whose inputs stay where they are. What the trimmed plan leaves out comes
// before no byte that moves, and of buffers a run touches its own piece alone. So only the last run
// ends with the posts that let go of buffers: a rank that makes them has ended all runs before.
static void bind_direct_sum(struct tern__coll *call, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    struct tern__binding *binding = &calls->binding;
    uint64_t piece = tern__direct_piece(call);
    uint64_t skip = call->ended * piece;
    uint64_t rest = call->share_bytes - skip;
    bool last = call->ended + 1 == call->pieces;
    bind_maps(call, binding, call->placed, rest < piece ? rest : piece);
    for (int rank = 0; rank < calls->nranks; rank++) {
        if (skip > 0) { // from where the run before has bound it
            binding->in[rank] = (const char *)((uintptr_t)binding->in[rank] + piece);
            binding->out[rank] = (char *)((uintptr_t)binding->out[rank] + piece);
        }
        char *payload = tern__area_payload(calls->area, rank, run);
        binding->scratch[rank] = (char *)((uintptr_t)payload - binding->bounds[rank]);
    }
    calls->lanes.script = last ? &call->placed->whole : &call->placed->staged;
}

// This rank's input where it lies. Of an input with a share for each rank its own is read, which
// the plan finds at its number of strides.
static void bind_own_input(const struct tern__coll *call, uint64_t skip)
{
    const struct tern__calls *calls = call->calls;
    struct tern__binding *binding = &call->calls->binding;
    struct tern__share own = {.in_bytes = call->in_bytes};
    uint64_t before = 0;
    if (tern__kind_in_all(call->plan_kind)) {
        before = (uint64_t)calls->rank * binding->in_stride;
        own.in_offset = tern__call_in_at(call, calls->rank);
        own.in_bytes = call->share_bytes;
        if (call->counts) {
            tern__call_share(call, calls->rank, &own);
        }
    }
    skip = skip < own.in_bytes ? skip : 0; // nothing is left of it
    binding->in[calls->rank] = (const char *)((uintptr_t)call->in + own.in_offset + skip - before);
}

// What a rank has of its slot in a run of pieces. Of a rank that is not waited for nothing is read.
static char *piece_of(const struct tern__coll *call, int rank, uint32_t run)
{
    const struct tern__calls *calls = call->calls;
    bool met = rank == calls->rank || tern__reached(tern__calls_compared(calls, rank), run);
    return call->wide ? tern__area_wide_payload(calls->area, rank, run)
                      : tern__area_payload(calls->area, rank, run) +
                            (met ? tern__call_piece_at(call, rank, run) : 0);
}

static void bind_piece(struct tern__coll *call, struct tern__lanes *lanes,
                       struct tern__binding *binding, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    uint64_t nth = call->ended + (run - calls->ended - 1); // of the call's runs, from 0
    uint64_t index = nth - call->announced;
    uint64_t length = call->counts ? call->longest : call->share_bytes;
    uint64_t skip;
    uint64_t part = tern__piece_of(call, length, index, &skip);
    struct tern__program *program = nth + 1 == call->pieces ? call->tail : call->staged;
    uint64_t in_bytes =
        times(call, tern__kind_in_all(call->plan_kind), call->counts ? call->piece_bytes : part);
    uint64_t scratch_bytes = program->scratch_bytes == 0 ? 0
                             : program->scaled           ? part
                                                         : program->scratch_bytes;
    bind_maps(call, binding, program, part);
    if (call->counts) {
        binding->in_stride = call->piece_bytes;
        binding->out_map = TERN__MAP_TABLE;
        binding->skip_bytes = skip;
        binding->piece_bytes = call->piece_bytes;
        tern__call_shares(call, calls->shares);
        binding->tables[calls->rank] = calls->shares;
    }
    binding->elsewhere = call->wide ? calls->elsewhere->ranks : 0;
    for (int rank = 0; rank < calls->nranks; rank++) {
        char *payload = piece_of(call, rank, run);
        binding->in[rank] = payload;
        binding->scratch[rank] = payload + tern__round_line(in_bytes);
        binding->out[rank] = payload + tern__round_line(in_bytes) + tern__round_line(scratch_bytes);
    }
    if (tern__reads_own_input(call)) {
        bind_own_input(call, skip);
    }
    if (!call->copied) {
        binding->out_stride = call->share_bytes;
        binding->out[calls->rank] =
            call->counts || call->out == NULL ? call->out : call->out + skip;
        if (!call->counts && call->outs != NULL) {
            bind_outs(call, skip, part);
        }
    }
    lanes->script = call->copied ? &program->whole : &program->staged;
}

void tern__calls_begin_lanes(struct tern__calls *calls, struct tern__lanes *lanes, uint32_t run)
{
    uint32_t slot = run % TERN__SLOTS;
    lanes->run = run;
    lanes->signals = tern__area_signals(calls->area, run);
    lanes->counted = &calls->bases[slot * TERN__SIGNALS_PACKED];
    lanes->arrivals = (char *)tern__area_arrivals(calls->area, run, 1);
    lanes->passed = &calls->arrivals[run % TERN__LINES][1];
    tern__lanes_begin(lanes);
}

void tern__call_bind_ahead(struct tern__coll *call, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    struct tern__ahead *ahead = calls->ahead;
    ahead->binding = calls->binding; // of a call they say the same, but where its buffers are
    bind_piece(call, &ahead->lanes, &ahead->binding, run);
}

int tern__call_bind(struct tern__coll *call, uint32_t run)
{
    if (tern__sums_direct(call) && call->ended > 0) {
        bind_direct_sum(call, run);
        return TERN_OK;
    }
    bind_elements(call);
    switch (call->way) {
    case TERN__WAY_SLOT:
        if (call->counts && call->slot != NULL) {
            bind_packed(call, run);
        } else if (call->counts) {
            bind_slot_shares(call, run);
        } else {
            bind_slot(call, run);
        }
        return TERN_OK;
    case TERN__WAY_WINDOW:
    case TERN__WAY_DIRECT:
        if (call->ended == 0) {
            TERN_TRY(bind_placed(call, run));
            if (tern__sums_direct(call)) {
                bind_direct_sum(call, run);
            }
            return TERN_OK;
        }
        bind_piece(call, &call->calls->lanes, &call->calls->binding, run);
        return TERN_OK;
    case TERN__WAY_STAGED:
        if (call->ended < call->announced) { // it has no ops
            call->calls->lanes.script = NULL;
        } else {
            bind_piece(call, &call->calls->lanes, &call->calls->binding, run);
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
    for (int rank = 0; call->flat != NULL && call->share_bytes > 0 && rank < calls->nranks;
         rank++) {
        tern__memcpy(call->outs[rank], call->flat + (uint64_t)rank * call->share_bytes,
                     call->share_bytes);
    }
    if (call->way != TERN__WAY_STAGED || !call->copied || call->ended < call->announced ||
        call->out == NULL) {
        return;
    }
    uint64_t skip;
    uint64_t part = tern__piece_of(call, call->share_bytes, call->ended - call->announced, &skip);
    const char *from = calls->binding.out[calls->rank];
    if (call->divides) { // sums have one share
        tern__reduce_divide(call->dtype, call->out + skip, from, part / call->element_bytes,
                            calls->nranks);
        return;
    }
    int shares = tern__kind_out_all(call->plan_kind) ? calls->nranks : 1;
    for (int share = 0; share < shares; share++) {
        tern__memcpy(call->out + tern__call_out_at(call, share) + skip,
                     from + (uint64_t)share * part, part);
    }
}
