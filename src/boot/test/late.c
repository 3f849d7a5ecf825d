// SPDX-License-Identifier: Apache-2.0
// ctest-first
// Meeting at a path, when somebody is late: the deadline holds whatever the hub does, who comes
// after rank 0 has given up learns why if that can be known, and nothing stays behind.
#include "support/cmocka.h"
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "support/look.h"
#include "support/ranks.h"

static const tern_options short_wait = {.timeout_ns = 2 * TERN_NS_PER_SECOND};

// Pipes: rank 1 may go, rank 0 may end, a rank has done what it should.
static int go[2];
static int end[2];
static int done[2];

static int open_pipes(void **state)
{
    return pipe(go) == 0 && pipe(end) == 0 && pipe(done) == 0 ? 0 : -1;
}

static int close_pipes(void **state)
{
    int *ends[] = {go, end, done};
    for (int i = 0; i < 3; i++) {
        close(ends[i][0]);
        close(ends[i][1]);
    }
    return 0;
}

static bool await_byte(int fd)
{
    char byte;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    return poll(&wait, 1, 20000) == 1 && read(fd, &byte, 1) == 1;
}

static bool send_byte(int fd)
{
    return write(fd, "x", 1) == 1;
}

static void await_file(const char *path)
{
    struct stat state;
    for (int i = 0; i < 4000 && lstat(path, &state) != 0; i++) {
        poll(NULL, 0, 1);
    }
}

