// SPDX-License-Identifier: Apache-2.0
// From what a call asks for to the plans it runs. Plans are kept by the communicator, by kind and
// order: those that scale once for all sizes, the others by size, a bounded number of them.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "coll/algo.h"
#include "coll/call/call.h"

#define PROGRAMS_MAX 64 // of a selection, that nobody uses and that were made for one size
#define LINE UINT64_C(64)

// Pieces of calls to other machines. Two of them are under way at a time, and their plans cut them
// further; shorter ones are more messages, from each machine to each other one.
#define WIDE_CHUNK ((uint64_t)2 << 20)
#define WIDE_CHUNK_LEAST ((uint64_t)64 << 10) // times the square of the machines
#define WIDE_PIECES 4

void tern__selections_free(struct tern__calls *calls)
{
    for (int i = 0; i < TERN_PLAN_KINDS * 2; i++) {
        struct tern__selection *selection = &calls->selections[i / 2][i % 2];
        while (selection->programs != NULL) {
            struct tern__program *program = selection->programs;
            selection->programs = program->next;
            tern__program_destroy(program);
        }
    }
}

// Forgets the one of a single size that has not been used for the longest time.
static void forget_one(struct tern__selection *selection)
{
    struct tern__program **last = NULL;
    int count = 0;
    for (struct tern__program **link = &selection->programs; *link != NULL; link = &(*link)->next) {
        if ((*link)->users == 0 && !(*link)->scaled) {
            last = link;
            count++;
        }
    }
    if (count > PROGRAMS_MAX) {
        struct tern__program *program = *last;
        *last = program->next;
        tern__program_destroy(program);
    }
}

static bool is_it(const struct tern__program *program, const struct tern__program_key *key)
{
    return program->root == key->root && program->bytes == key->bytes &&
           program->unit == key->unit && strcmp(program->algorithm, key->algorithm) == 0;
}

// Finds or makes a program; the one found last comes first.
static int find(struct tern__calls *calls, const struct tern__program_key *key,
                struct tern__program **found)
{
    struct tern__selection *selection = &calls->selections[key->kind][key->order];
    for (struct tern__program **link = &selection->programs; *link != NULL; link = &(*link)->next) {
        struct tern__program *program = *link;
        if (is_it(program, key)) {
            *link = program->next;
            program->next = selection->programs;
            selection->programs = program;
            *found = program;
            return TERN_OK;
        }
    }
    forget_one(selection);
    TERN_TRY(tern__program_create(key, found));
    (*found)->next = selection->programs;
    selection->programs = *found;
    return TERN_OK;
}

static int need_topo(struct tern__calls *calls)
{
    if (calls->topo != NULL) {
        return TERN_OK;
    }
    char word[16];
    snprintf(word, sizeof word, "mesh:%d", calls->nranks);
    return tern_topo_create(word, &calls->topo);
}

// The same with its machines, for plans that reach them.
static int need_far_topo(struct tern__calls *calls)
{
    struct tern__elsewhere *elsewhere = calls->elsewhere;
    return elsewhere->topo != NULL ? TERN_OK : tern_comm_topo(calls->comm, &elsewhere->topo);
}

// Whether an algorithm is not the one of its kind that only reads inputs, which are copied to where
// they are read: then its plan reaches ranks of other machines itself, where there are any.
static bool reaches(const struct tern__coll *call, const char *algorithm)
{
    struct tern__choice built_in;
    if (call->calls->elsewhere == NULL) {
        return false;
    }
    tern__tune_built_in(call->plan_kind, call->calls->nranks, &built_in);
    return strcmp(algorithm, built_in.small) != 0;
}

// Whether the call's operation needs all inputs in one op, which the algorithm does not do.
static bool lacks(const struct tern__coll *call, const char *algorithm)
{
    int index = tern__algo_index(call->plan_kind, algorithm);
    return tern_algo_across_machines(call->plan_kind, index)
               ? tern__far_spoils(call, algorithm)
               : call->op == TERN_AVG || call->op >= TERN_MINLOC;
}

