// SPDX-License-Identifier: Apache-2.0
// Sums by owners. A part of a column is owned by a machine, or by every machine. The agents of the
// other machines put what they have of it into the scratch of the owner's agent: their raw inputs,
// or their sum. The owner's agent sums all that into the outputs of its machine, and, when it is
// the only owner, puts the result into those of the others.
//
//     one       every machine owns all, raw inputs: one crossing, sums in rank order; small sizes
//     one_sums  every machine owns all, sums: one crossing; the least bytes on two machines
//     two       a part each, sums: two crossings, 2(h-1)/h of the size on each port, which is the
//               least there can be
//     two_raw   a part each, raw inputs: sums in rank order, of any type and wherever the ranks are
//
// What only one rank wants (Reduce in `one`, a share of ReduceScatter in all) is owned by the
// machine of that rank. Right in place: a byte of an output is written by an op that reads all
// inputs of its machine there, or after one that did; what another lane sends of the inputs is told
// to the lane that writes.

#include <stdlib.h>

#include "base/error.h"
#include "coll/machines.h"

// Pieces that an agent sends of what all machines own, all in all.
#define SHARED_PIECES_MAX 64

// An agent, and what it was handed out.
struct side {
    int agent;
    struct tern__at sends, owns, takes; // its lanes; one where there is one piece
    struct tern__pieces pieces;         // of what its machine owns; count 0: nothing
    uint64_t arrive;                    // scratch for what others send
    uint32_t arrived;                   // signals for that, one for each machine
    uint64_t made;                      // scratch for what it sends
    uint64_t mine;                      // scratch for the sum of its own machine, or of all
    uint32_t sent;                      // signal: a piece has been sent
    uint32_t returned;                  // signals for results, one for each owner
};

struct exchange {
    struct tern__spread *machines;
    const struct tern__column *column;
    bool raw;
    bool shared; // every machine owns the whole column
    bool split;  // every machine owns a part
    int count;   // the most pieces of a part
    struct side *sides;
};

static int inputs_sent(const struct exchange *x, int m)
{
    return x->raw ? tern__machine_size(x->machines, m) : 1;
}

// Whether a machine's agent has to put something together before it can send it.
static bool makes(const struct exchange *x, int m)
{
    return tern__machine_size(x->machines, m) > 1;
}

static bool has_piece(const struct exchange *x, int owner, int k)
{
    return k < x->sides[owner].pieces.count;
}

static uint64_t before(const struct tern__pieces *pieces, int k)
{
    return tern__piece_at(pieces, k) - pieces->begin;
}

// Where in the scratch of an owner's agent lies what machine m sends of a piece.
static uint64_t in_arrived(const struct exchange *x, int owner, int m, int k)
{
    const struct side *side = &x->sides[owner];
    uint64_t begin = tern__piece_at(&side->pieces, 0);
    uint64_t length = tern__piece_at(&side->pieces, side->pieces.count) - begin;
    int inputs = 0; // of the machines before, but the owner's
    if (x->raw) {
        const int *first = x->machines->first;
        inputs = first[m] - (m > owner ? tern__machine_size(x->machines, owner) : 0);
    } else {
        inputs = m - (m > owner);
    }
    return side->arrive + length * (uint64_t)inputs +
           before(&side->pieces, k) * (uint64_t)inputs_sent(x, m);
}

// Where an agent keeps what it sends: all pieces of it if they are summed here, too.
static uint64_t in_made(const struct exchange *x, int m, int k)
{
    const struct side *side = &x->sides[m];
    return side->made + (x->shared ? before(&side->pieces, k) * (uint64_t)inputs_sent(x, m) : 0);
}

