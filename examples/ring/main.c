// SPDX-License-Identifier: Apache-2.0
// A token goes around a ring of ranks: put the data, notify, wait, and say when it has been read.
// The program of docs/memory-model.md; run it with `tern run -n 3 ring`.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tern/comm.h"
#include "tern/put.h"
#include "tern/signal.h"
#include "tern/window.h"

// In every window: two signals, on lines of their own, and the data.
enum { FULL = 256, FREE = 320, DATA = 4096, COUNT = 1024, ROUNDS = 100 };

static void must(int status)
{
    if (status < 0) {
        fprintf(stderr, "ring: %s\n", tern_last_error());
        exit(1);
    }
}

int main(void)
{
    tern_comm *world;
    tern_window *window;
    must(tern_init(NULL, &world));
    must(tern_window_create(world, DATA + COUNT * sizeof(int), NULL, &window));
    int rank = tern_comm_rank(world);
    int nranks = tern_comm_size(world);
    int next = (rank + 1) % nranks;
    int previous = (rank + nranks - 1) % nranks;
    int token[COUNT] = {0};

    for (int round = 1; round <= ROUNDS; round++) {
        if (rank != 0 || round > 1) { // rank 0 begins with the token in hand
            int arrivals = rank == 0 ? round - 1 : round;
            must(tern_signal_wait(window, FULL, TERN_CMP_GE, arrivals, TERN_TIMEOUT_DEFAULT));
            memcpy(token, (char *)tern_window_address(window, rank) + DATA, sizeof token);
            must(tern_signal_notify(window, previous, FREE, 1, TERN_NOTIFY_ADD));
        }
        for (int i = 0; i < COUNT; i++) {
            token[i] += i + rank;
        }
        // The next rank has read what was put there in the round before.
        must(tern_signal_wait(window, FREE, TERN_CMP_GE, round - 1, TERN_TIMEOUT_DEFAULT));
        must(tern_put(window, next, DATA, token, sizeof token));
        must(tern_signal_notify(window, next, FULL, 1, TERN_NOTIFY_ADD));
    }
    if (rank == 0) { // the token of the last round
        must(tern_signal_wait(window, FULL, TERN_CMP_GE, ROUNDS, TERN_TIMEOUT_DEFAULT));
        memcpy(token, (char *)tern_window_address(window, rank) + DATA, sizeof token);
        for (int i = 0; i < COUNT; i++) {
            int expected = ROUNDS * (nranks * i + nranks * (nranks - 1) / 2);
            if (token[i] != expected) {
                fprintf(stderr, "ring: token[%d] is %d, expected %d\n", i, token[i], expected);
                return 1;
            }
        }
        printf("the token went around %d ranks %d times\n", nranks, ROUNDS);
    }
    must(tern_window_destroy(window));
    must(tern_comm_destroy(world));
    return 0;
}