// The program of an algorithm: scaled, or for so many bytes when it cannot be.
static int program_of(struct tern__coll *call, const char *algorithm, tern_order order,
                      uint64_t bytes, struct tern__program **program)
{
    struct tern__calls *calls = call->calls;
    bool scales = tern__algo_scales(call->plan_kind, algorithm);
    bool far = reaches(call, algorithm);
    TERN_TRY(far ? need_far_topo(calls) : need_topo(calls));
    // Elements that are only moved may be cut.
    bool cuts = !tern__kinds[call->kind].sums && call->element_bytes > 8;
    uint32_t unit = cuts ? 8 : (uint32_t)call->element_bytes;
    struct tern__program_key key = {
        .kind = call->plan_kind,
        .algorithm = algorithm,
        .order = order,
        .root = call->root,
        .scaled = scales || call->plan_kind == TERN_PLAN_BARRIER,
        .bytes = scales ? 0 : bytes,
        .unit = scales ? 1 : unit,
        .rank = calls->rank,
        .nranks = calls->nranks,
        .topo = far ? calls->elsewhere->topo : calls->topo,
        .far = far,
        .keeps = calls->work.job == NULL, // it is asked for
    };
    if (!scales && (unit > 8 || call->counts || lacks(call, algorithm))) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: '%s' cannot do %s, which needs all inputs in one op; %s can",
                          call->name, algorithm,
                          call->counts ? "a v-collective" : tern_reduce_op_name(call->op),
                          far ? "'one' and 'two_raw'" : "'fused', 'staged' and 'direct'");
    }
    return find(calls, &key, program);
}

// The largest input of any rank, and the output, of a piece of so many bytes (of a share, where
// there are shares).
static uint64_t piece_in(const struct tern__coll *call, uint64_t piece)
{
    return tern__kind_in_all(call->plan_kind) ? piece * (uint64_t)call->calls->nranks : piece;
}

static uint64_t piece_out(const struct tern__coll *call, uint64_t piece)
{
    return tern__kind_out_all(call->plan_kind) ? piece * (uint64_t)call->calls->nranks : piece;
}

static uint64_t piece_plan(const struct tern__coll *call, uint64_t piece)
{
    return tern__kind_has_shares(call->plan_kind) ? piece * (uint64_t)call->calls->nranks : piece;
}

static uint64_t scratch_of(const struct tern__coll *call, const struct tern__program *program,
                           uint64_t piece)
{
    return program->scratch_bytes == 0 ? 0
           : program->scaled           ? piece_plan(call, piece)
                                       : program->scratch_bytes;
}

// What a slot has to hold.
static uint64_t slot_bytes(const struct tern__coll *call, const struct tern__program *program,
                           uint64_t piece, bool copied)
{
    return tern__round_line(piece_in(call, piece)) +
           tern__round_line(scratch_of(call, program, piece)) +
           (copied ? tern__round_line(piece_out(call, piece)) : 0);
}

static const struct tern__choice *choice_of(struct tern__coll *call, struct tern__choice *room,
                                            int *status)
{
    struct tern__calls *calls = call->calls;
    *status = TERN_OK;
    struct tern__selection *selection = &calls->selections[call->plan_kind][call->order];
    if (!selection->agreed) {
        *status = tern__select(call->plan_kind, calls->nranks, call->order, NULL, room);
        if (*status == TERN_OK && calls->elsewhere != NULL) {
            *status = tern__tune_look_far(call->plan_kind, calls->nranks,
                                          calls->elsewhere->count + 1, room);
        }
        if (*status == TERN_OK) {
            *status = tern__choice_agree(&calls->comm->group, call->plan_kind, room);
        }
        if (*status == TERN_OK) {
            selection->choice = *room;
            selection->agreed = true;
        }
    }
    if (*status == TERN_OK && call->algorithm != NULL) {
        *status = tern__select(call->plan_kind, calls->nranks, call->order, call->algorithm, room);
        return room;
    }
    return &selection->choice;
}

