// SPDX-License-Identifier: Apache-2.0
// AllReduce over a tree whose rank r has rank (r - 1) / d above it, in pieces: lane 0 of a rank
// adds what comes from below to its input and sends that up, lane 1 sends the result down. The root
// does both in lane 0. With d = 1 the tree is a chain.

#include "plan/sim/generate.h"

// How many there are.
static uint64_t pieces(const tern_program *program)
{
    uint64_t piece = program->piece;
    return program->spec.bytes <= piece ? 1 : (program->spec.bytes + piece - 1) / piece;
}

static int children(const tern_program *program, int rank)
{
    int64_t first = (int64_t)rank * program->group + 1;
    int64_t left = program->spec.nranks - first;
    return (int)(left <= 0 ? 0 : left < program->group ? left : program->group);
}

static tern_plan_range at(int rank, tern_plan_buffer buffer, uint64_t offset)
{
    return (tern_plan_range){.offset = offset, .rank = (uint16_t)rank, .buffer = (uint16_t)buffer};
}

// The piece from `offset` on: to the outputs of all below, and of the root itself.
static void add_outputs(const tern_program *program, int rank, uint64_t offset, tern_plan_op *op,
                        tern_plan_range *to)
{
    int below = children(program, rank);
    op->destinations = to;
    if (rank == 0) {
        to[op->destinations_count++] = at(rank, TERN_PLAN_OUT, offset);
    }
    for (int i = 0; i < below; i++) {
        to[op->destinations_count++] = at(rank * program->group + 1 + i, TERN_PLAN_OUT, offset);
    }
}

static void begin_op(const tern_program *program, uint64_t piece, tern_plan_op *op)
{
    uint64_t offset = piece * program->piece;
    uint64_t left = program->spec.bytes - offset;
    *op = (tern_plan_op){.length = left < program->piece ? left : program->piece};
}

static void sum(const tern_program *program, int rank, uint64_t piece, tern_plan_range *room,
                tern_plan_op *op)
{
    uint64_t offset = piece * program->piece;
    int below = children(program, rank);
    begin_op(program, piece, op);
    op->kind = below > 0 ? TERN_PLAN_REDUCE : TERN_PLAN_COPY;
    op->sources = room;
    room[op->sources_count++] = at(rank, TERN_PLAN_IN, offset);
    for (int i = 0; i < below; i++) {
        room[op->sources_count++] =
            at(rank, TERN_PLAN_SCRATCH, program->spec.bytes * (uint64_t)i + offset);
    }
    if (rank == 0) {
        add_outputs(program, rank, offset, op, room + op->sources_count);
        return;
    }
    int which = (rank - 1) % program->group;
    op->destinations = room + op->sources_count;
    room[op->sources_count] = at((rank - 1) / program->group, TERN_PLAN_SCRATCH,
                                 program->spec.bytes * (uint64_t)which + offset);
    op->destinations_count = 1;
}

static void post(tern_plan_op *op, int peer, int signal)
{
    *op = (tern_plan_op){.kind = TERN_PLAN_POST, .peer = peer, .signal = (uint32_t)signal};
}

static void wait_for(tern_plan_op *op, int signal, uint64_t count)
{
    *op = (tern_plan_op){.kind = TERN_PLAN_WAIT,
                         .signal = (uint32_t)signal,
                         .count = (uint32_t)count};
}

// Of each piece: a wait for every child, the sum, a post up; at the root one to every child.
static bool up(const tern_program *program, int rank, uint64_t pc, tern_plan_range *room,
               tern_plan_op *op)
{
    uint64_t below = (uint64_t)children(program, rank);
    uint64_t posts = rank == 0 ? below : 1;
    uint64_t piece = pc / (below + 1 + posts);
    uint64_t in = pc % (below + 1 + posts);
    if (piece >= pieces(program)) {
        return false;
    }
    if (in < below) {
        wait_for(op, (int)in, piece + 1);
    } else if (in == below) {
        sum(program, rank, piece, room, op);
    } else if (rank == 0) {
        post(op, (int)(in - below), program->group);
    } else {
        post(op, (rank - 1) / program->group, (rank - 1) % program->group);
    }
    return true;
}

// Of each piece: a wait for it, a copy to every child, posts.
static bool down(const tern_program *program, int rank, uint64_t pc, tern_plan_range *room,
                 tern_plan_op *op)
{
    uint64_t below = (uint64_t)children(program, rank);
    uint64_t each = below > 0 ? below + 2 : 1;
    uint64_t piece = pc / each;
    uint64_t in = pc % each;
    if (rank == 0 || piece >= pieces(program)) {
        return false;
    }
    if (in == 0) {
        wait_for(op, program->group, piece + 1);
    } else if (in == 1) {
        begin_op(program, piece, op);
        op->kind = TERN_PLAN_COPY;
        op->sources = room;
        op->sources_count = 1;
        room[0] = at(rank, TERN_PLAN_OUT, piece * program->piece);
        add_outputs(program, rank, piece * program->piece, op, room + 1);
    } else {
        post(op, rank * program->group + (int)in - 1, program->group);
    }
    return true;
}

static bool tree_next(const tern_program *program, int rank, int lane, uint64_t pc,
                      tern_plan_range *room, tern_plan_op *op)
{
    return lane == 0 ? up(program, rank, pc, room, op) : down(program, rank, pc, room, op);
}

static int tree_lanes(const tern_program *program, int rank)
{
    (void)program;
    return rank == 0 ? 1 : 2;
}

static uint32_t tree_signals(const tern_program *program, int rank)
{
    (void)rank;
    return (uint32_t)program->group + 1;
}

const struct tern__program_sort tern__generate_tree = {tree_lanes, tree_signals, tree_next};
