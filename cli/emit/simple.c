// SPDX-License-Identifier: Apache-2.0
// The same collective with ops that executors can do (express.c), from a plan of one lane a rank.
// Scratch holds a copy of `in`, then `out`, the plan's own scratch, and room for a sum; nobody
// touches `in` and `out` of another rank. In the beginning every rank copies its input and posts to
// those that touch its memory; at the end it copies its output. An op of many operands becomes one
// after the other, a signal that counts one signal for each post. The sums keep their order, but
// are rounded after each term. The caller proves the result.

#include <stdio.h>
#include <stdlib.h>

#include "emit/emit.h"

#define OPS_MAX 20000

// A post that has become a signal of its own.
struct post {
    uint32_t signal, number; // of the plan, and of the new one
    int poster;
    bool awaited, taken;
};

struct simple {
    const tern_plan *plan;
    tern_plan *made;
    struct emit_refusal *refusal;
    int n;
    uint64_t starts[3], sum; // where in, out and scratch begin in the new scratch; and the sum
    bool *touches;           // [a * n + b]: rank a touches the memory of rank b
    struct post **posts;     // to each rank, by poster and place
    size_t *counts;
    int rank; // that is being made
};

typedef bool visit_fn(struct simple *simple, int rank, size_t index, const tern_plan_op *op);

static bool for_all(struct simple *simple, int rank, visit_fn *visit)
{
    size_t count = tern_plan_lane_count(simple->plan, rank) > 0
                       ? tern_plan_op_count(simple->plan, rank, 0)
                       : 0;
    for (size_t i = 0; i < count; i++) {
        tern_plan_op op;
        if (tern_plan_get_op(simple->plan, rank, 0, i, &op) != TERN_OK ||
            !visit(simple, rank, i, &op)) {
            return false;
        }
    }
    return true;
}

static bool look(struct simple *simple, int rank, size_t index, const tern_plan_op *op)
{
    bool *touches = &simple->touches[(size_t)rank * (size_t)simple->n];
    (void)index;
    for (int i = 0; op->length > 0 && i < op->sources_count; i++) {
        touches[op->sources[i].rank] = true;
    }
    for (int i = 0; op->length > 0 && i < op->destinations_count; i++) {
        touches[op->destinations[i].rank] = true;
    }
    if (op->kind == TERN_PLAN_POST) {
        size_t at = simple->counts[op->peer]++;
        struct post *more =
            realloc(simple->posts[op->peer], simple->counts[op->peer] * sizeof *more);
        if (more == NULL) {
            return false;
        }
        more[at] = (struct post){.signal = op->signal,
                                 .number = (uint32_t)((size_t)simple->n + at),
                                 .poster = rank};
        simple->posts[op->peer] = more;
    }
    return true;
}

// The posts that a wait is for. Those of one rank come in their order; of several all must come.
static bool mark(struct simple *simple, int rank, size_t index, const tern_plan_op *op)
{
    if (op->kind != TERN_PLAN_WAIT) {
        return true;
    }
    uint32_t seen = 0;
    bool several = false;
    int poster = -1;
    for (size_t i = 0; i < simple->counts[rank]; i++) {
        struct post *post = &simple->posts[rank][i];
        if (post->signal == op->signal) {
            several = several || (poster >= 0 && poster != post->poster);
            poster = post->poster;
            post->awaited = post->awaited || seen < op->count;
            seen++;
        }
    }
    return seen >= op->count && (!several || seen == op->count)
               ? true
               : emit_refuse(simple->refusal, rank, 0, index, op,
                             "it waits for %u of %u posts of several ranks; which ones?", op->count,
                             seen);
}

static tern_plan_range moved(const struct simple *simple, tern_plan_range range)
{
    range.offset += simple->starts[range.buffer];
    range.buffer = TERN_PLAN_SCRATCH;
    return range;
}

static bool add(struct simple *simple, const tern_plan_op *op)
{
    return tern_plan_add(simple->made, simple->rank, 0, op) == TERN_OK;
}

static bool add_copy(struct simple *simple, int round, tern_plan_range from, tern_plan_range to,
                     uint64_t length)
{
    tern_plan_op op = {.kind = TERN_PLAN_COPY,
                       .round = round,
                       .length = length,
                       .sources = &from,
                       .sources_count = 1,
                       .destinations = &to,
                       .destinations_count = 1};
    return add(simple, &op);
}

static bool is_same(tern_plan_range a, tern_plan_range b)
{
    return a.rank == b.rank && a.buffer == b.buffer && a.offset == b.offset;
}

