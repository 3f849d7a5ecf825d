// SPDX-License-Identifier: Apache-2.0
// Meeting at a path, when it cannot go well: each case ends with the right status and a sentence
// that says who or what is wrong, disturbs no other job and leaves nothing behind.
#include "support/cmocka.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/look.h"
#include "support/ranks.h"
#include "support/user.h"

static const tern_options short_wait = {.timeout_ns = 2 * TERN_NS_PER_SECOND};

static tern_comm *const untouched = (tern_comm *)(uintptr_t)0x1234;

// Checks that tern_init_at fails like this, and that the output was not written.
#define EXPECT(status, words, rank, nranks, path, options)                                         \
    do {                                                                                           \
        tern_comm *comm_ = untouched;                                                              \
        CHECK(tern_init_at(rank, nranks, path, options, &comm_) == (status));                      \
        CHECK(look_says(words));                                                                   \
        CHECK(comm_ == untouched);                                                                 \
    } while (0)

static int wrong_arguments(int rank, const struct ranks *ranks, void *arg)
{
    const char *path = ranks->path;
    char name[200] = ""; // zeros behind what is written
    static char long_path[5000];
    static const tern_options negative = {.timeout_ns = -5};
    int fds = look_fds();
    EXPECT(TERN_ERR_ARG, "rank is -1; with 2 ranks it must be 0..1", -1, 2, path, NULL);
    EXPECT(TERN_ERR_ARG, "rank is 2; with 2 ranks it must be 0..1", 2, 2, path, NULL);
    EXPECT(TERN_ERR_ARG, "nranks is 0; it must be 1..64", 0, 0, path, NULL);
    EXPECT(TERN_ERR_ARG, "nranks is -3; it must be 1..64", 0, -3, path, NULL);
    EXPECT(TERN_ERR_ARG, "nranks is 65; it must be 1..64", 0, 65, path, NULL);
    EXPECT(TERN_ERR_ARG, "NULL", 0, 1, NULL, NULL);
    EXPECT(TERN_ERR_ARG, "timeout_ns is -5", 0, 1, path, &negative);
    EXPECT(TERN_ERR_ARG, "must end in a file name", 0, 1, "", NULL);
    EXPECT(TERN_ERR_ARG, "must end in a file name", 0, 1, "/tmp/", NULL);
    EXPECT(TERN_ERR_ARG, "must end in a file name", 0, 1, "/tmp/.", NULL);
    EXPECT(TERN_ERR_ARG, "must end in a file name", 0, 1, "/tmp/..", NULL);
    CHECK(tern_init_at(0, 1, path, NULL, NULL) == TERN_ERR_ARG);
    snprintf(name, sizeof name, "%s/", ranks->folder);
    memset(name + strlen(name), 'n', 73);
    EXPECT(TERN_ERR_ARG, "file name of 1 to 72 bytes", 0, 1, name, NULL);
    name[strlen(name) - 1] = '\0';
    CHECK(ranks_meet(0, 1, name) == 0); // 72 are right
    memset(long_path, 'x', sizeof long_path - 10);
    strcpy(long_path + sizeof long_path - 10, "/meet");
    EXPECT(TERN_ERR_ARG, "longer than 4096 bytes", 0, 1, long_path, NULL);
    EXPECT(TERN_ERR_ARG, "/no/such/folder/meet': No such file", 0, 1, "/no/such/folder/meet", NULL);
    EXPECT(TERN_ERR_ARG, "Not a directory", 0, 1, "/dev/null/meet", NULL);
    CHECK(setenv("TERN_TIMEOUT", "soon", 1) == 0);
    EXPECT(TERN_ERR_ARG, "TERN_TIMEOUT is 'soon'", 0, 1, path, NULL);
    CHECK(look_fds() == fds);
    return 0;
}

static void wrong_arguments_are_named(void **state)
{
    assert_true(ranks_run(1, wrong_arguments, NULL, 20));
}

// Ranks 1 and 3 never come.
static int miss_two(int rank, const struct ranks *ranks, void *by_environment)
{
    const tern_options *options = &short_wait;
    if (*(bool *)by_environment) {
        CHECK(setenv("TERN_TIMEOUT", "2", 1) == 0);
        options = NULL;
    }
    if (rank != 1 && rank != 3) {
        EXPECT(TERN_ERR_TIMEOUT, "ranks 1, 3 did not come within ", rank, 5, ranks->path, options);
    }
    return 0;
}

static void missing_ranks_are_named_to_all_at_the_deadline(void **state)
{
    bool by_environment = false;
    assert_true(ranks_run(5, miss_two, &by_environment, 20));
    by_environment = true;
    assert_true(ranks_run(5, miss_two, &by_environment, 20));
}

