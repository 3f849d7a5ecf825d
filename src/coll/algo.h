// SPDX-License-Identifier: Apache-2.0
// What the table of algorithms (algo.def) says of one by its name. Set-up path.
#ifndef TERN_COLL_ALGO_H
#define TERN_COLL_ALGO_H

#include <stdbool.h>
#include <stddef.h>

#include "tern/algo.h"

// The name, as tern_algo_name or TERN_ALGO_OPTIMAL has it, of which this text is one for the kind;
// NULL when there is none.
const char *tern__algo_find(tern_plan_kind kind, const char *text, size_t length);

// The index of an algorithm in the kind's row of tern_algo_name, or -1. TERN_ALGO_OPTIMAL and
// executors have indices behind the last.
int tern__algo_index(tern_plan_kind kind, const char *name);

// Whether there is the algorithm, and it is none of the table.
bool tern__algo_is_beyond(tern_plan_kind kind, const char *name);

// The name at such an index, which tern_algo_name has not behind the last; NULL for executors.
const char *tern__algo_at(tern_plan_kind kind, int index);

// Why there is no algorithm of a name: "there is no algorithm 'rung' for broadcast; there are
// fused, …". length: of the name, of which 40 letters are shown.
void tern__algo_unknown(tern_plan_kind kind, const char *name, size_t length, char *text,
                        size_t size);

// Whether one plan does for every size: its operands cover whole slices or shares.
bool tern__algo_scales(tern_plan_kind kind, const char *name);

// Whether each sum is one op over the inputs of all ranks, in their order; not of executors.
bool tern__algo_whole(tern_plan_kind kind, const char *name);

#endif