// Packs or sums a piece of a machine's inputs of a part.
static void make(const struct exchange *x, int m, const struct tern__pieces *pieces, int k)
{
    struct tern__emit *e = x->machines->e;
    const struct side *side = &x->sides[m];
    uint64_t length = tern__piece_length(pieces, k);
    uint64_t offset = tern__piece_at(pieces, k);
    if (!makes(x, m)) {
        return;
    }
    if (!x->raw) {
        tern__machine_inputs(x->machines, m, offset);
        tern__emit_to(e, side->agent, TERN_PLAN_SCRATCH, in_made(x, m, k));
        tern__emit_move(e, side->sends, length);
        return;
    }
    for (int i = 0; i < inputs_sent(x, m); i++) {
        tern__emit_from(e, tern__machine_rank(x->machines, m, i), TERN_PLAN_IN, offset);
        tern__emit_to(e, side->agent, TERN_PLAN_SCRATCH, in_made(x, m, k) + length * (uint64_t)i);
        tern__emit_move(e, side->sends, length);
    }
}

// Each machine begins with the next one, so that no port has to take from all at once.
static void send(const struct exchange *x, int m)
{
    struct tern__emit *e = x->machines->e;
    const struct side *side = &x->sides[m];
    int h = x->machines->count;
    bool sends = false;
    for (int k = 0; k < x->count; k++) {
        if (x->shared) {
            make(x, m, &side->pieces, k);
        }
        for (int step = 1; step < h; step++) {
            int owner = (m + step) % h;
            const struct tern__pieces *pieces = &x->sides[owner].pieces;
            if (!has_piece(x, owner, k)) {
                continue;
            }
            sends = true;
            if (!x->shared) {
                make(x, m, pieces, k);
            }
            if (makes(x, m)) {
                tern__emit_from(e, side->agent, TERN_PLAN_SCRATCH, in_made(x, m, k));
            } else {
                tern__emit_from(e, side->agent, TERN_PLAN_IN, tern__piece_at(pieces, k));
            }
            tern__emit_to(e, x->sides[owner].agent, TERN_PLAN_SCRATCH, in_arrived(x, owner, m, k));
            tern__emit_move(e, side->sends,
                            tern__piece_length(pieces, k) * (uint64_t)inputs_sent(x, m));
            tern__emit_post(e, side->sends, x->sides[owner].agent,
                            x->sides[owner].arrived + (uint32_t)m);
        }
        if (x->shared && side->sends.lane != side->owns.lane) {
            tern__emit_post(e, side->sends, side->agent, side->sent);
        }
    }
    if (sends && side->sends.lane != side->owns.lane) {
        tern__machines_done(x->machines, side->sends);
    }
}

// The sum of the owner's own machine, unless it is at hand.
static void sum_mine(const struct exchange *x, int o, int k)
{
    const struct side *side = &x->sides[o];
    if (!x->raw && !x->shared && makes(x, o)) {
        tern__machine_inputs(x->machines, o, tern__piece_at(&side->pieces, k));
        tern__emit_to(x->machines->e, side->agent, TERN_PLAN_SCRATCH, side->mine);
        tern__emit_move(x->machines->e, side->owns, tern__piece_length(&side->pieces, k));
    }
}

// All terms of a piece as sources: the inputs in rank order, or the sums in that of the machines.
static void terms(const struct exchange *x, int o, int k)
{
    struct tern__emit *e = x->machines->e;
    const struct tern__spread *machines = x->machines;
    const struct side *side = &x->sides[o];
    uint64_t offset = tern__piece_at(&side->pieces, k);
    uint64_t length = tern__piece_length(&side->pieces, k);
    for (int rank = 0; x->raw && rank < e->nranks; rank++) {
        int m = machines->machine[rank];
        if (m == o) {
            tern__emit_from(e, rank, TERN_PLAN_IN, offset);
        } else {
            tern__emit_from(e, side->agent, TERN_PLAN_SCRATCH,
                            in_arrived(x, o, m, k) + length * (uint64_t)machines->index[rank]);
        }
    }
    for (int m = 0; !x->raw && m < machines->count; m++) {
        if (m != o) {
            tern__emit_from(e, side->agent, TERN_PLAN_SCRATCH, in_arrived(x, o, m, k));
        } else if (!makes(x, o)) {
            tern__emit_from(e, side->agent, TERN_PLAN_IN, offset);
        } else {
            tern__emit_from(e, side->agent, TERN_PLAN_SCRATCH,
                            x->shared ? in_made(x, o, k) : side->mine);
        }
    }
}

