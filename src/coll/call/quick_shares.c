// SPDX-License-Identifier: Apache-2.0
// The short path of small v-collectives in which ranks have counts of their own: these are
// published and compared in every call, which is spared the queue. A call that differs from the
// last one of its shape in its buffers alone is not checked, selected and laid out again: what that
// one said is said again, and compared as ever. What turns out to be otherwise, or to need waiting,
// is handed over to run.c.
//
// No allocation, lock, log, system call, or division.

#include <string.h>

#include "base/trace.h"
#include "coll/call/place.h"
#include "coll/call/quick.h"
#include "comm/around.h"

// Publishes the run that announces a v-collective.
static struct tern__record *open_shares(struct tern__coll *call, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    struct tern__head *head = tern__area_head(calls->area, calls->rank, run);
    call->number = ++calls->made;
    head->signature = call->signature;
    head->digest = (uint32_t)call->digest;
    tern__call_fill(call, run, head);
    tern__flag_store(&head->run, run); // partner: tern__quick_has_met, and is_published in meet.c
    if (calls->elsewhere != NULL) {
        tern__call_tell(call, run);
    }
    tern__calls_arrive(calls, run, tern__call_is_alone(call));
    calls->published = run;
    return tern__record_begin(calls->work.job, (struct tern__beginning){
                                                   .comm_slot = calls->comm->group.slot,
                                                   .way = TERN__WAY_SLOT,
                                                   .sequence = call->number,
                                                   .signature = call->signature,
                                                   .bytes = call->bytes,
                                               });
}

// Whether a letter says all there is to know: with two ranks, when all runs before are settled.
static bool letter_serves(const struct tern__coll *call, uint64_t gates, uint32_t run)
{
    const struct tern__calls *calls = call->calls;
    return calls->nranks == 2 && calls->elsewhere == NULL && gates == calls->others &&
           calls->settled == run - 1 && !tern__kind_counts_alike(call->kind);
}

// Whether the other rank's letter comes, and says what this rank's table expects.
static bool has_letter(const struct tern__calls *calls, uint64_t signature, uint64_t number,
                       bool small, uint32_t run)
{
    int other = 1 - calls->rank;
    const struct tern__letter *letter = tern__area_letter(calls->area, other, run);
    const char *payload = tern__area_run_payload(calls->area, calls->rank, run, small);
    const struct tern__share *table = (const struct tern__share *)(const void *)payload;
    const struct tern__share *row = &table[other];
    const struct tern__share *own = &table[calls->rank];
    struct tern__looks looks = {TERN__FIRST_LOOKS, true};
    return tern__quick_comes(calls, &letter->run, run, &looks) && letter->signature == signature &&
           letter->age == tern__letter_age(number) && letter->in_slot != 0 &&
           letter->in_bytes == row->out_bytes && letter->out_bytes == row->in_bytes &&
           own->in_bytes == own->out_bytes;
}

// Whether all inputs that this rank takes are in slots, and their counts are those it wants; then
// its steps are bound.
static bool has_shares(struct tern__coll *call, uint64_t gates, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    if (letter_serves(call, gates, run)) {
        if (!has_letter(calls, call->signature, call->number, call->small, run)) {
            return false;
        }
        tern__call_bind_letter(call, run);
        return true;
    }
    if (!tern__quick_has_met(calls, gates, call->signature, (uint32_t)call->digest, run) ||
        gates != tern__call_gates(call, run)) {
        return false;
    }
    calls->met_all = gates == calls->others;
    if (tern__call_find_way(call, run) == TERN_OK && call->way == TERN__WAY_SLOT &&
        tern__call_bind(call, run) == TERN_OK) {
        return true;
    }
    call->way = TERN__WAY_UNKNOWN; // run.c finds out again how it goes on
    call->pieces = 0;
    return false;
}

// As tern__quick_own_ahead does with the other lines of the slot: the table's first one, and the
// letter.
static void call_back_rest(const struct tern__calls *calls, bool small, uint32_t run, bool letter)
{
    if (!tern__calls_has_room(calls, small)) {
        return;
    }
    tern__call_back(tern__area_run_payload(calls->area, calls->rank, run, small));
    if (letter) {
        tern__call_back(&tern__area_letter(calls->area, calls->rank, run)->in_slot);
    }
}

// Whether it is learned in which way such calls are faster, so that run.c is to make it.
static bool is_learned(const struct tern__coll *call)
{
    return (call->in_bytes >= TERN__LEARNS_FROM || call->out_bytes >= TERN__LEARNS_FROM) &&
           tern__call_learns(call, tern__call_longest_share(call));
}

