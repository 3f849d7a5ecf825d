// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 400
// Ranks of global domains on several machines that end at any moment, release early or never come;
// descriptors that are wrong or old, and descriptors of this process that run out. Whoever waits is
// told, what failed can be tried again, and nothing is left.
#include "support/cmocka.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm.h"
#include "comm/pool.h"
#include "faces/test/board_machines.h"
#include "support/look.h"
#include "support/random.h"

enum { BYTES = 5000 };

static int wait_on(const CommContext *context, int64_t timeout_ns)
{
    tern_window *window;
    size_t offset;
    int member;
    const void *own = (const void *)(uintptr_t)context->windowsIn[context->rankId];
    CHECK(tern_window_find(own, &window, &member, &offset) == TERN_OK);
    return tern_signal_wait(window, 2048, TERN_CMP_GE, 1, timeout_ns);
}

// All of the ranks but the victim end well.
static void end_all(struct ranks *ranks, int victim)
{
    assert_true(ranks_wait(ranks, 60) && ranks_end(ranks));
    for (int rank = 0; rank < ranks->count; rank++) {
        assert_true(rank == victim ? WIFSIGNALED(ranks->statuses[rank])
                                   : ranks->statuses[rank] == 0);
    }
}

// Rank 2 never comes to the first import, and is named to the others; then it does.
static int never(int rank, const struct ranks *ranks, void *arg)
{
    struct lab *lab = arg;
    CommGlobalDomainDescriptor all[3];
    const CommContext *context;
    lab_place(lab, rank);
    CHECK(lab_prepare(lab->boards, 5, rank, 3, BYTES, all) == 0);
    int fds = look_fds();
    int maps = look_maps();
    for (int i = 0; i < 2; i++) {
        CHECK(setenv("TERN_TIMEOUT", rank == 0 ? "1" : "60", 1) == 0);
        CHECK(rank == 2 || board_import(5, all, 3, &context) == -1);
        CHECK(rank == 2 || look_says("in the import of domain 5, to which did not come: rank 2 on "
                                     "machine"));
        CHECK(look_fds() == fds && look_maps() == maps && lab_is_alone());
        CHECK(board_meet(lab->boards, 3) == 0);
    }
    CHECK(unsetenv("TERN_TIMEOUT") == 0);
    CHECK(board_import(5, all, 3, &context) == 0 && board_exchange(context, 1) == 0);
    CHECK(comm_global_domain_release(5) == 0);
    return 0;
}

static void who_never_imports_is_named_and_may_come_later(void **state)
{
    assert_true(lab_run("abb", never));
    assert_true(lab_run("aab", never));
    assert_true(lab_run("abc", never));
}

// The victim, which is boards[1].given, ends before it imports, or while the others wait for it.
static int killed(int rank, const struct ranks *ranks, void *arg)
{
    struct lab *lab = arg;
    CommGlobalDomainDescriptor all[3];
    const CommContext *context;
    char words[64];
    int victim = lab->boards[1].given;
    bool inside = lab->boards[2].given != 0;
    lab_place(lab, rank);
    int fds = look_fds();
    CHECK(lab_prepare(lab->boards, 5, rank, 3, BYTES, all) == 0);
    int prepared = look_fds();
    CHECK(!inside || (board_import(5, all, 3, &context) == 0 && board_exchange(context, 1) == 0));
    CHECK(board_meet(lab->boards, 3) == 0);
    if (rank == victim) {
        usleep(100000);
        raise(SIGKILL);
    }
    int64_t begin_ns = tern__now_ns();
    if (inside) {
        CHECK(wait_on(context, TERN_TIMEOUT_DEFAULT) == TERN_ERR_PEER);
        snprintf(words, sizeof words, "rank %d ", victim);
        CHECK(look_says("died (process"));
        CHECK(look_says(words));
    } else {
        CHECK(board_import(5, all, 3, &context) == -1);
        snprintf(words, sizeof words, "rank %d ", victim);
        CHECK(look_says(words) && look_fds() == prepared && lab_is_alone());
    }
    CHECK(tern__now_ns() - begin_ns < RANKS_SOON_NS);
    CHECK(board_meet(&lab->boards[3], 2) == 0); // the others have been told, too
    CHECK(comm_global_domain_release(5) == 0 && look_fds() == fds);
    return 0;
}

