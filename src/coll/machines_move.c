// SPDX-License-Identifier: Apache-2.0
// What only moves bytes, over machines: each byte crosses once to each other machine that wants it,
// and is copied on there. Shares of ranks that follow one another lie together, so what one machine
// has for another is one message where it can be. Right in place, but AllToAll: nobody writes what
// another still reads as input.

#include "coll/machines.h"

// The lane 0 of a rank.
static struct tern__at lane_0(int rank, int round)
{
    return (struct tern__at){.rank = rank, .round = round};
}

// Ranks of a machine that follow one another.
struct run {
    int first, count; // numbers on the machine
    int rank;         // of the first one
};

// The next run of machine m; false after the last one. `run` is zeroed at first.
static bool next_run(const struct tern__spread *machines, int m, struct run *run)
{
    int size = tern__machine_size(machines, m);
    run->first += run->count;
    run->count = 0;
    if (run->first >= size) {
        return false;
    }
    run->rank = tern__machine_rank(machines, m, run->first);
    while (run->first + run->count < size &&
           tern__machine_rank(machines, m, run->first + run->count) == run->rank + run->count) {
        run->count++;
    }
    return true;
}

static uint64_t share_of(const struct tern__emit *e)
{
    return e->bytes / (uint64_t)e->nranks;
}

// The outputs of a machine as destinations, but that of `but` (-1: all).
static void to_outputs(struct tern__spread *machines, int m, int but, uint64_t offset)
{
    for (int i = 0; i < tern__machine_size(machines, m); i++) {
        int rank = tern__machine_rank(machines, m, i);
        if (rank != but) {
            tern__emit_to(machines->e, rank, TERN_PLAN_OUT, offset);
        }
    }
}

// A part of an output that comes to an agent, piece by piece: on to the outputs of its machine.
static void spread(struct tern__spread *machines, struct tern__at at, uint32_t signal,
                   const struct tern__pieces *pieces)
{
    struct tern__emit *e = machines->e;
    for (int k = 0; k < pieces->count; k++) {
        uint64_t offset = tern__piece_at(pieces, k);
        tern__emit_wait(e, at, signal, k + 1);
        tern__emit_from(e, at.rank, TERN_PLAN_OUT, offset);
        to_outputs(machines, machines->machine[at.rank], at.rank, offset);
        tern__emit_move(e, at, tern__piece_length(pieces, k));
    }
    tern__machines_done(machines, at);
}

// AllGather of a rank's share: to an agent of each other machine, and on its own one.
static void gather_share(struct tern__spread *machines, int rank)
{
    struct tern__emit *e = machines->e;
    uint64_t share = share_of(e);
    uint64_t begin = share * (uint64_t)rank;
    int own = machines->machine[rank];
    int h = machines->count;
    struct tern__pieces pieces = tern__pieces_of(machines, begin, share);
    struct tern__at at = {rank, tern__machines_lane(machines, rank), 0};
    uint32_t signals[TERN_TOPO_RANKS_MAX];
    for (int step = 1; step < h; step++) {
        int m = (own + step) % h;
        int agent = tern__machine_rank(machines, m, machines->index[rank]);
        struct tern__at there = {agent, tern__machines_lane(machines, agent), 1};
        signals[m] = tern__machines_signals(machines, agent, 1);
        spread(machines, there, signals[m], &pieces);
    }
    for (int k = 0; k < pieces.count; k++) {
        uint64_t offset = tern__piece_at(&pieces, k);
        uint64_t length = tern__piece_length(&pieces, k);
        for (int step = 1; step < h; step++) {
            int m = (own + step) % h;
            int agent = tern__machine_rank(machines, m, machines->index[rank]);
            tern__emit_from(e, rank, TERN_PLAN_IN, offset - begin);
            tern__emit_to(e, agent, TERN_PLAN_OUT, offset);
            tern__emit_move(e, at, length);
            tern__emit_post(e, at, agent, signals[m]);
        }
        tern__emit_from(e, rank, TERN_PLAN_IN, offset - begin);
        to_outputs(machines, own, -1, offset);
        tern__emit_move(e, at, length);
    }
    tern__machines_done(machines, at);
}

