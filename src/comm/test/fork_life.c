// SPDX-License-Identifier: Apache-2.0
// What the child of a rank may do, and what its life must not hide: it can be in jobs of its own
// and start other programs; it holds nothing that makes its dead parent look alive.
#include "support/cmocka.h"
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/comm.h"
#include "support/look.h"
#include "support/ranks.h"
#include "tern/coll.h"

extern char **environ;

static int meet(tern_comm *comm)
{
    float data[2] = {1, 2};
    CHECK(tern_all_reduce(comm, data, data, 2, TERN_F32, TERN_SUM) == TERN_OK);
    CHECK(data[0] == (float)tern_comm_size(comm));
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    return 0;
}

static int join_again(int rank, const struct ranks *ranks)
{
    char path[128];
    tern_comm *comm;
    snprintf(path, sizeof path, "%s-children", ranks->path);
    alarm(30);
    CHECK(tern_init(NULL, &comm) == TERN_OK); // alone
    CHECK(meet(comm) == 0 && tern_comm_destroy(comm) == TERN_OK);
    CHECK(tern_init_at(rank, ranks->count, path, NULL, &comm) == TERN_OK);
    CHECK(meet(comm) == 0 && tern_comm_destroy(comm) == TERN_OK);
    CHECK(setenv("TERN_HUB_FD", "0", 1) == 0); // as under tern run
    CHECK(tern_init(NULL, &comm) == TERN_ERR_STATE);
    CHECK(look_says("is a fork of a rank that has joined the job"));
    return 0;
}

static int have_children(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *alone;
    tern_comm *comm;
    int status;
    CHECK(tern_init(NULL, &alone) == TERN_OK);
    CHECK(tern_init_at(rank, ranks->count, ranks->path, NULL, &comm) == TERN_OK);
    CHECK(meet(comm) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(join_again(rank, ranks));
    }
    CHECK(meet(comm) == 0);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(meet(comm) == 0);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    CHECK(tern_comm_destroy(alone) == TERN_OK);
    return 0;
}

static void child_may_join_other_jobs(void **state)
{
    assert_true(ranks_run(3, have_children, NULL, 60));
}

// Other programs, started in every way that there is.
static int start_programs(tern_comm *comm, void *arg)
{
    static char *const argv[] = {"true", NULL};
    pid_t pid;
    int status;
    CHECK(system(TERN_BUILD_DIR "/bin/tern perf barrier -p 2 >/dev/null") == 0);
    CHECK(posix_spawnp(&pid, "true", NULL, NULL, argv, environ) == 0);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(meet(comm) == 0); // between, since a child that shared memory would have changed it
    pid = vfork();          // NOLINT: that way is to be tried
    if (pid == 0) {
        execvp(argv[0], argv);
        _exit(1);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(meet(comm) == 0);
    return 0;
}

static void other_programs_change_nothing(void **state)
{
    assert_true(ranks_run_comm(2, start_programs, NULL, 60));
}

// Rank 1 dies and leaves a child that lives on until `end` is closed. Rank 0 sees the death through
// the pidfd, or through the hang-up of the inbox alone.
struct survivor {
    int end[2];
    bool hang_up_only;
};

static int leave_a_child(int rank, const struct ranks *ranks, void *arg)
{
    const struct survivor *survivor = arg;
    static const tern_options options = {.timeout_ns = INT64_C(20000000000)};
    char byte;
    tern_comm *comm;
    close(survivor->end[1]);
    CHECK(tern_init_at(rank, 2, ranks->path, &options, &comm) == TERN_OK);
    if (rank == 1) {
        if (fork() == 0) {
            alarm(60);
            _exit(read(survivor->end[0], &byte, 1) == 0 ? 0 : 1);
        }
        CHECK(tern_comm_barrier(comm) == TERN_OK);
        raise(SIGKILL);
    }
    if (survivor->hang_up_only) {
        close(comm->group.job->pidfd[1]);
        comm->group.job->pidfd[1] = -1;
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_ERR_PEER);
    CHECK(look_says("rank 1 died"));
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void child_that_lives_on_does_not_hide_a_death(void **state)
{
    for (int only = 0; only < 2; only++) {
        struct survivor survivor = {.hang_up_only = only == 1};
        struct ranks ranks;
        assert_int_equal(pipe(survivor.end), 0);
        ranks_begin(&ranks, 2, leave_a_child, &survivor);
        assert_true(ranks_wait(&ranks, 15));
        close(survivor.end[0]);
        close(survivor.end[1]);
        assert_int_equal(ranks.statuses[0], 0);
        assert_int_equal(ranks.statuses[1], SIGKILL);
        assert_true(ranks_end(&ranks));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_may_join_other_jobs),
        cmocka_unit_test(other_programs_change_nothing),
        cmocka_unit_test(child_that_lives_on_does_not_hide_a_death),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
