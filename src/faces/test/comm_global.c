// SPDX-License-Identifier: Apache-2.0
// Global domains of the comm_* face, by processes that share nothing but a place where descriptors
// are laid: data, signals and doorbells in them, several at once, what is refused, and that nothing
// is left of them.
#include "support/cmocka.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm.h"
#include "comm/pool.h"
#include "faces/test/board.h"
#include "support/look.h"
#include "support/random.h"
#include "support/ranks.h"
#include "support/user.h"
#include "tern/put.h"
#include "tern/signal.h"

enum { BYTES = 5000 };

// All ranks prepare, import, tell each other their numbers, and release.
static int turn(struct board *board, uint64_t id, int rank, int n)
{
    const CommContext *context;
    CHECK(board_begin(board, id, rank, n, BYTES, &context) == 0);
    CHECK(context->workSpace == 0 && context->workSpaceSize == 0);
    for (int peer = 0; peer < n; peer++) {
        const unsigned char *there = (const unsigned char *)(uintptr_t)context->windowsIn[peer];
        CHECK(there[256] == peer + 1 && there[271] == peer + 1 && there[272] == 0);
    }
    for (int i = n; i < TERN_RANKS_MAX; i++) {
        CHECK(context->windowsIn[i] == 0);
    }
    for (int round = 1; round <= 3; round++) {
        CHECK(board_exchange(context, round) == 0);
    }
    CHECK(comm_global_domain_release(id) == 0);
    return 0;
}

static int turns(int rank, const struct ranks *ranks, void *arg)
{
    int fds = look_fds();
    int maps = look_maps();
    for (int i = 0; i < 5; i++) {
        CHECK(turn(arg, 7 + (uint64_t)i % 2, rank, ranks->count) == 0);
        CHECK(look_shm() == 0);
    }
    CHECK(look_fds() == fds && look_maps() == maps);
    return 0;
}

static void processes_without_a_job_share_windows(void **state)
{
    for (int i = 0; i < 6; i++) {
        assert_true(board_run(ranks_counts[i], turns, 60));
    }
}

// What is looked at in checking mode goes with the windows.
static int checked(int rank, const struct ranks *ranks, void *arg)
{
    CHECK(setenv("TERN_ISA_CHECK", "1", 1) == 0);
    return turns(rank, ranks, arg);
}

static void checking_mode_sees_them(void **state)
{
    assert_true(board_run(3, checked, 60));
}

// Processes of an ordinary user, none of which is a descendant of another.
static int unprivileged(int rank, const struct ranks *ranks, void *arg)
{
    CHECK(user_become(USER_OTHER) == 0);
    CHECK(prctl(PR_SET_DUMPABLE, 1) == 0); // as after exec
    return turns(rank, ranks, arg);
}

static void ordinary_users_need_no_rights(void **state)
{
    user_other_or_skip();
    assert_true(board_run(3, unprivileged, 60));
}