// Pieces of equal length, whole lines, that fit into slots.
static void cut(struct tern__coll *call, uint64_t length, uint64_t longest)
{
    uint64_t pieces = length > longest ? (length + longest - 1) / longest : 1;
    call->piece_bytes = length > 0 ? tern__round_line((length + pieces - 1) / pieces) : LINE;
}

static uint64_t wide_chunk(const struct tern__coll *call)
{
    uint64_t machines = (uint64_t)call->calls->elsewhere->count + 1;
    uint64_t lines = LINE * (uint64_t)call->calls->nranks; // else rounding makes a piece more
    uint64_t chunk = call->bytes / WIDE_PIECES + lines;
    uint64_t least = WIDE_CHUNK_LEAST * machines * machines;
    chunk = chunk > least ? chunk : least;
    return chunk < WIDE_CHUNK ? chunk : WIDE_CHUNK;
}

static int select_staged(struct tern__coll *call, const struct tern__choice *choice,
                         tern_order order)
{
    uint64_t n = (uint64_t)call->calls->nranks;
    bool slices = !tern__kind_has_shares(call->plan_kind);
    uint64_t length = call->share_bytes;
    call->wide = reaches(call, choice->staged);
    call->divides =
        call->wide && call->op == TERN_AVG && !tern__algo_whole(call->plan_kind, choice->staged);
    uint64_t chunk = call->wide ? wide_chunk(call) : choice->chunk_bytes;
    chunk = choice->far_bytes != 0 ? choice->far_bytes : chunk;
    uint64_t room = call->wide ? TERN__WIDE_BYTES : TERN__SLOT_BYTES;
    uint64_t longest = slices ? chunk : chunk / n;
    longest = longest / LINE * LINE;
    longest = longest > 0 ? longest : LINE;
    for (;; longest /= 2) {
        cut(call, length, longest / LINE * LINE);
        uint64_t whole = call->piece_bytes < length ? call->piece_bytes : length;
        TERN_TRY(program_of(call, choice->staged, order, piece_plan(call, whole), &call->staged));
        call->copied = !call->staged->scaled || !call->staged->pull;
        call->piece_room = slot_bytes(call, call->staged, call->piece_bytes, call->copied);
        if (call->piece_room <= room) {
            break;
        }
        if (longest < 2 * LINE) {
            return tern__fail(TERN_ERR_LIMIT,
                              "%s: '%s' needs more memory for %llu bytes than a "
                              "call has",
                              call->name, choice->staged, (unsigned long long)call->bytes);
        }
    }
    call->tail = call->staged;
    call->staged->users++;
    uint64_t rest = length % call->piece_bytes;
    if (!call->staged->scaled && rest != 0 && length > call->piece_bytes) {
        int status = program_of(call, choice->staged, order, piece_plan(call, rest), &call->tail);
        if (status != TERN_OK) {
            call->staged->users--;
            call->staged = NULL;
            return status;
        }
    }
    uint64_t tail_room = slot_bytes(call, call->tail, rest, call->copied);
    call->piece_room = tail_room > call->piece_room ? tail_room : call->piece_room;
    call->tail->users++;
    return TERN_OK;
}

// Of a call with a count for each rank. What a tune file has for equal shares may not do it.
static int program_with_counts(struct tern__coll *call, const struct tern__choice *choice,
                               tern_order order, struct tern__program **program)
{
    if (choice->named || tern__algo_scales(call->plan_kind, choice->staged)) {
        TERN_TRY(program_of(call, choice->staged, order, 0, program));
        if ((*program)->pull || choice->named) {
            return TERN_OK;
        }
    }
    struct tern__choice built_in;
    tern__tune_built_in(call->plan_kind, call->calls->nranks, &built_in);
    return program_of(call, built_in.staged, order, 0, program);
}

