// SPDX-License-Identifier: Apache-2.0
// The short path of put and get.
#ifndef TERN_ISA_ROW_H
#define TERN_ISA_ROW_H

#include <stdbool.h>

#include "tern/isa.h"

// to = from, when that is what most puts and gets are: a row whose elements lie together, to where
// they lie together, of a tile that holds it. False, and nothing done: it is another transfer, or
// something is wrong, or somebody wants to see it.
bool tern__move_row(const tern_tensor *to, const tern_tensor *from, const tern_tile *tile);

#endif
