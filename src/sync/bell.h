// SPDX-License-Identifier: Apache-2.0
// Doorbells. The two-sided handshake, all of it sequentially consistent:
//
//   waiter:    sleepers += 1; seen = rings; look at the condition; sleep while rings == seen
//   notifier:  change what the condition reads (seq_cst); if sleepers != 0: rings += 1, wake
//
// Either the notifier sees the sleeper, or the sleeper sees the change: no wake-up is lost, and
// nobody makes a system call when nobody sleeps. Short path: one load.
#ifndef TERN_SYNC_BELL_H
#define TERN_SYNC_BELL_H

#include <stdint.h>

#include "sync/ctl.h"

void tern__bell_wake(struct tern__bell *bell);

// After a change by a sequentially consistent store or add.
static inline void tern__bell_ring(struct tern__bell *bell)
{
    if (tern__flag_load(&bell->sleepers) != 0) { // partner: tern__wait, "sleepers += 1"
        tern__bell_wake(bell);
    }
}

// Sleeps until rings differs from seen, or the deadline (tern__now_ns clock), or a stray wake-up.
void tern__bell_sleep(struct tern__bell *bell, uint32_t seen, int64_t deadline_ns);

#endif