// What a plan that runs on the buffers may have of scratch; a table of counts has the slot already.
// Those that scale have been measured in pieces.
static uint64_t window_scratch(const struct tern__coll *call, const struct tern__program *program)
{
    return program->scaled || call->counts ? 0 : TERN__SLOT_BYTES;
}

// Up to so many bytes that all ranks together read of others: they do not meet once more to share
// that work.
#define FEW_BYTES (UINT64_C(256) << 10)

static int select_few(struct tern__coll *call, const struct tern__choice *choice, tern_order order)
{
    uint64_t others = (uint64_t)call->calls->nranks - 1;
    uint64_t readers = tern__kind_has_root(call->kind) ? 1 : others + 1;
    if (!call->calls->direct || !tern__kinds[call->kind].sums ||
        (choice->direct_from == 0 && !choice->direct_learned) ||
        tern__kind_has_shares(call->plan_kind) || others == 0 ||
        call->share_bytes > FEW_BYTES / others / readers ||
        !tern__algo_scales(call->plan_kind, choice->small)) {
        return TERN_OK;
    }
    struct tern__program *program;
    TERN_TRY(program_of(call, choice->small, order, call->bytes, &program));
    if (program->pull && program->scratch_bytes == 0) {
        call->few = program;
        program->users++;
    }
    return TERN_OK;
}

static int select_large(struct tern__coll *call, const struct tern__choice *choice,
                        tern_order order)
{
    call->way = TERN__WAY_UNKNOWN;
    struct tern__program *window;
    bool scales = tern__algo_scales(call->plan_kind, choice->window);
    bool here = call->calls->elsewhere == NULL; // else buffers are out of others' reach
    if (here && (scales || call->bytes <= TERN_PLAN_BYTES_MAX)) {
        // Scratch lies in the payload of the run's slot: one that needs more runs in pieces.
        TERN_TRY(program_of(call, choice->window, order, call->bytes, &window));
        if (scratch_of(call, window, call->share_bytes) <= window_scratch(call, window)) {
            call->window = window;
            window->users++;
        }
    }
    call->slot_limit = choice->small_bytes;
    if (call->counts) {
        uint64_t n = (uint64_t)call->calls->nranks;
        uint64_t longest = choice->chunk_bytes / n / LINE * LINE;
        call->piece_bytes = longest > 0 ? longest : LINE;
        TERN_TRY(program_with_counts(call, choice, order, &call->staged));
        call->piece_room = slot_bytes(call, call->staged, call->piece_bytes, false);
        call->staged->users++;
        call->tail = call->staged;
        call->tail->users++;
        return call->staged->pull ? TERN_OK
                                  : tern__fail(TERN_ERR_ARG, "%s: '%s' cannot do a v-collective",
                                               call->name, choice->staged);
    }
    TERN_TRY(select_staged(call, choice, order));
    TERN_TRY(select_few(call, choice, order));
    if (!here) { // where the buffers are makes no difference
        call->way = TERN__WAY_STAGED;
        call->pieces = (call->share_bytes + call->piece_bytes - 1) / call->piece_bytes;
        call->pieces = call->pieces > 0 ? call->pieces : 1;
    }
    return TERN_OK;
}

static bool fits_slot(const struct tern__coll *call, const struct tern__program *program)
{
    return program->pull && slot_bytes(call, program, call->share_bytes, false) <= TERN__SLOT_BYTES;
}

// Whether the run of a call through a slot needs none: its input is in the line, or ranks may run
// ahead of each other, so that it is worth a payload of its own.
static bool is_small(const struct tern__coll *call)
{
    bool line = piece_in(call, call->share_bytes) <= TERN__LINE_BYTES;
    uint64_t bytes = slot_bytes(call, call->slot, call->share_bytes, false);
    return (line && call->slot->scratch_bytes == 0) || (call->early && bytes <= TERN__SMALL_BYTES);
}

