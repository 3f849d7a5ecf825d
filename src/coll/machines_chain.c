// SPDX-License-Identifier: Apache-2.0
// Sums that pass the machines one after the other, in rank order: the first machine sums its
// inputs, each next one adds its own, one after the other, and the last one has the whole sum,
// which goes back the same way (AllReduce) or straight to who wants it. Where each machine holds
// consecutive ranks that is the order of the ranks, and for types that a sum keeps the bits of one
// sum over all. S on each port in each direction, and in AllReduce as much for the way back: on two
// machines that is the least there can be, on h machines h/(h-1) of it. Right in place: a byte of
// an output is written when all inputs of its machine have been read there, or the same op reads
// them.

#include "coll/machines.h"

// A column on its way: its agents, and where they take it in.
struct chain {
    struct tern__spread *machines;
    const struct tern__column *column;
    struct tern__pieces pieces;
    int agent;            // on this machine
    struct tern__at up;   // its lane for sums
    struct tern__at down; // its lane for results
    uint64_t slot;        // its scratch for sums
    uint32_t sum, result; // its signals
};

static void begin(struct chain *chain, struct tern__spread *machines,
                  const struct tern__column *column, int m)
{
    int agent = tern__column_agent(machines, column, m);
    *chain = (struct chain){
        .machines = machines,
        .column = column,
        .pieces = tern__pieces_of(machines, column->begin, column->length),
        .agent = agent,
        .sum = tern__machines_signals(machines, agent, 1),
        .result = tern__machines_signals(machines, agent, 1),
        .slot = tern__machines_scratch(machines, agent, column->length),
    };
    bool both = column->target < 0 && m + 1 < machines->count && chain->pieces.count > 1;
    chain->up = (struct tern__at){agent, tern__machines_lane(machines, agent), m};
    chain->down = chain->up;
    chain->down.lane = both ? tern__machines_lane(machines, agent) : chain->up.lane;
    chain->down.round = 2 * (machines->count - 1) - m;
}

// Where a piece of the sums lies in the scratch of an agent.
static uint64_t in_slot(const struct chain *chain, int k)
{
    return chain->slot + tern__piece_at(&chain->pieces, k) - chain->column->begin;
}

// Sums a piece of the inputs of machine m and what has come so far, to where it says.
static void sum(const struct chain *chain, int m, int k)
{
    struct tern__emit *e = chain->machines->e;
    if (m > 0) {
        tern__emit_from(e, chain->agent, TERN_PLAN_SCRATCH, in_slot(chain, k));
    }
    tern__machine_inputs(chain->machines, m, tern__piece_at(&chain->pieces, k));
}

// All machines but the last one.
static void pass_on(const struct chain *chain, const struct chain *next, int m)
{
    struct tern__emit *e = chain->machines->e;
    bool alone = m == 0 && tern__machine_size(chain->machines, m) == 1;
    for (int k = 0; k < chain->pieces.count; k++) {
        uint64_t length = tern__piece_length(&chain->pieces, k);
        if (m > 0) {
            tern__emit_wait(e, chain->up, chain->sum, k + 1);
        }
        if (!alone) {
            sum(chain, m, k);
            tern__emit_to(e, chain->agent, TERN_PLAN_SCRATCH, in_slot(chain, k));
            tern__emit_move(e, chain->up, length);
            tern__emit_from(e, chain->agent, TERN_PLAN_SCRATCH, in_slot(chain, k));
        } else {
            tern__emit_from(e, chain->agent, TERN_PLAN_IN, tern__piece_at(&chain->pieces, k));
        }
        tern__emit_to(e, next->agent, TERN_PLAN_SCRATCH, in_slot(next, k));
        tern__emit_move(e, chain->up, length);
        tern__emit_post(e, chain->up, next->agent, next->sum);
    }
    if (chain->column->target >= 0) {
        tern__machines_done(chain->machines, chain->up);
    }
}

