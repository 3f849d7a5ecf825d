// SPDX-License-Identifier: Apache-2.0
// A barrier of all blocks of a kernel on all ranks, between two phases of it, in words of a window
// that the host has set to 0 before the launch, and that count up:
//
//     [0 .. 8)  slot r: how many phases rank r has ended
//     [8]       the phase that the blocks of this rank have left
//     [9]       how often a block of this rank has come, but block 0
//
// Block 0 alone talks to other ranks. What any block did before is visible to all blocks after.
#ifndef PATTERNS_PHASE_BARRIER_H
#define PATTERNS_PHASE_BARRIER_H

#include <stdint.h>

#include "tern/context.h"

enum { PHASE_RANKS_MAX = 8, PHASE_WORDS = PHASE_RANKS_MAX + 2 };

// phase: 1 for the first barrier of a launch, 2 for the next. Returns a status of tern.
int phase_barrier(const tern_context *context, int32_t *words, int32_t phase);

#endif
