// SPDX-License-Identifier: Apache-2.0
// Waiting for signals: several conditions, deadlines of the call and of the communicator and what
// they say, a rank that dies or leaves meanwhile, and what it costs to wait.
#include "support/cmocka.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/comm.h"
#include "support/machines.h"
#include "support/ranks.h"
#include "tern/put.h"
#include "tern/signal.h"

#define LONG_NS (60 * TERN_NS_PER_SECOND)
#define WAIT_SHORT (50 * TERN_NS_PER_MS)

static int conditions_of_one_rank(tern_comm *comm, void *arg)
{
    tern_window *one;
    tern_window *other;
    CHECK(tern_window_create(comm, 4096, NULL, &one) == TERN_OK);
    CHECK(tern_window_create(comm, 4096, NULL, &other) == TERN_OK);
    const tern_condition conditions[] = {{one, 0, TERN_CMP_GE, 1},
                                         {other, 0, TERN_CMP_GE, 1},
                                         {one, 64, TERN_CMP_LT, 0},
                                         {one, 128, TERN_CMP_NE, 0}};
    size_t which = 99;
    CHECK(tern_signal_wait_any(conditions, 4, WAIT_SHORT, &which) == TERN_ERR_TIMEOUT);
    CHECK(which == 99); // outputs are written on success only
    CHECK(strstr(tern_last_error(), "4 conditions, any to hold") != NULL);
    CHECK(tern_signal_notify(one, 0, 128, 5, TERN_NOTIFY_SET) == TERN_OK);
    CHECK(tern_signal_wait_any(conditions, 4, 0, &which) == TERN_OK && which == 3);
    CHECK(tern_signal_notify(one, 0, 64, -1, TERN_NOTIFY_SET) == TERN_OK);
    CHECK(tern_signal_wait_any(conditions, 4, 0, &which) == TERN_OK && which == 2);
    CHECK(tern_signal_notify(other, 0, 0, 1, TERN_NOTIFY_ADD) == TERN_OK);
    CHECK(tern_signal_wait_any(conditions, 4, 0, &which) == TERN_OK && which == 1);
    CHECK(tern_signal_wait_all(conditions, 4, WAIT_SHORT) == TERN_ERR_TIMEOUT);
    CHECK(strstr(tern_last_error(), "byte 0 of window 0: seen 0, wanted >= 1 (4 conditions, all to "
                                    "hold)") != NULL); // the one that does not hold
    CHECK(tern_signal_wait_all(conditions + 1, 3, 0) == TERN_OK);
    CHECK(tern_signal_notify(one, 0, 0, 1, TERN_NOTIFY_ADD) == TERN_OK);
    CHECK(tern_signal_wait_all(conditions, 4, 0) == TERN_OK);
    CHECK(tern_signal_wait_any(conditions, 4, 0, &which) == TERN_OK && which == 0);
    CHECK(tern_window_destroy(one) == TERN_OK);
    CHECK(tern_window_destroy(other) == TERN_OK);
    return 0;
}

static void any_gives_the_lowest_index_and_all_needs_every_one(void **state)
{
    assert_true(ranks_run_comm(1, conditions_of_one_rank, NULL, 60));
}

// Every rank waits for one word of each rank; they come in another order on each.
static int wait_for_everybody(tern_comm *comm, void *arg)
{
    tern_window *window;
    tern_condition conditions[TERN_RANKS_MAX];
    int rank = tern_comm_rank(comm);
    int size = tern_comm_size(comm);
    CHECK(tern_window_create(comm, (size_t)size * 64, NULL, &window) == TERN_OK);
    for (int32_t round = 1; round <= 200; round++) {
        for (int peer = 0; peer < size; peer++) {
            conditions[peer] = (tern_condition){window, (size_t)peer * 64, TERN_CMP_GE, round};
            int to = (rank + peer + round) % size;
            CHECK(tern_signal_notify(window, to, (size_t)rank * 64, 1, TERN_NOTIFY_ADD) == TERN_OK);
        }
        CHECK(tern_signal_wait_all(conditions, (size_t)size, TERN_TIMEOUT_DEFAULT) == TERN_OK);
        for (int peer = 0; peer < size; peer++) {
            CHECK(tern_signal_test(window, (size_t)peer * 64, TERN_CMP_GE, round) == 1);
        }
    }
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void waiting_for_all_ranks_sees_all_of_them(void **state)
{
    assert_true(ranks_run_counts(1, 16, wait_for_everybody, NULL, 60));
    assert_true(machines_run_comm("abb", wait_for_everybody, NULL, 60));
}

static int miss_an_own_deadline(tern_comm *comm, void *arg)
{
    tern_window *first;
    tern_window *window;
    CHECK(tern_window_create(comm, 4096, NULL, &first) == TERN_OK);
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    CHECK(tern_signal_notify(window, 0, 256, -17, TERN_NOTIFY_SET) == TERN_OK);
    int64_t begin = tern__now_ns();
    CHECK(tern_signal_wait(window, 256, TERN_CMP_GT, 41, 250 * TERN_NS_PER_MS) == TERN_ERR_TIMEOUT);
    CHECK(tern__now_ns() - begin >= 250 * TERN_NS_PER_MS);
    CHECK(strcmp(tern_last_error(), "rank 0 waited 0.25 s for the signal at byte 256 of window 1: "
                                    "seen -17, wanted > 41 (1 condition)") == 0);
    CHECK(tern_comm_health(comm) == TERN_OK); // only this call has failed
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_signal_wait(window, 256, TERN_CMP_EQ, -17, TERN_TIMEOUT_DEFAULT) == TERN_OK);
    CHECK(tern_window_destroy(window) == TERN_OK);
    CHECK(tern_window_destroy(first) == TERN_OK);
    return 0;
}