// AllGather of small shares: the first rank of a machine puts them together and sends them.
static void gather_machine(struct tern__spread *machines, int own)
{
    struct tern__emit *e = machines->e;
    uint64_t share = share_of(e);
    int h = machines->count;
    struct tern__at at = lane_0(tern__machine_rank(machines, own, 0), 0);
    for (int i = 0; i < tern__machine_size(machines, own); i++) {
        int rank = tern__machine_rank(machines, own, i);
        tern__emit_from(e, rank, TERN_PLAN_IN, 0);
        to_outputs(machines, own, -1, share * (uint64_t)rank);
        tern__emit_move(e, at, share);
    }
    for (int step = 1; step < h; step++) {
        int m = (own + step) % h;
        int other = tern__machine_rank(machines, m, 0);
        for (struct run run = {0}; next_run(machines, own, &run);) {
            tern__emit_from(e, at.rank, TERN_PLAN_OUT, share * (uint64_t)run.rank);
            tern__emit_to(e, other, TERN_PLAN_OUT, share * (uint64_t)run.rank);
            tern__emit_move(e, at, share * (uint64_t)run.count);
        }
        tern__emit_post(e, at, other, 1 + (uint32_t)own);
    }
    at.round = 1;
    for (int step = 1; step < h; step++) {
        int m = (own + step) % h;
        tern__emit_wait(e, at, 1 + (uint32_t)m, 1);
        for (struct run run = {0}; next_run(machines, m, &run);) {
            tern__emit_from(e, at.rank, TERN_PLAN_OUT, share * (uint64_t)run.rank);
            to_outputs(machines, own, at.rank, share * (uint64_t)run.rank);
            tern__emit_move(e, at, share * (uint64_t)run.count);
        }
    }
    tern__machines_done(machines, at);
}

void tern__emit_machines_all_gather(struct tern__emit *e)
{
    struct tern__spread machines;
    tern__machines_begin(&machines, e);
    bool small = e->bytes <= TERN__MACHINES_SMALL;
    for (int m = 0; m < machines.count && small && e->bytes > 0; m++) {
        gather_machine(&machines, m);
    }
    for (int rank = 0; rank < e->nranks && !small; rank++) {
        gather_share(&machines, rank);
    }
    tern__machines_finish(&machines);
}

// A column of a Broadcast. From the root's machine it goes to all others, or to the next one, and
// from there to the one behind it.
static void cast_column(struct tern__spread *machines, const struct tern__column *column,
                        bool chain)
{
    struct tern__emit *e = machines->e;
    int h = machines->count;
    int first = machines->machine[e->root];
    struct tern__pieces pieces = tern__pieces_of(machines, column->begin, column->length);
    struct tern__at ats[TERN_TOPO_RANKS_MAX]; // by step from the root's machine
    uint32_t signals[TERN_TOPO_RANKS_MAX];
    for (int step = 0; step < h; step++) {
        int agent = tern__column_agent(machines, column, (first + step) % h);
        ats[step] = (struct tern__at){agent, tern__machines_lane(machines, agent),
                                      chain || step == 0 ? step : 1};
        signals[step] = tern__machines_signals(machines, agent, 1);
    }
    for (int step = 0; step < h; step++) {
        struct tern__at at = ats[step];
        int targets = !chain ? (step == 0 ? h - 1 : 0) : step + 1 < h ? 1 : 0;
        int source = step == 0 ? e->root : at.rank;
        tern_plan_buffer buffer = step == 0 ? TERN_PLAN_IN : TERN_PLAN_OUT;
        for (int k = 0; k < pieces.count; k++) {
            uint64_t offset = tern__piece_at(&pieces, k);
            uint64_t length = tern__piece_length(&pieces, k);
            tern__emit_wait(e, at, signals[step], step > 0 ? k + 1 : 0);
            for (int to = step + 1; to <= step + targets; to++) {
                tern__emit_from(e, source, buffer, offset);
                tern__emit_to(e, ats[to].rank, TERN_PLAN_OUT, offset);
                tern__emit_move(e, at, length);
                tern__emit_post(e, at, ats[to].rank, signals[to]);
            }
            tern__emit_from(e, source, buffer, offset);
            to_outputs(machines, (first + step) % h, step == 0 ? -1 : at.rank, offset);
            tern__emit_move(e, at, length);
        }
        tern__machines_done(machines, at);
    }
}

