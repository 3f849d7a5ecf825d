// SPDX-License-Identifier: Apache-2.0
// Asynchronous transfers: into other ranks' windows, more than may be under way, waiting for the
// last one, tests, refusals; and blocks that meet.
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/machines.h"
#include "support/ranks.h"
#include "tern/async.h"
#include "tern/isa.h"
#include "tern/stream.h"
#include "tern/window.h"

enum { POSTS = 4 * TERN_ASYNC_MAX, POST_WORDS = 257 };

static int32_t word_of(int rank, int post, int i)
{
    return 1000000 * rank + 1000 * post + i;
}

// Every rank puts to the next and gets from the one before, waits for the last of all, and tells.
static int transfer_around(tern_comm *comm, void *arg)
{
    int rank = tern_comm_rank(comm);
    int size = tern_comm_size(comm);
    int next = (rank + 1) % size;
    int before = (rank + size - 1) % size;
    size_t bytes = POSTS * POST_WORDS * sizeof(int32_t);
    tern_window *window;
    tern_session *session;
    CHECK(tern_window_create(comm, 2 * bytes + 4096, NULL, &window) == TERN_OK);
    CHECK(tern_session_create(&session) == TERN_OK);
    int32_t *send = tern_window_address(window, rank);
    int32_t *received = send + POSTS * POST_WORDS;
    int32_t *there = (int32_t *)machines_address(window, next) + POSTS * POST_WORDS;
    const int32_t *source = machines_address(window, before);
    int32_t *got = malloc(bytes);
    CHECK(got != NULL);
    for (int post = 0; post < POSTS; post++) {
        for (int i = 0; i < POST_WORDS; i++) {
            send[post * POST_WORDS + i] = word_of(rank, post, i);
        }
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    uint64_t event = 0;
    for (int post = 0; post < POSTS; post++) {
        size_t at = (size_t)post * POST_WORDS;
        CHECK(tern_async_put(session, there + at, send + at, POST_WORDS * 4, &event) == TERN_OK);
        CHECK(event == (uint64_t)(2 * post + 1));
        CHECK(tern_async_get(session, got + at, source + at, POST_WORDS * 4, &event) == TERN_OK);
    }
    CHECK(tern_session_wait(session, event) == TERN_OK); // the last: all have
    CHECK(tern_session_test(session, 1) == 1 && tern_session_test(session, event) == 1);
    CHECK(tern_signal_notify(window, next, 2 * bytes, 1, TERN_NOTIFY_ADD) == TERN_OK);
    CHECK(tern_signal_wait(window, 2 * bytes, TERN_CMP_GE, 1, TERN_TIMEOUT_DEFAULT) == TERN_OK);
    for (int post = 0; post < POSTS; post++) {
        for (int i = 0; i < POST_WORDS; i++) {
            CHECK(received[post * POST_WORDS + i] == word_of(before, post, i));
            CHECK(got[post * POST_WORDS + i] == word_of(before, post, i));
        }
    }
    CHECK(tern_async_put(session, there, send, 0, &event) == TERN_OK); // nothing
    CHECK(tern_session_wait(session, event) == TERN_OK);
    CHECK(tern_async_put(session, there, send, 2 * bytes + 8192, &event) == TERN_ERR_ARG);
    CHECK(strstr(tern_last_error(), "tern_async_put: ") != NULL);
    CHECK(tern_async_put(session, NULL, send, 4, &event) == TERN_ERR_ARG);
    CHECK(tern_async_put(session, there, send, 4, NULL) == TERN_ERR_ARG);
    CHECK(tern_async_get(session, there, send, SIZE_MAX, &event) == TERN_ERR_ARG);
    CHECK(tern_session_wait(session, event + 1) == TERN_ERR_ARG);
    CHECK(tern_session_wait(session, 0) == TERN_ERR_ARG);
    CHECK(tern_session_test(session, event + 1) == TERN_ERR_ARG);
    CHECK(tern_session_destroy(session) == TERN_OK);
    CHECK(tern_session_test(session, 1) == TERN_ERR_ARG); // destroyed
    CHECK(tern_session_create(NULL) == TERN_ERR_ARG);
    CHECK(tern_session_destroy(NULL) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    free(got);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void transfers_end_in_order_of_waiting(void **state)
{
    assert_true(ranks_run_counts(1, 8, transfer_around, NULL, 60));
    assert_true(machines_run_comm("aabb", transfer_around, NULL, 60));
}

static void what_is_under_way_is_ended_by_destroy(void **state)
{
    enum { BYTES = 1 << 20, SESSIONS = 6 };
    static char from[BYTES];
    static char to[SESSIONS][BYTES];
    memset(from, 7, sizeof from);
    tern_session *sessions[SESSIONS];
    uint64_t event;
    for (int i = 0; i < SESSIONS; i++) {
        assert_int_equal(tern_session_create(&sessions[i]), TERN_OK);
        assert_int_equal(tern_async_put(sessions[i], to[i], from, BYTES, &event), TERN_OK);
    }
    while (tern_session_test(sessions[0], 1) == 0) { // the engine alone, without this thread
    }
    for (int i = 0; i < SESSIONS; i++) {
        assert_int_equal(tern_session_destroy(sessions[i]), TERN_OK);
        assert_memory_equal(to[i], from, BYTES);
    }
}

// Nothing is notified: each of the waits sleeps by the time that the engine of the other rank
// stores its word, and would else go on for a tenth of a second.
static int answer_by_puts(tern_comm *comm, void *arg)
{
    enum { ROUNDS = 150 };
    int rank = tern_comm_rank(comm);
    int other = 1 - rank;
    tern_window *window;
    tern_session *session;
    CHECK(tern_window_create(comm, 8192, NULL, &window) == TERN_OK);
    CHECK(tern_session_create(&session) == TERN_OK);
    int32_t *mine = tern_window_address(window, rank);
    int32_t *there = machines_address(window, other);
    tern_tensor word = tern_tensor_1d(mine, TERN_I32, 1);
    uint64_t event;
    int64_t begin_ns = tern__now_ns();
    for (int32_t i = 1; i <= ROUNDS; i++) {
        if (rank == 1) {
            CHECK(tern_tensor_wait(&word, TERN_CMP_GE, i, RANKS_SOON_NS) == TERN_OK);
        }
        int32_t *from = mine + 1024 + i; // of its own: nothing is waited for
        *from = i;
        usleep(2000);
        CHECK(tern_async_put(session, there, from, sizeof *from, &event) == TERN_OK);
        if (rank == 0) {
            CHECK(tern_tensor_wait(&word, TERN_CMP_GE, i, RANKS_SOON_NS) == TERN_OK);
        }
    }
    CHECK(tern__now_ns() - begin_ns < INT64_C(10000000000)); // 15 s at least when nobody is woken
    CHECK(tern_session_destroy(session) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void a_transfer_wakes_who_waits_for_it(void **state)
{
    assert_true(ranks_run_comm(2, answer_by_puts, NULL, 60));
}

struct rounds {
    int32_t *counts; // of each block
    int32_t *arrived;
    int count;
    bool soft, fails;
};

// After each meeting all blocks have counted as far.
static int meet(void *args)
{
    const struct rounds *rounds = args;
    int block = tern_block_index();
    for (int i = 1; i <= rounds->count; i++) {
        if (rounds->fails && block == 2 && i == 3) {
            return tern_block_fail(TERN_ERR_KERNEL, "has had enough after %d", i);
        }
        rounds->counts[block]++;
        for (int twice = 0; twice < 2; twice++) { // nobody counts on before all have looked
            int status =
                rounds->soft ? tern_block_sync_soft(rounds->arrived, 0) : tern_block_sync();
            if (status != TERN_OK) {
                return status;
            }
            for (int other = 0; twice == 0 && other < tern_block_count(); other++) {
                if (rounds->counts[other] != i) {
                    return tern_block_fail(TERN_ERR_STATE, "block %d has counted to %d in round %d",
                                           other, rounds->counts[other], i);
                }
            }
        }
    }
    return TERN_OK;
}

static void blocks_meet(void **state)
{
    static const int counts[] = {1, 2, 3, 24, 100};
    tern_stream *stream;
    assert_int_equal(tern_stream_create(&stream), TERN_OK);
    for (int soft = 0; soft <= 1; soft++) {
        int32_t arrived = 0;
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            arrived = 0;
            for (int launches = 1; launches <= 2; launches++) { // the word goes on counting
                int32_t counted[100] = {0};
                struct rounds rounds = {counted, &arrived, 20, soft != 0, false};
                tern_stream_kernel what = {.kernel = meet,
                                           .blocks = counts[i],
                                           .args = &rounds,
                                           .args_bytes = sizeof rounds};
                assert_int_equal(tern_stream_launch(stream, &what), TERN_OK);
                assert_int_equal(tern_stream_sync(stream, TERN_TIMEOUT_DEFAULT), TERN_OK);
                assert_int_equal(arrived, soft ? launches * 2 * 20 * counts[i] : 0);
            }
        }
        int32_t counted[100] = {0};
        struct rounds rounds = {counted, &arrived, 20, soft != 0, true};
        tern_stream_kernel what = {.kernel = meet,
                                   .blocks = 5,
                                   .args = &rounds,
                                   .args_bytes = sizeof rounds};
        arrived = 0;
        assert_int_equal(tern_stream_launch(stream, &what), TERN_OK);
        assert_int_equal(tern_stream_sync_all(TERN_TIMEOUT_DEFAULT), TERN_ERR_KERNEL);
        assert_non_null(strstr(tern_last_error(), "block 2 of 5: has had enough after 3"));
    }
    assert_int_equal(tern_block_sync(), TERN_OK); // a block of its own
    assert_int_equal(tern_block_sync_soft(NULL, 0), TERN_ERR_ARG);
    int32_t word = 0;
    assert_int_equal(tern_block_sync_soft(&word, -1), TERN_ERR_ARG);
    assert_int_equal(tern_block_sync_soft(&word, 0), TERN_OK);
    assert_int_equal(tern_stream_destroy(stream), TERN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        // First: it forks, and the others start threads.
        cmocka_unit_test(a_transfer_wakes_who_waits_for_it),
        cmocka_unit_test(transfers_end_in_order_of_waiting),
        cmocka_unit_test(what_is_under_way_is_ended_by_destroy),
        cmocka_unit_test(blocks_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
