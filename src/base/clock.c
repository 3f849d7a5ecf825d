// SPDX-License-Identifier: Apache-2.0
// The clock's one function that is not inline.

#include "base/clock.h"

int tern__deadline_ms(int64_t deadline_ns, int max_ms)
{
    int64_t left_ns = deadline_ns - tern__now_ns();
    if (left_ns <= 0) {
        return 0;
    }
    int64_t left_ms = left_ns / TERN_NS_PER_MS + 1;
    return left_ms < max_ms ? (int)left_ms : max_ms;
}
