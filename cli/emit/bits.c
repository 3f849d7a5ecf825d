// SPDX-License-Identifier: Apache-2.0
// From signals that count to notifies of one bit. A signal that is posted once and waited for once
// is one use of a bit; a bit has many uses, one after the other. The plan is run once in any order,
// with vector clocks (Mattern, Fidge): an op of a lane knows how many ops of every other lane must
// be over. Use k + 1 of a bit is right when its post and its wait both know that the wait of use k
// is over; else the post may be lost, or the wait may take the post of use k.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"

#define CLOCKS_MAX ((size_t)1 << 26) // entries: 256 MiB
#define NOTIFIES_TRIED 64            // of a rank, before it gets another one

enum { ACK, DATA, LINK_BITS };

// An op by the number that runs over all ranks and lanes; NONE: no op.
#define NONE SIZE_MAX

struct signal {
    size_t post, wait;
};

// A bit: its last use.
struct bit {
    size_t wait;
};

struct pool {
    struct bit *bits;
    uint32_t count, next;
};

struct state {
    const tern_plan *plan;
    struct emit_bits *bits;
    struct emit_refusal *refusal;
    int n;
    size_t lanes, ops;
    int *rank_of;            // of a lane
    struct signal **signals; // by rank and number
    uint32_t *clocks;        // by lane: ops of each lane that must be over
    uint32_t **known;        // by op, of posts and waits: the same, before it
    uint32_t *position;      // by lane
    size_t *done;            // by rank: its ops that have been run
    size_t *sequence, posts; // posts in the order of the run
    struct pool *links;      // by poster and owner
    struct pool *locals;     // by rank
};

static int lane_number(const struct state *state, size_t lane)
{
    return (int)(lane - state->bits->lane_first[state->rank_of[lane]]);
}

static bool get_op(const struct state *state, size_t lane, size_t index, tern_plan_op *op)
{
    return tern_plan_get_op(state->plan, state->rank_of[lane], lane_number(state, lane), index,
                            op) == TERN_OK;
}

static bool refuse(const struct state *state, size_t number, const tern_plan_op *op,
                   const char *why)
{
    size_t lane = state->bits->lane_of[number];
    return emit_refuse(state->refusal, state->rank_of[lane], lane_number(state, lane),
                       number - state->bits->op_first[lane], op, "%s", why);
}

static bool no_memory(const struct state *state)
{
    snprintf(state->refusal->text, sizeof state->refusal->text,
             "its order takes too much memory to look at");
    return false;
}

static bool make_lanes(struct state *state)
{
    struct emit_bits *bits = state->bits;
    bits->lane_first = calloc((size_t)state->n + 1, sizeof *bits->lane_first);
    if (bits->lane_first == NULL) {
        return no_memory(state);
    }
    for (int rank = 0; rank < state->n; rank++) {
        state->lanes += (size_t)tern_plan_lane_count(state->plan, rank);
        bits->lane_first[rank + 1] = state->lanes;
    }
    bits->op_first = calloc(state->lanes + 1, sizeof *bits->op_first);
    state->rank_of = calloc(state->lanes + 1, sizeof *state->rank_of);
    state->position = calloc(state->lanes + 1, sizeof *state->position);
    if (bits->op_first == NULL || state->rank_of == NULL || state->position == NULL) {
        return no_memory(state);
    }
    for (int rank = 0; rank < state->n; rank++) {
        for (size_t lane = bits->lane_first[rank]; lane < bits->lane_first[rank + 1]; lane++) {
            state->rank_of[lane] = rank;
            state->ops += tern_plan_op_count(state->plan, rank, lane_number(state, lane));
            bits->op_first[lane + 1] = state->ops;
        }
    }
    return true;
}

static bool make_tables(struct state *state)
{
    size_t n = (size_t)state->n;
    if (state->lanes > 0 && state->ops > CLOCKS_MAX / state->lanes) {
        return no_memory(state);
    }
    state->bits->bits = calloc(state->ops + 1, sizeof *state->bits->bits);
    state->bits->peers = calloc(state->ops + 1, sizeof *state->bits->peers);
    state->bits->lane_of = calloc(state->ops + 1, sizeof *state->bits->lane_of);
    state->known = calloc(state->ops + 1, sizeof *state->known);
    state->bits->order = calloc(state->ops + 1, sizeof *state->bits->order);
    state->done = calloc(n, sizeof *state->done);
    state->sequence = calloc(state->ops + 1, sizeof *state->sequence);
    state->clocks = calloc(state->lanes * state->lanes + 1, sizeof *state->clocks);
    state->signals = calloc(n, sizeof *state->signals);
    state->links = calloc(n * n, sizeof *state->links);
    state->locals = calloc(n, sizeof *state->locals);
    bool good = state->bits->bits != NULL && state->bits->peers != NULL &&
                state->bits->lane_of != NULL && state->bits->order != NULL && state->done != NULL &&
                state->known != NULL && state->sequence != NULL && state->clocks != NULL &&
                state->signals != NULL && state->links != NULL && state->locals != NULL;
    for (int rank = 0; good && rank < state->n; rank++) {
        size_t signals = tern_plan_signal_count(state->plan, rank) + (size_t)1;
        state->signals[rank] = malloc(signals * sizeof **state->signals);
        good = state->signals[rank] != NULL;
        for (size_t i = 0; good && i < signals; i++) {
            state->signals[rank][i] = (struct signal){NONE, NONE};
        }
    }
    for (size_t lane = 0; good && lane < state->lanes; lane++) {
        for (size_t i = state->bits->op_first[lane]; i < state->bits->op_first[lane + 1]; i++) {
            state->bits->lane_of[i] = lane;
        }
    }
    return good || no_memory(state);
}

