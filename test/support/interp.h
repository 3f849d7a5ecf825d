// SPDX-License-Identifier: Apache-2.0
// An interpreter of plans that shares nothing with the checker or the executor: it runs a plan on
// real 64-bit integers under one random interleaving and compares with a naive result. It can only
// refute.
#ifndef TERN_TEST_INTERP_H
#define TERN_TEST_INTERP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/plan.h"
#include "tern/topo.h"

// Where the topology has machines, what a rank writes to a rank of another one, and its posts to
// it, go over a network that keeps their order and no other (wires.h), and a read of another
// machine's memory, or a reduce into it, is a failure; but for inputs in slots, which are on every
// machine.
//
// Runs the plan once; the seed decides the inputs, the interleaving, when each rank begins, and
// which lanes or ranks are starved. An element is one unit and holds an int64. topo NULL: every
// link exists. False, with the reason, on: a wrong output, a deadlock, an operand out of its buffer
// or off the unit, a link that is not there, an op that touches a rank's buffers after its lanes
// have ended (but those in slots), a barrier that lets a lane end before all ranks have begun (but
// with inputs in slots). Plans of more than 2^26 elements are refused.
bool interp_run(const tern_plan *plan, const tern_topo *topo, uint64_t seed, char *why,
                size_t size);

// The same in place: on rank r with bit r set, `out` is the memory of `in`, as tern/coll.h says for
// the kind; of the smaller of the two it is the rank's share of the larger one.
bool interp_run_in_place(const tern_plan *plan, const tern_topo *topo, uint64_t ranks,
                         uint64_t seed, char *why, size_t size);

#endif
