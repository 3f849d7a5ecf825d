// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 300
// Global domains of the comm_* face whose ranks are on several machines: what reaches what, several
// at once and beside a job, what is refused and tried again, and that nothing is left.
#include "support/cmocka.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm.h"
#include "comm/pool.h"
#include "faces/test/board_machines.h"
#include "support/look.h"
#include "support/machines.h"
#include "support/ranks.h"
#include "tern/isa.h"

enum { BYTES = 5000 };

// What the ranks have stored before they imported: by a load where that is possible.
static int look_at_peers(const struct lab *lab, const CommContext *context, int rank, int n)
{
    for (int peer = 0; peer < n; peer++) {
        unsigned char there[17] = {0};
        const void *at = (const void *)(uintptr_t)(context->windowsIn[peer] + 256);
        bool here = lab_is_here(lab, rank, peer);
        tern_window *window;
        size_t offset;
        int member;
        CHECK(tern_window_find(at, &window, &member, &offset) == TERN_OK && member == peer);
        CHECK(tern_window_is_local(window, peer) == here);
        if (here) {
            memcpy(there, at, sizeof there);
        } else {
            CHECK(tern_get(window, peer, offset, there, sizeof there) == TERN_OK);
        }
        CHECK(there[0] == peer + 1 && there[15] == peer + 1 && there[16] == 0);
    }
    return 0;
}

// A domain from its beginning to its end.
static int turn(struct lab *lab, struct board *board, uint64_t id, int rank, int n)
{
    const CommContext *context;
    CHECK(board_begin(board, id, rank, n, BYTES, &context) == 0);
    CHECK(look_at_peers(lab, context, rank, n) == 0);
    for (int round = 1; round <= 3; round++) {
        CHECK(board_exchange(context, round) == 0);
    }
    CHECK(comm_global_domain_release(id) == 0);
    return 0;
}

static int turns(int rank, const struct ranks *ranks, void *arg)
{
    struct lab *lab = arg;
    lab_place(lab, rank);
    int fds = look_fds();
    int maps = look_maps();
    for (int i = 0; i < 3; i++) {
        CHECK(turn(lab, lab->boards, 7 + (uint64_t)i % 2, rank, ranks->count) == 0);
        CHECK(look_fds() == fds && look_maps() == maps && look_shm() == 0 && lab_is_alone());
    }
    return 0;
}

static void ranks_of_several_machines_share_windows(void **state)
{
    static const char *const layouts[] = {"ab",  "aabb", "abb",   "aab",
                                          "abc", "abab", "abcab", "aaaabbbbccccdddd"};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        assert_true(lab_run(layouts[i], turns));
    }
}

// On one machine there is neither a thread nor a socket once it is imported.
static int here(int rank, const struct ranks *ranks, void *arg)
{
    struct lab *lab = arg;
    CommGlobalDomainDescriptor all[TERN_RANKS_MAX];
    const CommContext *context;
    int n = ranks->count;
    lab_place(lab, rank);
    int fds = look_fds();
    CHECK(lab_prepare(lab->boards, 1, rank, n, BYTES, all) == 0);
    CHECK(look_fds() == fds + 2 && lab_is_alone()); // the memory, and what listens
    CHECK(board_import(1, all, (size_t)n, &context) == 0);
    CHECK(look_fds() == fds + 1 + (n - 1) && lab_is_alone()); // a pidfd for each other
    CHECK(board_exchange(context, 1) == 0);
    CHECK(board_meet(lab->boards, n) == 0);
    CHECK(comm_global_domain_release(1) == 0 && look_fds() == fds);
    return 0;
}

static void one_machine_has_no_network(void **state)
{
    assert_true(lab_run("aa", here));
    assert_true(lab_run("aaa", here));
}

static int checked(int rank, const struct ranks *ranks, void *arg)
{
    CHECK(setenv("TERN_ISA_CHECK", "1", 1) == 0);
    CHECK(freopen("/dev/null", "w", stderr) != NULL); // it finds the same wait twice, and is right
    return turns(rank, ranks, arg);
}