static void who_ends_is_missed(void **state)
{
    static const char *const layouts[] = {"aab", "abb", "abc"};
    for (int i = 0; i < 18; i++) {
        struct lab *lab = lab_make(layouts[i / 6]);
        struct ranks ranks;
        lab->boards[1].given = i % 3;
        lab->boards[2].given = i / 3 % 2;
        ranks_begin(&ranks, 3, killed, lab);
        end_all(&ranks, i % 3);
    }
}

// Rank 1 releases while the others use the domain: they go on among themselves.
static int released(int rank, const struct ranks *ranks, void *arg)
{
    struct lab *lab = arg;
    CommGlobalDomainDescriptor all[3];
    const CommContext *context;
    tern_window *window;
    size_t offset;
    int member;
    int32_t value = 5;
    lab_place(lab, rank);
    CHECK(lab_prepare(lab->boards, 9, rank, 3, BYTES, all) == 0);
    CHECK(board_import(9, all, 3, &context) == 0);
    CHECK(board_meet(lab->boards, 3) == 0);
    int64_t begin_ns = tern__now_ns();
    CHECK(rank != 1 || comm_global_domain_release(9) == 0);
    CHECK(rank != 1 || tern__now_ns() - begin_ns < RANKS_SOON_NS);
    CHECK(board_meet(lab->boards, 3) == 0);
    if (rank == 1) {
        CHECK(board_meet(lab->boards, 3) == 0);
        return 0;
    }
    int other = 2 - rank;
    const void *own = (const void *)(uintptr_t)context->windowsIn[rank];
    CHECK(tern_window_find(own, &window, &member, &offset) == TERN_OK);
    CHECK(tern_put(window, other, 64, &value, sizeof value) == TERN_OK);
    CHECK(tern_signal_notify(window, other, 128, 1, TERN_NOTIFY_ADD) == TERN_OK);
    CHECK(tern_signal_wait(window, 128, TERN_CMP_EQ, 1, RANKS_SOON_NS) == TERN_OK);
    CHECK(*(const int32_t *)(const void *)((const char *)own + 64) == 5);
    if (!lab_is_here(lab, rank, 1)) {
        while (tern_put(window, 1, 64, &value, sizeof value) == TERN_OK) { // not heard of yet
            usleep(1000);
        }
        CHECK(tern_put(window, 1, 64, &value, sizeof value) == TERN_ERR_LEFT);
        CHECK(look_says("rank 1 on machine") && look_says("has left, and its part of window 9"));
        CHECK(tern_get(window, 1, 64, &value, sizeof value) == TERN_ERR_LEFT);
        CHECK(tern_signal_notify(window, 1, 0, 1, TERN_NOTIFY_ADD) == TERN_ERR_LEFT);
        CHECK(tern_put(window, other, 1024, &value, sizeof value) == TERN_OK);
    }
    CHECK(board_meet(&lab->boards[1], 2) == 0);
    if (rank == 0) {
        CHECK(wait_on(context, TERN_NS_PER_SECOND / 2) == TERN_ERR_TIMEOUT);
        CHECK(look_says("rank 1 has left"));
    }
    CHECK(board_meet(lab->boards, 3) == 0);
    CHECK(comm_global_domain_release(9) == 0);
    return 0;
}

static void who_releases_is_missed_by_those_who_use_it(void **state)
{
    assert_true(lab_run("aba", released));
    assert_true(lab_run("bba", released));
    assert_true(lab_run("abb", released));
    assert_true(lab_run("abc", released));
}

static struct tern__pool_card *card_of(CommGlobalDomainDescriptor *descriptor)
{
    return (struct tern__pool_card *)(void *)descriptor->handle;
}

#define REFUSED(words)                                                                             \
    CHECK(comm_global_domain_import(5, bad, 3, &ctx) == -1 && look_says(words) && ctx == 78)

