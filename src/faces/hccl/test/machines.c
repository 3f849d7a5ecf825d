// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 120
// Communicators of HCCL whose ranks are on several machines: root infos that any of the ranks
// makes, ranks that are threads, parts, windows, rank tables. (What goes wrong before all have met:
// machines_start. Calls, their order, and failures in them: kinds, order and failures.)
#include "faces/hccl/test/board.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

#include "tern/put.h"
#include "tern/signal.h"
#include "tern/window.h"

static int meet(int rank, const struct ranks *ranks, void *arg)
{
    struct board *board = arg;
    int fds = look_fds();
    HcclComm comm = NULL;
    CHECK(board_take(board, rank));
    CHECK(HcclCommInitRootInfo((uint32_t)ranks->count, &board->info, (uint32_t)rank, &comm) ==
          HCCL_SUCCESS);
    CHECK(hccl_rank_of(comm) == rank && hccl_size_of(comm) == ranks->count);
    CHECK(tern__hccl_is_across(comm) == (board->machines > 1 && ranks->count > 1));
    CHECK(board_sums_are_right(comm, 5) == 0);
    CHECK(HcclBarrier(comm, NULL) == HCCL_SUCCESS);
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    CHECK(look_fds() <= fds);
    return 0;
}

static void any_rank_may_make_the_root_info(void **state)
{
    for (int i = 0; i < 5; i++) {
        int count = ranks_counts[i];
        int step = count > 3 ? 3 : 1;
        for (int maker = 0; maker < count; maker += step) {
            struct board *board = ranks_shared(sizeof *board);
            board->maker = maker;
            board->machines = 1 + (maker + i) % 3; // for the program, one is no other case
            assert_true(ranks_run(count, meet, board, 60));
        }
    }
}

// Each process has two ranks, which are threads.
struct member {
    pthread_t thread;
    struct board *board;
    uint32_t rank;
    int wrong;
};

static int be_a_rank(const struct member *member)
{
    HcclComm comm = NULL;
    CHECK(HcclCommInitRootInfo(4, &member->board->info, member->rank, &comm) == HCCL_SUCCESS);
    CHECK(tern__hccl_is_across(comm));
    CHECK(board_sums_are_right(comm, 1) == 0);
    CHECK(HcclBarrier(comm, NULL) == HCCL_SUCCESS && HcclCommDestroy(comm) == HCCL_SUCCESS);
    return 0;
}

static void *run_member(void *arg)
{
    struct member *member = arg;
    member->wrong = be_a_rank(member);
    return NULL;
}

