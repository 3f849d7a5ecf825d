// SPDX-License-Identifier: Apache-2.0
// The short path: a blocking call whose shape was made before, small enough for a slot, on a
// communicator with nothing else under way, and with peers that come at once. What args.c, select.c
// and place.c would find out again was remembered; what is left is the caller's pointers. (Of a
// v-collective in which ranks have counts of their own these are checked, published and compared in
// every call; it is spared the queue.) It does what run.c does for such a call, and hands over to
// it when somebody has to be waited for.
//
// No allocation, lock, log, system call, or division.

#include <string.h>

#include "base/trace.h"
#include "coll/call/call.h"

// As many lines as are on their way at a time.
#define AHEAD_BYTES 1024

// Looks before the load of the machine is asked for: a line from a rank that runs is there by then.
#define FIRST_LOOKS 32

// And then, for each spin of the ladder. Where each rank has a processor, about 1 us: the root of a
// scatter_v writes for longer than the others, and handing over costs as much again.
enum { LOOKS_ALONE = 8, LOOKS_CROWDED = 2 };

// Whether the buffers may be where they are. In place: the input is in the slot before out is
// written.
static bool are_apart(const struct tern__shape *shape, const void *from, const void *to)
{
    uintptr_t in = (uintptr_t)from;
    uintptr_t out = (uintptr_t)to;
    return in + shape->in_bytes <= out || out + shape->out_bytes <= in ||
           (in == out && shape->in_bytes == shape->out_bytes && shape->rows == NULL);
}

static inline uint64_t table_bytes(const struct tern__calls *calls, const struct tern__shape *shape)
{
    return shape->rows != NULL ? sizeof *shape->rows * (uint64_t)calls->nranks : 0;
}

static inline const char *input_of(const struct tern__calls *calls, const struct tern__shape *shape,
                                   int rank, uint32_t run)
{
    return shape->in_line ? (const char *)tern__area_head(calls->area, rank, run)->data
                          : tern__area_payload(calls->area, rank, run) +
                                tern__round_line(table_bytes(calls, shape));
}

static inline uint32_t digest_of(const struct tern__shape *shape)
{
    return shape->rows != NULL ? (uint32_t)shape->count : 0;
}

static void tell(const struct tern__calls *calls, const struct tern__shape *shape, uint32_t run)
{
    uint64_t begin = tern__round_line(table_bytes(calls, shape));
    tern__calls_tell(calls, run,
                     &(struct tern__told){.kind = (tern_coll_kind)(shape->key & 255),
                                          .root = (int)(shape->key >> 32),
                                          .table_bytes = begin,
                                          .begin = begin,
                                          .bytes = shape->in_line      ? 0
                                                   : shape->stride > 0 ? shape->share_bytes
                                                                       : shape->in_bytes,
                                          .stride = shape->stride,
                                          .rows = shape->in_line ? NULL : shape->rows,
                                          .alone = shape->alone});
}

static void publish(struct tern__calls *calls, const struct tern__shape *shape, const void *in,
                    uint32_t run)
{
    struct tern__head *head = tern__area_head(calls->area, calls->rank, run);
    head->signature = shape->signature;
    head->digest = digest_of(shape);
    if (shape->rows != NULL) {
        memcpy(tern__area_payload(calls->area, calls->rank, run), shape->rows,
               table_bytes(calls, shape));
    }
    if (shape->in_bytes > 0) {
        memcpy((char *)(uintptr_t)input_of(calls, shape, calls->rank, run), in, shape->in_bytes);
    }
    if (calls->elsewhere != NULL) {
        tell(calls, shape, run);
    }
    tern__flag_store(&head->run, run); // partner: has_met, and is_published in meet.c
    tern__calls_arrive(calls, run, shape->alone);
}

// Whether a slot is free: who has not waited in its last calls waits a little for the slowest.
static bool has_room(struct tern__calls *calls)
{
    uint32_t looks = 2 * tern__job_ladder(calls->work.job).spins;
    struct tern__differs differs;
    do {
        if (tern__calls_settle(calls, &differs) != TERN_OK) {
            return false;
        }
    } while (!tern__calls_has_room(calls) && looks-- > 0);
    return tern__calls_has_room(calls);
}

struct looks {
    uint32_t left;
    bool more;
};

