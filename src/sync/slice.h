// SPDX-License-Identifier: Apache-2.0
// The scheduler slice of threads that wait in tern. With a short slice a thread has the same share
// of the processors and gets its turn earlier: when it wakes up it runs before what has computed
// for a while, and when it yields it soon comes back. Beside other programs that is the difference
// between microseconds and tens of milliseconds a wait.
#ifndef TERN_SYNC_SLICE_H
#define TERN_SYNC_SLICE_H

#include <assert.h>
#include <stdint.h>

// What sched_getattr(2) and sched_setattr(2) take, as in Linux 3.14. Of an ordinary thread, the
// runtime is the slice. The kernel's own header and <sched.h> cannot be included together, and
// glibc has it only since 2.41.
struct tern__sched_attr {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns;
    uint64_t deadline_ns;
    uint64_t period_ns;
};

static_assert(sizeof(struct tern__sched_attr) == 48, "the kernel's SCHED_ATTR_SIZE_VER0");

// Gives the calling thread the shortest slice, once; a thread of real time, idle or batch
// scheduling and one with a shorter slice keep theirs. Threads that it starts later inherit it.
// Does nothing on Linux before 6.12, where ordinary threads have no slice of their own.
void tern__slice_shorten(void);

#endif