// Two domains at once, of all ranks in both orders: what is told in one is not heard in the other.
static int both_ways(int rank, const struct ranks *ranks, void *arg)
{
    struct board *boards = arg;
    const CommContext *context[2];
    CommGlobalDomainDescriptor all[TERN_RANKS_MAX];
    uint64_t base;
    int n = ranks->count;
    for (int i = 0; i < 2; i++) {
        int own = i == 0 ? rank : n - 1 - rank;
        CHECK(board_prepare(&boards[i], 40 + (uint64_t)i, own, n, BYTES, &base) == 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(board_gather(&boards[i], n, all) == 0);
        CHECK(board_import(40 + (uint64_t)i, all, (size_t)n, &context[i]) == 0);
    }
    for (int round = 1; round <= 3; round++) {
        CHECK(board_exchange(context[round % 2], (round + 1) / 2) == 0);
    }
    CHECK(comm_global_domain_release(40) == 0);
    CHECK(board_exchange(context[1], 3) == 0);
    CHECK(comm_global_domain_release(41) == 0);
    return 0;
}

static void domains_overlap(void **state)
{
    assert_true(board_run(3, both_ways, 60));
    assert_true(board_run(2, both_ways, 60));
}

#define REFUSED(words, call) CHECK((call) == -1 && look_says(words))

// One of the process alone, with arguments that are wrong each in one way.
static int refused_arguments(int rank, const struct ranks *ranks, void *arg)
{
    CommGlobalDomainDescriptor one;
    uint64_t base = 77;
    uint64_t ctx = 78;
    REFUSED("no argument may be NULL", comm_global_domain_prepare(1, 0, 1, 4, 1, NULL, &base));
    REFUSED("no argument may be NULL", comm_global_domain_prepare(1, 0, 1, 4, 1, &one, NULL));
    REFUSED("rank_count 0", comm_global_domain_prepare(1, 0, 0, 4, 1, &one, &base));
    REFUSED("rank_count 65", comm_global_domain_prepare(1, 0, 65, 4, 1, &one, &base));
    REFUSED("domain_rank is 2", comm_global_domain_prepare(1, 2, 2, 4, 1, &one, &base));
    REFUSED("window_size is 0", comm_global_domain_prepare(1, 0, 1, 0, 1, &one, &base));
    REFUSED("A3_FABRIC", comm_global_domain_prepare(1, 0, 1, 4, 2, &one, &base));
    REFUSED("profile is 9", comm_global_domain_prepare(1, 0, 1, 4, 9, &one, &base));
    REFUSED("bytes are available",
            comm_global_domain_prepare(1, 0, 1, (size_t)1 << 61, 1, &one, &base));
    REFUSED("bytes are available", comm_global_domain_prepare(1, 0, 2, SIZE_MAX, 1, &one, &base));
    CHECK(base == 77);
    REFUSED("has no domain 1", comm_global_domain_import(1, &one, 1, &ctx));
    REFUSED("has no domain 1", comm_global_domain_release(1));
    CHECK(comm_global_domain_prepare(1, 0, 1, 4, 1, &one, &base) == 0);
    CHECK(one.version == 2 && one.profile == 1 && one.domain_rank == 0 && one.rank_count == 1);
    CHECK(one.mapping_size == (uint64_t)sysconf(_SC_PAGESIZE) && one.reserved == 0);
    REFUSED("has a domain 1", comm_global_domain_prepare(1, 0, 1, 4, 1, &one, &base));
    REFUSED("no argument may be NULL", comm_global_domain_import(1, NULL, 1, &ctx));
    REFUSED("no argument may be NULL", comm_global_domain_import(1, &one, 1, NULL));
    REFUSED("count is 0", comm_global_domain_import(1, &one, 0, &ctx));
    REFUSED("count is 2", comm_global_domain_import(1, &one, 2, &ctx));
    CHECK(setenv("TERN_TIMEOUT", "soon", 1) == 0);
    REFUSED("TERN_TIMEOUT", comm_global_domain_import(1, &one, 1, &ctx));
    CHECK(unsetenv("TERN_TIMEOUT") == 0 && ctx == 78);
    CHECK(comm_global_domain_import(1, &one, 1, &ctx) == 0);
    REFUSED("has been imported", comm_global_domain_import(1, &one, 1, &ctx));
    CHECK(comm_global_domain_release(1) == 0);
    REFUSED("or has released it", comm_global_domain_release(1));
    return 0;
}

static void wrong_arguments_are_minus_one(void **state)
{
    assert_true(board_run(1, refused_arguments, 20));
}

static struct tern__pool_card *card_of(CommGlobalDomainDescriptor *descriptor)
{
    return (struct tern__pool_card *)(void *)descriptor->handle;
}

#define IMPORT_REFUSED(words, ...)                                                                 \
    do {                                                                                           \
        memcpy(bad, all, sizeof bad);                                                              \
        __VA_ARGS__;                                                                               \
        REFUSED(words, comm_global_domain_import(5, bad, 3, &ctx));                                \
    } while (0)

// Rank 0 gets descriptors that are wrong each in one way, and after all of them the right ones.
static int refused_descriptors(int rank, const struct ranks *ranks, void *arg)
{
    CommGlobalDomainDescriptor all[3];
    CommGlobalDomainDescriptor bad[3];
    CommGlobalDomainDescriptor other;
    const CommContext *context;
    uint64_t base;
    uint64_t ctx = 78;
    struct board *board = arg;
    CHECK(board_prepare(board, 5, rank, 3, BYTES, &base) == 0);
    CHECK(board_gather(board, 3, all) == 0);
    CHECK(comm_global_domain_prepare(6, (uint32_t)rank, 3, BYTES, 1, &other, &base) == 0);
    int fds = look_fds();
    int maps = look_maps();
    if (rank == 0) {
        IMPORT_REFUSED("descriptor 1: version is 1", bad[1].version = 1);
        IMPORT_REFUSED("descriptor 2: profile is 2", bad[2].profile = 2);
        IMPORT_REFUSED("descriptor 1 is of rank 1 of 4", bad[1].rank_count = 4);
        IMPORT_REFUSED("descriptor 1 is of rank 3 of 3", bad[1].domain_rank = 3);
        IMPORT_REFUSED("descriptor 1: mapping_size is 1", bad[1].mapping_size = 1);
        IMPORT_REFUSED("handle_size is 0", bad[1].handle_size = 0);
        IMPORT_REFUSED("reserved 1", bad[1].reserved = 1);
        IMPORT_REFUSED("descriptors 1 and 2 are both of rank 1", bad[2] = bad[1]);
        IMPORT_REFUSED("not the one that comm_global_domain_prepare gave", bad[0] = other);
        IMPORT_REFUSED("another version of tern", card_of(&bad[1])->abi++);
        CHECK(setenv("TERN_TIMEOUT", "0.1", 1) == 0); // others are waited for, while they listen
        IMPORT_REFUSED(" on machine ", card_of(&bad[1])->shown.machine++);
        CHECK(unsetenv("TERN_TIMEOUT") == 0);
        IMPORT_REFUSED("belongs to user", card_of(&bad[1])->shown.user++);
        IMPORT_REFUSED("another pid namespace", card_of(&bad[1])->shown.pid_space++);
        IMPORT_REFUSED("has ended", card_of(&bad[1])->shown.pid = 1 << 29);
        IMPORT_REFUSED("has ended", card_of(&bad[1])->shown.started++);
        IMPORT_REFUSED("would be of process -1", card_of(&bad[1])->shown.pid = -1);
        IMPORT_REFUSED("has released it", card_of(&bad[1])->shown.fd = 1 << 20);
        IMPORT_REFUSED("has released it", card_of(&bad[1])->shown.fd = 1);
        IMPORT_REFUSED("has released it", card_of(&bad[1])->shown.inode++);
        IMPORT_REFUSED("another file in its place", card_of(&bad[2])->token[3]++);
        IMPORT_REFUSED("prepared for rank 2 of 3 of domain 5", bad[1] = bad[2],
                       bad[1].domain_rank = 1);
        IMPORT_REFUSED("prepared for rank 0 of 3 of domain 6",
                       *card_of(&bad[2]) = *card_of(&other));
        CHECK(look_fds() == fds && look_maps() == maps && ctx == 78);
        CommGlobalDomainDescriptor swapped = all[0]; // any order will do
        all[0] = all[2];
        all[2] = swapped;
    }
    CHECK(comm_global_domain_release(6) == 0);
    CHECK(board_import(5, all, 3, &context) == 0);
    CHECK(board_exchange(context, 1) == 0);
    CHECK(comm_global_domain_release(5) == 0);
    return 0;
}

static void wrong_descriptors_are_minus_one_and_break_nothing(void **state)
{
    assert_true(board_run(3, refused_descriptors, 60));
}

// One bit is wrong, anywhere. Where it does not matter (the machine's name), the import succeeds.
// What seems to be of another machine is waited for.
static int one_bit(int rank, const struct ranks *ranks, void *arg)
{
    CommGlobalDomainDescriptor all[2];
    CommGlobalDomainDescriptor bad[2];
    uint64_t base;
    uint64_t ctx;
    struct board *board = arg;
    uint64_t seed = (uint64_t)board[1].given;
    int imported = 0;
    CHECK(board_prepare(board, 1, rank, 2, BYTES, &base) == 0);
    CHECK(board_gather(board, 2, all) == 0);
    int fds = look_fds();
    int maps = look_maps();
    CHECK(setenv("TERN_TIMEOUT", "0.01", 1) == 0);
    for (int i = 0; i < 2000 && rank == 0; i++) {
        uint64_t bit = random_below(&seed, 8 * sizeof bad[1]);
        memcpy(bad, all, sizeof bad);
        ((unsigned char *)&bad[1])[bit / 8] ^= (unsigned char)(1U << bit % 8);
        if (comm_global_domain_import(1, bad, 2, &ctx) == 0) {
            CHECK(comm_global_domain_release(1) == 0);
            CHECK(board_prepare(board, 1, rank, 2, BYTES, &base) == 0);
            all[0] = board->descriptors[0];
            imported++;
        }
        CHECK(look_fds() == fds && look_maps() == maps);
    }
    CHECK(rank != 0 || (imported > 0 && imported < 2000));
    CHECK(board_meet(board, 2) == 0);
    CHECK(comm_global_domain_release(1) == 0);
    return 0;
}

static void a_wrong_bit_breaks_nothing(void **state)
{
    struct board *boards = ranks_shared(2 * sizeof(struct board));
    boards[1].given = (int)(random_seed() % INT32_MAX);
    assert_true(ranks_run(2, one_bit, boards, 60));
}

// Ranks that differ in what must be alike.
static int different(int rank, const struct ranks *ranks, void *arg)
{
    CommGlobalDomainDescriptor all[2];
    uint64_t base;
    uint64_t ctx;
    struct board *board = arg;
    CHECK(board_prepare(board, 1, rank, 2, BYTES + (size_t)rank, &base) == 0);
    CHECK(board_gather(board, 2, all) == 0);
    REFUSED("all prepare the same size", comm_global_domain_import(1, all, 2, &ctx));
    CHECK(board_meet(board, 2) == 0);
    CHECK(comm_global_domain_release(1) == 0);
    CHECK(rank == 0 || setenv("TERN_ISA_CHECK", "1", 1) == 0);
    CHECK(board_prepare(board, 1, rank, 2, BYTES, &base) == 0);
    CHECK(board_gather(board, 2, all) == 0);
    REFUSED("rank 1 has TERN_ISA_CHECK in its environment, rank 0 has not",
            comm_global_domain_import(1, all, 2, &ctx));
    CHECK(board_meet(board, 2) == 0);
    CHECK(comm_global_domain_release(1) == 0);
    return 0;
}

static void ranks_that_differ_are_told(void **state)
{
    assert_true(board_run(2, different, 60));
}

// Of another user, as root sees it; and as seen by a user who may not look at root's files.
static int two_users(int rank, const struct ranks *ranks, void *arg)
{
    CommGlobalDomainDescriptor all[2];
    uint64_t base;
    uint64_t ctx;
    struct board *board = arg;
    CHECK(rank == 0 || user_become(USER_OTHER) == 0);
    CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
    CHECK(board_prepare(board, 1, rank, 2, BYTES, &base) == 0);
    CHECK(board_gather(board, 2, all) == 0);
    REFUSED("must belong to one user", comm_global_domain_import(1, all, 2, &ctx));
    card_of(&all[1 - rank])->shown.user = (uint32_t)geteuid(); // a lie
    REFUSED(rank == 0 ? "must belong to one user" : "the kernel does not let this process look",
            comm_global_domain_import(1, all, 2, &ctx));
    CHECK(board_meet(board, 2) == 0);
    CHECK(comm_global_domain_release(1) == 0);
    return 0;
}

static void users_are_kept_apart(void **state)
{
    user_other_or_skip();
    assert_true(board_run(2, two_users, 60));
}

// Descriptors run out in the middle of an import: it is as if it had not begun.
static int few_files(int rank, const struct ranks *ranks, void *arg)
{
    CommGlobalDomainDescriptor all[5];
    const CommContext *context;
    struct rlimit before;
    uint64_t base;
    struct board *board = arg;
    CHECK(board_prepare(board, 1, rank, 5, BYTES, &base) == 0);
    CHECK(board_gather(board, 5, all) == 0);
    int fds = look_fds();
    int maps = look_maps();
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    int status = -1;
    for (rlim_t more = 0; status != 0; more++) {
        struct rlimit low = {.rlim_cur = (rlim_t)fds + more, .rlim_max = before.rlim_max};
        CHECK(more < 8 && setrlimit(RLIMIT_NOFILE, &low) == 0);
        status = board_import(1, all, 5, &context);
        CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
        CHECK(more > 1 || status == -1);
        CHECK(status == 0 || look_says("Too many open files"));
        CHECK(status == 0 || (look_fds() == fds && look_maps() == maps));
    }
    CHECK(board_exchange(context, 1) == 0);
    CHECK(comm_global_domain_release(1) == 0);
    return 0;
}

static void an_import_that_fails_has_not_begun(void **state)
{
    assert_true(board_run(5, few_files, 60));
}

// The child of a rank has no part in its domains, and may have its own.
static int forks(int rank, const struct ranks *ranks, void *arg)
{
    CommGlobalDomainDescriptor all[2];
    const CommContext *context;
    uint64_t base;
    struct board *board = arg;
    int status = -1;
    int fds = look_fds();
    CHECK(board_prepare(board, 1, rank, 2, BYTES, &base) == 0);
    CHECK(board_gather(board, 2, all) == 0);
    CHECK(board_import(1, all, 2, &context) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        CommGlobalDomainDescriptor own;
        uint64_t ctx;
        bool right = look_fds() == fds && comm_global_domain_release(1) == -1 &&
                     comm_global_domain_prepare(1, 0, 1, BYTES, 1, &own, &base) == 0 &&
                     comm_global_domain_import(1, &own, 1, &ctx) == 0 &&
                     comm_global_domain_release(1) == 0;
        _exit(right ? 0 : 1);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(board_exchange(context, 1) == 0);
    CHECK(comm_global_domain_release(1) == 0 && look_fds() == fds);
    return 0;
}

static void a_child_has_no_part_in_them(void **state)
{
    assert_true(board_run(2, forks, 60));
}

// One thread makes and frees domains, while another one forks.
static void *makes(void *arg)
{
    _Atomic int *left = arg;
    CommGlobalDomainDescriptor own;
    uint64_t base;
    uint64_t ctx;
    int wrong = 0;
    while (*left > 0) {
        wrong += comm_global_domain_prepare(2, 0, 1, BYTES, 1, &own, &base) != 0 ||
                 comm_global_domain_import(2, &own, 1, &ctx) != 0 ||
                 comm_global_domain_release(2) != 0;
    }
    return wrong == 0 ? arg : NULL;
}

// What the child of a fork makes. Not under a sanitizer: a child that allocates hangs where another
// thread of its parent held the lock of the sanitizer's allocator.
static bool child_makes(void)
{
    bool right = true;
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    CommGlobalDomainDescriptor own;
    uint64_t base;
    right = comm_global_domain_prepare(2, 0, 1, BYTES, 1, &own, &base) == 0 &&
            comm_global_domain_release(2) == 0;
#endif
    return right;
}

static int forks_meanwhile(int rank, const struct ranks *ranks, void *arg)
{
    _Atomic int left = 100;
    pthread_t thread;
    void *made = NULL;
    CHECK(pthread_create(&thread, NULL, makes, (void *)&left) == 0);
    while (left > 0) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0) {
            _exit(child_makes() ? 0 : 1);
        }
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
        left--;
    }
    CHECK(pthread_join(thread, &made) == 0 && made != NULL);
    return 0;
}

static void threads_may_fork(void **state)
{
    assert_true(board_run(1, forks_meanwhile, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_without_a_job_share_windows),
        cmocka_unit_test(checking_mode_sees_them),
        cmocka_unit_test(ordinary_users_need_no_rights),
        cmocka_unit_test(domains_overlap),
        cmocka_unit_test(wrong_arguments_are_minus_one),
        cmocka_unit_test(wrong_descriptors_are_minus_one_and_break_nothing),
        cmocka_unit_test(a_wrong_bit_breaks_nothing),
        cmocka_unit_test(ranks_that_differ_are_told),
        cmocka_unit_test(users_are_kept_apart),
        cmocka_unit_test(an_import_that_fails_has_not_begun),
        cmocka_unit_test(a_child_has_no_part_in_them),
        cmocka_unit_test(threads_may_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
