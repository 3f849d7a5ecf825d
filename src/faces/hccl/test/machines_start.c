// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 120, ctest-first
// What goes wrong before all ranks of HCCL on several machines have met: ranks that do not come,
// that end, that are there twice, root infos that lead nowhere.
#include "faces/hccl/test/board.h"

#include <signal.h>
#include <sys/wait.h>

// The deadline of the rank at which all meet: long enough for who begins together with it.
#define SHORT_S (SANITIZED ? "12" : "3")

static void begin_together(struct board *board, int count)
{
    board->begun++;
    ranks_count_await(&board->begun, count);
}

// Rank 2 comes when the others have been told that it has not.
static int one_does_not_come(int rank, const struct ranks *ranks, void *arg)
{
    struct board *board = arg;
    HcclComm comm = NULL;
    setenv("HCCL_CONNECT_TIMEOUT", rank == board->maker ? SHORT_S : "60", 1);
    CHECK(board_take(board, rank));
    begin_together(board, 4);
    if (rank == 2) {
        ranks_count_await(&board->ended, 3);
        CHECK(HcclCommInitRootInfo(4, &board->info, 2, &comm) == HCCL_E_REMOTE);
        CHECK(look_says("the rank at which all meet (127.0.0.1:") &&
              look_says("nobody listens there any more"));
        return 0;
    }
    CHECK(HcclCommInitRootInfo(4, &board->info, (uint32_t)rank, &comm) == HCCL_E_TIMEOUT);
    CHECK(look_says("in the start of the job, to which did not come: rank 2"));
    board->ended++;
    return 0;
}

static void who_does_not_come_is_named(void **state)
{
    for (int maker = 0; maker < 2; maker++) {
        struct board *board = ranks_shared(sizeof *board);
        board->maker = maker;
        assert_true(ranks_run(4, one_does_not_come, board, 60));
    }
}

// The maker ends before it has come, or has another number of ranks.
static int maker_is_wrong(int rank, const struct ranks *ranks, void *arg)
{
    struct board *board = arg;
    HcclComm comm = NULL;
    board_place(rank, 2);
    if (rank == 0) {
        CHECK(board_make(board));
        if (board->maker == 0) {
            ranks_count_await(&board->ended, 1); // rank 1 waits, by and by
            usleep(100000);
            return 0;
        }
        setenv("HCCL_CONNECT_TIMEOUT", SHORT_S, 1);
        begin_together(board, 2);
        CHECK(HcclCommInitRootInfo(2, &board->info, 0, &comm) == HCCL_E_TIMEOUT);
        return 0;
    }
    ranks_count_await(&board->made, 1);
    board->ended = 1;
    if (board->maker == 0) {
        HcclResult result = HcclCommInitRootInfo(2, &board->info, 1, &comm);
        CHECK(result == HCCL_E_REMOTE && look_says("nobody listens there any more"));
    } else {
        begin_together(board, 2);
        CHECK(HcclCommInitRootInfo(3, &board->info, 1, &comm) == HCCL_E_TCP_CONNECT);
        CHECK(look_says("their number differs"));
    }
    return 0;
}

static void a_maker_that_ends_or_differs_is_told(void **state)
{
    for (int differs = 0; differs < 2; differs++) {
        struct board *board = ranks_shared(sizeof *board);
        board->maker = differs;
        assert_true(ranks_run(2, maker_is_wrong, board, 60));
    }
}

// Of three, two say that they are rank 1.
static int same_rank(int rank, const struct ranks *ranks, void *arg)
{
    struct board *board = arg;
    HcclComm comm = NULL;
    setenv("HCCL_CONNECT_TIMEOUT", rank == 0 ? SHORT_S : "60", 1);
    CHECK(board_take(board, rank));
    begin_together(board, 3);
    HcclResult result = HcclCommInitRootInfo(3, &board->info, rank == 0 ? 0 : 1, &comm);
    if (rank > 0 && result == HCCL_E_TCP_CONNECT) {
        CHECK(look_says("another process has come as that rank already"));
        board->ended++;
        return 0;
    }
    CHECK(result == HCCL_E_TIMEOUT && look_says("did not come: rank 2"));
    return 0;
}

static void of_two_with_one_rank_one_is_refused(void **state)
{
    struct board *board = ranks_shared(sizeof *board);
    assert_true(ranks_run(3, same_rank, board, 60));
    assert_int_equal(board->ended, 1);
}

// Calls until one fails: because of the victim, or of who could not start because of it.
static int survive(int rank, const struct ranks *ranks, void *arg)
{
    struct board *board = arg;
    HcclComm comm = NULL;
    float in[BOARD_N] = {0}, out[BOARD_N];
    setenv("TMPDIR", ranks->folder, 1); // where nothing may be left
    setenv("HCCL_CONNECT_TIMEOUT", SHORT_S, 1);
    CHECK(board_take(board, rank));
    board->begun++;
    HcclResult result = HcclCommInitRootInfo(5, &board->info, (uint32_t)rank, &comm);
    bool met = result == HCCL_SUCCESS;
    while (result == HCCL_SUCCESS) {
        result = board_sum(comm, in, out);
    }
    CHECK(result == HCCL_E_REMOTE || (!met && result == HCCL_E_TIMEOUT));
    CHECK(look_says("rank"));
    board->ended += met;
    CHECK(!met || HcclCommDestroy(comm) == HCCL_SUCCESS);
    return 0;
}

