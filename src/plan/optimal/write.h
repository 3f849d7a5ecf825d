// SPDX-License-Identifier: Apache-2.0
// A schedule as a plan. Every rank pushes: it reads its own memory, stores into that of the next
// one, and tells it.
#ifndef TERN_OPTIMAL_WRITE_H
#define TERN_OPTIMAL_WRITE_H

#include "plan/optimal/schedule.h"

// Writes a sealed plan of elements of `unit` bytes.
int tern__schedule_write(struct tern__arena *arena, const struct tern__schedule *schedule,
                         uint32_t unit, tern_plan **plan);

#endif