static int miss_rank_0(int rank, const struct ranks *ranks, void *arg)
{
    if (rank != 0) {
        EXPECT(TERN_ERR_TIMEOUT, "rank 0 did not come to the rendezvous path", rank, 3, ranks->path,
               &short_wait);
        CHECK(look_says(ranks->path));
    }
    return 0;
}

static void missing_rank_0_is_named_with_the_path(void **state)
{
    assert_true(ranks_run(3, miss_rank_0, NULL, 20));
}

static int find_a_file(int rank, const struct ranks *ranks, void *arg)
{
    char bytes[8] = "";
    int fd = open(ranks->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, "precious", 8) == 8);
    close(fd);
    EXPECT(TERN_ERR_REFUSED, "exists and is not a rendezvous socket", 0, 2, ranks->path, NULL);
    CHECK(look_says(ranks->path));
    EXPECT(TERN_ERR_REFUSED, "exists and is not a rendezvous socket", 1, 2, ranks->path, NULL);
    fd = open(ranks->path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && read(fd, bytes, 8) == 8 && memcmp(bytes, "precious", 8) == 0);
    close(fd);
    CHECK(unlink(ranks->path) == 0);
    CHECK(symlink("/dev/null", ranks->path) == 0);
    EXPECT(TERN_ERR_REFUSED, "exists and is not a rendezvous socket", 0, 2, ranks->path, NULL);
    CHECK(unlink(ranks->path) == 0);
    CHECK(mkdir(ranks->path, 0700) == 0);
    EXPECT(TERN_ERR_REFUSED, "exists and is not a rendezvous socket", 0, 2, ranks->path, NULL);
    CHECK(rmdir(ranks->path) == 0);
    return 0;
}

static void what_is_no_socket_is_refused_to_all_ranks_and_left_alone(void **state)
{
    assert_true(ranks_run(1, find_a_file, NULL, 20));
}

// Process 2 comes to the path of the job of processes 0 and 1, before that is complete.
static int intrude(int rank, const struct ranks *ranks, void *arg)
{
    _Atomic int *refusals = arg; // how many there have been
    if (rank == 2) {
        char words[200];
        ranks_await_file(ranks->path);
        snprintf(words, sizeof words, "the rendezvous path '%s' is in use by another job (process ",
                 ranks->path);
        EXPECT(TERN_ERR_REFUSED, words, 0, 2, ranks->path, NULL);
        CHECK(look_says("or that process is rank 0 of this one, too"));
        atomic_fetch_add(refusals, 1);
        return 0;
    }
    if (rank == 1) {
        ranks_count_await(refusals, 1);
    }
    return ranks_meet(rank, 2, ranks->path);
}

static void path_of_a_live_job_is_refused_and_that_job_goes_on(void **state)
{
    _Atomic int *refusals = ranks_shared(sizeof(int));
    assert_true(refusals != NULL && ranks_run(3, intrude, refusals, 20));
}

