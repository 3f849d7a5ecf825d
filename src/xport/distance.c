// SPDX-License-Identifier: Apache-2.0
// The clock is read three times, since reading it takes as long as a line from a near core.

#include "xport/distance.h"

#include "base/clock.h"

void tern__distance_measure(struct tern__distance *distance, const void *line)
{
    if (distance->calls++ % 16 != 0) {
        return;
    }
    int64_t before = tern__now_ns();
    int64_t begin = tern__now_ns();
    (void)*(const volatile unsigned char *)line;
    int64_t end = tern__now_ns();
    tern__distance_vote(distance, end - begin - (begin - before));
}
