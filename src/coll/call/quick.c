// SPDX-License-Identifier: Apache-2.0
// The short path: a blocking call whose shape was made before, small enough for a slot, on a
// communicator with nothing else under way, and with peers that come at once. What args.c, pick.c and
// place.c would find out again was remembered; what is left is the caller's pointers. It does what
// run.c does for such a call, and hands over to it when somebody has to be waited for.
//
// No allocation, lock, log, system call, or division.

#include <string.h>

#include "base/trace.h"
#include "coll/call/call.h"

// As many lines as are on their way at a time.
#define AHEAD_BYTES 1024

// Looks before the load of the machine is asked for: a line from a rank that runs is there by then.
#define FIRST_LOOKS 32

// Whether the buffers may be where they are. In place: the input is in the slot before out is written.
static bool are_apart(const struct tern__memo *memo, const void *from, const void *to)
{
    uintptr_t in = (uintptr_t)from;
    uintptr_t out = (uintptr_t)to;
    return in + memo->in_bytes <= out || out + memo->out_bytes <= in ||
           (in == out && memo->in_bytes == memo->out_bytes);
}

static inline const char *input_of(const struct tern__calls *calls, const struct tern__memo *memo,
                                   int rank, uint32_t run)
{
    return memo->in_line ? (const char *)tern__area_head(calls->area, rank, run)->data
                         : tern__area_payload(calls->area, rank, run);
}

static void publish(struct tern__calls *calls, const struct tern__memo *memo, const void *in,
                    uint32_t run)
{
    struct tern__head *head = tern__area_head(calls->area, calls->rank, run);
    head->signature = memo->signature;
    if (memo->in_bytes > 0) {
        char *to =
            memo->in_line ? (char *)head->data : tern__area_payload(calls->area, calls->rank, run);
        memcpy(to, in, memo->in_bytes);
    }
    tern__flag_store(&head->run, run); // partner: has_met, and is_published in run.c
    tern__calls_arrive(calls, run);
}

// Whether all ranks come within a few looks, and with the same call.
static bool has_met(struct tern__calls *calls, const struct tern__memo *memo, uint32_t run)
{
    uint32_t looks = FIRST_LOOKS;
    bool more = true;
    for (int rank = 0; rank < calls->nranks; rank++) {
        const struct tern__head *head = tern__area_head(calls->area, rank, run);
        while (tern__flag_load(&head->run) != run) { // partner: publish
            if (looks-- == 0) {
                if (!more) {
                    return false;
                }
                looks = 2 * tern__job_ladder(calls->task.job).spins;
                more = false;
            }
        }
        if (head->signature != memo->signature) {
            return false;
        }
    }
    return true;
}

// The lines of the slot that comes next were last read by others; they are called back for writing
// now, so that the next call finds them here.
static void own_ahead(const struct tern__calls *calls, const struct tern__memo *memo, uint32_t run)
{
    tern__own_line(tern__area_head(calls->area, calls->rank, run));
    if (memo->in_bytes > 0 && !memo->in_line) {
        const char *payload = tern__area_payload(calls->area, calls->rank, run);
        uint64_t bytes = memo->in_bytes < AHEAD_BYTES ? memo->in_bytes : AHEAD_BYTES;
        for (uint64_t at = 0; at < bytes; at += TERN_CACHE_LINE) {
            tern__own_line(payload + at);
        }
    }
}

static void transfer(const struct tern__calls *calls, const struct tern__memo *memo,
                     const struct tern__step *step, char *out, uint32_t run)
{
    // Operands are whole inputs, or shares of them; one destination, in this rank's out.
    const tern_plan_range *to = &step->operands[step->sources_count];
    char *address = out + to->offset * memo->stride;
    if (step->kind == TERN__STEP_COPY) {
        const tern_plan_range *from = &step->operands[0];
        calls->area->xport->put(address,
                                input_of(calls, memo, from->rank, run) +
                                    from->offset * memo->stride,
                                memo->share_bytes);
        return;
    }
    const char *from[TERN_RANKS_MAX];
    for (int s = 0; s < step->sources_count; s++) {
        const tern_plan_range *range = &step->operands[s];
        from[s] = input_of(calls, memo, range->rank, run) + range->offset * memo->stride;
    }
    memo->reduce(&address, 1, from, step->sources_count, memo->elements);
}

bool tern__call_quick(tern_comm *comm, uint64_t key, const void *in, void *out, size_t count)
{
    struct tern__calls *calls = tern__handle_lives(comm, TERN__COMM) ? comm->calls : NULL;
    if (calls == NULL || calls->oldest != NULL ||
        tern__flag_load(&comm->group.shared->failed) != TERN__WORKING ||
        tern__peek(&tern__trace_on) != 0) {
        return false;
    }
    const struct tern__memo *memo = tern__memo_of(calls, key, count);
    if (memo->key != key || memo->count != count || !memo->quick ||
        (memo->in_bytes > 0 && in == NULL) || (memo->out_bytes > 0 && out == NULL) ||
        !are_apart(memo, in, out)) {
        return false;
    }
    uint32_t run = calls->published + 1;
    publish(calls, memo, in, run);
    calls->published = run;
    // The record is written while the others' lines are on their way.
    struct tern__record *record =
        tern__record_begin(calls->task.job, (struct tern__beginning){.comm_slot = comm->group.slot,
                                                                     .way = TERN__WAY_SLOT,
                                                                     .sequence = ++calls->made,
                                                                     .signature = memo->signature,
                                                                     .bytes = memo->bytes});
    if (!has_met(calls, memo, run)) {
        calls->handed = true;
        calls->handed_record = record;
        return false;
    }
    const struct tern__script *script = &memo->program->staged;
    const struct tern__step *end = script->lanes_count > 0 ? script->lanes[0].end : script->steps;
    for (const struct tern__step *step = script->steps; step != end; step++) {
        transfer(calls, memo, step, out, run);
    }
    calls->ended = run;
    tern__calls_count(calls, run, 0);
    if (memo->in_bytes > 0) {
        own_ahead(calls, memo, run + 1);
    }
    tern__record_end(record, TERN_OK, 0);
    return true;
}