static void broadcast(struct tern__emit *e, bool chain)
{
    struct tern__spread machines;
    struct tern__column column;
    tern__machines_begin(&machines, e);
    for (int next = 0; tern__column_next(&machines, &next, &column);) {
        cast_column(&machines, &column, chain);
    }
    tern__machines_finish(&machines);
}

void tern__emit_machines_broadcast(struct tern__emit *e)
{
    broadcast(e, false);
}

void tern__emit_machines_broadcast_chain(struct tern__emit *e)
{
    broadcast(e, true);
}

// What the ranks of a run have at an offset of their inputs, to one place; over scratch where that
// makes one message of it.
static void send_run(struct tern__spread *machines, struct tern__at at, const struct run *run,
                     uint64_t from, uint64_t scratch, int to)
{
    struct tern__emit *e = machines->e;
    uint64_t share = share_of(e);
    for (int i = 0; i < run->count && run->count > 1; i++) {
        tern__emit_from(e, run->rank + i, TERN_PLAN_IN, from);
        tern__emit_to(e, at.rank, TERN_PLAN_SCRATCH, scratch + share * (uint64_t)i);
        tern__emit_move(e, at, share);
    }
    if (run->count > 1) {
        tern__emit_from(e, at.rank, TERN_PLAN_SCRATCH, scratch);
    } else {
        tern__emit_from(e, run->rank, TERN_PLAN_IN, from);
    }
    tern__emit_to(e, to, TERN_PLAN_OUT, share * (uint64_t)run->rank);
    tern__emit_move(e, at, share * (uint64_t)run->count);
}

void tern__emit_machines_gather(struct tern__emit *e)
{
    struct tern__spread machines;
    uint64_t share = share_of(e);
    tern__machines_begin(&machines, e);
    int own = machines.machine[e->root];
    for (int m = 0; m < machines.count && share > 0; m++) {
        struct tern__at at = lane_0(tern__machine_rank(&machines, m, 0), 0);
        if (m == own) {
            continue;
        }
        uint64_t bytes = share * (uint64_t)tern__machine_size(&machines, m);
        uint64_t scratch = tern__machines_scratch(&machines, at.rank, bytes);
        for (struct run run = {0}; next_run(&machines, m, &run);) {
            send_run(&machines, at, &run, 0, scratch + share * (uint64_t)run.first, e->root);
        }
        tern__emit_post(e, at, e->root, 0);
        machines.told[e->root]++;
        tern__machines_done(&machines, at);
    }
    for (int i = 0; i < tern__machine_size(&machines, own) && share > 0; i++) {
        int rank = tern__machine_rank(&machines, own, i);
        tern__emit_from(e, rank, TERN_PLAN_IN, 0);
        tern__emit_to(e, e->root, TERN_PLAN_OUT, share * (uint64_t)rank);
        tern__emit_move(e, lane_0(rank, 0), share);
        if (rank != e->root) {
            tern__emit_post(e, lane_0(rank, 0), e->root, 0);
            machines.told[e->root]++;
        }
    }
    tern__machines_finish(&machines);
}

