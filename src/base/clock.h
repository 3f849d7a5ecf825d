// SPDX-License-Identifier: Apache-2.0
// The clock: CLOCK_MONOTONIC in nanoseconds, the same for all processes of a machine. Deadlines are
// points on it.
#ifndef TERN_BASE_CLOCK_H
#define TERN_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define TERN_NS_PER_SECOND INT64_C(1000000000)
#define TERN_NS_PER_MS INT64_C(1000000)

static inline int64_t tern__now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * TERN_NS_PER_SECOND + now.tv_nsec;
}

// now + duration, without overflow; a negative duration counts as none.
static inline int64_t tern__deadline_after(int64_t duration_ns)
{
    int64_t now = tern__now_ns();
    if (duration_ns < 0) {
        return now;
    }
    return duration_ns > INT64_MAX - now ? INT64_MAX : now + duration_ns;
}

// A duration twice, without overflow.
static inline int64_t tern__twice(int64_t duration_ns)
{
    return duration_ns > INT64_MAX / 2 ? INT64_MAX : 2 * duration_ns;
}

// Milliseconds until the deadline for poll(2): rounded up, 0 when passed, at most max_ms.
int tern__deadline_ms(int64_t deadline_ns, int max_ms);

static inline struct timespec tern__timespec(int64_t duration_ns)
{
    return (struct timespec){.tv_sec = (time_t)(duration_ns / TERN_NS_PER_SECOND),
                             .tv_nsec = (long)(duration_ns % TERN_NS_PER_SECOND)};
}

#endif