// The post and the wait of every signal.
static bool find_signals(struct state *state)
{
    for (size_t number = 0; number < state->ops; number++) {
        size_t lane = state->bits->lane_of[number];
        tern_plan_op op;
        if (!get_op(state, lane, number - state->bits->op_first[lane], &op)) {
            return no_memory(state);
        }
        bool post = op.kind == TERN_PLAN_POST;
        if (!post && op.kind != TERN_PLAN_WAIT) {
            continue;
        }
        struct signal *signal = &state->signals[post ? op.peer : state->rank_of[lane]][op.signal];
        size_t *place = post ? &signal->post : &signal->wait;
        if (*place != NONE) {
            return refuse(state, number, &op,
                          post ? "its signal is posted more than once, and a notify has one bit"
                               : "its signal is waited for more than once; that takes the bit");
        }
        if (!post && op.count != 1) {
            return refuse(state, number, &op, "it waits for several posts; a notify has one bit");
        }
        *place = number;
    }
    return true;
}

static bool keep_clock(struct state *state, size_t lane, size_t number)
{
    uint32_t *clock = malloc(state->lanes * sizeof *clock);
    state->known[number] = clock;
    if (clock == NULL) {
        return false;
    }
    memcpy(clock, &state->clocks[lane * state->lanes], state->lanes * sizeof *clock);
    clock[lane] = state->position[lane];
    return true;
}

// What a wait learns of its post: all that is before it, and itself.
static void learn(struct state *state, size_t lane, size_t post)
{
    size_t from = state->bits->lane_of[post];
    uint32_t *clock = &state->clocks[lane * state->lanes];
    for (size_t i = 0; i < state->lanes; i++) {
        clock[i] = state->known[post][i] > clock[i] ? state->known[post][i] : clock[i];
    }
    uint32_t done = (uint32_t)(post - state->bits->op_first[from]) + 1;
    clock[from] = done > clock[from] ? done : clock[from];
}

// Whether something of a rank must be over before the next op of a lane.
static bool has_begun(const struct state *state, size_t lane, int rank)
{
    const uint32_t *clock = &state->clocks[lane * state->lanes];
    for (size_t i = state->bits->lane_first[rank]; i < state->bits->lane_first[rank + 1]; i++) {
        if (clock[i] > 0) {
            return true;
        }
    }
    return false;
}

static void look_at_transfer(struct state *state, size_t lane, const tern_plan_op *op)
{
    int rank = state->rank_of[lane];
    for (int i = 0; op->length > 0 && i < op->sources_count + op->destinations_count; i++) {
        const tern_plan_range *range =
            i < op->sources_count ? &op->sources[i] : &op->destinations[i - op->sources_count];
        if (range->rank == rank || has_begun(state, lane, range->rank)) {
            continue;
        }
        if (state->bits->early++ == 0) {
            emit_refuse(&state->bits->first_early, rank, lane_number(state, lane),
                        state->position[lane], op, "nothing says that rank %u has begun",
                        range->rank);
        }
        return;
    }
}

// Runs a lane as far as it goes; false without memory. *moved becomes true when it was anything.
static bool run_lane(struct state *state, size_t lane, bool *moved)
{
    size_t first = state->bits->op_first[lane];
    size_t count = state->bits->op_first[lane + 1] - first;
    for (; state->position[lane] < count; state->position[lane]++) {
        size_t number = first + state->position[lane];
        tern_plan_op op;
        if (!get_op(state, lane, state->position[lane], &op)) {
            return false;
        }
        size_t post =
            op.kind == TERN_PLAN_WAIT ? state->signals[state->rank_of[lane]][op.signal].post : NONE;
        if (op.kind == TERN_PLAN_WAIT && (post == NONE || state->known[post] == NULL)) {
            break;
        }
        if (op.kind == TERN_PLAN_COPY || op.kind == TERN_PLAN_REDUCE) {
            look_at_transfer(state, lane, &op);
        }
        bool signals = op.kind == TERN_PLAN_WAIT || op.kind == TERN_PLAN_POST;
        if (signals && !keep_clock(state, lane, number)) {
            return false;
        }
        int rank = state->rank_of[lane];
        size_t first_op = state->bits->op_first[state->bits->lane_first[rank]];
        state->bits->order[first_op + state->done[rank]++] = number;
        if (op.kind == TERN_PLAN_POST) {
            state->sequence[state->posts++] = number;
        } else if (op.kind == TERN_PLAN_WAIT) {
            learn(state, lane, post);
        }
        *moved = true;
    }
    return true;
}