static void a_death_at_any_moment_of_the_start_is_told(void **state)
{
    uint64_t random = 20261128;
    int met = 0;
    for (int round = 0; round < ROUNDS_OF(10); round++) {
        struct board *board = ranks_shared(sizeof *board);
        struct ranks ranks;
        board->victim = (int)random_below(&random, 5);
        board->maker = (int)random_below(&random, 5);
        ranks_begin(&ranks, 5, survive, board);
        ranks_count_await(&board->begun, 1 + (int)random_below(&random, 5));
        usleep((useconds_t)random_below(&random, round % 2 == 0 ? 40000 : 400000));
        assert_int_equal(kill(ranks.pids[board->victim], SIGKILL), 0);
        assert_true(ranks_wait(&ranks, 60) && ranks_end(&ranks));
        for (int rank = 0; rank < 5; rank++) {
            assert_true(rank == board->victim || ranks.statuses[rank] == 0);
        }
        met += board->ended > 0;
    }
    printf("%d of %d rounds came as far as calls\n", met, ROUNDS_OF(10));
}

static int child_of_the_maker(int rank, const struct ranks *ranks, void *arg)
{
    struct board *board = arg;
    HcclComm comm = NULL;
    board_place(rank, 2);
    CHECK(board_make(board));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        bool told = HcclCommInitRootInfo(1, &board->info, 0, &comm) != HCCL_SUCCESS &&
                    look_says("a child of the one that prepared the place");
        _exit(told ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(HcclCommInitRootInfo(1, &board->info, 0, &comm) == HCCL_SUCCESS);
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    return 0;
}

static int wrong_addresses(int rank, const struct ranks *ranks, void *arg)
{
    HcclRootInfo info;
    int fds = look_fds();
    static const char *const words[] = {"the-first",       " ",       "127.0.0.1:80",
                                        "0.0.0.0",         "::",      "224.0.0.1",
                                        "255.255.255.255", "ff02::1", "fe80::1"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char text[96];
        snprintf(text, sizeof text, "HCCL_IF_IP: '%s' is not the IPv4 or IPv6 address", words[i]);
        setenv("HCCL_IF_IP", words[i], 1);
        CHECK(HcclGetRootInfo(&info) == HCCL_E_PARA && look_says(text));
    }
    setenv("HCCL_IF_IP", "192.0.2.1", 1); // nobody's
    CHECK(HcclGetRootInfo(&info) == HCCL_E_NETWORK);
    CHECK(look_says("HCCL_IF_IP: cannot listen at 192.0.2.1:0: Cannot assign"));
    CHECK(look_fds() == fds);
    setenv("HCCL_IF_IP", "127.0.0.1", 1);
    for (int i = 0; i < 200; i++) { // that nobody joins at
        CHECK(HcclGetRootInfo(&info) == HCCL_SUCCESS);
    }
    CHECK(look_fds() <= fds + 64);
    return 0;
}

// A byte of what is behind the path is another one: it is refused, or nobody is found there.
static int damaged(int rank, const struct ranks *ranks, void *arg)
{
    HcclRootInfo info;
    HcclComm comm = NULL;
    size_t end = sizeof info.internal, begin = end - 256;
    setenv("HCCL_IF_IP", "127.0.0.1", 1);
    setenv("HCCL_CONNECT_TIMEOUT", "1", 1);
    CHECK(HcclGetRootInfo(&info) == HCCL_SUCCESS);
    int refused = 0;
    for (size_t at = begin; at < end - 128; at++) {
        HcclRootInfo other = info;
        other.internal[at] = (char)(other.internal[at] ^ 0x55);
        HcclResult result = HcclCommInitRootInfo(1, &other, 0, &comm);
        refused += result == HCCL_E_PARA && look_says("damaged");
        CHECK(result != HCCL_SUCCESS || HcclCommDestroy(comm) == HCCL_SUCCESS);
        if (result == HCCL_SUCCESS) { // that place is taken: another one
            CHECK(HcclGetRootInfo(&info) == HCCL_SUCCESS);
        }
    }
    CHECK(refused >= 6); // each byte of the length and of the family
    return 0;
}

static void who_cannot_make_one_is_told(void **state)
{
    assert_true(ranks_run(1, damaged, NULL, 60));
    assert_true(ranks_run(1, child_of_the_maker, ranks_shared(sizeof(struct board)), 60));
    assert_true(ranks_run(1, wrong_addresses, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_does_not_come_is_named),
        cmocka_unit_test(a_maker_that_ends_or_differs_is_told),
        cmocka_unit_test(of_two_with_one_rank_one_is_refused),
        cmocka_unit_test(a_death_at_any_moment_of_the_start_is_told),
        cmocka_unit_test(who_cannot_make_one_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
