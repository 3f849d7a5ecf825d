// SPDX-License-Identifier: Apache-2.0
// Which range lies beside which: what two neighbours send on one edge in one round goes as one
// copy.
#ifndef TERN_OPTIMAL_ORDER_H
#define TERN_OPTIMAL_ORDER_H

#include "plan/optimal/schedule.h"

// An order of the ranges of a schedule in which many neighbours go together; those of a commodity
// stay together. `order` has room for all.
int tern__schedule_order(struct tern__arena *arena, const struct tern__schedule *schedule,
                         int *order);

#endif