static int two_ranks(int process, const struct ranks *ranks, void *arg)
{
    struct member members[2];
    CHECK(board_take(arg, process));
    for (int i = 0; i < 2; i++) {
        members[i] = (struct member){.board = arg, .rank = (uint32_t)(2 * process + i)};
        CHECK(pthread_create(&members[i].thread, NULL, run_member, &members[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_join(members[i].thread, NULL) == 0 && members[i].wrong == 0);
    }
    return 0;
}

static void ranks_may_be_threads(void **state)
{
    assert_true(ranks_run(2, two_ranks, ranks_shared(sizeof(struct board)), 60));
}

// A part of three, and one of that; the first cannot go before them, and stays.
static int parts(int rank, const struct ranks *ranks, void *arg)
{
    struct board *board = arg;
    uint32_t three[3] = {4, 1, 2}, two[2] = {2, 0};
    uint32_t places[5] = {9, 1, 2, 9, 0};
    uint32_t own = places[rank];
    HcclComm comm = NULL, part = NULL, last = NULL;
    CHECK(board_take(board, rank));
    CHECK(HcclCommInitRootInfo(5, &board->info, (uint32_t)rank, &comm) == HCCL_SUCCESS);
    if (own < 3) {
        CHECK(HcclCreateSubCommConfig(&comm, 3, three, 1, own, NULL, &part) == HCCL_SUCCESS);
        CHECK(board_sums_are_right(part, 1) == 0);
    }
    if (own == 0 || own == 2) {
        CHECK(HcclCreateSubCommConfig(&part, 2, two, 1, own == 2 ? 0 : 1, NULL, &last) ==
              HCCL_SUCCESS);
        CHECK(board_sums_are_right(last, 2) == 0);
        CHECK(HcclCommDestroy(part) != HCCL_SUCCESS && look_says("split communicator of it has"));
        CHECK(HcclCommDestroy(last) == HCCL_SUCCESS);
    }
    CHECK(board_sums_are_right(comm, 3) == 0);
    if (own < 3) {
        CHECK(HcclCommDestroy(comm) != HCCL_SUCCESS && look_says("split communicator of it has"));
        CHECK(board_sums_are_right(part, 4) == 0);
        CHECK(HcclCommDestroy(part) == HCCL_SUCCESS);
    }
    CHECK(board_sums_are_right(comm, 5) == 0);
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    return 0;
}

static void parts_end_before_their_whole(void **state)
{
    assert_true(ranks_run(5, parts, ranks_shared(sizeof(struct board)), 60));
}

// Puts into the next rank's window, found by its address in the context, and notifies it.
static int pass_on(const tern_context *seen)
{
    tern_window *window;
    size_t offset;
    int rank;
    int32_t value = 40 + (int32_t)seen->rankId;
    const uint64_t next = seen->windowsIn[(seen->rankId + 1) % seen->rankNum] + 4096;
    CHECK(tern_window_find((const void *)(uintptr_t)next, &window, &rank, &offset) == TERN_OK);
    CHECK(rank == (int)((seen->rankId + 1) % seen->rankNum) && offset == 4096);
    CHECK(tern_put(window, rank, offset, &value, sizeof value) == TERN_OK);
    CHECK(tern_signal_notify(window, rank, 64, 1, TERN_NOTIFY_ADD) == TERN_OK);
    CHECK(tern_signal_wait(window, 64, TERN_CMP_GE, 1, TERN_TIMEOUT_DEFAULT) == TERN_OK);
    const int32_t *mine = (const int32_t *)(uintptr_t)(seen->windowsIn[seen->rankId] + 4096);
    CHECK(*mine == 40 + (int32_t)((seen->rankId + seen->rankNum - 1) % seen->rankNum));
    return 0;
}

// The context has the windows of all. (Calls of HCCL in kernels: machines_device.)
static int context(int rank, const struct ranks *ranks, void *arg)
{
    struct board *board = arg;
    HcclComm comm = NULL;
    void *made = NULL;
    char tiling[64] = "";
    CHECK(board_take(board, rank));
    CHECK(HcclCommInitRootInfo(3, &board->info, (uint32_t)rank, &comm) == HCCL_SUCCESS);
    CHECK(HcclAllocComResourceByTiling(comm, NULL, tiling, &made) == HCCL_SUCCESS);
    const tern_context *seen = made;
    CHECK(seen->rankId == (uint32_t)rank && seen->rankNum == 3);
    CHECK(pass_on(seen) == 0);
    CHECK(HcclBarrier(comm, NULL) == HCCL_SUCCESS);
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    return 0;
}

static void a_context_has_the_windows_of_all(void **state)
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
    board_place(rank, 2);
    setenv("HCCL_IF_BASE_PORT", port_text, 1);
    for (int round = 0; round < 3; round++) {
        HcclComm comm = NULL;
        usleep(rank == 0 && round == 1 ? 200000 : 0);
        CHECK(HcclCommInitClusterInfo(table_file, (uint32_t)rank, &comm) == HCCL_SUCCESS);
        CHECK(tern__hccl_is_across(comm) && hccl_rank_of(comm) == rank);
        CHECK(board_sums_are_right(comm, round) == 0);
        CHECK(HcclBarrier(comm, NULL) == HCCL_SUCCESS);
        CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    }
    return 0;
}

static int alone_at_table(int rank, const struct ranks *ranks, void *arg)
{
    HcclComm comm = NULL;
    board_place(rank, 2);
    setenv("HCCL_IF_BASE_PORT", "80", 1);
    CHECK(HcclCommInitClusterInfo(table_file, 0, &comm) == HCCL_E_PARA);
    CHECK(look_says("HCCL_IF_BASE_PORT is '80'; it must be a number from 1024 to 65520"));
    setenv("HCCL_IF_BASE_PORT", port_text, 1);
    setenv("HCCL_CONNECT_TIMEOUT", "1", 1);
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
        cmocka_unit_test(ranks_may_be_threads),
        cmocka_unit_test(parts_end_before_their_whole),
        cmocka_unit_test(a_context_has_the_windows_of_all),
        cmocka_unit_test(ranks_of_a_table_meet_at_rank_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