// Each rank tries one descriptor that is wrong, alone; then all do with the right ones.
static int wrong(int rank, const struct ranks *ranks, void *arg)
{
    struct lab *lab = arg;
    CommGlobalDomainDescriptor all[3];
    CommGlobalDomainDescriptor bad[3];
    const CommContext *context;
    uint64_t ctx = 78;
    lab_place(lab, rank);
    CHECK(lab_prepare(lab->boards, 5, rank, 3, BYTES, all) == 0);
    int fds = look_fds();
    int maps = look_maps();
    int far = (rank + 1) % 3;
    memcpy(bad, all, sizeof bad);
    card_of(&bad[far])->abi++;
    REFUSED("another version of tern");
    memcpy(bad, all, sizeof bad);
    card_of(&bad[far])->shown.user++;
    REFUSED("belongs to user");
    memcpy(bad, all, sizeof bad);
    card_of(&bad[far])->address.length = 77;
    REFUSED("could not listen for ranks of other machines");
    // Nobody listens at port 1.
    uint16_t port = 256;
    memcpy(bad, all, sizeof bad);
    memcpy(card_of(&bad[rank == 0 ? 1 : 0])->address.bytes + 2, &port, sizeof port);
    REFUSED("nobody listens there any more");
    CHECK(look_fds() == fds && look_maps() == maps && lab_is_alone());
    CHECK(board_meet(lab->boards, 3) == 0);
    // Rank 1 has another token of rank 0, then one of rank 2.
    memcpy(bad, all, sizeof bad);
    CHECK(setenv("TERN_TIMEOUT", "0.5", 1) == 0);
    card_of(&bad[0])->token[3] ^= 1;
    REFUSED(rank == 0   ? "not the one that comm_global_domain_prepare gave"
            : rank == 1 ? "domain 5"
                        : "domain 5");
    CHECK(board_meet(lab->boards, 3) == 0);
    memcpy(bad, all, sizeof bad);
    CHECK(setenv("TERN_TIMEOUT", "60", 1) == 0);
    card_of(&bad[2])->token[3] ^= rank == 1;
    REFUSED("has imported other windows");
    CHECK(look_fds() == fds && look_maps() == maps && lab_is_alone());
    CHECK(board_meet(lab->boards, 3) == 0);
    CHECK(board_import(5, all, 3, &context) == 0 && board_exchange(context, 1) == 0);
    CHECK(comm_global_domain_release(5) == 0);
    return 0;
}

static void wrong_descriptors_are_refused_and_break_nothing(void **state)
{
    assert_true(lab_run("abc", wrong));
}

// Rank 0 has other tokens than rank 1 says.
static int other_token(int rank, const struct ranks *ranks, void *arg)
{
    struct lab *lab = arg;
    CommGlobalDomainDescriptor all[2];
    const CommContext *context;
    lab_place(lab, rank);
    CHECK(lab_prepare(lab->boards, 5, rank, 2, BYTES, all) == 0);
    CommGlobalDomainDescriptor right = all[0];
    if (rank == 1) {
        card_of(&all[0])->token[3] ^= 1;
        CHECK(board_import(5, all, 2, &context) == -1 && look_says("token"));
        all[0] = right;
    }
    CHECK(board_import(5, all, 2, &context) == 0 && board_exchange(context, 1) == 0);
    CHECK(comm_global_domain_release(5) == 0);
    return 0;
}

static void another_token_is_refused(void **state)
{
    assert_true(lab_run("ab", other_token));
}

// Rank `victim` has released what its descriptor is of, and prepared anew; the others have the old.
static int old(int rank, const struct ranks *ranks, void *arg)
{
    struct lab *lab = arg;
    CommGlobalDomainDescriptor all[3];
    CommGlobalDomainDescriptor again[3];
    const CommContext *context;
    int victim = lab->boards[2].given;
    lab_place(lab, rank);
    CHECK(lab_prepare(lab->boards, 5, rank, 3, BYTES, all) == 0);
    CHECK(rank != victim || comm_global_domain_release(5) == 0);
    CHECK(board_meet(lab->boards, 3) == 0);
    if (rank != victim) {
        CHECK(board_import(5, all, 3, &context) == -1);
        CHECK(look_says("nobody listens there any more") || look_says("has released it"));
        CHECK(comm_global_domain_release(5) == 0);
    }
    CHECK(lab_prepare(lab->boards, 5, rank, 3, BYTES, again) == 0);
    CHECK(board_import(5, again, 3, &context) == 0 && board_exchange(context, 1) == 0);
    CHECK(comm_global_domain_release(5) == 0);
    return 0;
}

