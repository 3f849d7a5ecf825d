// SPDX-License-Identifier: Apache-2.0
// The futex under the doorbells. Not FUTEX_PRIVATE: bells lie in memory shared between processes.

#include "sync/bell.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

void tern__bell_wake(struct tern__bell *bell)
{
    tern__flag_add(&bell->rings, 1); // partner: tern__bell_sleep's comparison in the kernel
    syscall(SYS_futex, &bell->rings, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void tern__bell_sleep(struct tern__bell *bell, uint32_t seen, int64_t deadline_ns)
{
    struct timespec until = tern__timespec(deadline_ns);
    // FUTEX_WAIT_BITSET takes an absolute time on CLOCK_MONOTONIC.
    syscall(SYS_futex, &bell->rings, FUTEX_WAIT_BITSET, seen, &until, NULL, FUTEX_BITSET_MATCH_ANY);
}
