// SPDX-License-Identifier: Apache-2.0
// For tests in which ranks wait until others have ended calls, by other means than calls.
#ifndef TERN_COLL_CALL_TEST_ENDED_H
#define TERN_COLL_CALL_TEST_ENDED_H

#include <poll.h>
#include <stdatomic.h>

// Shared by all ranks and the test.
static struct board {
    _Atomic int ended; // calls, on all ranks
} * board;

static void await_ended(int wanted)
{
    while (board->ended < wanted) {
        poll(NULL, 0, 1);
    }
}

#endif