// Where a transfer can collect what it moves: a destination of the rank itself that is no later
// source, or the room for a sum.
static tern_plan_range collector(const struct simple *simple, const tern_plan_op *op)
{
    for (int d = 0; d < op->destinations_count; d++) {
        bool free = op->destinations[d].rank == simple->rank;
        for (int s = 1; s < op->sources_count; s++) {
            free = free && !is_same(op->sources[s], op->destinations[d]);
        }
        if (free) {
            return moved(simple, op->destinations[d]);
        }
    }
    return (tern_plan_range){.offset = simple->sum,
                             .rank = (uint16_t)simple->rank,
                             .buffer = TERN_PLAN_SCRATCH};
}

static bool add_atomic(struct simple *simple, const tern_plan_op *op)
{
    for (int d = 0; d < op->destinations_count; d++) {
        for (int s = 0; s < op->sources_count; s++) {
            tern_plan_range from = moved(simple, op->sources[s]);
            tern_plan_range to = moved(simple, op->destinations[d]);
            tern_plan_op one = *op;
            one.sources = &from;
            one.destinations = &to;
            one.sources_count = one.destinations_count = 1;
            if (!add(simple, &one)) {
                return false;
            }
        }
    }
    return true;
}

static bool add_transfer(struct simple *simple, const tern_plan_op *op)
{
    tern_plan_range first = moved(simple, op->sources[0]);
    bool own = first.rank == simple->rank;
    tern_plan_range at = op->kind == TERN_PLAN_COPY && own ? first : collector(simple, op);
    bool good = is_same(first, at) || add_copy(simple, op->round, first, at, op->length);
    for (int s = 1; good && s < op->sources_count; s++) {
        tern_plan_range terms[] = {at, moved(simple, op->sources[s])};
        tern_plan_op one = {.kind = TERN_PLAN_REDUCE,
                            .round = op->round,
                            .length = op->length,
                            .sources = terms,
                            .sources_count = 2,
                            .destinations = &at,
                            .destinations_count = 1};
        good = add(simple, &one);
    }
    for (int d = 0; good && d < op->destinations_count; d++) {
        tern_plan_range to = moved(simple, op->destinations[d]);
        good = is_same(at, to) || add_copy(simple, op->round, at, to, op->length);
    }
    return good;
}

// The next of the rank's posts to a signal, as the signal that it has become.
static bool add_post(struct simple *simple, const tern_plan_op *op)
{
    for (size_t i = 0; i < simple->counts[op->peer]; i++) {
        struct post *post = &simple->posts[op->peer][i];
        if (post->poster == simple->rank && post->signal == op->signal && !post->taken) {
            post->taken = true;
            tern_plan_op one = *op;
            one.signal = post->number;
            return !post->awaited || add(simple, &one); // else the bit would stay set
        }
    }
    return false;
}

static bool add_waits(struct simple *simple, const tern_plan_op *op, bool *done)
{
    uint32_t seen = 0;
    for (size_t i = 0; i < simple->counts[simple->rank]; i++) {
        const struct post *post = &simple->posts[simple->rank][i];
        if (post->signal != op->signal || seen++ >= op->count || done[i]) {
            continue;
        }
        done[i] = true;
        tern_plan_op one = *op;
        one.signal = post->number;
        one.count = 1;
        if (!add(simple, &one)) {
            return false;
        }
    }
    return true;
}

static bool add_ops(struct simple *simple, bool *done)
{
    size_t count = tern_plan_lane_count(simple->plan, simple->rank) > 0
                       ? tern_plan_op_count(simple->plan, simple->rank, 0)
                       : 0;
    for (size_t i = 0; i < count; i++) {
        tern_plan_op op;
        bool good = tern_plan_get_op(simple->plan, simple->rank, 0, i, &op) == TERN_OK;
        good = good && (op.kind == TERN_PLAN_POST            ? add_post(simple, &op)
                        : op.kind == TERN_PLAN_WAIT          ? add_waits(simple, &op, done)
                        : (op.flags & TERN_PLAN_ATOMIC) != 0 ? add_atomic(simple, &op)
                                                             : add_transfer(simple, &op));
        if (!good) {
            return false;
        }
    }
    return true;
}

// Of whole buffers, between `in` or `out` and their place in scratch.
static bool add_staging(struct simple *simple, tern_plan_buffer buffer)
{
    tern_plan_range user = {.rank = (uint16_t)simple->rank, .buffer = (uint16_t)buffer};
    tern_plan_range copy = moved(simple, user);
    uint64_t bytes = tern_plan_buffer_bytes(simple->plan, buffer);
    return buffer == TERN_PLAN_IN ? add_copy(simple, 0, user, copy, bytes)
                                  : add_copy(simple, 0, copy, user, bytes);
}