// Whether a run is published within the looks that are left.
static bool comes(const struct tern__calls *calls, const _Atomic uint32_t *published, uint32_t run,
                  struct looks *looks)
{
    while (tern__flag_load(published) != run) { // partner: publish; and write_letter in publish.c
        if (looks->left-- == 0) {
            if (!looks->more) {
                return false;
            }
            struct tern__ladder ladder = tern__job_ladder(calls->work.job);
            looks->left = (ladder.alone ? LOOKS_ALONE : LOOKS_CROWDED) * ladder.spins;
            looks->more = false;
        }
    }
    return true;
}

// Whether the ranks that this one waits for come within a few looks, and with the same call.
static bool has_met(struct tern__calls *calls, uint64_t gates, uint64_t signature, uint32_t digest,
                    uint32_t run)
{
    struct looks looks = {FIRST_LOOKS, true};
    for (uint64_t left = gates; left != 0; left &= left - 1) {
        const struct tern__head *head = tern__area_head(calls->area, __builtin_ctzll(left), run);
        if (!comes(calls, &head->run, run, &looks)) {
            return false;
        }
        if (head->signature != signature || head->digest != digest) {
            return false;
        }
    }
    // The calls before this one, where it has not waited for the same ranks.
    return (gates == calls->others && calls->settled == run - 1) ||
           tern__calls_agree(calls, gates, run);
}

// The lines of the slot that comes next were last read by others; they are called back for writing
// now, so that the next call finds them here.
static void own_ahead(const struct tern__calls *calls, uint64_t payload_bytes, uint32_t run)
{
    const char *payload = tern__area_payload(calls->area, calls->rank, run);
    uint64_t bytes = payload_bytes < AHEAD_BYTES ? payload_bytes : AHEAD_BYTES;
    tern__own_line(tern__area_head(calls->area, calls->rank, run));
    for (uint64_t at = 0; at < bytes; at += TERN_CACHE_LINE) {
        tern__own_line(payload + at);
    }
}

// The run has ended; it is settled when it has waited for all.
static void end_run(struct tern__calls *calls, uint64_t gates, uint32_t run)
{
    calls->ended = run;
    if (gates == calls->others) {
        calls->settled = run;
    } else {
        calls->numbers[run % TERN__SLOTS] = calls->made;
    }
    tern__calls_count(calls, run, 0);
}

// Where a share of an input is, and of this rank's output.
static inline uint64_t in_offset(const struct tern__shape *shape, const tern_plan_range *range)
{
    return shape->rows != NULL ? shape->rows[range->offset].in_offset
                               : range->offset * shape->stride;
}

static inline uint64_t out_offset(const struct tern__shape *shape, const tern_plan_range *range)
{
    return shape->rows != NULL ? shape->rows[range->offset].out_offset
                               : range->offset * shape->stride;
}

static void transfer(const struct tern__calls *calls, const struct tern__shape *shape,
                     const struct tern__step *step, char *out, uint32_t run)
{
    // Operands are whole inputs, or shares of them; one destination, in this rank's out.
    const tern_plan_range *to = &step->operands[step->sources_count];
    const tern_plan_range *first = &step->operands[0];
    char *address = out + out_offset(shape, to);
    uint64_t bytes = shape->rows != NULL ? shape->rows[first->rank].out_bytes : shape->share_bytes;
    if (bytes == 0) {
        return;
    }
    if (step->kind == TERN__STEP_COPY) {
        const char *input = input_of(calls, shape, first->rank, run);
        calls->area->xport->put(address, input + in_offset(shape, first), bytes);
        return;
    }
    const char *from[TERN_RANKS_MAX];
    for (int s = 0; s < step->sources_count; s++) {
        const tern_plan_range *range = &step->operands[s];
        from[s] = input_of(calls, shape, range->rank, run) + in_offset(shape, range);
    }
    shape->reduce(&address, 1, from, step->sources_count, shape->elements);
}

