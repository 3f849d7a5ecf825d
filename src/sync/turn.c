// SPDX-License-Identifier: Apache-2.0
// Waiting for a turn.

#include "sync/turn.h"

#include <stddef.h>

#include "sync/ladder.h"
#include "tern/status.h"

enum { SPINS = 64, YIELDS = 8 }; // a turn is short, but when a piece of data moves in it

static _Thread_local char mark;

uintptr_t tern__thread_number(void)
{
    return (uintptr_t)&mark;
}

static bool has_taken(void *arg)
{
    return tern__turn_try(arg);
}

void tern__turn_await(struct tern__turn *turn)
{
    struct tern__ladder ladder = {.spins = SPINS, .yields = YIELDS};
    struct tern__wait wait = {.bell = &turn->bell,
                              .ladder = &ladder,
                              .timeout_ns = INT64_MAX,
                              .holds = has_taken,
                              .arg = turn};
    while (tern__ladder_climb(&wait) != TERN_OK) { // a chip has failed: it is soon, all the same
    }
}
