// SPDX-License-Identifier: Apache-2.0
// Ranks on several machines meet: barriers, exchanges, failing together, leaving.
#include "support/cmocka.h"
#include <string.h>
#include <unistd.h>

#include "comm/comm.h"
#include "support/exchange.h"
#include "support/machines.h"
#include "support/sanitized.h"
#include "tern/put.h"
#include "tern/signal.h"
#include "tern/window.h"

enum { ROUNDS = ROUNDS_OF(300) };

static int exchange(tern_comm *comm, void *arg)
{
    return exchange_all_sizes(comm, TERN__MEETING_WINDOW, ROUNDS, 2);
}

static void an_exchange_gives_everybody_everything(void **state)
{
    assert_true(machines_run_all(exchange, NULL, 60));
}

// Each writes to all before a barrier, and finds what all have written after it.
static int all_see_all(tern_comm *comm, void *arg)
{
    tern_window *window;
    int own = tern_comm_rank(comm);
    int size = tern_comm_size(comm);
    CHECK(tern_window_create(comm, sizeof(int64_t) * TERN_RANKS_MAX, NULL, &window) == TERN_OK);
    const volatile int64_t *here = tern_window_address(window, own);
    for (int round = 1; round <= ROUNDS; round++) {
        int64_t value = round * 1000 + own;
        for (int rank = 0; rank < size; rank++) {
            CHECK(tern_put(window, rank, (size_t)own * sizeof value, &value, sizeof value) ==
                  TERN_OK);
        }
        CHECK(tern_comm_barrier(comm) == TERN_OK);
        for (int rank = 0; rank < size; rank++) {
            CHECK(here[rank] == round * 1000 + rank);
        }
        CHECK(tern_comm_barrier(comm) == TERN_OK);
    }
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void what_was_put_before_a_barrier_is_there_after_it(void **state)
{
    assert_true(machines_run_all(all_see_all, NULL, 60));
}

// Once around, each hands on what it got.
static int around(tern_comm *comm, void *arg)
{
    tern_window *window;
    int own = tern_comm_rank(comm);
    int size = tern_comm_size(comm);
    int next = (own + 1) % size;
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    volatile int64_t *here = tern_window_address(window, own);
    for (int round = 1; round <= ROUNDS; round++) {
        int64_t value = round;
        if (own != 0) {
            CHECK(tern_signal_wait(window, 64, TERN_CMP_EQ, round, TERN_TIMEOUT_DEFAULT) ==
                  TERN_OK);
            value = here[0] + own;
        }
        CHECK(tern_put(window, next, 0, &value, sizeof value) == TERN_OK);
        CHECK(tern_signal_notify(window, next, 64, round, TERN_NOTIFY_SET) == TERN_OK);
        if (own == 0) {
            CHECK(tern_signal_wait(window, 64, TERN_CMP_EQ, round, TERN_TIMEOUT_DEFAULT) ==
                  TERN_OK);
            CHECK(here[0] == round + size * (size - 1) / 2);
        }
        int64_t got = 0;
        CHECK(tern_comm_barrier(comm) == TERN_OK);
        CHECK(tern_get(window, 0, 0, &got, sizeof got) == TERN_OK);
        CHECK(got == round + size * (size - 1) / 2);
        CHECK(tern_comm_barrier(comm) == TERN_OK);
    }
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void signals_and_gets_reach_every_rank(void **state)
{
    assert_true(machines_run_all(around, NULL, 60));
}

static int fail_on_the_last_rank(tern_comm *comm, void *arg)
{
    struct tern__group *group = &comm->group;
    int last = group->size - 1;
    // The failure may overtake the end of the barrier before it, which another rank has told.
    int status = tern_comm_barrier(comm);
    CHECK(status == TERN_OK || (group->rank != last && status == TERN_ERR_MISMATCH));
    if (group->rank == last) {
        CHECK(tern__group_fail(group, TERN_ERR_MISMATCH, last, "seven of %s", "nine") ==
              TERN_ERR_MISMATCH);
    }
    CHECK(tern_comm_barrier(comm) == TERN_ERR_MISMATCH);
    CHECK(strstr(tern_last_error(), "the communicator has failed: seven of nine") != NULL);
    CHECK(tern_comm_health(comm) == TERN_ERR_MISMATCH);
    CHECK(group->shared->failed_rank == last);
    return 0;
}

static void a_failure_reaches_all_machines_with_its_sentence(void **state)
{
    assert_true(machines_run_all(fail_on_the_last_rank, NULL, 20));
}

static int differ(tern_comm *comm, void *arg)
{
    tern_window *window = NULL;
    bool last = tern_comm_rank(comm) == tern_comm_size(comm) - 1;
    int status = last ? tern_comm_barrier(comm) : tern_window_create(comm, 64, NULL, &window);
    // Who is in the barrier has come through when the others see that it was one.
    CHECK(status == TERN_ERR_MISMATCH || (last && status == TERN_OK));
    CHECK(tern_comm_barrier(comm) == TERN_ERR_MISMATCH);
    CHECK(strstr(tern_last_error(), "is in tern_comm_barrier") != NULL);
    return 0;
}

static void different_calls_are_found_out(void **state)
{
    assert_true(machines_run_all(differ, NULL, 20));
}

// The last rank leaves; the others wait for it, and are told.
static int leave_early(tern_comm *comm, void *arg)
{
    char words[64];
    int last = tern_comm_size(comm) - 1;
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (tern_comm_rank(comm) == last) {
        return 0;
    }
    snprintf(words, sizeof words, "rank %d has left the communicator", last);
    CHECK(tern_comm_barrier(comm) == TERN_ERR_LEFT);
    CHECK(strstr(tern_last_error(), words) != NULL);
    return 0;
}

static void who_waits_for_a_rank_that_left_is_told(void **state)
{
    assert_true(machines_run_all(leave_early, NULL, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exchange_gives_everybody_everything),
        cmocka_unit_test(what_was_put_before_a_barrier_is_there_after_it),
        cmocka_unit_test(signals_and_gets_reach_every_rank),
        cmocka_unit_test(a_failure_reaches_all_machines_with_its_sentence),
        cmocka_unit_test(different_calls_are_found_out),
        cmocka_unit_test(who_waits_for_a_rank_that_left_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