bool tern__call_quick_shares(struct tern__coll *call)
{
    struct tern__calls *calls = call->calls;
    if (calls->oldest != NULL || tern__peek(&tern__trace_on) != 0 || !call->staged->plain ||
        !tern__call_fits_slot(call, true) || is_learned(call) ||
        (!tern__calls_has_room(calls, call->small) && !tern__quick_has_room(calls, call->small))) {
        return false;
    }
    uint32_t run = calls->published + 1;
    struct tern__record *record = open_shares(call, run);
    uint64_t gates = tern__call_gates(call, run);
    if (!has_shares(call, gates, run)) {
        calls->handed = true;
        calls->handed_record = record;
        return false;
    }
    const struct tern__script *script = calls->lanes.script;
    const struct tern__step *end = script->lanes_count > 0 ? script->lanes[0].end : script->steps;
    for (const struct tern__step *step = script->steps; step != end; step++) {
        // It cannot fail: nothing is far.
        (void)tern__transfer(&calls->binding, calls->area->xport, step, &calls->lanes.unread);
    }
    tern__quick_end(calls, gates, run);
    uint64_t table_bytes = tern__round_line(sizeof(struct tern__share) * (uint64_t)calls->nranks);
    uint64_t packed = tern__call_keeps_input(call) ? 0 : tern__call_packed_bytes(call);
    tern__quick_own_ahead(calls, call->small, run + 1, 0, table_bytes + packed);
    if (calls->nranks == 2) {
        call_back_rest(calls, call->small, run + 1, true);
    }
    tern__record_travels(record, TERN__WAY_SLOT, call->staged->index);
    tern__record_end(record, TERN_OK, 0);
    if (calls->nranks == 2 || call->small) {
        tern__call_remember_again(call, gates, run);
    }
    tern__call_drop(call);
    return true;
}

// A call as the last one of its shape.

static bool is_list(const size_t *list, bool there, const size_t *known, int nranks)
{
    if (!there || list == NULL) {
        return there == (list != NULL);
    }
    bool is = true;
    for (int rank = 0; rank < nranks; rank++) {
        is = is && list[rank] == known[rank];
    }
    return is;
}

// Lists that this rank has no use for may be anything.
static bool has_counts(const struct tern__again *again, const tern_coll *asked, int nranks)
{
    return asked->count == again->count &&
           (!again->in_counted ||
            (is_list(asked->in_counts, true, again->in_counts, nranks) &&
             is_list(asked->in_offsets, again->in_placed, again->in_offsets, nranks))) &&
           (!again->out_counted ||
            (is_list(asked->out_counts, true, again->out_counts, nranks) &&
             is_list(asked->out_offsets, again->out_placed, again->out_offsets, nranks)));
}

static bool has_buffers(const struct tern__again *again, const tern_coll *asked)
{
    uintptr_t in = (uintptr_t)asked->in;
    uintptr_t out = (uintptr_t)asked->out;
    return (again->in_bytes == 0 || in != 0) && (again->out_bytes == 0 || out != 0) &&
           (again->in_bytes == 0 || again->out_bytes == 0 || in + again->in_bytes <= out ||
            out + again->out_bytes <= in);
}

static const struct tern__shape *find_again(struct tern__calls *calls, const tern_coll *asked)
{
    int root = tern__kind_has_root(asked->kind) ? asked->root : 0;
    uint64_t key = tern__key(asked->kind, asked->dtype, 0, root);
    const struct tern__shape *shape = tern__shape_of(calls, key, 0);
    bool is = shape->key == key && shape->count == 0 && shape->again != NULL &&
              shape->again->known && has_counts(shape->again, asked, calls->nranks) &&
              has_buffers(shape->again, asked);
    return is ? shape : NULL;
}

// Where `out` is: the other rank may write there when its own input is in no slot.
static void place_again(const struct tern__calls *calls, struct tern__again *again, const void *out)
{
    uint32_t changes = tern__flag_load(&tern__registry_changes); // partner: change_entry
    if (changes != again->changes || changes % 2 != 0 || out != again->out) {
        again->placement.out_window =
            tern__call_place(calls, out, again->out_bytes, &again->placement.out_offset);
        again->out = out;
        again->changes = changes;
    }
}

static char *payload_of(const struct tern__calls *calls, const struct tern__again *again,
                        uint32_t run)
{
    return tern__area_run_payload(calls->area, calls->rank, run, again->small);
}

static void put_share(const struct tern__calls *calls, const struct tern__again *again, int rank,
                      const char *in, uint32_t run)
{
    const struct tern__share *row = &again->rows[rank];
    if (row->in_bytes > 0) {
        tern__hand_over(&calls->distance, payload_of(calls, again, run) + row->in_offset,
                        in + again->from[rank], row->in_bytes);
    }
}

static void publish_again(const struct tern__calls *calls, const struct tern__shape *shape,
                          const tern_coll *asked, uint32_t run)
{
    struct tern__again *again = shape->again;
    struct tern__head *head = tern__area_head(calls->area, calls->rank, run);
    memcpy(payload_of(calls, again, run), again->rows, (size_t)calls->nranks * sizeof *again->rows);
    for (int rank = 0; rank < calls->nranks && !again->keeps; rank++) {
        if (rank != calls->rank) {
            put_share(calls, again, rank, asked->in, run);
        }
    }
    if (again->awaited) {
        tern__letter_write(calls, shape->signature, calls->made, again->placement.in_slot, run);
    }
    place_again(calls, again, asked->out);
    head->signature = shape->signature;
    head->digest = 0;
    memcpy(head->data, &again->placement, sizeof again->placement);
    tern__flag_store(&head->run, run); // partner: tern__quick_has_met, and is_published in meet.c
    tern__calls_arrive(calls, run, again->alone);
}