static void await(const struct exchange *x, int o, int k)
{
    struct tern__emit *e = x->machines->e;
    const struct side *side = &x->sides[o];
    for (int m = 0; m < x->machines->count; m++) {
        if (m != o) {
            tern__emit_wait(e, side->owns, side->arrived + (uint32_t)m, k + 1);
        }
    }
    if (x->shared && side->sends.lane != side->owns.lane) {
        tern__emit_wait(e, side->owns, side->sent, k + 1);
    }
}

// A piece of the result, from the owner to the others.
static void give_back(const struct exchange *x, int o, int k)
{
    struct tern__emit *e = x->machines->e;
    const struct side *side = &x->sides[o];
    uint64_t offset = tern__piece_at(&side->pieces, k);
    int h = x->machines->count;
    for (int step = 1; step < h; step++) {
        const struct side *other = &x->sides[(o + step) % h];
        tern__emit_from(e, side->agent, TERN_PLAN_OUT, offset);
        tern__emit_to(e, other->agent, TERN_PLAN_OUT, offset);
        tern__emit_move(e, side->owns, tern__piece_length(&side->pieces, k));
        tern__emit_post(e, side->owns, other->agent, other->returned + (uint32_t)o);
    }
}

static void own(const struct exchange *x, int o)
{
    struct tern__emit *e = x->machines->e;
    const struct side *side = &x->sides[o];
    int target = x->column->target;
    bool away = target >= 0 && x->machines->machine[target] != o;
    uint32_t signal = away ? tern__machines_signals(x->machines, target, 1) : 0;
    for (int k = 0; k < side->pieces.count; k++) {
        uint64_t offset = tern__piece_at(&side->pieces, k);
        uint64_t length = tern__piece_length(&side->pieces, k);
        sum_mine(x, o, k);
        await(x, o, k);
        terms(x, o, k);
        if (!away) {
            tern__column_outputs(x->machines, x->column, o, offset, -1);
            tern__emit_move(e, side->owns, length);
        } else {
            tern__emit_to(e, side->agent, TERN_PLAN_SCRATCH, side->mine);
            tern__emit_move(e, side->owns, length);
            tern__emit_from(e, side->agent, TERN_PLAN_SCRATCH, side->mine);
            tern__emit_to(e, target, TERN_PLAN_OUT, offset - x->column->shift);
            tern__emit_move(e, side->owns, length);
            tern__emit_post(e, side->owns, target, signal);
        }
        if (x->split && target < 0) {
            give_back(x, o, k);
        }
    }
    if (away) {
        struct tern__at at = {target, tern__machines_lane(x->machines, target), 2};
        tern__emit_wait(e, at, signal, side->pieces.count);
    }
    if (side->owns.lane != side->takes.lane) {
        tern__machines_done(x->machines, side->owns);
    }
}

static void take(const struct exchange *x, int m)
{
    struct tern__emit *e = x->machines->e;
    const struct side *side = &x->sides[m];
    int h = x->machines->count;
    for (int k = 0; k < x->count && x->split && x->column->target < 0; k++) {
        for (int step = 1; step < h; step++) {
            int owner = (m + h - step) % h;
            const struct tern__pieces *pieces = &x->sides[owner].pieces;
            if (has_piece(x, owner, k)) {
                uint64_t offset = tern__piece_at(pieces, k);
                tern__emit_wait(e, side->takes, side->returned + (uint32_t)owner, k + 1);
                tern__emit_from(e, side->agent, TERN_PLAN_OUT, offset);
                tern__column_outputs(x->machines, x->column, m, offset, side->agent);
                tern__emit_move(e, side->takes, tern__piece_length(pieces, k));
            }
        }
    }
    tern__machines_done(x->machines, side->takes);
}