static void old_descriptors_are_refused(void **state)
{
    for (int victim = 0; victim < 3; victim++) {
        struct lab *lab = lab_make("aab");
        lab->boards[2].given = victim;
        assert_true(ranks_run(3, old, lab, 60));
    }
}

// Ranks that differ in what must be alike.
static int different(int rank, const struct ranks *ranks, void *arg)
{
    struct lab *lab = arg;
    CommGlobalDomainDescriptor all[2];
    const CommContext *context;
    lab_place(lab, rank);
    CHECK(lab_prepare(lab->boards, 5, rank, 2, BYTES + (size_t)rank, all) == 0);
    CHECK(board_import(5, all, 2, &context) == -1 && look_says("all prepare the same size"));
    CHECK(comm_global_domain_release(5) == 0);
    CHECK(rank == 0 || setenv("TERN_ISA_CHECK", "1", 1) == 0);
    CHECK(lab_prepare(lab->boards, 5, rank, 2, BYTES, all) == 0);
    CHECK(board_import(5, all, 2, &context) == -1);
    CHECK(look_says("rank 1 has TERN_ISA_CHECK in its environment, rank 0 has not"));
    CHECK(comm_global_domain_release(5) == 0);
    return 0;
}

static void ranks_that_differ_are_told(void **state)
{
    assert_true(lab_run("ab", different));
}

// Descriptors run out at every step of an import: all fail, until all succeed.
static int few_files(int rank, const struct ranks *ranks, void *arg)
{
    struct lab *lab = arg;
    CommGlobalDomainDescriptor all[3];
    const CommContext *context;
    struct rlimit before;
    lab_place(lab, rank);
    CHECK(lab_prepare(lab->boards, 5, rank, 3, BYTES, all) == 0);
    int fds = look_fds();
    int maps = look_maps();
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    uint32_t begun = 0;
    bool patient = false;
    for (rlim_t more = 0; begun != 3; more++) {
        struct rlimit low = {.rlim_cur = (rlim_t)fds + more, .rlim_max = before.rlim_max};
        CHECK(setenv("TERN_TIMEOUT", patient ? "60" : "0.5", 1) == 0);
        CHECK(more < 40 && (rank != 2 || setrlimit(RLIMIT_NOFILE, &low) == 0));
        int status = board_import(5, all, 3, &context);
        CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
        lab->boards[1].descriptors[rank].version = status == 0;
        CHECK(status == 0 || (look_fds() == fds && look_maps() == maps && lab_is_alone()));
        CHECK(board_meet(lab->boards, 3) == 0);
        begun = 0;
        for (int other = 0; other < 3; other++) {
            begun += lab->boards[1].descriptors[other].version;
        }
        CHECK(board_meet(lab->boards, 3) == 0);
        CHECK(begun == 0 || begun == 3 || status == 0 || (!patient && look_says("waited 0.5 s")));
        if (begun > 0 && !patient) { // now by the default deadline; at the other only some began
            patient = true;
            begun = 0;
            CHECK(comm_global_domain_release(5) == 0);
            CHECK(lab_prepare(lab->boards, 5, rank, 3, BYTES, all) == 0);
        }
    }
    CHECK(board_exchange(context, 1) == 0);
    CHECK(comm_global_domain_release(5) == 0);
    return 0;
}

static void an_import_that_fails_has_not_begun(void **state)
{
    assert_true(lab_run("aab", few_files));
    assert_true(lab_run("abb", few_files));
}

