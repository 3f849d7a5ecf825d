// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 120
// Communicators of HCCL whose ranks are on several machines, which are words of TERN_MACHINE: root
// infos that any of the ranks makes, rank tables, parts, and what goes wrong before all have met.
// (Calls, orders and failures on several machines: kinds, order and failures.)
#include "faces/hccl/test/kit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { N = 700 };

static float values[N], sums[N];

static HcclResult sum(HcclComm comm)
{
    return HcclAllReduce(values, sums, N, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, NULL);
}

static int sums_are_right(HcclComm comm, int base)
{
    int n = hccl_size_of(comm);
    for (int i = 0; i < N; i++) {
        values[i] = (float)(hccl_rank_of(comm) + base + i);
    }
    CHECK(sum(comm) == HCCL_SUCCESS);
    for (int i = 0; i < N; i++) {
        int right = n * (n - 1) / 2 + n * (base + i);
        CHECK(sums[i] == (float)right);
    }
    return 0;
}

// Ranks 0, 2, … on one machine, the others on another one.
static void place(int rank)
{
    setenv("TERN_MACHINE", rank % 2 == 0 ? "even" : "odd", 1);
    setenv("HCCL_IF_IP", "127.0.0.1", 1);
    setenv("TERN_NET_ADDRESS", "127.0.0.1", 1);
    setenv("TERN_NET_TIMEOUT", "60", 0); // this box may be so busy that a second is nothing
}

// Of all ranks.
struct board {
    HcclRootInfo info;
    _Atomic int made, begun, ended;
    int maker, victim;
};

static bool make_info(struct board *board)
{
    bool made = HcclGetRootInfo(&board->info) == HCCL_SUCCESS;
    board->made = 1;
    return made;
}

// The deadline of the rank at which all meet: long enough for who begins together with it.
#define SHORT_S (SANITIZED ? "12" : "3")

static void begin_together(struct board *board, int count)
{
    board->begun++;
    ranks_count_await(&board->begun, count);
}

static int meet(int rank, const struct ranks *ranks, void *arg)
{
    struct board *board = arg;
    place(rank);
    int fds = look_fds();
    HcclComm comm = NULL;
    CHECK(rank != board->maker || make_info(board));
    ranks_count_await(&board->made, 1);
    CHECK(HcclCommInitRootInfo((uint32_t)ranks->count, &board->info, (uint32_t)rank, &comm) ==
          HCCL_SUCCESS);
    CHECK(hccl_rank_of(comm) == rank && hccl_size_of(comm) == ranks->count);
    CHECK(sums_are_right(comm, 5) == 0);
    CHECK(HcclBarrier(comm, NULL) == HCCL_SUCCESS);
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    CHECK(look_fds() <= fds);
    return 0;
}

static void any_rank_may_make_the_root_info(void **state)
{
    for (int i = 0; i < 5; i++) {
        for (int maker = 0; maker<ranks_counts[i]; maker += ranks_counts[i]> 3 ? 3 : 1) {
            struct board *board = ranks_shared(sizeof *board);
            board->maker = maker;
            assert_true(ranks_run(ranks_counts[i], meet, board, 60));
        }
    }
}

