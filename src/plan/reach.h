// SPDX-License-Identifier: Apache-2.0
// Which ops need the memory of another machine: the rule and its sentence, for who proves a plan
// (check/network.c) and for who runs it (exec/check.c). Set-up path.
#ifndef TERN_PLAN_REACH_H
#define TERN_PLAN_REACH_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/ir.h"

// Whether an op can do without an operand's memory when that is on another machine: what it copies
// to it travels, and a copy of an input in slots is on every machine.
bool tern__op_travels(const tern_plan *plan, const struct tern__op *op, int operand);

// "rank 0, lane 0, op 3 (reduce)"
void tern__op_place_text(const struct tern__op *op, int rank, uint32_t lane, size_t index,
                         char *text, size_t size);

// "PLACE reads in of rank 2, which is on machine b and not on a; who has it can copy it there": of
// an operand that does not travel. `there` and `here` are the names of the machines.
void tern__op_reach_text(const tern_plan *plan, const struct tern__op *op, int operand,
                         const char *place, const char *there, const char *here, char *text,
                         size_t size);

#endif
