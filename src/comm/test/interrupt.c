// SPDX-License-Identifier: Apache-2.0
// Waits of the main thread ask whether they shall go on: one that is told to end fails its
// communicator for all ranks, which say who was interrupted; other threads do not ask.
#include "support/cmocka.h"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "support/look.h"
#include "support/ranks.h"
#include "tern/coll.h"
#include "tern/interrupt.h"
#include "tern/signal.h"
#include "tern/window.h"

enum wait { IN_BARRIER, IN_CALL, IN_SIGNAL, IN_RECV, WAITS };

static atomic_int asked;

static int go_on_once(void)
{
    return atomic_fetch_add(&asked, 1) > 0;
}

static int go_on(void)
{
    atomic_fetch_add(&asked, 1);
    return 0;
}

static int wait_in(enum wait wait, tern_comm *comm, tern_window *window)
{
    float value = 1;
    switch (wait) {
    case IN_BARRIER:
        return tern_comm_barrier(comm);
    case IN_CALL:
        return tern_all_reduce(comm, &value, &value, 1, TERN_F32, TERN_SUM);
    case IN_SIGNAL:
        return tern_signal_wait(window, 0, TERN_CMP_GE, 1, TERN_TIMEOUT_DEFAULT);
    default:
        return tern_recv(comm, &value, 1, TERN_F32, 1);
    }
}

// Rank 1 makes no call that rank 0 waits for, but a barrier, which the failure ends.
static int interrupt_rank_0(int rank, const struct ranks *ranks, void *arg)
{
    enum wait wait = *(enum wait *)arg;
    tern_comm *comm = NULL;
    tern_window *window = NULL;
    CHECK(tern_init_at(rank, ranks->count, ranks->path, NULL, &comm) == TERN_OK);
    CHECK(tern_window_create(comm, 64, NULL, &window) == TERN_OK);
    if (rank == 0) {
        CHECK(tern_interrupt_set(go_on_once) == NULL);
        CHECK(wait_in(wait, comm, window) == TERN_ERR_INTERRUPTED);
        CHECK(atomic_load(&asked) == 2);
        CHECK(tern_interrupt_set(NULL) == go_on_once);
    } else if (rank == 1 && wait != IN_BARRIER) {
        CHECK(tern_comm_barrier(comm) == TERN_ERR_INTERRUPTED);
    } else if (rank == 1) {
        CHECK(tern_signal_wait(window, 0, TERN_CMP_GE, 1, TERN_TIMEOUT_DEFAULT) ==
              TERN_ERR_INTERRUPTED);
    } else {
        CHECK(wait_in(wait, comm, window) == TERN_ERR_INTERRUPTED);
    }
    CHECK(look_says("rank 0 was interrupted"));
    CHECK(tern_comm_barrier(comm) == TERN_ERR_INTERRUPTED && look_says("rank 0 was interrupted"));
    CHECK(tern_window_destroy(window) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void interrupted_waits_fail_the_communicator(void **state)
{
    for (enum wait wait = IN_BARRIER; wait < WAITS; wait++) {
        assert_true(ranks_run(3, interrupt_rank_0, &wait, 30));
    }
}

static void *wait_elsewhere(void *window)
{
    int status = tern_signal_wait(window, 0, TERN_CMP_GE, 1, 300000000);
    return status == TERN_ERR_TIMEOUT ? window : NULL;
}

static int ask_on_main_only(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm = NULL;
    tern_window *window = NULL;
    pthread_t thread;
    void *returned;
    CHECK(tern_init_at(rank, ranks->count, ranks->path, NULL, &comm) == TERN_OK);
    CHECK(tern_window_create(comm, 64, NULL, &window) == TERN_OK);
    CHECK(tern_interrupt_set(go_on) == NULL);
    CHECK(pthread_create(&thread, NULL, wait_elsewhere, window) == 0);
    CHECK(pthread_join(thread, &returned) == 0);
    CHECK(returned == window && atomic_load(&asked) == 0);
    CHECK(wait_elsewhere(window) == window && atomic_load(&asked) > 0);
    tern_interrupt_set(go_on_once); // of a wait with a deadline of its own nobody else hears
    CHECK(tern_signal_wait(window, 0, TERN_CMP_GE, 1, RANKS_SOON_NS) == TERN_ERR_INTERRUPTED);
    CHECK(tern_comm_health(comm) == TERN_OK);
    CHECK(tern_window_destroy(window) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void only_the_main_thread_asks(void **state)
{
    assert_true(ranks_run(1, ask_on_main_only, NULL, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interrupted_waits_fail_the_communicator),
        cmocka_unit_test(only_the_main_thread_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
