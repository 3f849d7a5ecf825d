// SPDX-License-Identifier: Apache-2.0
// Waits with a limit and a waiter: what they answer, in which order, what becomes of a wake that
// nobody waits for, the descriptor, peers that leave or die, and wrong use.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "coll/call/test/kit.h"
#include "tern/waiter.h"

static float value = 1;
static float sum;
static const tern_coll summing = {.kind = TERN_COLL_ALL_REDUCE,
                                  .in = &value,
                                  .out = &sum,
                                  .count = 1};

static void *wake_soon(void *arg)
{
    poll(NULL, 0, 50);
    return tern_waiter_wake(arg) == TERN_OK ? arg : NULL;
}

static int answer_all(tern_comm *world, void *arg)
{
    tern_waiter *waiter;
    tern_request requests[2] = {0};
    pthread_t thread;
    void *woke;
    int index = 7;
    int rank = tern_comm_rank(world);
    CHECK(tern_waiter_create(world, &waiter) == TERN_OK);
    CHECK(tern_request_wait_any_for(requests, 2, &index, 0, NULL) == TERN_OK &&
          index == TERN_WAIT_NONE);
    CHECK(tern_request_wait_any_for(NULL, 0, &index, 1000000, waiter) == TERN_OK &&
          index == TERN_WAIT_TIMEOUT);
    CHECK(tern_waiter_wake(waiter) == TERN_OK && tern_waiter_wake(waiter) == TERN_OK);
    CHECK(tern_request_wait_any_for(NULL, 0, &index, TERN_TIMEOUT_NEVER, waiter) == TERN_OK &&
          index == TERN_WAIT_WOKEN);
    CHECK(tern_request_wait_any_for(NULL, 0, &index, 0, waiter) == TERN_OK &&
          index == TERN_WAIT_TIMEOUT);
    if (rank == 0) { // the others come only when this one has been through all of it
        CHECK(tern_coll_start(world, &summing, &requests[1]) == TERN_OK);
        CHECK(tern_request_wait_any_for(requests, 2, &index, 20000000, NULL) == TERN_OK &&
              index == TERN_WAIT_TIMEOUT);
        CHECK(pthread_create(&thread, NULL, wake_soon, waiter) == 0);
        CHECK(tern_request_wait_any_for(requests, 2, &index, TERN_TIMEOUT_NEVER, waiter) ==
                  TERN_OK &&
              index == TERN_WAIT_WOKEN && requests[1] != 0);
        CHECK(pthread_join(thread, &woke) == 0 && woke != NULL);
        for (int peer = 1; peer < tern_comm_size(world); peer++) {
            CHECK(tern_send(world, &value, 1, TERN_F32, peer) == TERN_OK);
        }
    } else {
        CHECK(tern_recv(world, &sum, 1, TERN_F32, 0) == TERN_OK);
        CHECK(tern_coll_start(world, &summing, &requests[1]) == TERN_OK);
    }
    CHECK(tern_request_wait_any_for(requests, 2, &index, TERN_TIMEOUT_NEVER, waiter) == TERN_OK &&
          index == 1 && requests[1] == 0 && sum == (float)tern_comm_size(world));
    CHECK(tern_request_wait_any_for(requests, 2, &index, -2, NULL) == TERN_ERR_ARG);
    CHECK(tern_comm_destroy(world) == TERN_ERR_STATE && kit_mentions("1 waiter"));
    CHECK(tern_waiter_destroy(waiter) == TERN_OK && tern_waiter_wake(waiter) == TERN_ERR_ARG);
    return 0;
}

static void waits_answer_what_has_ended_them(void **state)
{
    assert_true(ranks_run_comm(2, answer_all, NULL, 30));
    assert_true(ranks_run_comm(3, answer_all, NULL, 30));
}

// Moves with the descriptor alone until the request has ended; its status.
static int poll_until(tern_waiter *waiter, tern_request *request)
{
    struct pollfd polled = {.fd = tern_waiter_fd(waiter), .events = POLLIN};
    CHECK(polled.fd >= 0 && tern_waiter_fd(waiter) == polled.fd);
    for (;;) {
        int index;
        int status = tern_request_wait_any_for(request, 1, &index, 0, waiter);
        if (status != TERN_OK || index == 0) {
            return status;
        }
        CHECK(index == TERN_WAIT_TIMEOUT);
        CHECK(poll(&polled, 1, 30000) == 1); // no time-out: everything that matters is told
    }
}

static int poll_calls(tern_comm *world, void *arg)
{
    tern_waiter *waiter;
    int rank = tern_comm_rank(world);
    int n = tern_comm_size(world);
    CHECK(tern_waiter_create(world, &waiter) == TERN_OK);
    for (int round = 0; round < 20; round++) {
        tern_request request;
        if (rank == round % n) {
            poll(NULL, 0, 5);
        }
        CHECK(tern_coll_start(world, &summing, &request) == TERN_OK);
        CHECK(poll_until(waiter, &request) == TERN_OK && sum == (float)n);
    }
    pid_t pid = fork();
    if (pid == 0) {
        _exit(tern_waiter_wake(waiter) == TERN_ERR_STATE &&
                      tern_waiter_destroy(waiter) == TERN_OK && tern_comm_destroy(world) == TERN_OK
                  ? 0
                  : 1);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    return tern_waiter_destroy(waiter);
}

static void a_descriptor_tells_when_to_look(void **state)
{
    assert_true(ranks_run_comm(2, poll_calls, NULL, 30));
    assert_true(ranks_run_comm(3, poll_calls, NULL, 30));
}

// Rank 1 leaves, or dies, while the others poll or wait for its message.
static int lose_one(int rank, const struct ranks *ranks, void *arg)
{
    bool dies = *(const bool *)arg;
    tern_comm *world;
    tern_waiter *waiter;
    tern_request request;
    int index;
    CHECK(ranks_join(rank, ranks, 0, &world) == TERN_OK);
    CHECK(tern_barrier(world) == TERN_OK);
    if (rank == 1) {
        poll(NULL, 0, 100);
        return dies ? raise(SIGKILL) : tern_comm_destroy(world);
    }
    tern_coll call = {.kind = TERN_COLL_RECV, .out = &sum, .count = 1, .root = 1};
    CHECK(tern_waiter_create(world, &waiter) == TERN_OK);
    CHECK(tern_coll_start(world, &call, &request) == TERN_OK);
    int status = rank == 0
                     ? poll_until(waiter, &request)
                     : tern_request_wait_any_for(&request, 1, &index, TERN_TIMEOUT_NEVER, waiter);
    CHECK(status == (dies ? TERN_ERR_PEER : TERN_ERR_LEFT) && kit_mentions("rank 1"));
    CHECK(tern_waiter_destroy(waiter) == TERN_OK);
    return tern_comm_destroy(world);
}

static void a_peer_that_leaves_or_dies_ends_the_wait(void **state)
{
    for (int dies = 0; dies < 2; dies++) {
        struct ranks ranks;
        bool arg = dies != 0;
        ranks_begin(&ranks, 3, lose_one, &arg);
        assert_true(ranks_wait(&ranks, 30));
        for (int rank = 0; rank < 3; rank++) {
            assert_int_equal(ranks.statuses[rank], rank == 1 && arg ? SIGKILL : 0);
        }
        assert_true(ranks_end(&ranks));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_answer_what_has_ended_them),
        cmocka_unit_test(a_descriptor_tells_when_to_look),
        cmocka_unit_test(a_peer_that_leaves_or_dies_ends_the_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