// Processes 1 and 2 both say that they are rank 1; process 3 that there are more ranks. Process 4,
// which is rank 2, comes when the two that are wrong have been told.
static int mistake(int rank, const struct ranks *ranks, void *arg)
{
    _Atomic int *refusals = arg;
    tern_comm *comm = untouched;
    if (rank == 3) {
        ranks_await_file(ranks->path);
        EXPECT(TERN_ERR_REFUSED, "(rank 2) says that there are 4 ranks, the job has 3", 2, 4,
               ranks->path, NULL);
        atomic_fetch_add(refusals, 1);
        return 0;
    }
    if (rank == 4) {
        ranks_count_await(refusals, 2);
    }
    int told = rank == 4 ? 2 : rank == 2 ? 1 : rank;
    int status = tern_init_at(told, 3, ranks->path, NULL, &comm);
    if (status != TERN_OK) {
        CHECK(told == 1 && status == TERN_ERR_REFUSED && comm == untouched);
        CHECK(look_says("says it is rank 1, but process "));
        CHECK(atomic_fetch_add(refusals, 1) < 2);
        return 0;
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void taken_rank_and_other_nranks_are_refused_and_the_job_goes_on(void **state)
{
    _Atomic int *refusals = ranks_shared(sizeof(int));
    assert_true(refusals != NULL && ranks_run(5, mistake, refusals, 20));
    assert_int_equal(*refusals, 2);
}

// Rank 1 says that there are three ranks, rank 0 that there are two.
static int disagree(int rank, const struct ranks *ranks, void *arg)
{
    if (rank == 0) {
        EXPECT(TERN_ERR_TIMEOUT, "rank 1 did not come within 2 s (refused: process ", 0, 2,
               ranks->path, &short_wait);
        CHECK(look_says("says that there are 3 ranks, the job has 2"));
    } else {
        EXPECT(TERN_ERR_REFUSED, "says that there are 3 ranks, the job has 2", 1, 3, ranks->path,
               &short_wait);
    }
    return 0;
}

static void who_waits_in_vain_hears_who_was_refused(void **state)
{
    assert_true(ranks_run(2, disagree, NULL, 20));
}

static int unreadable_folder(int rank, const struct ranks *ranks, void *arg)
{
    CHECK(user_become(USER_OTHER) == 0); // the folder is root's
    EXPECT(TERN_ERR_ARG, "Permission denied", 0, 1, ranks->path, NULL);
    CHECK(look_says(ranks->path));
    EXPECT(TERN_ERR_SYSTEM, "Permission denied", 0, 1, "/usr/tern-test-meet", NULL);
    return 0;
}

static void folder_without_permission_is_named(void **state)
{
    user_other_or_skip();
    assert_true(ranks_run(1, unreadable_folder, NULL, 10));
}

// Four processes make two jobs of two ranks at the same path. Whichever get together, nobody waits
// longer than the deadline, and who does not get in is told so.
static int crowd(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    int status = tern_init_at(rank % 2, 2, ranks->path, &short_wait, &comm);
    if (status != TERN_OK) {
        CHECK(status == TERN_ERR_REFUSED || status == TERN_ERR_TIMEOUT);
        CHECK(look_says("rank 0 did not come") || look_says("is in use by another job") ||
              look_says("says it is rank 1, but process ") || look_says("rank 1 did not come"));
        return 7;
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void two_jobs_at_one_path_at_once_end_as_one_or_two(void **state)
{
    enum { ROUNDS = 10 };
    static struct ranks ranks[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        ranks_begin(&ranks[round], 4, crowd, NULL);
    }
    for (int round = 0; round < ROUNDS; round++) {
        int joined = 0;
        assert_true(ranks_wait(&ranks[round], 30));
        for (int rank = 0; rank < 4; rank++) {
            int status = ranks[round].statuses[rank];
            assert_true(status == 0 || status == 7 << 8);
            joined += status == 0;
        }
        assert_true(ranks_end(&ranks[round]));
        assert_true(joined == 2 || joined == 4);
    }
}

// Rank 1 may open too few files for a job of 16; it says so, and the others hear of it.
static int few_files(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    if (rank == 1) {
        struct rlimit few = {.rlim_cur = 16, .rlim_max = 16};
        CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
        EXPECT(TERN_ERR_SYSTEM,
               "17 descriptors of a job of 16 ranks; raise the limit of open files", 1, 16,
               ranks->path, NULL);
        return 0;
    }
    CHECK(tern_init_at(rank, 16, ranks->path, NULL, &comm) == TERN_ERR_PEER);
    CHECK(look_says("rank 1 died"));
    return 0;
}

static void limit_of_open_files_is_named(void **state)
{
    assert_true(ranks_run(16, few_files, NULL, 20));
}

// Rank 2 never comes to a folder. The card of who gives up would be that of a later job there.
static int give_up(int rank, const struct ranks *ranks, void *arg)
{
    _Atomic int *given_up = arg;
    char folder[100];
    char option[120];
    tern_comm *comm;
    snprintf(folder, sizeof folder, "%s/exchange", ranks->folder);
    snprintf(option, sizeof option, "%d:3:%s", rank, folder);
    CHECK(setenv("TERN_EXCHANGE", option, 1) == 0);
    CHECK(tern_init(&short_wait, &comm) == TERN_ERR_TIMEOUT && look_says("rank 2 did not write"));
    atomic_fetch_add(given_up, 1);
    ranks_count_await(given_up, 2);
    CHECK(rank != 0 || rmdir(folder) == 0); // there is nothing in it
    return 0;
}

static void who_gives_up_leaves_no_card_in_the_folder(void **state)
{
    _Atomic int *given_up = ranks_shared(sizeof(int));
    assert_true(ranks_run(2, give_up, given_up, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_arguments_are_named),
        cmocka_unit_test(missing_ranks_are_named_to_all_at_the_deadline),
        cmocka_unit_test(missing_rank_0_is_named_with_the_path),
        cmocka_unit_test(what_is_no_socket_is_refused_to_all_ranks_and_left_alone),
        cmocka_unit_test(path_of_a_live_job_is_refused_and_that_job_goes_on),
        cmocka_unit_test(taken_rank_and_other_nranks_are_refused_and_the_job_goes_on),
        cmocka_unit_test(who_waits_in_vain_hears_who_was_refused),
        cmocka_unit_test(folder_without_permission_is_named),
        cmocka_unit_test(two_jobs_at_one_path_at_once_end_as_one_or_two),
        cmocka_unit_test(limit_of_open_files_is_named),
        cmocka_unit_test(who_gives_up_leaves_no_card_in_the_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