// All ranks that touch this one may from here on; and this one waits for those that it touches.
static bool add_meeting(struct simple *simple)
{
    for (int peer = 0; peer < simple->n; peer++) {
        tern_plan_op post = {.kind = TERN_PLAN_POST,
                             .peer = peer,
                             .signal = (uint32_t)simple->rank};
        if (peer != simple->rank && simple->touches[peer * simple->n + simple->rank] &&
            !add(simple, &post)) {
            return false;
        }
    }
    for (int peer = 0; peer < simple->n; peer++) {
        tern_plan_op wait = {.kind = TERN_PLAN_WAIT, .signal = (uint32_t)peer, .count = 1};
        if (peer != simple->rank && simple->touches[simple->rank * simple->n + peer] &&
            !add(simple, &wait)) {
            return false;
        }
    }
    return true;
}

static bool make_rank(struct simple *simple)
{
    bool *done = calloc(simple->counts[simple->rank] + 1, sizeof *done);
    bool good = done != NULL && add_staging(simple, TERN_PLAN_IN) && add_meeting(simple) &&
                add_ops(simple, done) && add_staging(simple, TERN_PLAN_OUT);
    free(done);
    return good;
}

static bool make(struct simple *simple)
{
    tern_plan_spec spec = *tern_plan_get_spec(simple->plan);
    uint64_t in = tern_plan_buffer_bytes(simple->plan, TERN_PLAN_IN);
    uint64_t out = tern_plan_buffer_bytes(simple->plan, TERN_PLAN_OUT);
    uint64_t scratch = tern_plan_buffer_bytes(simple->plan, TERN_PLAN_SCRATCH);
    uint64_t most = in > out ? in : out;
    simple->starts[TERN_PLAN_OUT] = in;
    simple->starts[TERN_PLAN_SCRATCH] = in + out;
    simple->sum = in + out + scratch;
    if (tern_plan_create(&spec, &simple->made) != TERN_OK ||
        tern_plan_need_scratch(simple->made, simple->sum + (scratch > most ? scratch : most)) !=
            TERN_OK) {
        return false;
    }
    for (simple->rank = 0; simple->rank < simple->n; simple->rank++) {
        if (!make_rank(simple)) {
            return false;
        }
    }
    return tern_plan_seal(simple->made) == TERN_OK;
}

static bool judge(const struct simple *simple)
{
    const tern_plan_spec *spec = tern_plan_get_spec(simple->plan);
    bool rooted = spec->kind != TERN_PLAN_ALL_REDUCE && spec->kind != TERN_PLAN_REDUCE_SCATTER &&
                  spec->kind != TERN_PLAN_ALL_GATHER && spec->kind != TERN_PLAN_ALL_TO_ALL;
    bool lanes = false;
    for (int rank = 0; rank < simple->n; rank++) {
        lanes = lanes || tern_plan_lane_count(simple->plan, rank) > 1;
    }
    const char *why = rooted             ? "not all ranks have an input and an output"
                      : spec->slots != 0 ? "its buffers lie in slots"
                      : lanes            ? "a rank has several lanes"
                      : tern_plan_total_ops(simple->plan) > OPS_MAX ? "it has very many ops"
                                                                    : NULL;
    if (why != NULL) {
        snprintf(simple->refusal->text, sizeof simple->refusal->text, "%s", why);
    }
    return why == NULL;
}

int emit_simplify(const tern_plan *plan, tern_plan **made, struct emit_refusal *refusal)
{
    struct simple simple = {.plan = plan,
                            .refusal = refusal,
                            .n = tern_plan_get_spec(plan)->nranks};
    size_t n = (size_t)simple.n;
    refusal->text[0] = '\0';
    simple.touches = calloc(n * n, sizeof *simple.touches);
    simple.posts = calloc(n, sizeof *simple.posts);
    simple.counts = calloc(n, sizeof *simple.counts);
    bool good =
        simple.touches != NULL && simple.posts != NULL && simple.counts != NULL && judge(&simple);
    for (int rank = 0; good && rank < simple.n; rank++) {
        good = for_all(&simple, rank, look);
    }
    for (int rank = 0; good && rank < simple.n; rank++) {
        good = for_all(&simple, rank, mark);
    }
    good = good && make(&simple);
    for (size_t rank = 0; simple.posts != NULL && rank < n; rank++) {
        free(simple.posts[rank]);
    }
    free((void *)simple.posts);
    free(simple.touches);
    free(simple.counts);
    if (!good) {
        if (refusal->text[0] == '\0') {
            snprintf(refusal->text, sizeof refusal->text, "%s", tern_last_error());
        }
        tern_plan_destroy(simple.made);
        return -1;
    }
    *made = simple.made;
    return 0;
}
