// SPDX-License-Identifier: Apache-2.0
// The short path of small v-collectives in which ranks have counts of their own: these are
// published and compared in every call, which is spared the queue. What turns out to be otherwise,
// or to need waiting, is handed over to run.c.
//
// No allocation, lock, log, system call, or division.

#include <string.h>

#include "base/trace.h"
#include "coll/call/quick.h"

// Publishes the run that announces a v-collective.
static struct tern__record *open_shares(struct tern__coll *call, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    struct tern__head *head = tern__area_head(calls->area, calls->rank, run);
    call->number = ++calls->made;
    head->signature = call->signature;
    head->digest = (uint32_t)call->digest;
    tern__call_fill(call, run, head);
    if (calls->elsewhere != NULL) {
        tern__call_tell(call, run);
    }
    tern__flag_store(&head->run, run); // partner: tern__quick_has_met, and is_published in meet.c
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
                       uint32_t run)
{
    int other = 1 - calls->rank;
    const struct tern__letter *letter = tern__area_letter(calls->area, other, run);
    const char *payload = tern__area_payload(calls->area, calls->rank, run);
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
        if (!has_letter(calls, call->signature, call->number, run)) {
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

bool tern__call_quick_shares(struct tern__coll *call)
{
    struct tern__calls *calls = call->calls;
    if (calls->oldest != NULL || tern__peek(&tern__trace_on) != 0 || !call->staged->plain ||
        !tern__call_fits_slot(call, true) ||
        (!tern__calls_has_room(calls) && !tern__quick_has_room(calls))) {
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
    uint64_t table_bytes = sizeof(struct tern__share) * (uint64_t)calls->nranks;
    tern__quick_own_ahead(calls, tern__round_line(table_bytes) + call->in_bytes, run + 1);
    tern__own_line(tern__area_letter(calls->area, calls->rank, run + 1));
    tern__record_travels(record, TERN__WAY_SLOT, call->staged->index);
    tern__record_end(record, TERN_OK, 0);
    tern__call_drop(call);
    return true;
}
