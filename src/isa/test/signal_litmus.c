// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 400, ctest-threads: none
// Message passing between processes, by litmus: who sees the value of a notify sees everything that
// was written before it, by plain stores and by tern_put, in the reader's window or in the
// writer's. What a rank writes depends on what it has read before, so that one stale word spoils
// all that follows. On a machine with fewer processors than ranks the sleeping path is the common
// one.
#include "support/cmocka.h"
#include <string.h>
#include <unistd.h>

#include "support/ranks.h"
#include "support/sanitized.h"
#include "tern/put.h"
#include "tern/signal.h"

enum { SCALE = SANITIZED ? 8 : 1 };

enum {
    WORDS = 96, // of a message
    SLOTS = 2,
    SENT = 0,   // signals: messages from the left neighbour
    TAKEN = 64, // those that the right one has read
    DATA = 128,
    BYTES = DATA + SLOTS * WORDS * 8,
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ (x >> 29);
}

// Messages go round: each rank sends to its right and reads from its left. A rank's next message is
// derived from what it has just read; what it ought to be, everybody can compute.
static uint64_t seed_of(int rank, int size, int round)
{
    int origin = ((rank - round) % size + size) % size;
    uint64_t seed = mix((uint64_t)origin + 1);
    for (int i = 0; i < round % 4; i++) {
        seed = mix(seed);
    }
    return mix(seed + (uint64_t)round);
}

enum way { STORES, PUTS, PULLED };

static int send_message(tern_window *window, enum way way, int round, uint64_t seed)
{
    const tern_context *context = tern_window_context(window);
    int rank = (int)context->rankId;
    int right = (rank + 1) % (int)context->rankNum;
    size_t offset = DATA + (size_t)(round % SLOTS) * WORDS * 8;
    volatile uint64_t *to =
        (volatile uint64_t *)(void *)((char *)tern_window_address(window,
                                                                  way == PULLED ? rank : right) +
                                      offset);
    uint64_t words[WORDS];
    for (int i = 0; i < WORDS; i++) {
        words[i] = mix(seed + (uint64_t)i);
        if (way != PUTS) {
            to[i] = words[i];
        }
    }
    if (way == PUTS) {
        // In two parts: both are ordered before the notify.
        CHECK(tern_put(window, right, offset, words, 5 * 8) == TERN_OK);
        CHECK(tern_put(window, right, offset + 5 * 8, words + 5, (WORDS - 5) * 8) == TERN_OK);
    }
    CHECK(tern_signal_notify(window, right, SENT, 1, TERN_NOTIFY_ADD) == TERN_OK);
    return 0;
}

// Reads the last word first: the one that was written last is the most likely to be late.
static int take_message(tern_window *window, enum way way, int round, uint64_t *seed)
{
    const tern_context *context = tern_window_context(window);
    int rank = (int)context->rankId;
    int size = (int)context->rankNum;
    int left = (rank + size - 1) % size;
    size_t offset = DATA + (size_t)(round % SLOTS) * WORDS * 8;
    const volatile uint64_t *from =
        (const volatile uint64_t *)(void *)((char *)tern_window_address(window, way == PULLED
                                                                                    ? left
                                                                                    : rank) +
                                            offset);
    uint64_t want = seed_of(left, size, round);
    for (int i = WORDS - 1; i >= 0; i--) {
        CHECK(from[i] == mix(want + (uint64_t)i));
    }
    *seed = from[0];
    CHECK(tern_signal_notify(window, left, TAKEN, 1, TERN_NOTIFY_ADD) == TERN_OK);
    return 0;
}

static int pass_messages(tern_comm *comm, void *arg)
{
    enum way way = *(const enum way *)arg;
    tern_window *window;
    int rank = tern_comm_rank(comm);
    int size = tern_comm_size(comm);
    int rounds = 100000 / SCALE / (size < 2 ? 2 : size);
    uint64_t read = 0;
    CHECK(tern_window_create(comm, BYTES, NULL, &window) == TERN_OK);
    for (int round = 0; round < rounds; round++) {
        uint64_t seed = seed_of(rank, size, round);
        if (round > 0) { // what was read enters what is written: nothing unless it was right
            int left = (rank + size - 1) % size;
            seed += read - mix(seed_of(left, size, round - 1));
        }
        CHECK(tern_signal_wait(window, TAKEN, TERN_CMP_GE, round - SLOTS + 1,
                               TERN_TIMEOUT_DEFAULT) == TERN_OK);
        CHECK(send_message(window, way, round, seed) == 0);
        CHECK(tern_signal_wait(window, SENT, TERN_CMP_GE, round + 1, TERN_TIMEOUT_DEFAULT) ==
              TERN_OK);
        CHECK(take_message(window, way, round, &read) == 0);
    }
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void pass_in(enum way way)
{
    assert_true(ranks_run_counts(1, 16, pass_messages, &way, 100));
}

static void plain_stores_are_seen_after_their_notify(void **state)
{
    pass_in(STORES);
}

static void puts_are_seen_after_their_notify(void **state)
{
    pass_in(PUTS);
}

static void what_lies_in_the_writers_window_is_seen_after_its_notify(void **state)
{
    pass_in(PULLED);
}

// A chain through all ranks: what rank 0 wrote before it notified rank 1 must be visible to the
// last rank, which has never been notified by rank 0 (happens-before is transitive).
static int hand_on(tern_comm *comm, void *arg)
{
    tern_window *window;
    int rank = tern_comm_rank(comm);
    int size = tern_comm_size(comm);
    int rounds = 20000 / SCALE / size;
    CHECK(tern_window_create(comm, BYTES, NULL, &window) == TERN_OK);
    volatile uint64_t *first =
        (volatile uint64_t *)(void *)((char *)tern_window_address(window, 0) + DATA);
    for (int round = 1; round <= rounds; round++) {
        if (rank != 0 || round > 1) {
            int32_t wanted = rank == 0 ? round - 1 : round;
            CHECK(tern_signal_wait(window, SENT, TERN_CMP_GE, wanted, TERN_TIMEOUT_DEFAULT) ==
                  TERN_OK);
        }
        uint64_t seed = mix((uint64_t)round);
        for (int i = 0; i < WORDS; i++) {
            if (rank == 0) {
                first[i] = mix(seed + (uint64_t)i);
            } else {
                CHECK(first[i] == mix(seed + (uint64_t)i));
            }
        }
        CHECK(tern_signal_notify(window, (rank + 1) % size, SENT, 1, TERN_NOTIFY_ADD) == TERN_OK);
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void visibility_is_handed_on_from_rank_to_rank(void **state)
{
    assert_true(ranks_run_counts(1, 16, hand_on, NULL, 100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_stores_are_seen_after_their_notify),
        cmocka_unit_test(puts_are_seen_after_their_notify),
        cmocka_unit_test(what_lies_in_the_writers_window_is_seen_after_its_notify),
        cmocka_unit_test(visibility_is_handed_on_from_rank_to_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