// Rank 2 comes when the others have been told that it has not.
static int one_does_not_come(int rank, const struct ranks *ranks, void *arg)
{
    struct board *board = arg;
    HcclComm comm = NULL;
    place(rank);
    setenv("HCCL_EXEC_TIMEOUT", rank == board->maker ? SHORT_S : "60", 1);
    CHECK(rank != board->maker || make_info(board));
    ranks_count_await(&board->made, 1);
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
    place(rank);
    if (rank == 0) {
        CHECK(make_info(board));
        if (board->maker == 0) {
            ranks_count_await(&board->ended, 1); // rank 1 waits, by and by
            usleep(100000);
            return 0;
        }
        setenv("HCCL_EXEC_TIMEOUT", SHORT_S, 1);
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
    place(rank);
    setenv("HCCL_EXEC_TIMEOUT", rank == 0 ? SHORT_S : "60", 1);
    CHECK(rank != 0 || make_info(board));
    ranks_count_await(&board->made, 1);
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
    place(rank);
    setenv("TMPDIR", ranks->folder, 1); // where nothing may be left
    setenv("HCCL_EXEC_TIMEOUT", SHORT_S, 1);
    CHECK(rank != board->maker || make_info(board));
    ranks_count_await(&board->made, 1);
    board->begun++;
    HcclResult result = HcclCommInitRootInfo(5, &board->info, (uint32_t)rank, &comm);
    bool met = result == HCCL_SUCCESS;
    while (result == HCCL_SUCCESS) {
        result = sum(comm);
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
    place(rank);
    CHECK(make_info(board));
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
    setenv("HCCL_IF_IP", "the-first", 1);
    CHECK(HcclGetRootInfo(&info) == HCCL_E_PARA);
    CHECK(look_says("HCCL_IF_IP: 'the-first' is not written as an IPv4 or IPv6 address"));
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

static void who_cannot_make_one_is_told(void **state)
{
    assert_true(ranks_run(1, child_of_the_maker, ranks_shared(sizeof(struct board)), 60));
    assert_true(ranks_run(1, wrong_addresses, NULL, 60));
}

// A part of three, and one of that; the first cannot go before them, and stays.
static int parts(int rank, const struct ranks *ranks, void *arg)
{
    struct board *board = arg;
    uint32_t three[3] = {4, 1, 2}, two[2] = {2, 0};
    uint32_t places[5] = {9, 1, 2, 9, 0};
    uint32_t own = places[rank];
    HcclComm comm = NULL, part = NULL, last = NULL;
    place(rank);
    CHECK(rank != 0 || make_info(board));
    ranks_count_await(&board->made, 1);
    CHECK(HcclCommInitRootInfo(5, &board->info, (uint32_t)rank, &comm) == HCCL_SUCCESS);
    if (own < 3) {
        CHECK(HcclCreateSubCommConfig(&comm, 3, three, 1, own, NULL, &part) == HCCL_SUCCESS);
        CHECK(sums_are_right(part, 1) == 0);
    }
    if (own == 0 || own == 2) {
        CHECK(HcclCreateSubCommConfig(&part, 2, two, 1, own == 2 ? 0 : 1, NULL, &last) ==
              HCCL_SUCCESS);
        CHECK(sums_are_right(last, 2) == 0);
        CHECK(HcclCommDestroy(part) != HCCL_SUCCESS && look_says("split communicator of it has"));
        CHECK(HcclCommDestroy(last) == HCCL_SUCCESS);
    }
    CHECK(sums_are_right(comm, 3) == 0);
    if (own < 3) {
        CHECK(HcclCommDestroy(comm) != HCCL_SUCCESS && look_says("split communicator of it has"));
        CHECK(sums_are_right(part, 4) == 0);
        CHECK(HcclCommDestroy(part) == HCCL_SUCCESS);
    }
    CHECK(sums_are_right(comm, 5) == 0);
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    return 0;
}

static void parts_end_before_their_whole(void **state)
{
    assert_true(ranks_run(5, parts, ranks_shared(sizeof(struct board)), 60));
}

// The context of kernels, with the windows of all; their calls of HCCL are for one machine.
static int context(int rank, const struct ranks *ranks, void *arg)
{
    struct board *board = arg;
    HcclComm comm = NULL;
    void *made = NULL;
    char tiling[64] = "";
    place(rank);
    CHECK(rank != 0 || make_info(board));
    ranks_count_await(&board->made, 1);
    CHECK(HcclCommInitRootInfo(3, &board->info, (uint32_t)rank, &comm) == HCCL_SUCCESS);
    CHECK(HcclAllocComResourceByTiling(comm, NULL, tiling, &made) == HCCL_SUCCESS);
    const tern_context *seen = made;
    CHECK(seen->rankId == (uint32_t)rank && seen->rankNum == 3 && seen->windowsIn[rank] != 0);
    ((char *)(uintptr_t)seen->windowsIn[rank])[7] = 1;
    CHECK(HcclBarrier(comm, NULL) == HCCL_SUCCESS);
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    return 0;
}

static void kernels_have_windows(void **state)
{
    assert_true(ranks_run(3, context, ranks_shared(sizeof(struct board)), 60));
}

static char table_file[64];
static char port_text[16];

// Below those that the kernel chooses: they may be taken at any moment.
static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int port = 20000 + (int)getpid() % 10000;; port++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        at.sin_port = htons((uint16_t)port);
        assert_true(fd >= 0 && port < 32000);
        bool is_free = bind(fd, (struct sockaddr *)&at, sizeof at) == 0;
        close(fd);
        if (is_free) {
            return port;
        }
    }
}

// A table of two servers, of which one is this machine's address and the other one nobody's.
static void write_table(void)
{
    snprintf(table_file, sizeof table_file, "/tmp/tern-table-%d", (int)getpid());
    FILE *file = fopen(table_file, "w");
    assert_non_null(file);
    fprintf(file,
            "{\"status\":\"completed\",\"server_list\":["
            "{\"server_id\":\"192.0.2.7\",\"device\":["
            "{\"device_id\":\"0\",\"rank_id\":\"1\"},{\"device_id\":\"1\",\"rank_id\":\"3\"}]},"
            "{\"server_id\":\"127.0.0.1\",\"device\":["
            "{\"device_id\":\"0\",\"rank_id\":\"0\"},{\"device_id\":\"1\",\"rank_id\":\"2\"}]}"
            "]}");
    assert_int_equal(fclose(file), 0);
    snprintf(port_text, sizeof port_text, "%d", free_port());
}

// Rank 0 comes last, once; and one job after another.
static int meet_at_table(int rank, const struct ranks *ranks, void *arg)
{
    place(rank);
    setenv("HCCL_IF_BASE_PORT", port_text, 1);
    for (int round = 0; round < 3; round++) {
        HcclComm comm = NULL;
        usleep(rank == 0 && round == 1 ? 200000 : 0);
        CHECK(HcclCommInitClusterInfo(table_file, (uint32_t)rank, &comm) == HCCL_SUCCESS);
        CHECK(hccl_rank_of(comm) == rank && sums_are_right(comm, round) == 0);
        CHECK(HcclBarrier(comm, NULL) == HCCL_SUCCESS);
        CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    }
    return 0;
}

static int alone_at_table(int rank, const struct ranks *ranks, void *arg)
{
    HcclComm comm = NULL;
    place(rank);
    setenv("HCCL_IF_BASE_PORT", "80", 1);
    CHECK(HcclCommInitClusterInfo(table_file, 0, &comm) == HCCL_E_PARA);
    CHECK(look_says("HCCL_IF_BASE_PORT is '80'; it must be a number from 1024 to 65520"));
    setenv("HCCL_IF_BASE_PORT", port_text, 1);
    setenv("HCCL_EXEC_TIMEOUT", "1", 1);
    CHECK(HcclCommInitClusterInfo(table_file, 2, &comm) == HCCL_E_TIMEOUT);
    CHECK(look_says("to which did not come: rank 0"));
    CHECK(HcclCommInitClusterInfo(table_file, 0, &comm) == HCCL_E_TIMEOUT);
    CHECK(look_says("to which did not come: rank 1, rank 2, rank 3"));
    return 0;
}

static void ranks_of_a_table_meet_at_rank_0(void **state)
{
    write_table();
    assert_true(ranks_run(4, meet_at_table, NULL, 60));
    assert_true(ranks_run(1, alone_at_table, NULL, 60));
    unlink(table_file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_rank_may_make_the_root_info),
        cmocka_unit_test(who_does_not_come_is_named),
        cmocka_unit_test(a_maker_that_ends_or_differs_is_told),
        cmocka_unit_test(of_two_with_one_rank_one_is_refused),
        cmocka_unit_test(a_death_at_any_moment_of_the_start_is_told),
        cmocka_unit_test(who_cannot_make_one_is_told),
        cmocka_unit_test(parts_end_before_their_whole),
        cmocka_unit_test(kernels_have_windows),
        cmocka_unit_test(ranks_of_a_table_meet_at_rank_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
