// SPDX-License-Identifier: Apache-2.0
// Between machines. What a rank writes to a rank of another machine is done, for its own lane, when
// it is on its way, and there only when a later post by the same rank to the same rank has come.
// So clocks know two things of such a write: that it was done (the writer's lane), and that it has
// arrived. For the second there is a lane behind all others for each lane and each rank of another
// machine that it writes to; its count is that of the writer's ops up to which all have arrived.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/check/order.h"
#include "plan/reach.h"

struct network {
    uint32_t *first; // per lane, and one past the last: in `to`
    uint16_t *to;    // the ranks of other machines that a lane writes to
    uint32_t count, room;
};

bool tern__is_remote(const struct checking *checking, int rank, int owner)
{
    return checking->network != NULL && rank != owner &&
           tern_topo_machine_of(checking->topo, rank) !=
               tern_topo_machine_of(checking->topo, owner);
}

// The lane that counts what `lane` has written to `owner` and has arrived; UINT32_MAX: it writes
// nothing there.
static uint32_t arrivals(const struct checking *checking, uint32_t lane, int owner)
{
    const struct network *network = checking->network;
    for (uint32_t i = network->first[lane]; i < network->first[lane + 1]; i++) {
        if (network->to[i] == owner) {
            return tern__begun_lane(checking, checking->plan->spec.nranks) + i;
        }
    }
    return UINT32_MAX;
}

static bool add_target(struct network *network, uint32_t lane, uint16_t owner)
{
    for (uint32_t i = network->first[lane]; i < network->count; i++) {
        if (network->to[i] == owner) {
            return true;
        }
    }
    if (network->count == network->room) {
        uint32_t room = network->room > 0 ? 2 * network->room : 64;
        uint16_t *grown = realloc(network->to, room * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        network->to = grown;
        network->room = room;
    }
    network->to[network->count++] = owner;
    return true;
}

bool tern__network_create(struct checking *checking)
{
    if (checking->check->machines == 0) {
        return true;
    }
    struct network *network = calloc(1, sizeof *network);
    checking->network = network;
    if (network != NULL) {
        network->first = calloc((size_t)checking->lanes.count + 1, sizeof *network->first);
    }
    if (network == NULL || network->first == NULL) {
        return false;
    }
    for (uint32_t lane = 0; lane < checking->lanes.count; lane++) {
        const struct tern__lane *row = tern__lane_of(checking, lane);
        for (size_t i = 0; i < row->count; i++) {
            const struct tern__op *op = &row->ops[i];
            const tern_plan_range *operands = tern__op_operands(checking->plan, op);
            int count = tern__op_moves(op) ? op->sources_count + op->destinations_count : 0;
            for (int d = op->sources_count; d < count; d++) {
                if (tern__is_remote(checking, checking->lanes.rank[lane], operands[d].rank) &&
                    !add_target(network, lane, operands[d].rank)) {
                    return false;
                }
            }
        }
        network->first[lane + 1] = network->count;
    }
    return true;
}

void tern__network_destroy(struct checking *checking)
{
    if (checking->network != NULL) {
        free(checking->network->first);
        free(checking->network->to);
        free(checking->network);
    }
}

bool tern__network_post(struct checking *checking, struct place post, int peer, struct clock **told)
{
    int rank = checking->lanes.rank[post.lane];
    if (!tern__is_remote(checking, rank, peer)) {
        return true;
    }
    for (uint32_t lane = checking->lanes.first[rank]; lane < checking->lanes.first[rank + 1];
         lane++) {
        uint32_t arrived = arrivals(checking, lane, peer);
        uint32_t done =
            lane == post.lane ? post.index : tern__clock_done(checking->clocks[post.lane], lane);
        if (arrived != UINT32_MAX && done > 0 &&
            !tern__clock_raise(&checking->pool, told, arrived, done)) {
            return false;
        }
    }
    return true;
}

bool tern__network_arrived(const struct checking *checking, struct place write, int owner,
                           const struct clock *clock)
{
    uint32_t arrived = arrivals(checking, write.lane, owner);
    return arrived == UINT32_MAX || tern__clock_done(clock, arrived) > write.index;
}

static const char *machine_name(const struct checking *checking, int rank)
{
    tern_topo_machine machine = {.name = "?"};
    tern_topo_get_machine(checking->topo, tern_topo_machine_of(checking->topo, rank), &machine);
    return machine.name;
}

void tern__network_late(struct checking *checking, struct place write, struct place late, int owner,
                        const char *what)
{
    if (tern__check_follows(checking->check, TERN_CHECK_REACH,
                            (uint64_t)write.lane << 32 | write.index)) {
        return;
    }
    char first[96];
    char second[96];
    int writer = checking->lanes.rank[write.lane];
    tern__place_text(checking, write, first, sizeof first);
    if (tern__is_place(late)) {
        tern__place_text(checking, late, second, sizeof second);
        tern__check_add(checking->check, TERN_CHECK_REACH,
                        "%s puts to rank %d on machine %s, and %s %s, which may come first: it "
                        "knows of no later post of rank %d to rank %d",
                        first, owner, machine_name(checking, owner), second, what, writer, owner);
    } else {
        tern__check_add(checking->check, TERN_CHECK_REACH,
                        "%s puts to rank %d on machine %s, whose lanes may have ended before it "
                        "comes: they know of no later post of rank %d to rank %d",
                        first, owner, machine_name(checking, owner), writer, owner);
    }
    tern__check_mark(checking, TERN_CHECK_REACH, TERN_CHECK_UNDELIVERED, write, late);
}

static bool reaches(const struct checking *checking, int rank, const struct tern__op *op, int i)
{
    return tern__is_remote(checking, rank, tern__op_operands(checking->plan, op)[i].rank) &&
           !tern__op_travels(checking->plan, op, i);
}

static void report_remote(struct checking *checking, struct place place, int i)
{
    const struct tern__op *op = tern__place_op(checking, place);
    char where[96];
    char text[320];
    tern__place_text(checking, place, where, sizeof where);
    tern__op_reach_text(checking->plan, op, i, where,
                        machine_name(checking, tern__op_operands(checking->plan, op)[i].rank),
                        machine_name(checking, checking->lanes.rank[place.lane]), text,
                        sizeof text);
    tern__check_add(checking->check, TERN_CHECK_REACH, "%s", text);
    tern__check_mark(checking, TERN_CHECK_REACH, TERN_CHECK_REMOTE, place, TERN__NO_PLACE);
}

bool tern__check_reach(struct checking *checking)
{
    for (uint32_t lane = 0; checking->network != NULL && lane < checking->lanes.count; lane++) {
        const struct tern__lane *row = tern__lane_of(checking, lane);
        for (uint32_t index = 0; index < row->count; index++) {
            const struct tern__op *op = &row->ops[index];
            int count = tern__op_moves(op) ? op->sources_count + op->destinations_count : 0;
            for (int i = 0; i < count; i++) {
                if (reaches(checking, checking->lanes.rank[lane], op, i)) {
                    report_remote(checking, (struct place){.lane = lane, .index = index}, i);
                    break; // one finding an op
                }
            }
        }
    }
    return !checking->check->out_of_memory;
}