// Whether each rank that this one waits for has its input in its small payload, and gives what is
// expected.
static bool has_rows(const struct tern__calls *calls, const struct tern__again *again, uint32_t run)
{
    for (uint64_t left = again->gates; left != 0; left &= left - 1) {
        int rank = __builtin_ctzll(left);
        if (tern__call_placement(calls, rank, run)->in_slot != TERN__IN_SMALL ||
            tern__call_table(calls, rank, run)[calls->rank].in_bytes !=
                again->rows[rank].out_bytes) {
            return false;
        }
    }
    return true;
}

// Whether those whom this rank waits for say what they said.
static bool meets_again(struct tern__calls *calls, const struct tern__shape *shape, uint32_t run)
{
    uint64_t gates = shape->again->gates;
    if (gates == 0) {
        return true;
    }
    bool two = calls->nranks == 2;
    return ((two && calls->settled == run - 1) ||
            tern__quick_has_met(calls, gates, shape->signature, 0, run)) &&
           (two ? has_letter(calls, shape->signature, calls->made, shape->again->small, run)
                : has_rows(calls, shape->again, run));
}

// Where the share is that another rank has for this one.
static const char *share_of(const struct tern__calls *calls, int rank, uint32_t run)
{
    if (calls->nranks > 2) {
        const struct tern__share *table = tern__call_table(calls, rank, run);
        return (const char *)table + table[calls->rank].in_offset;
    }
    return tern__letter_input(calls, tern__area_letter(calls->area, rank, run), run);
}

static void take_again(struct tern__calls *calls, const struct tern__shape *shape,
                       const tern_coll *asked, uint32_t run)
{
    const struct tern__again *again = shape->again;
    const struct tern__script *script = &shape->staged->staged;
    const struct tern__step *end = script->lanes_count > 0 ? script->lanes[0].end : script->steps;
    for (const struct tern__step *step = script->steps; step != end; step++) {
        // A copy of a whole share, of one rank, into this rank's out.
        int rank = step->operands[0].rank;
        const struct tern__share *row = &again->rows[rank];
        if (row->out_bytes == 0) {
            continue;
        }
        const char *from = (const char *)asked->in + again->from[rank];
        if (rank != calls->rank) {
            from = share_of(calls, rank, run);
            tern__hand_measure(&calls->distance, from, row->out_bytes);
        }
        calls->area->xport->put((char *)asked->out + row->out_offset, from, row->out_bytes);
    }
}

// The lines that the next run will be written to.
static void own_again_ahead(const struct tern__calls *calls, const struct tern__again *again,
                            uint32_t run)
{
    if (calls->nranks > 2) {
        tern__quick_own_ahead(calls, again->small, run, 0, again->payload_bytes);
        return;
    }
    const struct tern__share *row = &again->rows[1 - calls->rank];
    tern__quick_own_ahead(calls, again->small, run, row->in_offset, row->in_offset + row->in_bytes);
    call_back_rest(calls, again->small, run, again->awaited);
}

static bool make_again(struct tern__calls *calls, const tern_coll *asked)
{
    const struct tern__group *group = &calls->comm->group;
    if (calls->oldest != NULL || tern__flag_load(&group->shared->failed) != TERN__WORKING ||
        tern__peek(&tern__trace_on) != 0) {
        return false;
    }
    const struct tern__shape *shape = find_again(calls, asked);
    const struct tern__again *again = shape != NULL ? shape->again : NULL;
    if (again == NULL || (!tern__calls_has_room(calls, again->small) &&
                          !tern__quick_has_room(calls, again->small))) {
        return false;
    }
    uint32_t run = ++calls->published;
    calls->made++;
    publish_again(calls, shape, asked, run);
    struct tern__record *record =
        tern__record_begin(calls->work.job, (struct tern__beginning){.comm_slot = group->slot,
                                                                     .way = TERN__WAY_SLOT,
                                                                     .sequence = calls->made,
                                                                     .signature = shape->signature,
                                                                     .bytes = again->bytes});
    if (!meets_again(calls, shape, run)) {
        if (!again->keeps) { // who goes on with the call finds all of its input in the slot
            put_share(calls, again, calls->rank, asked->in, run);
        }
        calls->handed = true;
        calls->handed_record = record;
        return false;
    }
    take_again(calls, shape, asked, run);
    tern__quick_end(calls, again->gates, run);
    own_again_ahead(calls, again, run + 1);
    tern__record_travels(record, TERN__WAY_SLOT, shape->staged->index);
    tern__record_end(record, TERN_OK, 0);
    return true;
}

bool tern__call_quick_again(tern_comm *comm, const tern_coll *asked)
{
    if (!tern__handle_lives(comm, TERN__COMM)) {
        return false;
    }
    tern__turn_take(&comm->turn);
    struct tern__calls *calls = comm->calls;
    bool made = calls != NULL && make_again(calls, asked);
    if (!made && calls != NULL && calls->handed) {
        tern__turn_keep(&comm->turn);
    } else {
        tern__turn_leave(&comm->turn);
    }
    return made;
}
