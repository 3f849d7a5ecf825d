// SPDX-License-Identifier: Apache-2.0
// A condition that a task or a block waits for.
#ifndef TERN_GRAPH_UNTIL_H
#define TERN_GRAPH_UNTIL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tern/signal.h"

// A signal of a window, or, without a window, a word of this process (at least `value`).
struct tern__until {
    tern_condition condition; // of run 0
    int32_t step_per_run;
    const _Atomic uint32_t *word; // NULL: the condition's
};

// The value that is seen, and what it is compared with in a run.
int32_t tern__until_seen(const struct tern__until *until);
int32_t tern__until_wanted(const struct tern__until *until, uint32_t run);

// Whether it holds in a run.
bool tern__until_holds(const struct tern__until *until, uint32_t run);

#endif
