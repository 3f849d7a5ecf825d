// SPDX-License-Identifier: Apache-2.0
// In place: on a rank, `out` is the memory of `in`, as tern/coll.h says for the kind. A byte that
// is then in both is called *shared*; the shared bytes of a rank are counted from the first one.
// What must be true of them is said in check/in_place.c. Set-up path.
#ifndef TERN_PLAN_SHARED_H
#define TERN_PLAN_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/ir.h"

// How many bytes of a rank are both in `in` and in `out` when it is in place.
uint64_t tern__shared_bytes(const tern_plan *plan, int rank);

// Where they begin in a buffer, `in` or `out`.
uint64_t tern__shared_begin(const tern_plan *plan, int rank, tern_plan_buffer buffer);

// The shared bytes of an operand; begin == end: none. `whole` is where the operand itself begins,
// also when that is before the first shared byte.
struct tern__shared {
    uint64_t begin, end;
    int64_t whole;
};
struct tern__shared tern__shared_part(const tern_plan *plan, const tern_plan_range *range,
                                      uint64_t length);

// Whether an op copies shared bytes from `in` onto themselves in `out`: executors leave that out.
bool tern__copies_onto_itself(const tern_plan *plan, const struct tern__op *op,
                              const tern_plan_range *source, const tern_plan_range *destination);

#endif
