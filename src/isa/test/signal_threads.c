// SPDX-License-Identifier: Apache-2.0
// Several threads of a rank on its one doorbell: each waits for a word of its own at the same time,
// notified by threads of other ranks or of its own, and sees what was written before the notify.
// Inside one process ThreadSanitizer proves the last part.
#include "support/cmocka.h"
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "support/machines.h"
#include "support/ranks.h"
#include "support/sanitized.h"
#include "tern/put.h"
#include "tern/signal.h"

enum { SCALE = SANITIZED ? 8 : 1 };

enum {
    THREADS = 8,
    ROUNDS = 2000 / SCALE,
    WORDS = 16,
    LANE = 64 + 2 * WORDS * 8, // bytes of a thread: its signal, and two slots of data
};

struct lane {
    tern_comm *comm;
    tern_window *window;
    pthread_t thread;
    int number;
};

static uint64_t word_of(int round, int lane, int i)
{
    return (uint64_t)(round * 1000 + lane * 100 + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static int run_lane(const struct lane *lane)
{
    int rank = tern_comm_rank(lane->comm);
    int size = tern_comm_size(lane->comm);
    int right = (rank + 1) % size;
    size_t base = (size_t)lane->number * LANE;
    const uint64_t *mine =
        (const uint64_t *)(void *)((char *)tern_window_address(lane->window, rank) + base + 64);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t words[WORDS];
        size_t slot = (size_t)(round % 2) * WORDS;
        for (int i = 0; i < WORDS; i++) {
            words[i] = word_of(round, lane->number, i);
        }
        CHECK(tern_put(lane->window, right, base + 64 + slot * 8, words, sizeof words) == TERN_OK);
        CHECK(tern_signal_notify(lane->window, right, base, 1, TERN_NOTIFY_ADD) == TERN_OK);
        CHECK(tern_signal_wait(lane->window, base, TERN_CMP_GE, round + 1, TERN_TIMEOUT_DEFAULT) ==
              TERN_OK);
        for (int i = 0; i < WORDS; i++) {
            CHECK(mine[slot + (size_t)i] == word_of(round, lane->number, i));
        }
        // Tells the left neighbour that it may write this slot again, and makes sure that the right
        // one has read the slot of the round before, which is the next to be written.
        int left = (rank + size - 1) % size;
        CHECK(tern_signal_notify(lane->window, left, base + 4, 1, TERN_NOTIFY_ADD) == TERN_OK);
        CHECK(tern_signal_wait(lane->window, base + 4, TERN_CMP_GE, round, TERN_TIMEOUT_DEFAULT) ==
              TERN_OK);
    }
    return 0;
}

static void *run_lane_thread(void *arg)
{
    return run_lane(arg) == 0 ? NULL : arg;
}

static int run_lanes(tern_comm *comm, void *arg)
{
    tern_window *window;
    struct lane lanes[THREADS];
    bool right = true;
    CHECK(tern_window_create(comm, THREADS * LANE, NULL, &window) == TERN_OK);
    for (int i = 0; i < THREADS; i++) {
        lanes[i] = (struct lane){.comm = comm, .window = window, .number = i};
        CHECK(pthread_create(&lanes[i].thread, NULL, run_lane_thread, &lanes[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(lanes[i].thread, &wrong);
        right = right && wrong == NULL;
    }
    CHECK(right);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void threads_of_a_rank_wait_for_different_words_at_once(void **state)
{
    assert_true(ranks_run_counts(1, 5, run_lanes, NULL, 100));
    assert_true(machines_run_comm("aabb", run_lanes, NULL, 100));
}

// Threads of one process hand a plain variable, not in any window, round by round.
struct baton {
    tern_window *window;
    uint64_t plain;
    int wrong;
};

static void *hand_back(void *arg)
{
    struct baton *baton = arg;
    for (int round = 1; round <= ROUNDS; round++) {
        if (tern_signal_wait(baton->window, 0, TERN_CMP_GE, round, TERN_TIMEOUT_DEFAULT) !=
            TERN_OK) {
            return baton;
        }
        baton->wrong += baton->plain != (uint64_t)round * 3;
        baton->plain = (uint64_t)round * 5;
        baton->wrong += tern_signal_notify(baton->window, 0, 64, 1, TERN_NOTIFY_ADD) != TERN_OK;
    }
    return NULL;
}

static int hand_to_and_fro(tern_comm *comm, void *arg)
{
    bool by_test = *(const bool *)arg;
    struct baton baton = {0};
    pthread_t thread;
    void *failed;
    CHECK(tern_window_create(comm, 4096, NULL, &baton.window) == TERN_OK);
    CHECK(pthread_create(&thread, NULL, hand_back, &baton) == 0);
    for (int round = 1; round <= ROUNDS; round++) {
        baton.plain = (uint64_t)round * 3;
        CHECK(tern_signal_notify(baton.window, 0, 0, round, TERN_NOTIFY_SET) == TERN_OK);
        if (by_test) {
            int holds;
            while ((holds = tern_signal_test(baton.window, 64, TERN_CMP_GE, round)) == 0) {
                sched_yield();
            }
            CHECK(holds == 1);
        } else {
            tern_condition back = {baton.window, 64, TERN_CMP_GE, round};
            size_t which;
            CHECK(tern_signal_wait_any(&back, 1, TERN_TIMEOUT_DEFAULT, &which) == TERN_OK);
        }
        CHECK(baton.plain == (uint64_t)round * 5);
    }
    pthread_join(thread, &failed);
    CHECK(failed == NULL && baton.wrong == 0);
    CHECK(tern_window_destroy(baton.window) == TERN_OK);
    return 0;
}

static void wait_orders_plain_memory_between_threads(void **state)
{
    bool by_test = false;
    assert_true(ranks_run_comm(1, hand_to_and_fro, &by_test, 100));
}

static void test_orders_plain_memory_between_threads(void **state)
{
    bool by_test = true;
    assert_true(ranks_run_comm(1, hand_to_and_fro, &by_test, 100));
}

// A wait that ends at its own deadline leaves those of the other threads alone.
static void *wait_in_vain(void *arg)
{
    const struct lane *lane = arg;
    int status = tern_signal_wait(lane->window, 4, TERN_CMP_NE, 0, 1000000 * (lane->number + 1));
    bool said = strstr(tern_last_error(), "seen 0, wanted != 0") != NULL;
    return status == TERN_ERR_TIMEOUT && said ? NULL : arg;
}

static int wait_among_timeouts(tern_comm *comm, void *arg)
{
    tern_window *window;
    struct lane lanes[THREADS];
    bool right = true;
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    for (int i = 0; i < THREADS; i++) {
        lanes[i] = (struct lane){.comm = comm, .window = window, .number = i};
        CHECK(pthread_create(&lanes[i].thread, NULL, wait_in_vain, &lanes[i]) == 0);
    }
    if (tern_comm_rank(comm) != 0) {
        CHECK(tern_signal_notify(window, 0, 0, 1, TERN_NOTIFY_ADD) == TERN_OK);
    } else {
        CHECK(tern_signal_wait(window, 0, TERN_CMP_EQ, tern_comm_size(comm) - 1,
                               TERN_TIMEOUT_DEFAULT) == TERN_OK);
    }
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(lanes[i].thread, &wrong);
        right = right && wrong == NULL;
    }
    CHECK(right);
    CHECK(tern_comm_health(comm) == TERN_OK);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void timeouts_of_some_threads_leave_the_others_waiting(void **state)
{
    assert_true(ranks_run_counts(1, 16, wait_among_timeouts, NULL, 100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_a_rank_wait_for_different_words_at_once),
        cmocka_unit_test(wait_orders_plain_memory_between_threads),
        cmocka_unit_test(test_orders_plain_memory_between_threads),
        cmocka_unit_test(timeouts_of_some_threads_leave_the_others_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