static bool run(struct state *state)
{
    bool moved = true;
    while (moved) {
        moved = false;
        for (size_t lane = 0; lane < state->lanes; lane++) {
            if (!run_lane(state, lane, &moved)) {
                return no_memory(state);
            }
        }
    }
    for (size_t lane = 0; lane < state->lanes; lane++) {
        size_t number = state->bits->op_first[lane] + state->position[lane];
        tern_plan_op op;
        if (number < state->bits->op_first[lane + 1] &&
            get_op(state, lane, state->position[lane], &op)) {
            return refuse(state, number, &op, "it never ends; 'tern check' says why");
        }
    }
    return true;
}

static bool is_over(const struct state *state, size_t wait, size_t before)
{
    size_t lane = state->bits->lane_of[wait];
    return state->known[before][lane] > wait - state->bits->op_first[lane];
}

// A bit of a pool that is free for this signal, in turn; the number of bits when there is none.
static uint32_t find_bit(const struct state *state, const struct pool *pool,
                         const struct signal *signal)
{
    for (uint32_t i = 0; i < pool->count && i < NOTIFIES_TRIED; i++) {
        uint32_t at = (pool->next + i) % pool->count;
        size_t wait = pool->bits[at].wait;
        if (wait == NONE ||
            (is_over(state, wait, signal->post) && is_over(state, wait, signal->wait))) {
            return at;
        }
    }
    return pool->count;
}

static bool add_bit(struct pool *pool)
{
    struct bit *more = realloc(pool->bits, (pool->count + (size_t)1) * sizeof *more);
    if (more != NULL) {
        pool->bits = more;
        pool->bits[pool->count++].wait = NONE;
    }
    return more != NULL;
}

static bool assign(struct state *state, size_t post)
{
    size_t lane = state->bits->lane_of[post];
    int rank = state->rank_of[lane];
    tern_plan_op op;
    if (!get_op(state, lane, post - state->bits->op_first[lane], &op)) {
        return no_memory(state);
    }
    const struct signal *signal = &state->signals[op.peer][op.signal];
    if (signal->wait == NONE) {
        return refuse(state, post, &op, "nobody waits for it; the bit would stay set");
    }
    bool local = op.peer == rank;
    struct pool *pool = local ? &state->locals[rank]
                              : &state->links[(size_t)rank * (size_t)state->n + (size_t)op.peer];
    while (!local && pool->count < LINK_BITS) {
        if (!add_bit(pool)) {
            return no_memory(state);
        }
    }
    uint32_t bit = find_bit(state, pool, signal);
    if (bit == pool->count && !local) {
        return refuse(state, post, &op,
                      "both bits of its link, Ack and DataSignal, may still be set or awaited");
    }
    if (bit == pool->count && !add_bit(pool)) {
        return no_memory(state);
    }
    pool->bits[bit].wait = signal->wait;
    pool->next = (bit + 1) % pool->count;
    state->bits->bits[post] = state->bits->bits[signal->wait] = bit;
    state->bits->peers[post] = (uint16_t)op.peer;
    state->bits->peers[signal->wait] = (uint16_t)rank;
    return true;
}

static bool assign_all(struct state *state)
{
    for (size_t i = 0; i < state->posts; i++) {
        if (!assign(state, state->sequence[i])) {
            return false;
        }
    }
    for (int rank = 0; rank < state->n; rank++) {
        uint32_t count = state->locals[rank].count;
        state->bits->notifies = count > state->bits->notifies ? count : state->bits->notifies;
    }
    return true;
}

static void free_state(struct state *state)
{
    for (size_t i = 0; state->known != NULL && i < state->ops; i++) {
        free(state->known[i]);
    }
    for (int rank = 0; rank < state->n; rank++) {
        free(state->signals != NULL ? state->signals[rank] : NULL);
        free(state->locals != NULL ? state->locals[rank].bits : NULL);
        for (int peer = 0; state->links != NULL && peer < state->n; peer++) {
            free(state->links[rank * state->n + peer].bits);
        }
    }
    free((void *)state->known);
    free((void *)state->signals);
    free(state->locals);
    free(state->links);
    free(state->rank_of);
    free(state->clocks);
    free(state->position);
    free(state->sequence);
    free(state->done);
}

bool emit_bits_make(const tern_plan *plan, struct emit_bits *bits, struct emit_refusal *refusal)
{
    *bits = (struct emit_bits){0};
    struct state state = {.plan = plan,
                          .bits = bits,
                          .refusal = refusal,
                          .n = tern_plan_get_spec(plan)->nranks};
    bool good = make_lanes(&state) && make_tables(&state) && find_signals(&state) && run(&state) &&
                assign_all(&state);
    free_state(&state);
    return good;
}

void emit_bits_free(struct emit_bits *bits)
{
    free(bits->lane_first);
    free(bits->op_first);
    free(bits->bits);
    free(bits->peers);
    free(bits->lane_of);
    free(bits->order);
}