// What a machine owns of the column.
static struct tern__pieces owned(const struct exchange *x, int m)
{
    const struct tern__column *column = x->column;
    uint64_t begin = column->begin;
    uint64_t length = column->length;
    if (x->split) {
        struct tern__slices parts =
            tern__slices_of(column->length, (uint64_t)x->machines->count, x->machines->e->unit);
        begin += tern__slice_begin(&parts, (uint64_t)m);
        length = column->begin + tern__slice_begin(&parts, (uint64_t)m + 1) - begin;
    } else if (!x->shared && x->machines->machine[column->target] != m) {
        length = 0;
    }
    struct tern__pieces pieces = tern__pieces_of(x->machines, begin, length);
    int most = x->shared ? SHARED_PIECES_MAX / (x->machines->count - 1) : pieces.count;
    if (pieces.count > most) {
        pieces = tern__pieces_in(x->machines, begin, length, most > 0 ? most : 1);
    }
    pieces.count = length > 0 ? pieces.count : 0;
    return pieces;
}

// Hands out what the agents need.
static void prepare(struct exchange *x)
{
    struct tern__spread *machines = x->machines;
    uint64_t longest = 0; // piece
    for (int m = 0; m < machines->count; m++) {
        struct side *side = &x->sides[m];
        side->pieces = owned(x, m);
        if (side->pieces.count > 0) {
            uint64_t length = tern__piece_longest(&side->pieces);
            longest = length > longest ? length : longest;
            x->count = side->pieces.count > x->count ? side->pieces.count : x->count;
        }
    }
    for (int m = 0; m < machines->count; m++) {
        struct side *side = &x->sides[m];
        int agent = tern__column_agent(machines, x->column, m);
        int inputs =
            x->raw ? machines->e->nranks - tern__machine_size(machines, m) : machines->count - 1;
        bool owns = side->pieces.count > 0;
        uint64_t bytes = owns ? side->pieces.slices.bytes : 0;
        uint64_t kept = x->shared ? bytes : longest;
        int lane = tern__machines_lane(machines, agent);
        side->agent = agent;
        side->sends = (struct tern__at){agent, lane, 0};
        side->owns = (struct tern__at){agent, lane, 1};
        side->takes = (struct tern__at){agent, lane, 2};
        if (x->count > 1 && owns && (x->shared || x->split)) {
            side->owns.lane = tern__machines_lane(machines, agent);
            side->takes.lane = x->split ? tern__machines_lane(machines, agent) : side->owns.lane;
        }
        side->arrive = tern__machines_scratch(machines, agent, bytes * (uint64_t)inputs);
        side->arrived = tern__machines_signals(machines, agent, owns ? machines->count : 0);
        side->made = tern__machines_scratch(machines, agent,
                                            makes(x, m) ? kept * (uint64_t)inputs_sent(x, m) : 0);
        side->mine = tern__machines_scratch(machines, agent, x->shared ? 0 : longest);
        side->sent = tern__machines_signals(machines, agent, 1);
        side->returned = tern__machines_signals(machines, agent, x->split ? machines->count : 0);
    }
}

static void emit_columns(struct tern__emit *e, bool raw, bool split)
{
    struct tern__spread machines;
    struct tern__column column;
    tern__machines_begin(&machines, e);
    if (split) {
        tern__machines_send_parts(&machines, raw ? machines.largest : 1);
    }
    struct side *sides = calloc((size_t)machines.count, sizeof *sides);
    if (sides == NULL) {
        e->status =
            tern__fail(TERN_ERR_MEMORY, "no memory to plan for %d machines", machines.count);
        return;
    }
    for (int next = 0; tern__column_next(&machines, &next, &column);) {
        struct exchange x = {.machines = &machines,
                             .column = &column,
                             .raw = raw,
                             .shared = !split && column.target < 0,
                             .split = split && e->kind != TERN_PLAN_REDUCE_SCATTER,
                             .sides = sides};
        prepare(&x);
        for (int m = 0; m < machines.count; m++) {
            send(&x, m);
            own(&x, m);
            take(&x, m);
        }
    }
    free(sides);
    tern__machines_finish(&machines);
}

void tern__emit_machines_one(struct tern__emit *e)
{
    emit_columns(e, true, false);
}

void tern__emit_machines_one_sums(struct tern__emit *e)
{
    emit_columns(e, false, false);
}

void tern__emit_machines_two(struct tern__emit *e)
{
    emit_columns(e, false, true);
}

void tern__emit_machines_two_raw(struct tern__emit *e)
{
    emit_columns(e, true, true);
}