static uint64_t sign(const struct tern__coll *call, const char *algorithm)
{
    return tern__signature_pack(call->kind, call->dtype, call->op, (uint32_t)call->root,
                                call->order, tern__algo_index(call->plan_kind, algorithm),
                                call->counts ? 0 : call->share_bytes);
}

// Counts that all ranks have alike and that are small: as a call with one count.
static int select_alike(struct tern__coll *call, const struct tern__choice *choice,
                        tern_order order)
{
    struct tern__program *small;
    uint64_t table_bytes =
        tern__round_line(sizeof(struct tern__share) * (uint64_t)call->calls->nranks);
    uint64_t longest = tern__call_longest_in(call);
    if (longest > choice->small_bytes || table_bytes + longest > TERN__SLOT_BYTES) {
        return TERN_OK;
    }
    TERN_TRY(program_with_counts(call, choice, order, &small));
    if (!small->pull || small->scratch_bytes != 0) {
        return TERN_OK;
    }
    call->way = TERN__WAY_SLOT;
    call->slot = small;
    call->slot->users++;
    call->pieces = 1;
    call->signature = sign(call, choice->staged);
    tern__call_sign_counts(call, true);
    tern__call_remember_small(call);
    return TERN_OK;
}

// A plan for a slot that knows no shares writes all of them in a row.
static int need_flat(struct tern__coll *call)
{
    if (call->outs == NULL || call->slot->scaled || call->out_bytes == 0) {
        return TERN_OK;
    }
    call->flat = malloc(call->out_bytes);
    if (call->flat == NULL) {
        tern__call_drop(call);
        return tern__fail(TERN_ERR_MEMORY, "%s: no memory for a list", call->name);
    }
    return TERN_OK;
}

int tern__call_select(struct tern__coll *call)
{
    struct tern__choice room;
    int status;
    if (tern__call_find_shape(call)) {
        return TERN_OK;
    }
    const struct tern__choice *choice = choice_of(call, &room, &status);
    TERN_TRY(status);
    struct tern__choice far;
    if (call->calls->elsewhere != NULL) {
        tern__call_go_far(call, &choice, &far);
    }
    call->early = !choice->strict && tern__kind_has_root(call->kind);
    // Who names an algorithm in the environment accepts its order of sums. What far.c selects has
    // the bits of the order that is asked for, whatever its own is.
    bool accepts = call->algorithm == NULL && (choice->named || call->calls->elsewhere != NULL);
    tern_order order = accepts ? TERN_ORDER_ANY : call->order;
    if (!call->counts && call->bytes <= choice->small_bytes) {
        struct tern__program *small;
        TERN_TRY(program_of(call, choice->small, order, call->bytes, &small));
        if (fits_slot(call, small)) {
            call->way = TERN__WAY_SLOT;
            call->slot = small;
            call->slot->users++;
            call->small = is_small(call);
            call->pieces = 1;
            call->signature = sign(call, choice->small);
            tern__call_remember_small(call);
            return need_flat(call);
        }
    }
    if (tern__kind_counts_alike(call->kind)) {
        status = select_alike(call, choice, order);
    }
    if (status == TERN_OK && call->slot != NULL) {
        return TERN_OK;
    }
    status = status == TERN_OK ? select_large(call, choice, order) : status;
    if (status != TERN_OK) {
        tern__call_drop(call);
        return status;
    }
    call->signature = sign(call, choice->window);
    call->small = tern__call_is_short(call);
    tern__call_remember_large(call);
    tern__call_sign_counts(call, false);
    return TERN_OK;
}

void tern__call_drop(struct tern__coll *call)
{
    free(call->flat);
    call->flat = NULL;
    struct tern__program **const all[] = {&call->slot, &call->window, &call->staged, &call->tail,
                                          &call->few};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (*all[i] != NULL) {
            (*all[i])->users--;
            *all[i] = NULL;
        }
    }
}
