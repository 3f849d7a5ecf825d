// SPDX-License-Identifier: Apache-2.0
// Meeting at a path, when it goes well: any number of ranks in any order, again and again, many
// jobs at a time, and nothing stays behind. What is refused is in refused.c.
#include "support/cmocka.h"
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/look.h"
#include "support/ranks.h"
#include "support/user.h"
#include "tern/window.h"

// Joins, checks its place, meets the others, leaves.
static int visit(int rank, int nranks, const char *path)
{
    tern_comm *comm;
    CHECK(tern_init_at(rank, nranks, path, NULL, &comm) == TERN_OK);
    CHECK(tern_comm_rank(comm) == rank);
    CHECK(tern_comm_size(comm) == nranks);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static int just_visit(int rank, const struct ranks *ranks, void *arg)
{
    return visit(rank, ranks->count, ranks->path);
}

static void any_number_of_ranks_meets(void **state)
{
    static const int counts[] = {1, 2, 3, 5, 8, 16, 64};
    for (int i = 0; i < 7; i++) {
        assert_true(ranks_run(counts[i], just_visit, NULL, 60));
    }
}

static int come_late(int rank, const struct ranks *ranks, void *late)
{
    int first = *(int *)late;
    if ((first == 0) == (rank == 0)) {
        poll(NULL, 0, 150 + 20 * rank);
    }
    return visit(rank, ranks->count, ranks->path);
}

static void ranks_wait_for_a_late_rank_0(void **state)
{
    int late = 0;
    assert_true(ranks_run(5, come_late, &late, 20));
}

static void rank_0_waits_for_late_ranks(void **state)
{
    int late = 1;
    assert_true(ranks_run(5, come_late, &late, 20));
}

static int visit_often(int rank, const struct ranks *ranks, void *arg)
{
    CHECK(visit(rank, ranks->count, ranks->path) == 0);
    int fds = look_fds();
    long rss = look_kib("VmRSS:");
    (void)rss;
    for (int i = 0; i < 50; i++) {
        CHECK(visit(rank, ranks->count, ranks->path) == 0);
    }
    CHECK(look_fds() == fds);
    CHECK(look_maps() == 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // they keep what is freed
    CHECK(look_kib("VmRSS:") - rss < 512);
#endif
    return 0;
}

static void fifty_jobs_after_another_at_one_path_leak_nothing(void **state)
{
    assert_true(ranks_run(1, visit_often, NULL, 60));
    assert_true(ranks_run(3, visit_often, NULL, 60));
}

static int twenty_jobs(int rank, const struct ranks *ranks, void *arg)
{
    char path[128];
    snprintf(path, sizeof path, "%s%d", ranks->path, rank / 3);
    return visit(rank % 3, 3, path);
}

static void twenty_jobs_at_once_do_not_meet(void **state)
{
    assert_true(ranks_run(60, twenty_jobs, NULL, 60));
}

// Rank r of one job is rank n-1-r of the other.
static int two_jobs(int rank, const struct ranks *ranks, void *arg)
{
    int last = ranks->count - 1;
    char path[128];
    tern_comm *one;
    tern_comm *other;
    tern_window *windows[2];
    snprintf(path, sizeof path, "%s-other", ranks->path);
    CHECK(tern_init_at(rank, ranks->count, ranks->path, NULL, &one) == TERN_OK);
    CHECK(tern_init_at(last - rank, ranks->count, path, NULL, &other) == TERN_OK);
    CHECK(tern_window_create(one, 64, NULL, &windows[0]) == TERN_OK);
    CHECK(tern_window_create(other, 64, NULL, &windows[1]) == TERN_OK);
    *(int *)tern_window_address(windows[0], rank) = 100 + rank;
    *(int *)tern_window_address(windows[1], last - rank) = 200 + rank;
    CHECK(tern_comm_barrier(other) == TERN_OK);
    CHECK(tern_comm_barrier(one) == TERN_OK);
    for (int i = 0; i <= last; i++) {
        CHECK(*(int *)tern_window_address(windows[0], i) == 100 + i);
        CHECK(*(int *)tern_window_address(windows[1], last - i) == 200 + i);
    }
    CHECK(tern_window_destroy(windows[0]) == TERN_OK);
    CHECK(tern_comm_destroy(one) == TERN_OK);
    CHECK(tern_comm_barrier(other) == TERN_OK); // lives on
    CHECK(tern_window_destroy(windows[1]) == TERN_OK);
    CHECK(tern_comm_destroy(other) == TERN_OK);
    return 0;
}

static void process_can_be_in_two_jobs_at_once(void **state)
{
    assert_true(ranks_run(1, two_jobs, NULL, 20));
    assert_true(ranks_run(5, two_jobs, NULL, 20));
}

// The first process of the three leaves a stale socket behind; the two others are the job.
static int crash_or_visit(int rank, const struct ranks *ranks, void *arg)
{
    if (rank == 2) {
        tern_comm *comm;
        tern_status_ignore(tern_init_at(0, 2, ranks->path, NULL, &comm)); // it is killed meanwhile
        return 1;
    }
    int *go = arg;
    char byte;
    CHECK(read(go[0], &byte, 1) == 1);
    return visit(rank, 2, ranks->path);
}

static void socket_of_a_killed_job_is_replaced(void **state)
{
    int go[2];
    assert_int_equal(pipe(go), 0);
    struct ranks ranks;
    struct stat left;
    ranks_begin(&ranks, 3, crash_or_visit, go);
    ranks_await_file(ranks.path);
    poll(NULL, 0, 20);
    kill(ranks.pids[2], SIGKILL);
    waitpid(ranks.pids[2], NULL, 0);
    ranks.ended[2] = true;
    assert_int_equal(stat(ranks.path, &left), 0); // else nothing is tested
    assert_int_equal(write(go[1], "go", 2), 2);
    assert_true(ranks_wait(&ranks, 20));
    assert_int_equal(ranks.statuses[0], 0);
    assert_int_equal(ranks.statuses[1], 0);
    assert_true(ranks_end(&ranks));
    close(go[0]);
    close(go[1]);
}

static int garbage_or_visit(int rank, const struct ranks *ranks, void *arg)
{
    if (rank < 3) {
        poll(NULL, 0, rank == 2 ? 200 : 0);
        return visit(rank, 3, ranks->path);
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", ranks->path);
    ranks_await_file(ranks->path);
    for (int i = 0; i < 20; i++) {
        char bytes[600];
        memset(bytes, 'a' + i, sizeof bytes);
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
            send(fd, bytes, (size_t)1 + (size_t)i * 30, MSG_NOSIGNAL);
        }
        if (i % 2 == 0) {
            close(fd); // the others hang on without a word
        }
    }
    poll(NULL, 0, 400);
    return 0;
}

static void garbage_at_the_socket_disturbs_nobody(void **state)
{
    assert_true(ranks_run(5, garbage_or_visit, NULL, 20));
}

static int visit_far_away(int rank, const struct ranks *ranks, void *arg)
{
    char path[600];
    snprintf(path, sizeof path, "%s/", ranks->folder);
    for (int i = 0; i < 3; i++) { // over 300 bytes, more than a socket's address holds
        size_t used = strlen(path);
        memset(path + used, 'a' + i, 100);
        path[used + 100] = '/';
        path[used + 101] = '\0';
        mkdir(path, 0700); // by whoever is first
    }
    strcat(path, "meet");
    CHECK(visit(rank, ranks->count, path) == 0);
    return 0;
}

static void length_of_the_folder_does_not_matter(void **state)
{
    struct ranks ranks;
    char command[600];
    ranks_begin(&ranks, 3, visit_far_away, NULL);
    assert_true(ranks_wait(&ranks, 20));
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(ranks.statuses[rank], 0);
    }
    // rmdir -p fails where anything is left.
    snprintf(command, sizeof command, "cd %s && rmdir -p a*/b*/c*", ranks.folder);
    assert_int_equal(system(command), 0);
    assert_true(ranks_end(&ranks));
}

static int visit_here(int rank, const struct ranks *ranks, void *arg)
{
    CHECK(chdir(ranks->folder) == 0);
    return visit(rank, ranks->count, "meet");
}

static void path_without_folder_is_in_the_working_folder(void **state)
{
    assert_true(ranks_run(2, visit_here, NULL, 20));
}

// The kernel limits the descriptors in flight of users that are not root to their limit of open
// files; 64 ranks have 65 each.
static int visit_as_nobody(int rank, const struct ranks *ranks, void *arg)
{
    struct rlimit few = {.rlim_cur = 400, .rlim_max = 400};
    if (rank == 0) {
        CHECK(chmod(ranks->folder, 0777) == 0);
    }
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    ranks_await_open_folder(ranks->folder);
    CHECK(user_become(USER_OTHER) == 0);
    return visit(rank, ranks->count, ranks->path);
}

static void many_ranks_of_an_ordinary_user_with_few_descriptors_meet(void **state)
{
    user_other_or_skip();
    assert_true(ranks_run(64, visit_as_nobody, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_ranks_meets),
        cmocka_unit_test(ranks_wait_for_a_late_rank_0),
        cmocka_unit_test(rank_0_waits_for_late_ranks),
        cmocka_unit_test(fifty_jobs_after_another_at_one_path_leak_nothing),
        cmocka_unit_test(twenty_jobs_at_once_do_not_meet),
        cmocka_unit_test(process_can_be_in_two_jobs_at_once),
        cmocka_unit_test(socket_of_a_killed_job_is_replaced),
        cmocka_unit_test(garbage_at_the_socket_disturbs_nobody),
        cmocka_unit_test(length_of_the_folder_does_not_matter),
        cmocka_unit_test(path_without_folder_is_in_the_working_folder),
        cmocka_unit_test(many_ranks_of_an_ordinary_user_with_few_descriptors_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