static inline __attribute__((always_inline)) bool make(const tern_comm *comm,
                                                       struct tern__calls *calls, uint64_t key,
                                                       const void *in, void *out, size_t count,
                                                       const size_t *counts)
{
    const struct tern__group *group = &comm->group;
    if (calls->oldest != NULL || tern__flag_load(&group->shared->failed) != TERN__WORKING ||
        tern__peek(&tern__trace_on) != 0) {
        return false;
    }
    if (counts != NULL) {
        count = tern__counts_digest(counts, calls->nranks, true);
    }
    const struct tern__shape *shape = tern__shape_of(calls, key, count);
    if (shape->key != key || shape->count != count || !shape->quick ||
        (counts != NULL &&
         memcmp(counts, shape->counts, sizeof *counts * (size_t)calls->nranks) != 0) ||
        (shape->in_bytes > 0 && in == NULL) || (shape->out_bytes > 0 && out == NULL) ||
        !are_apart(shape, in, out)) {
        return false;
    }
    if (!tern__calls_has_room(calls) && !has_room(calls)) {
        return false;
    }
    uint32_t run = calls->published + 1;
    publish(calls, shape, in, run);
    calls->published = run;
    // The record is written while the others' lines are on their way.
    struct tern__record *record =
        tern__record_begin(calls->work.job, (struct tern__beginning){.comm_slot = group->slot,
                                                                     .way = TERN__WAY_SLOT,
                                                                     .sequence = ++calls->made,
                                                                     .signature = shape->signature,
                                                                     .bytes = shape->bytes});
    if (!has_met(calls, shape->gates, shape->signature, digest_of(shape), run)) {
        calls->handed = true;
        calls->handed_record = record;
        return false;
    }
    const struct tern__script *script = &shape->slot->staged;
    const struct tern__step *end = script->lanes_count > 0 ? script->lanes[0].end : script->steps;
    for (const struct tern__step *step = script->steps; step != end; step++) {
        transfer(calls, shape, step, out, run);
    }
    end_run(calls, shape->gates, run);
    if (shape->in_bytes > 0) {
        own_ahead(calls,
                  tern__round_line(table_bytes(calls, shape)) +
                      (shape->in_line ? 0 : shape->in_bytes),
                  run + 1);
    }
    tern__record_end(record, TERN_OK, 0);
    return true;
}

bool tern__call_quick_in_turn(struct tern__calls *calls, uint64_t key, const void *in, void *out,
                              size_t count, const size_t *counts)
{
    return make(calls->comm, calls, key, in, out, count, counts);
}

bool tern__call_quick(tern_comm *comm, uint64_t key, const void *in, void *out, size_t count,
                      const size_t *counts)
{
    if (!tern__handle_lives(comm, TERN__COMM)) {
        return false;
    }
    tern__turn_take(&comm->turn);
    struct tern__calls *calls = comm->calls;
    bool made = calls != NULL && make(comm, calls, key, in, out, count, counts);
    if (!made && calls != NULL && calls->handed) {
        tern__turn_keep(&comm->turn);
        return false;
    }
    tern__turn_leave(&comm->turn);
    return made;
}

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
    tern__flag_store(&head->run, run); // partner: has_met, and is_published in meet.c
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

static bool has_letter(const struct tern__coll *call, uint32_t run)
{
    const struct tern__calls *calls = call->calls;
    int other = 1 - calls->rank;
    const struct tern__letter *letter = tern__area_letter(calls->area, other, run);
    const char *payload = tern__area_payload(calls->area, calls->rank, run);
    const struct tern__share *table = (const struct tern__share *)(const void *)payload;
    const struct tern__share *row = &table[other];
    const struct tern__share *own = &table[calls->rank];
    struct looks looks = {FIRST_LOOKS, true};
    return comes(calls, &letter->run, run, &looks) && letter->signature == call->signature &&
           letter->age == tern__letter_age(call->number) && letter->in_slot != 0 &&
           letter->in_bytes == row->out_bytes && letter->out_bytes == row->in_bytes &&
           own->in_bytes == own->out_bytes;
}

// Whether all inputs that this rank takes are in slots, and their counts are those it wants; then
// its steps are bound.
static bool has_shares(struct tern__coll *call, uint64_t gates, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    if (letter_serves(call, gates, run)) {
        if (!has_letter(call, run)) {
            return false;
        }
        tern__call_bind_letter(call, run);
        return true;
    }
    if (!has_met(calls, gates, call->signature, (uint32_t)call->digest, run) ||
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
        !tern__call_fits_slot(call, true) || (!tern__calls_has_room(calls) && !has_room(calls))) {
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
    end_run(calls, gates, run);
    uint64_t table_bytes = sizeof(struct tern__share) * (uint64_t)calls->nranks;
    own_ahead(calls, tern__round_line(table_bytes) + call->in_bytes, run + 1);
    tern__own_line(tern__area_letter(calls->area, calls->rank, run + 1));
    tern__record_travels(record, TERN__WAY_SLOT, call->staged->index);
    tern__record_end(record, TERN_OK, 0);
    tern__call_drop(call);
    return true;
}