// The last machine, when every rank has an output: into its own ones, and back.
static void turn(const struct chain *chain, const struct chain *before, int m)
{
    struct tern__emit *e = chain->machines->e;
    for (int k = 0; k < chain->pieces.count; k++) {
        uint64_t at = tern__piece_at(&chain->pieces, k);
        uint64_t length = tern__piece_length(&chain->pieces, k);
        tern__emit_wait(e, chain->up, chain->sum, k + 1);
        sum(chain, m, k);
        tern__column_outputs(chain->machines, chain->column, m, at, -1);
        tern__emit_move(e, chain->up, length);
        tern__emit_from(e, chain->agent, TERN_PLAN_OUT, at);
        tern__emit_to(e, before->agent, TERN_PLAN_OUT, at);
        tern__emit_move(e, chain->up, length);
        tern__emit_post(e, chain->up, before->agent, before->result);
    }
    tern__machines_done(chain->machines, chain->up);
}

// The last machine, when one rank has an output: there, or over the network.
static void hand_over(const struct chain *chain, int m)
{
    struct tern__spread *machines = chain->machines;
    struct tern__emit *e = machines->e;
    int target = chain->column->target;
    bool here = machines->machine[target] == m;
    uint32_t signal = here ? 0 : tern__machines_signals(machines, target, 1);
    for (int k = 0; k < chain->pieces.count; k++) {
        uint64_t at = tern__piece_at(&chain->pieces, k);
        uint64_t length = tern__piece_length(&chain->pieces, k);
        tern__emit_wait(e, chain->up, chain->sum, k + 1);
        sum(chain, m, k);
        if (here) {
            tern__emit_to(e, target, TERN_PLAN_OUT, at - chain->column->shift);
            tern__emit_move(e, chain->up, length);
            continue;
        }
        tern__emit_to(e, chain->agent, TERN_PLAN_SCRATCH, in_slot(chain, k));
        tern__emit_move(e, chain->up, length);
        tern__emit_from(e, chain->agent, TERN_PLAN_SCRATCH, in_slot(chain, k));
        tern__emit_to(e, target, TERN_PLAN_OUT, at - chain->column->shift);
        tern__emit_move(e, chain->up, length);
        tern__emit_post(e, chain->up, target, signal);
    }
    tern__machines_done(machines, chain->up);
    if (!here) {
        int lane = tern__machines_lane(machines, target);
        tern__emit_wait(e, (struct tern__at){target, lane, m}, signal, chain->pieces.count);
    }
}

// The result, on the way back: on, and to the outputs of the machine.
static void spread(const struct chain *chain, const struct chain *before, int m)
{
    struct tern__emit *e = chain->machines->e;
    for (int k = 0; k < chain->pieces.count; k++) {
        uint64_t at = tern__piece_at(&chain->pieces, k);
        uint64_t length = tern__piece_length(&chain->pieces, k);
        tern__emit_wait(e, chain->down, chain->result, k + 1);
        if (m > 0) {
            tern__emit_from(e, chain->agent, TERN_PLAN_OUT, at);
            tern__emit_to(e, before->agent, TERN_PLAN_OUT, at);
            tern__emit_move(e, chain->down, length);
            tern__emit_post(e, chain->down, before->agent, before->result);
        }
        tern__emit_from(e, chain->agent, TERN_PLAN_OUT, at);
        tern__column_outputs(chain->machines, chain->column, m, at, chain->agent);
        tern__emit_move(e, chain->down, length);
    }
    tern__machines_done(chain->machines, chain->down);
}

static void emit_column(struct tern__spread *machines, const struct tern__column *column)
{
    int last = machines->count - 1;
    struct chain before = {0}; // of the machine before the one at hand
    struct chain chain;
    struct chain next;
    begin(&chain, machines, column, 0);
    for (int m = 0; m < last; m++) {
        begin(&next, machines, column, m + 1);
        pass_on(&chain, &next, m);
        if (column->target < 0) {
            spread(&chain, &before, m);
        }
        before = chain;
        chain = next;
    }
    if (column->target < 0) {
        turn(&chain, &before, last);
    } else {
        hand_over(&chain, last);
    }
}

void tern__emit_machines_chain(struct tern__emit *e)
{
    struct tern__spread machines;
    struct tern__column column;
    tern__machines_begin(&machines, e);
    for (int next = 0; tern__column_next(&machines, &next, &column);) {
        emit_column(&machines, &column);
    }
    tern__machines_finish(&machines);
}