// Rank 1 is in as many domains as it can be, all with rank 2, and rank 0 hears that at once when it
// imports one more.
static int one_too_many(int rank, const struct ranks *ranks, void *arg)
{
    enum { MOST = 8 };
    struct lab *lab = arg;
    CommGlobalDomainDescriptor all[2];
    const CommContext *context;
    lab_place(lab, rank);
    for (uint64_t id = 0; id < MOST && rank != 0; id++) {
        CHECK(lab_prepare(lab->boards, id, rank - 1, 2, BYTES, all) == 0);
        CHECK(board_import(id, all, 2, &context) == 0);
    }
    if (rank != 2) {
        int64_t begin_ns = tern__now_ns();
        CHECK(lab_prepare(&lab->boards[1], MOST, rank, 2, BYTES, all) == 0);
        CHECK(board_import(MOST, all, 2, &context) == -1);
        CHECK(look_says("cannot be in more than 8 jobs on several machines"));
        CHECK(rank == 1 || look_says("rank 1 cannot join"));
        CHECK(tern__now_ns() - begin_ns < RANKS_SOON_NS);
        CHECK(board_meet(&lab->boards[1], 2) == 0);
        CHECK(comm_global_domain_release(MOST) == 0);
    }
    CHECK(board_meet(&lab->boards[2], 3) == 0);
    for (uint64_t id = 0; id < MOST && rank != 0; id++) {
        CHECK(comm_global_domain_release(id) == 0);
    }
    return 0;
}

static void who_cannot_join_says_why(void **state)
{
    assert_true(lab_run("abc", one_too_many));
}

// Domain after domain, until one of the ranks is killed.
static int until_killed(int rank, const struct ranks *ranks, void *arg)
{
    struct lab *lab = arg;
    CommGlobalDomainDescriptor all[TERN_RANKS_MAX];
    const CommContext *context = NULL;
    int n = ranks->count;
    int victim = lab->boards[1].given;
    char name[16];
    lab_place(lab, rank);
    snprintf(name, sizeof name, "rank %d ", victim);
    int fds = look_fds();
    int maps = look_maps();
    bool ended = false;
    while (!ended) {
        uint64_t base;
        CHECK(board_prepare(lab->boards, 3, rank, n, BYTES, &base) == 0);
        ended = board_gather(lab->boards, n, all) != 0;
        if (!ended && board_import(3, all, (size_t)n, &context) != 0) {
            CHECK(look_says(name));
            ended = true;
        }
        for (int round = 1; round <= 4 && !ended; round++) {
            ended = board_exchange(context, round) != 0;
            CHECK(!ended || look_says(name));
        }
        // Who is told first keeps its part until the others have been told.
        CHECK(!ended || board_meet(&lab->boards[3], n - 1) == 0);
        CHECK(comm_global_domain_release(3) == 0);
    }
    CHECK(look_fds() == fds && look_maps() == maps && look_shm() == 0 && lab_is_alone());
    return 0;
}

static void ranks_are_killed_at_any_moment(void **state)
{
    static const char *const layouts[] = {"ab", "abb", "aabb", "abcab"};
    uint64_t seed = random_seed();
    for (int i = 0; i < 24; i++) {
        struct lab *lab = lab_make(layouts[i % 4]);
        struct ranks ranks;
        int n = (int)strlen(lab->layout);
        int victim = (int)random_below(&seed, (uint64_t)n);
        lab->boards[1].given = victim;
        ranks_begin(&ranks, n, until_killed, lab);
        usleep((useconds_t)random_below(&seed, 100000));
        assert_int_equal(kill(ranks.pids[victim], SIGKILL), 0);
        usleep(1000);
        lab->boards[0].over = 1;
        end_all(&ranks, victim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_never_imports_is_named_and_may_come_later),
        cmocka_unit_test(who_ends_is_missed),
        cmocka_unit_test(who_releases_is_missed_by_those_who_use_it),
        cmocka_unit_test(wrong_descriptors_are_refused_and_break_nothing),
        cmocka_unit_test(another_token_is_refused),
        cmocka_unit_test(old_descriptors_are_refused),
        cmocka_unit_test(ranks_that_differ_are_told),
        cmocka_unit_test(an_import_that_fails_has_not_begun),
        cmocka_unit_test(who_cannot_join_says_why),
        cmocka_unit_test(ranks_are_killed_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
