// SPDX-License-Identifier: Apache-2.0
// Who must know of what before it may go on: what a step that makes the posts and waits of a plan
// anew (resync.c) is told. The transfers of a plan are put into an order in which they may happen
// (sync_order.c). Of two transfers that conflict, the later one must know that the earlier one has
// ended (sync_need.c), and so must the end of a rank of all that touch its memory. Set-up path.
#ifndef TERN_PLAN_SYNC_H
#define TERN_PLAN_SYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/ir.h"

// Something that happens at a rank after it has heard of something, and that others hear of.
struct tern__sync_node {
    const struct tern__op *op; // a transfer; NULL: a place where a rank only hears and tells
    uint64_t when;             // what it hears of has a smaller one
    int rank;
    int lane; // of a transfer; of other nodes TERN__SYNC_RELAY or TERN__SYNC_END
    uint16_t round;
    // Of a transfer: its lane among those that have any, and which one it is there, from 1.
    uint32_t chain, index;
    // Of resync.c: the signal of those that tell nobody else of its rank, and how many these are.
    uint32_t signal, count;
};
#define TERN__SYNC_RELAY (-1)
#define TERN__SYNC_END (-2) // of the rank: all of its lanes have ended

// `to` hears of `from`.
struct tern__sync_edge {
    uint32_t from, to;
    uint32_t signal; // of resync.c
};

struct tern__sync {
    const tern_plan *plan;
    bool in_place; // what is read as `in` is read before it is overwritten as `out`
    struct tern__sync_node *nodes;
    struct tern__sync_edge *edges;
    size_t nodes_count, nodes_room;
    size_t edges_count, edges_room;
    uint32_t chains;
};

// The order of `when`: transfers are so far apart; behind one is what tells of it over other ranks,
// then hubs that have heard of it, then what tells of those.
#define TERN__SYNC_STEP ((uint64_t)1 << 16)
#define TERN__SYNC_HUB (TERN__SYNC_STEP / 2) // ranks between are fewer

int tern__sync_node_add(struct tern__sync *sync, const struct tern__sync_node *node);
int tern__sync_edge_add(struct tern__sync *sync, uint32_t from, uint32_t to);

// The nodes of all transfers that move bytes, in an order in which they may happen. TERN_ERR_ARG
// when the lanes get stuck.
int tern__sync_order(struct tern__sync *sync);

// The edges between them and to the ends of ranks. What one lane does is in order anyway, and
// nobody hears twice of one thing. Where somebody reads what several lanes have added up, one
// node at the rank of the memory hears of all of them and tells him. TERN_ERR_LIMIT for a plan too
// large for that.
int tern__sync_need(struct tern__sync *sync);

#endif