static void a_deadline_of_the_call_fails_only_the_call(void **state)
{
    assert_true(ranks_run_comm(1, miss_an_own_deadline, NULL, 60));
}

static int miss_the_default_deadline(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    tern_window *window;
    setenv("TERN_TIMEOUT", "0.3", 1);
    CHECK(tern_init_at(rank, 1, ranks->path, NULL, &comm) == TERN_OK);
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    int64_t begin = tern__now_ns();
    CHECK(tern_signal_wait(window, 8, TERN_CMP_NE, 0, TERN_TIMEOUT_DEFAULT) == TERN_ERR_TIMEOUT);
    CHECK(tern__now_ns() - begin >= 300 * TERN_NS_PER_MS);
    CHECK(strcmp(tern_last_error(),
                 "rank 0 waited 0.3 s for the signal at byte 8 of window 0: seen "
                 "0, wanted != 0 (1 condition)") == 0);
    CHECK(tern_comm_health(comm) == TERN_ERR_TIMEOUT);
    CHECK(strstr(tern_last_error(), "rank 0 waited 0.3 s for the signal at byte 8") != NULL);
    CHECK(tern_comm_barrier(comm) == TERN_ERR_TIMEOUT);
    CHECK(tern_window_destroy(window) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void the_default_deadline_comes_from_the_environment_and_fails_all(void **state)
{
    assert_true(ranks_run(1, miss_the_default_deadline, NULL, 60));
}

// Every call of a failed communicator returns its error and moves nothing.
static int check_all_fail(tern_window *window, int status)
{
    char bytes[8] = {0};
    int32_t value = 42;
    size_t which = 42;
    const tern_block block = {2, 2, 4, 4};
    const tern_condition holds = {window, 0, TERN_CMP_EQ, 0};
    CHECK(tern_put(window, 0, 0, bytes, 8) == status);
    CHECK(strstr(tern_last_error(), "the communicator has failed: rank 0 waited") != NULL);
    CHECK(tern_get(window, 0, 0, bytes, 8) == status);
    CHECK(tern_put_block(window, 0, 0, bytes, &block) == status);
    CHECK(tern_get_block(window, 0, 0, bytes, &block) == status);
    CHECK(tern_put_add(window, 0, 0, bytes, 1, TERN_I32) == status);
    CHECK(tern_signal_notify(window, 0, 0, 1, TERN_NOTIFY_ADD) == status);
    CHECK(tern_signal_wait(window, 0, TERN_CMP_EQ, 0, LONG_NS) == status);
    CHECK(tern_signal_wait(window, 0, TERN_CMP_EQ, 0, TERN_TIMEOUT_DEFAULT) == status);
    CHECK(tern_signal_wait_all(&holds, 1, LONG_NS) == status);
    CHECK(tern_signal_wait_any(&holds, 1, LONG_NS, &which) == status && which == 42);
    CHECK(tern_signal_test(window, 0, TERN_CMP_EQ, 0) == status);
    CHECK(tern_signal_read(window, 0, &value) == status && value == 42);
    CHECK(*(int32_t *)tern_window_address(window, 0) == 0);
    return 0;
}

// Rank 0 misses the communicator's deadline while the others wait, far from theirs.
static int fail_while_others_wait(tern_comm *comm, void *arg)
{
    tern_window *window;
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    int64_t timeout_ns = LONG_NS;
    if (tern_comm_rank(comm) == 0) {
        comm->group.job->timeout_ns = 200 * TERN_NS_PER_MS;
        timeout_ns = TERN_TIMEOUT_DEFAULT;
    }
    CHECK(tern_signal_wait(window, 64, TERN_CMP_GE, 1, timeout_ns) == TERN_ERR_TIMEOUT);
    CHECK(strstr(tern_last_error(), "rank 0 waited 0.2 s for the signal at byte 64") != NULL);
    CHECK(check_all_fail(window, TERN_ERR_TIMEOUT) == 0);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void a_failed_communicator_returns_its_error_from_every_call(void **state)
{
    assert_true(ranks_run_counts(1, 16, fail_while_others_wait, NULL, 60));
}

// All ranks miss the same deadline at once: none of them says of another that it does not wait.
static int miss_it_together(tern_comm *comm, void *arg)
{
    tern_window *window;
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    comm->group.job->timeout_ns = 3 * TERN_NS_PER_SECOND;
    CHECK(tern_signal_wait(window, 64, TERN_CMP_GE, 1, TERN_TIMEOUT_DEFAULT) == TERN_ERR_TIMEOUT);
    CHECK(strstr(tern_last_error(), " waited 3 s for the signal at byte 64") != NULL);
    CHECK(strstr(tern_last_error(), "not waiting") == NULL);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void ranks_whose_time_is_up_together_still_wait(void **state)
{
    assert_true(ranks_run_comm(16, miss_it_together, NULL, 60));
}

static int die_or_wait(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    tern_window *window;
    int last = ranks->count - 1;
    char name[32];
    snprintf(name, sizeof name, "rank %d died", last);
    CHECK(tern_init_at(rank, ranks->count, ranks->path, NULL, &comm) == TERN_OK);
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    if (rank == last) {
        // Dies only when all others wait: each says so before it does.
        CHECK(tern_signal_wait(window, 0, TERN_CMP_EQ, last, LONG_NS) == TERN_OK);
        kill(getpid(), SIGKILL);
    }
    CHECK(tern_signal_notify(window, last, 0, 1, TERN_NOTIFY_ADD) == TERN_OK);
    CHECK(tern_signal_wait(window, 64, TERN_CMP_GE, 1, LONG_NS) == TERN_ERR_PEER);
    CHECK(strstr(tern_last_error(), name) != NULL);
    CHECK(tern_window_destroy(window) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void a_rank_that_dies_is_named_to_all_who_wait(void **state)
{
    for (int i = 1; i < 6; i++) {
        struct ranks ranks;
        ranks_begin(&ranks, ranks_counts[i], die_or_wait, NULL);
        assert_true(ranks_wait(&ranks, 40));
        for (int rank = 0; rank < ranks.count; rank++) {
            assert_int_equal(ranks.statuses[rank], rank == ranks.count - 1 ? SIGKILL : 0);
        }
        assert_true(ranks_end(&ranks));
    }
}

static int leave_or_wait(tern_comm *comm, void *arg)
{
    tern_window *window;
    int rank = tern_comm_rank(comm);
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (rank == 2) { // notifies only after rank 1 has left
        while (tern__group_left(&comm->group) != 1) {
            CHECK(tern_signal_wait(window, 0, TERN_CMP_NE, 0, TERN_NS_PER_MS) == TERN_ERR_TIMEOUT);
        }
        CHECK(tern_signal_notify(window, 0, 64, 9, TERN_NOTIFY_ADD) == TERN_OK);
    }
    if (rank == 0) {
        CHECK(tern_signal_wait(window, 64, TERN_CMP_EQ, 9, TERN_TIMEOUT_DEFAULT) == TERN_OK);
    }
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void a_rank_that_leaves_is_no_error_to_who_waits_for_another(void **state)
{
    assert_true(ranks_run_comm(3, leave_or_wait, NULL, 60));
}

static int64_t processor_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * TERN_NS_PER_SECOND +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

static int wait_idle(tern_comm *comm, void *arg)
{
    tern_window *window;
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    int64_t before = processor_ns();
    CHECK(tern_signal_wait(window, 0, TERN_CMP_NE, 0, 2 * TERN_NS_PER_SECOND) == TERN_ERR_TIMEOUT);
    CHECK(processor_ns() - before < 50 * TERN_NS_PER_MS);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void waiting_two_seconds_costs_next_to_no_processor_time(void **state)
{
    assert_true(ranks_run_comm(3, wait_idle, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_gives_the_lowest_index_and_all_needs_every_one),
        cmocka_unit_test(waiting_for_all_ranks_sees_all_of_them),
        cmocka_unit_test(a_deadline_of_the_call_fails_only_the_call),
        cmocka_unit_test(the_default_deadline_comes_from_the_environment_and_fails_all),
        cmocka_unit_test(a_failed_communicator_returns_its_error_from_every_call),
        cmocka_unit_test(ranks_whose_time_is_up_together_still_wait),
        cmocka_unit_test(a_rank_that_dies_is_named_to_all_who_wait),
        cmocka_unit_test(a_rank_that_leaves_is_no_error_to_who_waits_for_another),
        cmocka_unit_test(waiting_two_seconds_costs_next_to_no_processor_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
