// SPDX-License-Identifier: Apache-2.0
// ctest-machines: 2
// tern_comm_abort: by a thread while others of its rank, and other ranks, wait; of parts and of
// what they were made from; of what has failed already.
#include "support/cmocka.h"
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/ranks.h"
#include "tern/signal.h"
#include "tern/window.h"

#define WHY "the loss is not a number"

// Whether the last sentence names the rank, and has what was said.
static int check_sentence(int rank)
{
    char name[64];
    snprintf(name, sizeof name, "rank %d", rank);
    const char *text = tern_last_error();
    CHECK(strstr(text, name) != NULL && strstr(text, " ended the communicator: " WHY) != NULL);
    return 0;
}

static void *abort_soon(void *arg)
{
    poll(NULL, 0, 100);
    return tern_comm_abort(arg, WHY) == TERN_OK ? arg : NULL;
}

// Rank 1 waits, and another thread of it ends what it waits for; ranks wait in different calls.
static int end_beside(tern_comm *comm, void *arg)
{
    int rank = tern_comm_rank(comm);
    tern_window *window;
    pthread_t thread;
    void *done = comm;
    CHECK(tern_window_create(comm, 64, NULL, &window) == TERN_OK);
    CHECK(rank != 1 || pthread_create(&thread, NULL, abort_soon, comm) == 0);
    int status = rank == 0 ? tern_signal_wait(window, 0, TERN_CMP_EQ, 1, TERN_TIMEOUT_NEVER)
                           : tern_comm_barrier(comm);
    CHECK(status == TERN_ERR_ABORTED && check_sentence(1) == 0);
    CHECK(rank != 1 || (pthread_join(thread, &done) == 0 && done != NULL));
    CHECK(tern_comm_health(comm) == TERN_ERR_ABORTED && check_sentence(1) == 0);
    CHECK(tern_comm_barrier(comm) == TERN_ERR_ABORTED && check_sentence(1) == 0);
    CHECK(tern_comm_abort(comm, "again") == TERN_OK); // the first reason stays
    CHECK(tern_comm_health(comm) == TERN_ERR_ABORTED && check_sentence(1) == 0);
    return tern_window_destroy(window);
}

static void waits_of_all_ranks_and_threads_end(void **state)
{
    assert_true(ranks_run_comm(2, end_beside, NULL, 60));
    assert_true(ranks_run_comm(3, end_beside, NULL, 60));
    assert_true(ranks_run_comm(5, end_beside, NULL, 60));
}

// Parts and parent fail each for itself.
static int end_one(tern_comm *world, void *arg)
{
    int rank = tern_comm_rank(world);
    tern_comm *part;
    tern_comm *twin;
    CHECK(tern_comm_split(world, rank % 2, rank, &part) == TERN_OK);
    CHECK(tern_comm_split(world, 0, rank, &twin) == TERN_OK);
    CHECK(rank != 2 || tern_comm_abort(part, WHY) == TERN_OK);
    if (rank % 2 == 0) {
        CHECK(tern_comm_barrier(part) == TERN_ERR_ABORTED && check_sentence(1) == 0);
        CHECK(strstr(tern_last_error(), "(2 of the job)") != NULL);
    } else {
        CHECK(tern_comm_barrier(part) == TERN_OK);
    }
    CHECK(tern_comm_barrier(world) == TERN_OK && tern_comm_barrier(twin) == TERN_OK);
    CHECK(tern_comm_health(world) == TERN_OK && tern_comm_health(twin) == TERN_OK);
    CHECK(tern_comm_barrier(world) == TERN_OK);
    CHECK(rank != 0 || tern_comm_abort(world, WHY) == TERN_OK);
    CHECK(tern_comm_barrier(world) == TERN_ERR_ABORTED && check_sentence(0) == 0);
    CHECK(tern_comm_barrier(twin) == TERN_OK && tern_comm_health(twin) == TERN_OK);
    CHECK(tern_comm_destroy(part) == TERN_OK && tern_comm_destroy(twin) == TERN_OK);
    return 0;
}

static void each_communicator_fails_for_itself(void **state)
{
    assert_true(ranks_run_comm(3, end_one, NULL, 60));
    assert_true(ranks_run_comm(5, end_one, NULL, 60));
}

static int abort_wrongly(tern_comm *comm, void *arg)
{
    pid_t pid = fork();
    if (pid == 0) {
        _exit(tern_comm_abort(comm, WHY) == TERN_ERR_STATE ? 0 : 1);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(tern_comm_abort(NULL, WHY) == TERN_ERR_ARG);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_comm_abort(comm, NULL) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_ERR_ABORTED);
    CHECK(strstr(tern_last_error(), "ended the communicator") != NULL);
    return 0;
}

static void a_fork_and_a_handle_that_is_none_are_refused(void **state)
{
    assert_true(ranks_run_comm(2, abort_wrongly, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_of_all_ranks_and_threads_end),
        cmocka_unit_test(each_communicator_fails_for_itself),
        cmocka_unit_test(a_fork_and_a_handle_that_is_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
