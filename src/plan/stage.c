// SPDX-License-Identifier: Apache-2.0
// The plan with its inputs copied to scratch first, as calls do that copy them into slots: then all
// ranks meet, and the ops read the copies. Nobody but its rank touches an `in`. Set-up path.

#include <stdlib.h>

#include "base/error.h"
#include "base/order.h"
#include "plan/ir.h"
#include "plan/steps.h"

// Stretches of inputs, in the order in which they were found.
struct exposed {
    const tern_plan *plan;
    struct tern__stretch *all;
    size_t count, room;
};

static int expose(struct exposed *exposed, struct tern__stretch stretch)
{
    if (exposed->count == exposed->room) {
        size_t room = exposed->room > 0 ? 2 * exposed->room : 64;
        void *grown = realloc(exposed->all, room * sizeof *exposed->all);
        if (grown == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "no memory for %zu stretches of inputs", room);
        }
        exposed->all = grown;
        exposed->room = room;
    }
    exposed->all[exposed->count++] = stretch;
    return TERN_OK;
}

static int expose_op(void *arg, int rank, int lane, const tern_plan_op *op)
{
    struct exposed *exposed = arg;
    (void)lane;
    for (int i = 0; i < op->sources_count && op->length > 0; i++) {
        const tern_plan_range *range = &op->sources[i];
        if (range->buffer == TERN_PLAN_IN && range->rank != rank) {
            TERN_TRY(expose(exposed, (struct tern__stretch){.rank = range->rank,
                                                            .begin = range->offset,
                                                            .end = range->offset + op->length}));
        }
    }
    return TERN_OK;
}

static int compare(const void *a, const void *b)
{
    const struct tern__stretch *x = a;
    const struct tern__stretch *y = b;
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                              : (x->begin > y->begin) - (x->begin < y->begin);
}

// Makes one of those that overlap or touch.
static size_t merge(struct tern__stretch *all, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct tern__stretch *last = &all[kept > 0 ? kept - 1 : 0];
        if (kept > 0 && last->rank == all[i].rank && last->end >= all[i].begin) {
            last->end = all[i].end > last->end ? all[i].end : last->end;
        } else {
            all[kept++] = all[i];
        }
    }
    return kept;
}

int tern__plan_exposed(const tern_plan *plan, struct tern__stretch **stretches, size_t *count)
{
    struct exposed exposed = {.plan = plan};
    int status = tern__plan_visit(plan, expose_op, &exposed);
    if (status != TERN_OK) {
        free(exposed.all);
        return status;
    }
    if (exposed.count > 0) {
        qsort(exposed.all, exposed.count, sizeof *exposed.all, compare);
    }
    *stretches = exposed.all;
    *count = merge(exposed.all, exposed.count);
    return TERN_OK;
}

struct staging {
    const tern_plan *plan;
    const struct tern__staging *how;
    tern_plan *built;
    uint32_t met, ended;     // signals: all have copied; a lane has ended
    uint64_t scratch_at;     // where the plan's scratch begins, behind the copies of inputs
    uint64_t out_at;         // and out, behind that
    tern_plan_range *ranges; // of an op
};

static int add_copy(const struct staging *s, int rank, int round, tern_plan_range from,
                    tern_plan_range to, uint64_t length)
{
    tern_plan_op op = {.kind = TERN_PLAN_COPY,
                       .round = round,
                       .length = length,
                       .sources = &from,
                       .sources_count = 1,
                       .destinations = &to,
                       .destinations_count = 1};
    return length > 0 ? tern_plan_add(s->built, rank, 0, &op) : TERN_OK;
}

static int add_post(const struct staging *s, int rank, int lane, int peer, uint32_t signal)
{
    tern_plan_op op = {.kind = TERN_PLAN_POST, .peer = peer, .signal = signal};
    return tern_plan_add(s->built, rank, lane, &op);
}

static int add_wait(const struct staging *s, int rank, int lane, uint32_t signal, int count)
{
    tern_plan_op op = {.kind = TERN_PLAN_WAIT, .signal = signal, .count = (uint32_t)count};
    return count > 0 ? tern_plan_add(s->built, rank, lane, &op) : TERN_OK;
}

static tern_plan_range at(int rank, tern_plan_buffer buffer, uint64_t offset)
{
    return (tern_plan_range){.offset = offset, .rank = (uint16_t)rank, .buffer = (uint16_t)buffer};
}

static int copy_in(const struct staging *s, int rank, uint64_t begin, uint64_t end)
{
    return add_copy(s, rank, 0, at(rank, TERN_PLAN_IN, begin), at(rank, TERN_PLAN_SCRATCH, begin),
                    end - begin);
}

static int copy_inputs(const struct staging *s)
{
    struct tern__stretch *stretches = NULL;
    size_t count = 0;
    int status = TERN_OK;
    uint64_t bytes = tern_plan_buffer_bytes(s->plan, TERN_PLAN_IN);
    if (!s->how->own_in) {
        for (int rank = 0; rank < s->plan->spec.nranks && status == TERN_OK; rank++) {
            bool has = tern__plan_has_buffer(s->plan, rank, TERN_PLAN_IN);
            status = has ? copy_in(s, rank, 0, bytes) : TERN_OK;
        }
        return status;
    }
    TERN_TRY(tern__plan_exposed(s->plan, &stretches, &count));
    for (size_t i = 0; i < count && status == TERN_OK; i++) {
        status = copy_in(s, stretches[i].rank, stretches[i].begin, stretches[i].end);
    }
    free(stretches);
    return status;
}

