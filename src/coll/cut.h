// SPDX-License-Identifier: Apache-2.0
// What the plans around a cut link share: blocks of units with an owner each, slots for the parts
// that arrive at it, and the three kinds of transfers. The ranks x of the pair are never linked
// directly; the others are healthy. Work of a rank stands in lane 0, what it pushes to a peer in a
// lane of that peer. Signal s of a rank counts the rounds that rank s has pushed; the signal of its
// own number counts the groups of units that its lane 0 has summed, for its own pushing lanes.
#ifndef TERN_COLL_CUT_H
#define TERN_COLL_CUT_H

#include "coll/coll.h"

struct tern__cut_plan {
    struct tern__emit *e;
    struct tern__cut cut;
    int healthy;       // m: how many healthy ranks, n - 2
    int healthy_units; // how many units a healthy rank owns; one of the pair owns m
    uint64_t slot_bytes;
    bool raw; // the pair's members get each other's parts uncombined, in a slot of their own
};

// False when links of more than one pair are cut.
bool tern__cut_begin(struct tern__cut_plan *plan, struct tern__emit *e, int healthy_units);

// Where in the vector unit `unit` of an owner begins; its number of units: where its block ends.
uint64_t tern__cut_unit(const struct tern__cut_plan *plan, int owner, int unit);
int tern__cut_units(const struct tern__cut_plan *plan, int owner);

// Where in the owner's scratch the part of `sender` for a unit goes.
uint64_t tern__cut_slot(const struct tern__cut_plan *plan, int owner, int sender, int unit);
// Where in a healthy rank's scratch lies what member `x` of the pair feeds it for the other member.
uint64_t tern__cut_feed(const struct tern__cut_plan *plan, int x);

// The lane of a rank that pushes to a peer, in round 0; and the end of a round of it: tells the
// peer, and *at is the next round.
struct tern__at tern__cut_lane(const struct tern__cut_plan *plan, int rank, int peer);
void tern__cut_end_round(const struct tern__cut_plan *plan, struct tern__at *at);
// The other member of the pair.
int tern__cut_other(const struct tern__cut_plan *plan, int x);

// Pushes the rank's own part of an owner's units first .. first + count - 1, modulo the number of
// units, to that owner.
void tern__cut_push_own(const struct tern__cut_plan *plan, struct tern__at at, int owner, int first,
                        int count);
// Pushes finished units of an owner from the rank's output into the peer's.
void tern__cut_push_final(const struct tern__cut_plan *plan, struct tern__at at, int peer,
                          int owner, int first, int count);
// Pushes finished units of the rank's own, when its lane 0 has summed so many groups.
void tern__cut_push_summed(const struct tern__cut_plan *plan, struct tern__at at, int peer,
                           int groups, int first, int count);
// Pushes the own part of the other member's unit of a healthy relay to that relay.
void tern__cut_push_feed(const struct tern__cut_plan *plan, struct tern__at at, int relay);

// Passes on to x what its relay has got of the other member last: that one's finished unit of the
// relay.
void tern__cut_relay_final(const struct tern__cut_plan *plan, struct tern__at at, int x);

// In lane 0: waits until everybody linked to the rank has pushed `rounds` rounds.
void tern__cut_wait_all(const struct tern__cut_plan *plan, struct tern__at at, int rounds);
// In lane 0: sums units first..last-1 of the rank's own block into its output and tells its lanes.
void tern__cut_sum(const struct tern__cut_plan *plan, struct tern__at at, int first, int last);

// What the ranks of a plan do: lane 0 of a healthy one, and the pushing lanes, from rank to rank.
struct tern__cut_roles {
    void (*healthy_sums)(const struct tern__cut_plan *plan, int h);
    void (*between_healthy)(const struct tern__cut_plan *plan, int from, int to);
    void (*from_pair)(const struct tern__cut_plan *plan, int x, int h);
    void (*to_pair)(const struct tern__cut_plan *plan, int h, int x);
};
// Emits a plan of four rounds: the roles, and lane 0 of the pair, which sums its units in round 1.
void tern__cut_emit(const struct tern__cut_plan *plan, const struct tern__cut_roles *roles);

#endif
