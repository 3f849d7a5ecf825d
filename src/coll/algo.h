// SPDX-License-Identifier: Apache-2.0
// What the table of algorithms (algo.def) says of one by its name. Set-up path.
#ifndef TERN_COLL_ALGO_H
#define TERN_COLL_ALGO_H

#include <stdbool.h>

#include "tern/algo.h"

// The index of an algorithm in the kind's row of tern_algo_name, or -1.
int tern__algo_index(tern_plan_kind kind, const char *name);

// Whether one plan does for every size: its operands cover whole slices or shares.
bool tern__algo_scales(tern_plan_kind kind, const char *name);

#endif