static void await_sleep(pid_t pid)
{
    for (int i = 0; i < 4000 && tern__process_state(pid) != 'S'; i++) {
        poll(NULL, 0, 1);
    }
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int meet(int rank, int nranks, const char *path)
{
    tern_comm *comm;
    CHECK(tern_init_at(rank, nranks, path, NULL, &comm) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

// Rank 0 is stopped before rank 1 comes.
static int stopped_host(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    char words[160];
    if (rank == 0) {
        CHECK(send_byte(done[1]));
        CHECK(tern_init_at(0, 3, ranks->path, NULL, &comm) == TERN_ERR_PEER); // rank 1 has gone
        return 0;
    }
    CHECK(await_byte(go[0]));
    double begin_s = now_s();
    CHECK(tern_init_at(1, 3, ranks->path, &short_wait, &comm) == TERN_ERR_TIMEOUT);
    CHECK(now_s() - begin_s < 20);
    snprintf(words, sizeof words, "rank 0 (process %d) is there and was asked, but gave no answer ",
             (int)ranks->pids[0]);
    CHECK(look_says(words));
    CHECK(look_says("it is stopped, by a signal or a debugger"));
    return 0;
}

static void deadline_holds_when_rank_0_is_stopped(void **state)
{
    struct ranks ranks;
    ranks_begin(&ranks, 2, stopped_host, NULL);
    assert_true(await_byte(done[0]));
    await_file(ranks.path);
    await_sleep(ranks.pids[0]); // the name is there a little before anybody listens
    kill(ranks.pids[0], SIGSTOP);
    assert_int_equal(waitpid(ranks.pids[0], NULL, WUNTRACED), ranks.pids[0]);
    assert_true(send_byte(go[1]));
    while (waitpid(ranks.pids[1], &ranks.statuses[1], 0) != ranks.pids[1]) {
    }
    ranks.ended[1] = true;
    kill(ranks.pids[0], SIGCONT);
    assert_true(ranks_wait(&ranks, 20));
    assert_int_equal(ranks.statuses[0], 0);
    assert_int_equal(ranks.statuses[1], 0);
    assert_true(ranks_end(&ranks));
}

// The launcher's end of the socket is open, and nobody reads it.
static int silent_launcher(int rank, const struct ranks *ranks, void *arg)
{
    int ends[2];
    char number[16];
    char words[160];
    tern_comm *comm;
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    snprintf(number, sizeof number, "%d", ends[1]);
    setenv("TERN_RANK", "0", 1);
    setenv("TERN_NRANKS", "1", 1);
    setenv("TERN_HUB_FD", number, 1);
    setenv("TERN_TOKEN", "000102030405060708090a0b0c0d0e0f", 1);
    double begin_s = now_s();
    CHECK(tern_init(&short_wait, &comm) == TERN_ERR_TIMEOUT);
    CHECK(now_s() - begin_s < 20);
    snprintf(words, sizeof words,
             "the launcher (process %d) is there and was asked, but gave no answer within 2 s",
             (int)getpid());
    CHECK(look_says(words));
    return 0;
}

static void deadline_holds_when_the_launcher_is_silent(void **state)
{
    assert_true(ranks_run(1, silent_launcher, NULL, 20));
}

// What happens to rank 0 after it has given up, and before rank 1 comes.
enum after { LIVES, IS_KILLED, ENDS };

static int give_up(int rank, const struct ranks *ranks, void *after)
{
    tern_comm *comm;
    char words[256];
    if (rank == 0) {
        CHECK(tern_init_at(0, 3, ranks->path, &short_wait, &comm) == TERN_ERR_TIMEOUT);
        CHECK(look_says("ranks 1, 2 did not come within 2 s"));
        if (*(enum after *)after != ENDS) {
            CHECK(send_byte(done[1]) && await_byte(end[0]));
        }
        return 0;
    }
    CHECK(await_byte(go[0]));
    CHECK(tern_init_at(1, 3, ranks->path, &short_wait, &comm) == TERN_ERR_TIMEOUT);
    snprintf(
        words, sizeof words,
        "rank 0 came to the rendezvous path '%s' and its process %d gave up: ranks 1, 2 did not "
        "come within 2 s; it did not come again in the 2 s that rank 1 waited",
        ranks->path, (int)ranks->pids[0]);
    CHECK(*(enum after *)after == ENDS
              ? look_says("in the 2 s that rank 1 waited; if it came earlier, it has given up")
              : look_says(words));
    CHECK(send_byte(done[1]));
    return 0;
}

static void come_later(enum after after)
{
    struct ranks ranks;
    ranks_begin(&ranks, 2, give_up, &after);
    if (after != ENDS) {
        assert_true(await_byte(done[0]));
    }
    if (after == IS_KILLED) {
        kill(ranks.pids[0], SIGKILL);
    }
    if (after != LIVES) {
        waitpid(ranks.pids[0], &ranks.statuses[0], 0);
        ranks.ended[0] = true;
    }
    assert_true(send_byte(go[1]));
    assert_true(await_byte(done[0]));
    assert_true(send_byte(end[1]));
    assert_true(ranks_wait(&ranks, 20));
    assert_int_equal(ranks.statuses[0], after == IS_KILLED ? SIGKILL : 0);
    assert_int_equal(ranks.statuses[1], 0);
    assert_true(ranks_end(&ranks));
}

static void late_rank_learns_why_rank_0_gave_up(void **state)
{
    come_later(LIVES);
}

static void late_rank_learns_it_of_a_killed_rank_0_and_leaves_nothing(void **state)
{
    come_later(IS_KILLED);
}

static void late_rank_claims_no_more_than_it_knows(void **state)
{
    come_later(ENDS);
}

// Process 0 has given up as rank 0 and lives; the others are a new job.
static int meet_after(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    if (rank == 0) {
        CHECK(tern_init_at(0, 2, ranks->path, &short_wait, &comm) == TERN_ERR_TIMEOUT);
        CHECK(send_byte(go[1]) && send_byte(go[1]));
        CHECK(await_byte(done[0]) && await_byte(done[0]));
        return 0;
    }
    CHECK(await_byte(go[0]));
    poll(NULL, 0, rank == 1 ? 100 : 0); // rank 1 of the new job looks at what the old one left
    CHECK(meet(rank - 1, 2, ranks->path) == 0);
    CHECK(send_byte(done[1]));
    return 0;
}

static void new_job_replaces_what_the_old_one_left(void **state)
{
    assert_true(ranks_run(3, meet_after, NULL, 20));
}

// Rank 0 gives up and tries again, while rank 1 waits.
static int try_again(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    if (rank == 0) {
        for (int i = 0; i < 3; i++) {
            CHECK(tern_init_at(0, 2, ranks->path, &short_wait, &comm) == TERN_ERR_TIMEOUT);
        }
        CHECK(send_byte(go[1]));
        poll(NULL, 0, 100);
        return meet(0, 2, ranks->path);
    }
    CHECK(await_byte(go[0]));
    return meet(1, 2, ranks->path);
}

static void rank_0_may_try_again(void **state)
{
    assert_true(ranks_run(2, try_again, NULL, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(deadline_holds_when_rank_0_is_stopped, open_pipes,
                                        close_pipes),
        cmocka_unit_test(deadline_holds_when_the_launcher_is_silent),
        cmocka_unit_test_setup_teardown(late_rank_learns_why_rank_0_gave_up, open_pipes,
                                        close_pipes),
        cmocka_unit_test_setup_teardown(late_rank_learns_it_of_a_killed_rank_0_and_leaves_nothing,
                                        open_pipes, close_pipes),
        cmocka_unit_test_setup_teardown(late_rank_claims_no_more_than_it_knows, open_pipes,
                                        close_pipes),
        cmocka_unit_test_setup_teardown(new_job_replaces_what_the_old_one_left, open_pipes,
                                        close_pipes),
        cmocka_unit_test_setup_teardown(rank_0_may_try_again, open_pipes, close_pipes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
