// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 400
// Ranks of global domains that end: before they have imported, afterwards, without a word and at
// any moment; that release early, or never come. Who waits for them is told, and nothing is left.
#include "support/cmocka.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faces/test/board.h"
#include "support/look.h"
#include "support/random.h"

enum { BYTES = 5000 };

// Rank 1 is gone when its descriptor is used.
static int gone_before(int rank, const struct ranks *ranks, void *arg)
{
    CommGlobalDomainDescriptor all[3];
    uint64_t base;
    uint64_t ctx;
    struct board *board = arg;
    CHECK(board_prepare(board, 1, rank, 3, BYTES, &base) == 0);
    CHECK(board_gather(board, 3, all) == 0);
    if (rank == 1) {
        _exit(0);
    }
    int fds = look_fds();
    int maps = look_maps();
    while (!board->over) { // the test has seen it end
        usleep(1000);
    }
    CHECK(comm_global_domain_import(1, all, 3, &ctx) == -1);
    CHECK(look_says("the window of rank 1 is gone: its process") && look_says("has ended"));
    CHECK(look_fds() == fds && look_maps() == maps);
    CHECK(board_meet(&board[1], 2) == 0); // this one, too, can be imported until then
    CHECK(comm_global_domain_release(1) == 0);
    return 0;
}

static void a_rank_that_has_ended_cannot_be_imported(void **state)
{
    struct board *board = ranks_shared(2 * sizeof(struct board));
    struct ranks ranks;
    siginfo_t end;
    ranks_begin(&ranks, 3, gone_before, board);
    assert_int_equal(waitid(P_PID, (id_t)ranks.pids[1], &end, WEXITED | WNOWAIT), 0);
    board->over = 1;
    assert_true(ranks_wait(&ranks, 60) && ranks_end(&ranks));
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(ranks.statuses[rank], 0);
    }
}

// Rank 1 has released its domain, and lives.
static int released(int rank, const struct ranks *ranks, void *arg)
{
    CommGlobalDomainDescriptor all[2];
    uint64_t base;
    uint64_t ctx;
    struct board *board = arg;
    CHECK(board_prepare(board, 1, rank, 2, BYTES, &base) == 0);
    CHECK(board_gather(board, 2, all) == 0);
    CHECK(rank == 0 || comm_global_domain_release(1) == 0);
    // Again, so that another file has its place.
    CHECK(rank == 0 || board_prepare(board, 1, rank, 2, BYTES, &base) == 0);
    CHECK(board_meet(board, 2) == 0);
    if (rank == 0) {
        CHECK(comm_global_domain_import(1, all, 2, &ctx) == -1);
        CHECK(look_says("the window of rank 1 is gone: process") && look_says("has released it"));
    }
    CHECK(board_meet(board, 2) == 0);
    CHECK(comm_global_domain_release(1) == 0);
    return 0;
}

static void a_released_domain_cannot_be_imported(void **state)
{
    assert_true(board_run(2, released, 60));
}

// One rank has another descriptor of rank 0 than the others: rank 0 has prepared a second time.
static int crossed(int rank, const struct ranks *ranks, void *arg)
{
    CommGlobalDomainDescriptor all[3];
    const CommContext *context = NULL;
    uint64_t base;
    uint64_t ctx;
    struct board *board = arg;
    CHECK(board_prepare(board, 1, rank, 3, BYTES, &base) == 0);
    CHECK(board_gather(board, 3, all) == 0);
    CHECK(rank != 1 || board_import(1, all, 3, &context) == 0);
    CHECK(board_meet(board, 3) == 0);
    if (rank == 2) {
        CHECK(comm_global_domain_release(1) == 0);
        CHECK(board_prepare(board, 1, rank, 3, BYTES, &base) == 0);
    }
    CHECK(board_meet(board, 3) == 0);
    all[2] = board->descriptors[2];
    if (rank != 1) {
        CHECK(comm_global_domain_import(1, all, 3, &ctx) == -1);
        CHECK(look_says("another window of rank 2"));
    }
    CHECK(board_meet(board, 3) == 0);
    CHECK(comm_global_domain_release(1) == 0);
    return 0;
}

static void all_import_the_same_descriptors(void **state)
{
    assert_true(board_run(3, crossed, 60));
}

static int wait_on(const CommContext *context)
{
    tern_window *window;
    size_t offset;
    int member;
    CHECK(context != NULL);
    const void *own = (const void *)(uintptr_t)context->windowsIn[context->rankId];
    CHECK(tern_window_find(own, &window, &member, &offset) == TERN_OK);
    return tern_signal_wait(window, 0, TERN_CMP_GE, 1, TERN_TIMEOUT_DEFAULT);
}

// Rank 2 has prepared and not imported, and is killed while the others wait.
static int killed_prepared(int rank, const struct ranks *ranks, void *arg)
{
    CommGlobalDomainDescriptor all[3];
    const CommContext *context = NULL;
    uint64_t base;
    struct board *board = arg;
    CHECK(board_prepare(board, 1, rank, 3, BYTES, &base) == 0);
    CHECK(board_gather(board, 3, all) == 0);
    CHECK(rank == 2 || board_import(1, all, 3, &context) == 0);
    CHECK(board_meet(board, 3) == 0);
    if (rank == 2) {
        usleep(100000);
        raise(SIGKILL);
    }
    CHECK(wait_on(context) == TERN_ERR_PEER);
    CHECK(look_says("rank 2 died (process"));
    CHECK(wait_on(context) == TERN_ERR_PEER); // and stays so
    CHECK(comm_global_domain_release(1) == 0);
    return 0;
}