// All ranks tell each other that they have copied, and each lane waits for that; lanes but the
// first one, which copies, for their own rank too.
static int meet(const struct staging *s)
{
    int n = s->plan->spec.nranks;
    for (int rank = 0; rank < n; rank++) {
        int lanes = s->plan->ranks[rank].lanes_count;
        bool own = lanes > 1;
        for (int step = own ? 0 : 1; step < n; step++) {
            TERN_TRY(add_post(s, rank, 0, (rank + step) % n, s->met));
        }
        for (int lane = 0; lane == 0 || lane < lanes; lane++) {
            TERN_TRY(add_wait(s, rank, lane, s->met, own ? n : n - 1));
        }
    }
    return TERN_OK;
}

static tern_plan_range move_range(const struct staging *s, int rank, tern_plan_range range)
{
    if (range.buffer == TERN_PLAN_SCRATCH) {
        range.offset += s->scratch_at;
    } else if (range.buffer == TERN_PLAN_OUT && s->how->out) {
        range.offset += s->out_at;
        range.buffer = TERN_PLAN_SCRATCH;
    } else if (range.buffer == TERN_PLAN_IN && !(s->how->own_in && range.rank == rank)) {
        range.buffer = TERN_PLAN_SCRATCH;
    }
    return range;
}

static int stage_op(void *arg, int rank, int lane, const tern_plan_op *op)
{
    const struct staging *s = arg;
    tern_plan_op moved = *op;
    moved.round++;
    for (int i = 0; i < op->sources_count; i++) {
        s->ranges[i] = move_range(s, rank, op->sources[i]);
    }
    for (int i = 0; i < op->destinations_count; i++) {
        s->ranges[op->sources_count + i] = move_range(s, rank, op->destinations[i]);
    }
    moved.sources = s->ranges;
    moved.destinations = s->ranges + op->sources_count;
    return tern_plan_add(s->built, rank, lane, &moved);
}

// When all lanes of a rank have ended, nobody touches its `out` in scratch any more.
static int copy_outputs(const struct staging *s)
{
    int round = s->plan->rounds + 1;
    uint64_t bytes = tern_plan_buffer_bytes(s->plan, TERN_PLAN_OUT);
    for (int rank = 0; rank < s->plan->spec.nranks && s->how->out; rank++) {
        int lanes = s->plan->ranks[rank].lanes_count;
        for (int lane = 1; lane < lanes; lane++) {
            TERN_TRY(add_post(s, rank, lane, rank, s->ended));
        }
        TERN_TRY(add_wait(s, rank, 0, s->ended, lanes - 1));
        if (tern__plan_has_buffer(s->plan, rank, TERN_PLAN_OUT)) {
            TERN_TRY(add_copy(s, rank, round, at(rank, TERN_PLAN_SCRATCH, s->out_at),
                              at(rank, TERN_PLAN_OUT, 0), bytes));
        }
    }
    return TERN_OK;
}

// What lies in scratch begins at a cache line, as in slots.
static uint64_t round_line(uint64_t bytes)
{
    return (bytes + TERN_CACHE_LINE - 1) / TERN_CACHE_LINE * TERN_CACHE_LINE;
}

static int build(struct staging *s, tern_plan **made)
{
    tern_plan_spec spec = s->plan->spec;
    spec.slots = spec.slots != 0 ? TERN_PLAN_SCRATCH_SLOTS : 0; // where the copies are
    s->scratch_at = round_line(tern_plan_buffer_bytes(s->plan, TERN_PLAN_IN));
    s->out_at = s->scratch_at + round_line(s->plan->scratch_bytes);
    uint64_t end = s->how->out ? s->out_at + tern_plan_buffer_bytes(s->plan, TERN_PLAN_OUT)
                               : s->scratch_at + s->plan->scratch_bytes;
    TERN_TRY(tern_plan_create(&spec, &s->built));
    int status = tern_plan_need_scratch(s->built, end);
    status = status == TERN_OK ? copy_inputs(s) : status;
    status = status == TERN_OK ? meet(s) : status;
    status = status == TERN_OK ? tern__plan_visit(s->plan, stage_op, s) : status;
    status = status == TERN_OK ? copy_outputs(s) : status;
    return tern__plan_finish(status, s->built, made);
}

int tern__plan_stage(const tern_plan *sealed, const struct tern__staging *how, tern_plan **made)
{
    struct staging s = {.plan = sealed,
                        .how = how,
                        .met = tern__plan_signals(sealed),
                        .ranges = calloc(TERN_PLAN_OPERANDS_MAX, sizeof *s.ranges)};
    s.ended = s.met + 1;
    if (s.ranges == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory to stage a plan");
    }
    int status = build(&s, made);
    free(s.ranges);
    return status;
}
