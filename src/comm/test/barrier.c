// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Barriers: nobody leaves before everybody has come, and what was written before is seen after.
#include "support/cmocka.h"
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/comm.h"
#include "support/ranks.h"
#include "support/look.h"
#include "tern/signal.h"
#include "tern/window.h"

// Every rank writes the round's number into its own window before the barrier and reads all others
// after it; a second barrier keeps the next round's writers away.
static int all_see_all(tern_comm *comm, void *arg)
{
    tern_window *window;
    int rank = tern_comm_rank(comm);
    CHECK(tern_window_create(comm, 64, NULL, &window) == TERN_OK);
    for (int round = 1; round <= 500; round++) {
        *(volatile int *)tern_window_address(window, rank) = round * 1000 + rank;
        CHECK(tern_comm_barrier(comm) == TERN_OK);
        for (int peer = 0; peer < tern_comm_size(comm); peer++) {
            CHECK(*(volatile int *)tern_window_address(window, peer) == round * 1000 + peer);
        }
        CHECK(tern_comm_barrier(comm) == TERN_OK);
    }
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void barrier_orders_all_ranks(void **state)
{
    assert_true(ranks_run_counts(1, 16, all_see_all, NULL, 60));
}

// Rank 1 comes last, by far: nobody leaves before.
static int wait_for_rank_1(tern_comm *comm, void *arg)
{
    tern_window *window;
    CHECK(tern_window_create(comm, 4, NULL, &window) == TERN_OK);
    if (tern_comm_rank(comm) == 1) {
        poll(NULL, 0, 200);
        *(volatile int *)tern_window_address(window, 1) = 1;
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(*(volatile int *)tern_window_address(window, 1) == 1);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void sleepers_wait_for_the_last_rank(void **state)
{
    assert_true(ranks_run_comm(5, wait_for_rank_1, NULL, 20));
}

// Rank 2 leaves after the first barrier; the second cannot complete, and all later calls say so
// too.
static int leave_early(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    tern_window *window;
    CHECK(tern_init_at(rank, ranks->count, ranks->path, NULL, &comm) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (rank != 2) {
        static const char words[] = "rank 2 has left the communicator (tern_comm_destroy)";
        CHECK(tern_comm_barrier(comm) == TERN_ERR_LEFT);
        CHECK(look_says(words) && look_says("tern_comm_barrier 2"));
        CHECK(tern_comm_barrier(comm) == TERN_ERR_LEFT && look_says(words));
        CHECK(tern_comm_health(comm) == TERN_ERR_LEFT && look_says(words));
        CHECK(tern_window_create(comm, 4, NULL, &window) == TERN_ERR_LEFT && look_says(words));
    }
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void rank_that_left_is_named(void **state)
{
    assert_true(ranks_run(3, leave_early, NULL, 20));
    assert_true(ranks_run(8, leave_early, NULL, 20));
}

// A rank may leave right after the last barrier, while others are still on their way out of it.
static int leave_at_once(int rank, const struct ranks *ranks, void *arg)
{
    for (int i = 0; i < 40; i++) {
        tern_comm *comm;
        CHECK(tern_init_at(rank, ranks->count, ranks->path, NULL, &comm) == TERN_OK);
        CHECK(tern_comm_barrier(comm) == TERN_OK);
        CHECK(tern_comm_destroy(comm) == TERN_OK);
    }
    return 0;
}

static void leaving_right_after_a_barrier_disturbs_nobody(void **state)
{
    assert_true(ranks_run(2, leave_at_once, NULL, 60));
    assert_true(ranks_run(8, leave_at_once, NULL, 60));
}

// Ranks 1 and 3 do not come; rank 1 waits for a signal meanwhile, rank 3 sleeps outside of tern.
static int come_not(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    tern_window *window;
    CHECK(ranks_join(rank, ranks, 2 * TERN_NS_PER_SECOND, &comm) == TERN_OK);
    CHECK(tern_window_create(comm, 64, NULL, &window) == TERN_OK);
    if (rank == 1) {
        CHECK(tern_signal_wait(window, 8, TERN_CMP_EQ, 1, RANKS_SOON_NS) == TERN_ERR_TIMEOUT);
        CHECK(look_says("rank 1 waits for the signal"));
    } else if (rank == 3) {
        int status;
        while ((status = tern_comm_health(comm)) == TERN_OK) { // until the others have given up
            poll(NULL, 0, 10);
        }
        CHECK(status == TERN_ERR_TIMEOUT);
    } else {
        CHECK(tern_comm_barrier(comm) == TERN_ERR_TIMEOUT);
        CHECK(look_says("waited 2 s in tern_comm_barrier ") &&
              look_says(" and not all ranks came: "));
        CHECK(look_says(": rank 1 waits for the signal at byte 8 (process "));
        CHECK(look_says("; rank 3 is not waiting in tern (its process "));
        CHECK(tern_comm_barrier(comm) == TERN_ERR_TIMEOUT && look_says("rank 3 is not"));
    }
    CHECK(tern_window_destroy(window) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void deadline_names_who_is_missing_and_what_it_does(void **state)
{
    assert_true(ranks_run(5, come_not, NULL, 30));
}

// Half of the ranks wait in a barrier, the others for a signal, and all miss the same deadline at
// once: none of them is taken for one that does not wait.
static int give_up_together(tern_comm *comm, void *arg)
{
    tern_window *window;
    CHECK(tern_window_create(comm, 64, NULL, &window) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    comm->group.job->timeout_ns = 3 * TERN_NS_PER_SECOND;
    int status = tern_comm_rank(comm) % 2 == 0
                     ? tern_comm_barrier(comm)
                     : tern_signal_wait(window, 8, TERN_CMP_EQ, 1, TERN_TIMEOUT_DEFAULT);
    CHECK(status == TERN_ERR_TIMEOUT && !look_says("not waiting"));
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void who_gives_up_with_the_others_still_waits(void **state)
{
    assert_true(ranks_run_comm(16, give_up_together, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barrier_orders_all_ranks),
        cmocka_unit_test(sleepers_wait_for_the_last_rank),
        cmocka_unit_test(rank_that_left_is_named),
        cmocka_unit_test(leaving_right_after_a_barrier_disturbs_nobody),
        cmocka_unit_test(deadline_names_who_is_missing_and_what_it_does),
        cmocka_unit_test(who_gives_up_with_the_others_still_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
