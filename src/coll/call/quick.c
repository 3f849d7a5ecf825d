// SPDX-License-Identifier: Apache-2.0
// The short path: a blocking call whose shape was made before, small enough for a slot, on a
// communicator with nothing else under way, and with peers that come at once. What args.c, select.c
// and place.c would find out again was remembered; what is left is the caller's pointers. It does
// what run.c does for such a call, and hands over to it when somebody has to be waited for.
// (v-collectives in which ranks have counts of their own: quick_shares.c.)
//
// No allocation, lock, log, or division; no system call but to move to another processor, now and
// then (sync/balance.h).

#include <string.h>

#include "base/trace.h"
#include "coll/call/quick.h"

// Whether the buffers may be where they are: apart, or in place. There the input is in the slot, or
// is this rank's own share, before out is written.
static bool may_be_there(const struct tern__calls *calls, const struct tern__shape *shape,
                         const void *from, const void *to)
{
    uintptr_t in = (uintptr_t)from;
    uintptr_t out = (uintptr_t)to;
    if (in + shape->in_bytes <= out || out + shape->out_bytes <= in) {
        return true;
    }
    uint64_t own = (uint64_t)calls->rank * shape->stride;
    return shape->rows == NULL && in + (shape->in_bytes > shape->out_bytes ? own : 0) ==
                                      out + (shape->out_bytes > shape->in_bytes ? own : 0);
}

static inline uint64_t table_bytes(const struct tern__calls *calls, const struct tern__shape *shape)
{
    return shape->rows != NULL ? sizeof *shape->rows * (uint64_t)calls->nranks : 0;
}

static inline char *payload_of(const struct tern__calls *calls, const struct tern__shape *shape,
                               int rank, uint32_t run)
{
    return tern__area_run_payload(calls->area, rank, run, shape->small);
}

static inline const char *input_of(const struct tern__calls *calls, const struct tern__shape *shape,
                                   int rank, uint32_t run)
{
    return shape->in_line
               ? (const char *)tern__area_head(calls->area, rank, run)->data
               : payload_of(calls, shape, rank, run) + tern__round_line(table_bytes(calls, shape));
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
                                          .bytes = shape->in_line || shape->in_bytes == 0 ? 0
                                                   : shape->stride > 0 ? shape->share_bytes
                                                                       : shape->in_bytes,
                                          .stride = shape->stride,
                                          .rows = shape->in_line ? NULL : shape->rows,
                                          .alone = shape->alone,
                                          .alike = shape->rows == NULL,
                                          .small = shape->small,
                                          .waits = true});
}

// The part of the input that only this rank reads, and that where the caller has it: its own share,
// where there is one for each rank. At the end of the input: there is none.
struct own {
    uint64_t begin, end;
};

static inline struct own own_of(const struct tern__calls *calls, const struct tern__shape *shape)
{
    bool has = shape->rows == NULL && !shape->in_line && shape->stride > 0 &&
               shape->in_bytes > shape->stride && calls->elsewhere == NULL;
    uint64_t begin = has ? (uint64_t)calls->rank * shape->stride : shape->in_bytes;
    return (struct own){begin, has ? begin + shape->stride : shape->in_bytes};
}

// Long shares one by one, as others read them.
static inline void put(const struct tern__calls *calls, const struct tern__shape *shape,
                       const char *in, uint32_t run, struct own bytes)
{
    char *to = (char *)(uintptr_t)input_of(calls, shape, calls->rank, run);
    uint64_t whole = bytes.end - bytes.begin;
    uint64_t part = shape->stride >= TERN__EXPOSE_FROM ? shape->stride : whole;
    for (uint64_t at = bytes.begin; at < bytes.end; at += part) {
        tern__hand_over(&calls->distance, to + at, in + at, part);
    }
}

// What the next call like this one will write.
static inline void own_ahead(const struct tern__calls *calls, const struct tern__shape *shape,
                             uint32_t run)
{
    struct own own = own_of(calls, shape);
    uint64_t table = tern__round_line(table_bytes(calls, shape));
    uint64_t begin = own.begin > 0 ? 0 : own.end;
    uint64_t end = own.end < shape->in_bytes ? shape->in_bytes : own.begin;
    if (table > 0 || shape->in_line) { // none is left out
        begin = 0;
        end = table + (shape->in_line ? 0 : end);
    }
    tern__quick_own_ahead(calls, shape->small, run, begin, end);
}

static void publish(struct tern__calls *calls, const struct tern__shape *shape, const void *in,
                    uint32_t run)
{
    struct tern__head *head = tern__area_head(calls->area, calls->rank, run);
    head->signature = shape->signature;
    head->digest = digest_of(shape);
    if (shape->rows != NULL) {
        memcpy(payload_of(calls, shape, calls->rank, run), shape->rows, table_bytes(calls, shape));
    }
    struct own own = own_of(calls, shape);
    put(calls, shape, in, run, (struct own){0, own.begin});
    put(calls, shape, in, run, (struct own){own.end, shape->in_bytes});
    tern__flag_store(&head->run, run); // partner: tern__quick_has_met, and is_published in meet.c
    if (calls->elsewhere != NULL) {
        tell(calls, shape, run);
    }
    tern__calls_arrive(calls, run, shape->alone);
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

// What a step reads of a rank. Of this one where it lies: lines that it has published may be in the
// cache of a rank that reads them by now, and would have to be fetched from there.
static inline const char *source_of(const struct tern__calls *calls,
                                    const struct tern__shape *shape, const tern_plan_range *range,
                                    const char *in, uint32_t run)
{
    const char *input = range->rank == calls->rank ? in : input_of(calls, shape, range->rank, run);
    return input + in_offset(shape, range);
}

static void transfer(struct tern__calls *calls, const struct tern__shape *shape,
                     const struct tern__step *step, const char *in, char *out, uint32_t run)
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
        const char *from = source_of(calls, shape, first, in, run);
        if (first->rank != calls->rank && shape->rows == NULL) {
            tern__hand_measure(&calls->distance, from, bytes);
        }
        if (from != address) { // else in place
            calls->area->xport->put(address, from, bytes);
        }
        return;
    }
    const char *from[TERN_RANKS_MAX];
    const char *other = NULL;
    for (int s = 0; s < step->sources_count; s++) {
        const tern_plan_range *range = &step->operands[s];
        from[s] = source_of(calls, shape, range, in, run);
        other = range->rank != calls->rank ? from[s] : other;
    }
    if (other != NULL && shape->rows == NULL) {
        tern__hand_measure(&calls->distance, other, bytes);
    }
    shape->reduce(&address, 1, from, step->sources_count, shape->elements, false);
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
        !may_be_there(calls, shape, in, out)) {
        return false;
    }
    if (!tern__calls_has_room(calls, shape->small) && !tern__quick_has_room(calls, shape->small)) {
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
    if (!tern__quick_has_met(calls, shape->gates, shape->signature, digest_of(shape), run)) {
        put(calls, shape, in, run, own_of(calls, shape)); // who goes on finds all in the slot
        calls->handed = true;
        calls->handed_record = record;
        return false;
    }
    const struct tern__script *script = &shape->slot->staged;
    const struct tern__step *end = script->lanes_count > 0 ? script->lanes[0].end : script->steps;
    for (const struct tern__step *step = script->steps; step != end; step++) {
        transfer(calls, shape, step, in, out, run);
    }
    tern__quick_end(calls, shape->gates, run);
    own_ahead(calls, shape, run + 1);
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