static void a_prepared_rank_that_dies_is_missed(void **state)
{
    struct board *board = ranks_shared(2 * sizeof(struct board));
    struct ranks ranks;
    ranks_begin(&ranks, 3, killed_prepared, board);
    assert_true(ranks_wait(&ranks, 60) && ranks_end(&ranks));
    assert_int_equal(ranks.statuses[0], 0);
    assert_int_equal(ranks.statuses[1], 0);
    assert_true(WIFSIGNALED(ranks.statuses[2]));
}

// Nobody notifies: one has released, one is still there.
static int late(int rank, const struct ranks *ranks, void *arg)
{
    CommGlobalDomainDescriptor all[3];
    const CommContext *context = NULL;
    uint64_t base;
    struct board *board = arg;
    CHECK(setenv("TERN_TIMEOUT", "0.3", 1) == 0);
    CHECK(board_prepare(board, 9, rank, 3, BYTES, &base) == 0);
    CHECK(board_gather(board, 3, all) == 0);
    CHECK(board_import(9, all, 3, &context) == 0);
    CHECK(board_meet(board, 3) == 0);
    CHECK(rank != 1 || comm_global_domain_release(9) == 0);
    CHECK(board_meet(board, 3) == 0);
    if (rank == 0) {
        CHECK(wait_on(context) == TERN_ERR_TIMEOUT);
        CHECK(look_says("rank 0 waited 0.3 s for the signal at byte 0 of window 9"));
        CHECK(look_says("rank 1 has left") && look_says("rank 2 is not waiting in tern"));
    }
    CHECK(board_meet(board, 3) == 0);
    CHECK(rank == 1 || comm_global_domain_release(9) == 0);
    return 0;
}

static void a_wait_ends_at_its_deadline(void **state)
{
    assert_true(board_run(3, late, 60));
}

// Domain after domain, until one of the ranks is killed: true when that is why it ended.
static int one_turn(struct board *board, int rank, int n, int victim, bool *ended)
{
    CommGlobalDomainDescriptor all[TERN_RANKS_MAX];
    const CommContext *context = NULL;
    uint64_t base;
    char dead[40];
    char gone[40];
    snprintf(dead, sizeof dead, "rank %d died", victim);
    snprintf(gone, sizeof gone, "the window of rank %d is gone", victim);
    CHECK(board_prepare(board, 3, rank, n, BYTES, &base) == 0);
    if (board_gather(board, n, all) != 0) {
        *ended = true;
    } else if (board_import(3, all, (size_t)n, &context) != 0) {
        CHECK(look_says(gone) || look_says(dead));
        *ended = true;
    } else {
        for (int round = 1; round <= 4 && !*ended; round++) {
            *ended = board_exchange(context, round) != 0;
            CHECK(!*ended || look_says(dead));
        }
    }
    // Who is told first keeps its part until the others have been told.
    CHECK(!*ended || board_meet(&board[1], n - 1) == 0);
    CHECK(comm_global_domain_release(3) == 0);
    return 0;
}

static int until_killed(int rank, const struct ranks *ranks, void *arg)
{
    struct board *board = arg;
    int victim = ranks->count - 1 - (int)(board[1].given % ranks->count);
    int fds = look_fds();
    int maps = look_maps();
    bool ended = false;
    while (!ended) {
        CHECK(one_turn(board, rank, ranks->count, victim, &ended) == 0);
    }
    CHECK(look_fds() == fds && look_maps() == maps && look_shm() == 0);
    return 0;
}

static void ranks_are_killed_at_any_moment(void **state)
{
    static const int counts[] = {2, 3, 5, 8};
    uint64_t seed = random_seed();
    for (int i = 0; i < 24; i++) {
        struct board *board = ranks_shared(2 * sizeof(struct board));
        struct ranks ranks;
        int n = counts[i % 4];
        board[1].given = (int)random_below(&seed, 8);
        int victim = n - 1 - board[1].given % n;
        ranks_begin(&ranks, n, until_killed, board);
        usleep((useconds_t)random_below(&seed, 60000));
        assert_int_equal(kill(ranks.pids[victim], SIGKILL), 0);
        usleep(1000);
        board->over = 1;
        assert_true(ranks_wait(&ranks, 60) && ranks_end(&ranks));
        for (int rank = 0; rank < n; rank++) {
            assert_true(rank == victim ? WIFSIGNALED(ranks.statuses[rank])
                                       : ranks.statuses[rank] == 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_has_ended_cannot_be_imported),
        cmocka_unit_test(a_released_domain_cannot_be_imported),
        cmocka_unit_test(all_import_the_same_descriptors),
        cmocka_unit_test(a_prepared_rank_that_dies_is_missed),
        cmocka_unit_test(a_wait_ends_at_its_deadline),
        cmocka_unit_test(ranks_are_killed_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