static void checking_mode_sees_them(void **state)
{
#ifdef __SANITIZE_THREAD__
    skip(); // what it keeps is fetched while it changes, which the sanitizer takes for a race
#endif
    assert_true(lab_run("aab", checked));
    assert_true(lab_run("abc", checked));
}

// Two domains at once, of all ranks in both orders, and released in different orders.
static int both_ways(int rank, const struct ranks *ranks, void *arg)
{
    struct lab *lab = arg;
    const CommContext *context[2];
    CommGlobalDomainDescriptor all[2][TERN_RANKS_MAX];
    int n = ranks->count;
    lab_place(lab, rank);
    int fds = look_fds();
    for (int i = 0; i < 2; i++) {
        int own = i == 0 ? rank : n - 1 - rank;
        CHECK(lab_prepare(&lab->boards[i], 40 + (uint64_t)i, own, n, BYTES, all[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(board_import(40 + (uint64_t)i, all[i], (size_t)n, &context[i]) == 0);
    }
    for (int round = 1; round <= 3; round++) {
        CHECK(board_exchange(context[round % 2], (round + 1) / 2) == 0);
    }
    CHECK(board_meet(&lab->boards[2], n) == 0);
    CHECK(comm_global_domain_release(40 + (uint64_t)rank % 2) == 0); // nobody waits for the others
    CHECK(board_meet(&lab->boards[2], n) == 0);
    CHECK(comm_global_domain_release(41 - (uint64_t)rank % 2) == 0);
    CHECK(look_fds() == fds && lab_is_alone());
    return 0;
}

static void domains_overlap(void **state)
{
    assert_true(lab_run("ab", both_ways));
    assert_true(lab_run("aab", both_ways));
    assert_true(lab_run("abab", both_ways));
}

struct one_import {
    const CommGlobalDomainDescriptor *all;
    uint64_t id;
    const CommContext *context;
    int status;
};

static void *import_one(void *arg)
{
    struct one_import *one = arg;
    one->status = board_import(one->id, one->all, 2, &one->context);
    return NULL;
}

// Rank 0 has a thread for each of two domains, and its first one waits when the other begins; rank
// 1 imports the second one first.
static int crosswise(int rank, const struct ranks *ranks, void *arg)
{
    struct lab *lab = arg;
    CommGlobalDomainDescriptor all[2][2];
    struct one_import ones[2];
    pthread_t threads[2];
    lab_place(lab, rank);
    for (uint64_t i = 0; i < 2; i++) {
        CHECK(lab_prepare(&lab->boards[i], i, rank, 2, BYTES, all[i]) == 0);
        ones[i] = (struct one_import){.all = all[i], .id = i};
    }
    if (rank == 0) {
        int fds = look_fds();
        CHECK(pthread_create(&threads[0], NULL, import_one, &ones[0]) == 0);
        while (look_fds() == fds) { // until it looks for rank 1
            usleep(1000);
        }
        CHECK(comm_global_domain_release(0) == -1 && look_says("another thread is importing"));
        CHECK(pthread_create(&threads[1], NULL, import_one, &ones[1]) == 0);
        CHECK(pthread_join(threads[1], NULL) == 0 && pthread_join(threads[0], NULL) == 0);
    } else {
        usleep(100000);
        import_one(&ones[1]);
        import_one(&ones[0]);
    }
    for (uint64_t i = 0; i < 2; i++) {
        CHECK(ones[i].status == 0 && board_exchange(ones[i].context, 1) == 0);
    }
    CHECK(comm_global_domain_release(0) == 0 && comm_global_domain_release(1) == 0);
    return 0;
}

static void an_import_that_waits_holds_no_other_up(void **state)
{
    assert_true(lab_run("ab", crosswise));
}

static int exchange_in_job(tern_comm *comm, tern_window *window, int32_t round)
{
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    CHECK(tern_put(window, (rank + 1) % n, 64, &round, sizeof round) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(*(int32_t *)(void *)((char *)tern_window_address(window, rank) + 64) == round);
    return tern_comm_barrier(comm);
}

// A job of the same processes lives before, while, and after.
static int beside_job(int rank, const struct ranks *ranks, void *arg)
{
    struct lab *lab = arg;
    tern_comm *comm;
    tern_window *window;
    CommGlobalDomainDescriptor all[TERN_RANKS_MAX];
    const CommContext *context;
    int n = ranks->count;
    CHECK(machines_join(rank, ranks, lab->layout, &comm) == TERN_OK);
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    for (int last = 0; last < 2; last++) {
        CHECK(lab_prepare(lab->boards, 1, n - 1 - rank, n, BYTES, all) == 0);
        CHECK(exchange_in_job(comm, window, 2 * last + 1) == 0);
        CHECK(board_import(1, all, (size_t)n, &context) == 0);
        CHECK(board_exchange(context, 1) == 0 && exchange_in_job(comm, window, 2 * last + 2) == 0);
        if (last == 1) {
            CHECK(tern_window_destroy(window) == TERN_OK && tern_comm_destroy(comm) == TERN_OK);
        }
        CHECK(board_exchange(context, 2) == 0);
        CHECK(comm_global_domain_release(1) == 0);
    }
    return 0;
}

static void domains_live_beside_a_job(void **state)
{
    assert_true(lab_run("ab", beside_job));
    assert_true(lab_run("aabb", beside_job));
}

// Instructions on tensors at addresses of the context: put with addition, get, notify, wait.
static int instructions(int rank, const struct ranks *ranks, void *arg)
{
    struct lab *lab = arg;
    CommGlobalDomainDescriptor all[TERN_RANKS_MAX];
    const CommContext *context;
    float memory[8];
    float mine[8];
    int32_t n = ranks->count;
    tern_tile tile = tern_tile_2d(memory, TERN_F32, 1, 8);
    lab_place(lab, rank);
    CHECK(lab_prepare(lab->boards, 1, rank, n, BYTES, all) == 0);
    CHECK(board_import(1, all, (size_t)n, &context) == 0);
    char *own = (char *)(uintptr_t)context->windowsIn[rank];
    for (int i = 0; i < 8; i++) {
        mine[i] = (float)(rank + 1);
    }
    tern_tensor from = tern_tensor_1d(mine, TERN_F32, 8);
    for (uint32_t peer = 0; peer < (uint32_t)n; peer++) {
        tern_tensor to =
            tern_tensor_1d(tern_context_remote(context, own + 1024, peer), TERN_F32, 8);
        tern_tensor signal = tern_tensor_1d(tern_context_remote(context, own, peer), TERN_I32, 1);
        CHECK(tern_tensor_put(&to, &from, &tile, NULL, TERN_ATOMIC_ADD) == TERN_OK);
        CHECK(tern_tensor_notify(&signal, 1, TERN_NOTIFY_ADD) == TERN_OK);
    }
    tern_tensor waited = tern_tensor_1d(own, TERN_I32, 1);
    CHECK(tern_tensor_wait(&waited, TERN_CMP_GE, n, TERN_TIMEOUT_DEFAULT) == TERN_OK);
    CHECK(board_meet(lab->boards, n) == 0);
    for (uint32_t peer = 0; peer < (uint32_t)n; peer++) {
        tern_tensor there =
            tern_tensor_1d(tern_context_remote(context, own + 1024, peer), TERN_F32, 8);
        tern_tensor back = tern_tensor_1d(mine, TERN_F32, 8);
        CHECK(tern_tensor_get(&back, &there, &tile, NULL) == TERN_OK);
        CHECK(mine[0] == 0.5F * (float)(n * (n + 1)) && mine[7] == mine[0]);
    }
    CHECK(board_meet(lab->boards, n) == 0);
    CHECK(comm_global_domain_release(1) == 0);
    return 0;
}

static void instructions_reach_all_ranks(void **state)
{
    assert_true(lab_run("ab", instructions));
    assert_true(lab_run("abb", instructions));
}

// Rank 0 stores through a pointer to rank 1, and what its process says then is read.
static int touches(int rank, const struct ranks *ranks, void *arg)
{
    struct lab *lab = arg;
    CommGlobalDomainDescriptor all[2];
    const CommContext *context;
    char path[96];
    lab_place(lab, rank);
    CHECK(lab_prepare(lab->boards, 6, rank, 2, BYTES, all) == 0);
    CHECK(board_import(6, all, 2, &context) == 0);
    snprintf(path, sizeof path, "%s/said", ranks->folder);
    if (rank == 0) {
        CHECK(freopen(path, "w", stderr) != NULL);
        *(volatile char *)(uintptr_t)(context->windowsIn[1] + 40) = 1;
    }
    tern_window *window;
    size_t offset;
    int member;
    const void *own = (const void *)(uintptr_t)context->windowsIn[1];
    CHECK(tern_window_find(own, &window, &member, &offset) == TERN_OK);
    CHECK(tern_signal_wait(window, 0, TERN_CMP_GE, 1, TERN_TIMEOUT_DEFAULT) == TERN_ERR_PEER);
    CHECK(look_says("rank 0 on machine a died"));
    char said[400] = "";
    FILE *file = fopen(path, "r");
    CHECK(file != NULL && fread(said, 1, sizeof said - 1, file) > 0);
    fclose(file);
    CHECK(strstr(said, "rank 0 touched byte 40 of rank 1's part of window 6, which is on machine "
                       "b: put, get and notify reach it") != NULL);
    CHECK(unlink(path) == 0 && comm_global_domain_release(6) == 0);
    return 0;
}

static void a_pointer_to_another_machine_is_a_named_fault(void **state)
{
    struct ranks ranks;
    ranks_begin(&ranks, 2, touches, lab_make("ab"));
    assert_true(ranks_wait(&ranks, 60) && ranks_end(&ranks));
    assert_true(WIFSIGNALED(ranks.statuses[0]) && WTERMSIG(ranks.statuses[0]) == SIGSEGV);
    assert_int_equal(ranks.statuses[1], 0);
}

// The child of a rank has no part in its domains, and may have its own; with its descriptors open
// nobody would see the parent end.
static int forks(int rank, const struct ranks *ranks, void *arg)
{
    struct lab *lab = arg;
    CommGlobalDomainDescriptor all[2][2];
    const CommContext *context;
    int status = -1;
    lab_place(lab, rank);
    int fds = look_fds();
    CHECK(lab_prepare(lab->boards, 1, rank, 2, BYTES, all[0]) == 0);
    CHECK(lab_prepare(&lab->boards[1], 2, rank, 2, BYTES, all[1]) == 0); // stays prepared
    CHECK(board_import(1, all[0], 2, &context) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        CommGlobalDomainDescriptor own;
        uint64_t base;
        uint64_t ctx;
        bool right = look_fds() == fds && comm_global_domain_release(1) == -1 &&
                     comm_global_domain_release(2) == -1 &&
                     comm_global_domain_prepare(1, 0, 1, BYTES, 1, &own, &base) == 0 &&
                     comm_global_domain_import(1, &own, 1, &ctx) == 0 &&
                     comm_global_domain_release(1) == 0;
        _exit(right ? 0 : 1);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(board_exchange(context, 1) == 0);
    CHECK(comm_global_domain_release(1) == 0 && comm_global_domain_release(2) == 0);
    CHECK(look_fds() == fds);
    return 0;
}

static void a_child_has_no_part_in_them(void **state)
{
    assert_true(lab_run("ab", forks));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_several_machines_share_windows),
        cmocka_unit_test(one_machine_has_no_network),
        cmocka_unit_test(checking_mode_sees_them),
        cmocka_unit_test(domains_overlap),
        cmocka_unit_test(an_import_that_waits_holds_no_other_up),
        cmocka_unit_test(domains_live_beside_a_job),
        cmocka_unit_test(instructions_reach_all_ranks),
        cmocka_unit_test(a_pointer_to_another_machine_is_a_named_fault),
        cmocka_unit_test(a_child_has_no_part_in_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
