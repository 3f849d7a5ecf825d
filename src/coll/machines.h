// SPDX-License-Identifier: Apache-2.0
// What the plans over several machines share. A machine's ranks read and write each other's memory;
// to another machine a rank only copies, and tells the rank whose memory it was. So every byte that
// crosses has on each side a rank that is its *agent*: the vector is cut into columns, and the
// columns of a machine are dealt out to its ranks. A column goes piece by piece, so that the wires
// are busy in both directions while the ranks sum.
//
// Lanes, signals and scratch are handed out as they are asked for, rank by rank: machines need not
// have equally many ranks. Signal 0 of a rank says that a rank of its machine has finished with it.
#ifndef TERN_COLL_MACHINES_H
#define TERN_COLL_MACHINES_H

#include "coll/coll.h"
#include "plan/slices.h"

// Up to here the first rank of a machine puts small shares together: messages cost more than bytes.
#define TERN__MACHINES_SMALL 4096

struct tern__spread {
    struct tern__emit *e;
    int count;                             // machines, in the order of their lowest ranks
    int first[TERN_TOPO_RANKS_MAX + 1];    // per machine: in `ranks`
    int ranks[TERN_TOPO_RANKS_MAX];        // machine by machine, ascending in each
    int machine[TERN_TOPO_RANKS_MAX];      // per rank
    int index[TERN_TOPO_RANKS_MAX];        // per rank: among those of its machine
    int largest;                           // ranks of the largest machine
    int columns;                           // of all bytes
    uint64_t least;                        // bytes of a piece, where a part has so many
    int lanes[TERN_TOPO_RANKS_MAX];        // per rank: handed out
    uint32_t signals[TERN_TOPO_RANKS_MAX]; // likewise, beside signal 0
    uint64_t scratch[TERN_TOPO_RANKS_MAX]; // likewise
    int told[TERN_TOPO_RANKS_MAX];         // per rank: how often signal 0 is posted
};

// The machines of a topology; false when it has fewer than two.
bool tern__machines_find(const tern_topo *topo, struct tern__spread *machines);
void tern__machines_begin(struct tern__spread *machines, struct tern__emit *e);
// For a plan in which every machine sends a part of each column to every other one, of so many
// inputs or sums: columns and pieces are so few that messages are worth what they cost.
void tern__machines_send_parts(struct tern__spread *machines, int inputs);

static inline int tern__machine_size(const struct tern__spread *machines, int m)
{
    return machines->first[m + 1] - machines->first[m];
}

// The rank with that number on a machine, modulo how many it has.
static inline int tern__machine_rank(const struct tern__spread *machines, int m, int number)
{
    return machines->ranks[machines->first[m] + number % tern__machine_size(machines, m)];
}

// What has not been handed out yet; of several signals the first.
int tern__machines_lane(struct tern__spread *machines, int rank);
uint32_t tern__machines_signals(struct tern__spread *machines, int rank, int count);
uint64_t tern__machines_scratch(struct tern__spread *machines, int rank, uint64_t bytes);

// Tells the other ranks of the machine that this lane has finished with their memory.
void tern__machines_done(struct tern__spread *machines, struct tern__at at);
// The end of the plan: everybody waits, in lane 0, for those who touch its memory.
void tern__machines_finish(struct tern__spread *machines);

// A part of the vector in pieces.
struct tern__pieces {
    uint64_t begin; // of the part
    struct tern__slices slices;
    int count;
};

struct tern__pieces tern__pieces_of(const struct tern__spread *machines, uint64_t begin,
                                    uint64_t length);
// The same in so many.
struct tern__pieces tern__pieces_in(const struct tern__spread *machines, uint64_t begin,
                                    uint64_t length, int count);
static inline uint64_t tern__piece_at(const struct tern__pieces *pieces, int k)
{
    return pieces->begin + tern__slice_begin(&pieces->slices, (uint64_t)k);
}
static inline uint64_t tern__piece_length(const struct tern__pieces *pieces, int k)
{
    return tern__piece_at(pieces, k + 1) - tern__piece_at(pieces, k);
}
// The longest piece; 0 of nothing.
uint64_t tern__piece_longest(const struct tern__pieces *pieces);

// A column: bytes of the vector, with an agent on each machine.
struct tern__column {
    uint64_t begin, length;
    int number;     // for the agents
    int target;     // the only rank with an output of it; -1: every rank has one
    uint64_t shift; // how much further on it lies in the inputs than in the outputs
};

// The columns of the kind: of all bytes machines->columns, or a share each.
// One at a time: false after the last one. *next is 0 at first.
bool tern__column_next(const struct tern__spread *machines, int *next, struct tern__column *column);
int tern__column_agent(const struct tern__spread *machines, const struct tern__column *column,
                       int m);

// The inputs of a machine's ranks at an offset as sources, and its outputs of a column, as many as
// there are, as destinations, `before` (or -1) left out. Returns how many there are.
int tern__machine_inputs(struct tern__spread *machines, int m, uint64_t offset);
int tern__column_outputs(struct tern__spread *machines, const struct tern__column *column, int m,
                         uint64_t offset, int before);

#endif