// What the root has for a machine, and what the first rank there does with it.
static void scatter_to(struct tern__spread *machines, int m, uint64_t share)
{
    struct tern__emit *e = machines->e;
    struct tern__at root = lane_0(e->root, 0);
    struct tern__at at = lane_0(tern__machine_rank(machines, m, 0), 1);
    int size = tern__machine_size(machines, m);
    bool alone = size == 1;
    uint64_t scratch =
        tern__machines_scratch(machines, at.rank, alone ? 0 : share * (uint64_t)size);
    for (struct run run = {0}; next_run(machines, m, &run);) {
        tern__emit_from(e, e->root, TERN_PLAN_IN, share * (uint64_t)run.rank);
        tern__emit_to(e, at.rank, alone ? TERN_PLAN_OUT : TERN_PLAN_SCRATCH,
                      alone ? 0 : scratch + share * (uint64_t)run.first);
        tern__emit_move(e, root, share * (uint64_t)run.count);
    }
    tern__emit_post(e, root, at.rank, 1);
    tern__emit_wait(e, at, 1, 1);
    for (int i = 0; i < size && !alone; i++) {
        tern__emit_from(e, at.rank, TERN_PLAN_SCRATCH, scratch + share * (uint64_t)i);
        tern__emit_to(e, tern__machine_rank(machines, m, i), TERN_PLAN_OUT, 0);
        tern__emit_move(e, at, share);
    }
    tern__machines_done(machines, at);
}

void tern__emit_machines_scatter(struct tern__emit *e)
{
    struct tern__spread machines;
    uint64_t share = share_of(e);
    tern__machines_begin(&machines, e);
    int own = machines.machine[e->root];
    for (int step = 1; step < machines.count && share > 0; step++) {
        scatter_to(&machines, (own + step) % machines.count, share);
    }
    for (int i = 0; i < tern__machine_size(&machines, own) && share > 0; i++) {
        int rank = tern__machine_rank(&machines, own, i);
        tern__emit_from(e, e->root, TERN_PLAN_IN, share * (uint64_t)rank);
        tern__emit_to(e, rank, TERN_PLAN_OUT, 0);
        tern__emit_move(e, lane_0(e->root, 0), share);
    }
    if (share > 0) {
        tern__machines_done(&machines, lane_0(e->root, 0));
    }
    tern__machines_finish(&machines);
}

// What a machine has for the ranks of another one; for each the rank of its number has it sent.
static void exchange(struct tern__spread *machines, int from, int to,
                     const uint64_t scratch[TERN_TOPO_RANKS_MAX])
{
    struct tern__emit *e = machines->e;
    uint64_t share = share_of(e);
    for (int i = 0; i < tern__machine_size(machines, to); i++) {
        int target = tern__machine_rank(machines, to, i);
        struct tern__at at = lane_0(tern__machine_rank(machines, from, i), 0);
        for (struct run run = {0}; next_run(machines, from, &run);) {
            send_run(machines, at, &run, share * (uint64_t)target, scratch[at.rank], target);
        }
        tern__emit_post(e, at, target, 0);
        machines->told[target]++;
    }
}

void tern__emit_machines_all_to_all(struct tern__emit *e)
{
    struct tern__spread machines;
    uint64_t scratch[TERN_TOPO_RANKS_MAX];
    uint64_t share = share_of(e);
    tern__machines_begin(&machines, e);
    for (int rank = 0; rank < e->nranks; rank++) {
        int size = tern__machine_size(&machines, machines.machine[rank]);
        scratch[rank] =
            tern__machines_scratch(&machines, rank, size > 1 ? share * (uint64_t)size : 0);
    }
    for (int m = 0; m < machines.count && share > 0; m++) {
        for (int step = 1; step < machines.count; step++) {
            exchange(&machines, m, (m + step) % machines.count, scratch);
        }
    }
    for (int rank = 0; rank < e->nranks && share > 0; rank++) {
        int m = machines.machine[rank];
        for (int i = 0; i < tern__machine_size(&machines, m); i++) {
            int target = tern__machine_rank(&machines, m, machines.index[rank] + i);
            tern__emit_from(e, rank, TERN_PLAN_IN, share * (uint64_t)target);
            tern__emit_to(e, target, TERN_PLAN_OUT, share * (uint64_t)rank);
            tern__emit_move(e, lane_0(rank, 0), share);
        }
        tern__machines_done(&machines, lane_0(rank, 0));
    }
    tern__machines_finish(&machines);
}
