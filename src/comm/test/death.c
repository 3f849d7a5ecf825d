// SPDX-License-Identifier: Apache-2.0
// Death of a rank: however it ends and whatever the others wait in, each of them gets TERN_ERR_PEER
// with its name, soon, and ever after. The time from the kill to the error is printed; it shall be
// below a second, but a loaded machine may be slow, so only the deadline of the ranks is asserted.
#include "support/cmocka.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/look.h"
#include "support/ranks.h"
#include "tern/put.h"
#include "tern/signal.h"
#include "tern/window.h"

enum end { KILL, SEGFAULT, EXIT, EXEC, END_COUNT };
enum place { BARRIER, SIGNAL, WINDOW, PLACE_COUNT };

// Shared between the test and its ranks.
struct report {
    _Atomic int64_t died_ns;
    int64_t noticed_ns[TERN_RANKS_MAX];
};

struct plan {
    enum end end;
    enum place place;
    int victim;
    struct report *report;
};

static void die(const struct plan *plan)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    poll(NULL, 0, 60);
    plan->report->died_ns = tern__now_ns();
    switch (plan->end) {
    case KILL:
        raise(SIGKILL);
        break;
    case SEGFAULT:
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
        break;
    case EXEC:
        execl("/bin/sleep", "sleep", "30", (char *)NULL); // killed by the test
        break;
    default:
        break;
    }
    _exit(0);
}

static int expect_death(int status, int victim)
{
    char words[64];
    CHECK(status == TERN_ERR_PEER);
    snprintf(words, sizeof words, "rank %d died", victim);
    CHECK(look_says(words));
    return 0;
}

static int wait_somewhere(tern_comm *comm, tern_window *window, enum place place)
{
    tern_window *another;
    switch (place) {
    case SIGNAL:
        return tern_signal_wait(window, 0, TERN_CMP_EQ, 1, TERN_TIMEOUT_DEFAULT);
    case WINDOW:
        return tern_window_create(comm, 100, NULL, &another);
    default:
        return tern_comm_barrier(comm);
    }
}

static int survive(int rank, const struct ranks *ranks, void *arg)
{
    const struct plan *plan = arg;
    tern_comm *comm;
    tern_window *window;
    CHECK(tern_init_at(rank, ranks->count, ranks->path, NULL, &comm) == TERN_OK);
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    if (rank == plan->victim) {
        die(plan);
    }
    CHECK(expect_death(wait_somewhere(comm, window, plan->place), plan->victim) == 0);
    plan->report->noticed_ns[rank] = tern__now_ns();
    // It stays like that, in every call.
    tern_window *another;
    tern_comm *part;
    int32_t value = 0;
    CHECK(expect_death(tern_comm_barrier(comm), plan->victim) == 0);
    CHECK(expect_death(tern_comm_health(comm), plan->victim) == 0);
    CHECK(expect_death(tern_window_create(comm, 9, NULL, &another), plan->victim) == 0);
    CHECK(expect_death(tern_comm_split(comm, 0, 0, &part), plan->victim) == 0);
    CHECK(expect_death(tern_signal_wait(window, 0, TERN_CMP_EQ, 1, 0), plan->victim) == 0);
    CHECK(expect_death(tern_signal_notify(window, rank, 0, 1, 0), plan->victim) == 0);
    CHECK(expect_death(tern_put(window, rank, 0, &value, 4), plan->victim) == 0);
    CHECK(tern_window_destroy(window) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static int compare_ns(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void all_places_notice(enum end end)
{
    static const char *const names[] = {"SIGKILL", "SIGSEGV", "exit(0)", "exec"};
    static const int counts[] = {2, 3, 5, 8};
    int64_t times[300];
    int count = 0;
    int slow = 0;
    struct report *report = ranks_shared(sizeof(struct report));
    for (int run = 0; run < 4 * PLACE_COUNT; run++) {
        struct ranks ranks;
        struct plan plan = {end, (enum place)(run / 4), 0, report};
        int nranks = counts[run % 4];
        plan.victim = (run * 3 + 1) % nranks;
        memset(report, 0, sizeof *report);
        ranks_begin(&ranks, nranks, survive, &plan);
        ranks.ended[plan.victim] = true; // it may live on as another program
        bool all = ranks_wait(&ranks, 8);
        kill(ranks.pids[plan.victim], SIGKILL);
        waitpid(ranks.pids[plan.victim], NULL, 0);
        for (int rank = 0; rank < nranks; rank++) {
            if (rank != plan.victim) {
                assert_int_equal(ranks.statuses[rank], 0);
                times[count++] = report->noticed_ns[rank] - report->died_ns;
            }
        }
        assert_true(all && ranks_end(&ranks));
    }
    qsort(times, (size_t)count, sizeof times[0], compare_ns);
    for (int i = 0; i < count; i++) {
        slow += times[i] > TERN_NS_PER_SECOND;
    }
    int middle = count / 2;
    int late = count * 9 / 10;
    printf("%s: noticed %d times after %.0f ms (median), %.0f ms (90th percentile), %.0f ms (most);"
           " %d above 1 s\n",
           names[end], count, (double)times[middle] * 1e-6, (double)times[late] * 1e-6,
           (double)times[count - 1] * 1e-6, slow);
}

static void killed_rank_is_named_soon(void **state)
{
    all_places_notice(KILL);
}

static void crashed_rank_is_named_soon(void **state)
{
    all_places_notice(SEGFAULT);
}

static void rank_that_exits_without_destroy_is_named_soon(void **state)
{
    all_places_notice(EXIT);
}

// The process lives on as another program, which is no rank.
static void rank_that_becomes_another_program_is_named_soon(void **state)
{
    all_places_notice(EXEC);
}

// Rank 2 dies; rank 0 waits for its signal while rank 1, which never looks for deaths, keeps waking
// rank 0 with another one.
static int keep_awake(int rank, const struct ranks *ranks, void *arg)
{
    const struct plan *plan = arg;
    tern_comm *comm;
    tern_window *window;
    CHECK(tern_init_at(rank, ranks->count, ranks->path, NULL, &comm) == TERN_OK);
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    if (rank == 2) {
        die(plan);
    }
    if (rank == 0) {
        CHECK(expect_death(tern_signal_wait(window, 0, TERN_CMP_EQ, 1, TERN_TIMEOUT_DEFAULT), 2) ==
              0);
        plan->report->noticed_ns[0] = tern__now_ns();
    }
    while (rank == 1 && plan->report->noticed_ns[0] == 0) {
        if (tern_signal_notify(window, 0, 64, 1, TERN_NOTIFY_ADD) != TERN_OK) {
            break;
        }
        poll(NULL, 0, 10);
    }
    CHECK(tern_window_destroy(window) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void death_is_noticed_also_by_a_rank_that_is_woken_all_the_time(void **state)
{
    struct ranks ranks;
    struct report *report = ranks_shared(sizeof(struct report));
    struct plan plan = {KILL, SIGNAL, 2, report};
    ranks_begin(&ranks, 3, keep_awake, &plan);
    bool all = ranks_wait(&ranks, 10);
    assert_int_equal(ranks.statuses[0], 0);
    assert_int_equal(ranks.statuses[1], 0);
    assert_true(all && ranks_end(&ranks));
    int64_t time_ns = report->noticed_ns[0] - report->died_ns;
    printf("noticed after %.0f ms\n", (double)time_ns * 1e-6);
}

// Rank 3 of 6 dies. The part of the even ranks works on, the other names its rank 1, once rank 3.
static int lose_one_part(int rank, const struct ranks *ranks, void *arg)
{
    const struct plan *plan = arg;
    tern_comm *comm;
    tern_comm *part;
    CHECK(tern_init_at(rank, ranks->count, ranks->path, NULL, &comm) == TERN_OK);
    CHECK(tern_comm_split(comm, rank % 2, 0, &part) == TERN_OK);
    if (rank == 3) {
        die(plan);
    }
    CHECK(expect_death(tern_comm_barrier(comm), 3) == 0);
    if (rank % 2 == 1) {
        CHECK(expect_death(tern_comm_barrier(part), 3) == 0);
        CHECK(look_says("it is rank 1 of communicator"));
    }
    for (int i = 0; rank % 2 == 0 && i < 20; i++) {
        tern_window *window;
        tern_comm *again;
        CHECK(tern_comm_health(part) == TERN_OK);
        CHECK(tern_window_create(part, 100, NULL, &window) == TERN_OK);
        CHECK(tern_comm_barrier(part) == TERN_OK);
        CHECK(tern_window_destroy(window) == TERN_OK);
        CHECK(tern_comm_split(part, 0, -rank, &again) == TERN_OK);
        CHECK(tern_comm_barrier(again) == TERN_OK);
        CHECK(tern_comm_destroy(again) == TERN_OK);
    }
    CHECK(tern_comm_destroy(part) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void part_without_the_dead_rank_works_on(void **state)
{
    struct ranks ranks;
    struct plan plan = {KILL, BARRIER, 3, ranks_shared(sizeof(struct report))};
    ranks_begin(&ranks, 6, lose_one_part, &plan);
    bool all = ranks_wait(&ranks, 20);
    for (int rank = 0; rank < 6; rank++) {
        assert_true(rank == 3 || ranks.statuses[rank] == 0);
    }
    assert_true(all && ranks_end(&ranks));
}

// All notice two deaths, and all name the same rank ever after.
static int two_die(int rank, const struct ranks *ranks, void *arg)
{
    const struct plan *plan = arg;
    tern_comm *comm;
    CHECK(tern_init_at(rank, ranks->count, ranks->path, NULL, &comm) == TERN_OK);
    if (rank == 1 || rank == 4) {
        die(plan);
    }
    CHECK(tern_comm_barrier(comm) == TERN_ERR_PEER);
    int culprit = look_says("rank 4 died") ? 4 : 1;
    plan->report->noticed_ns[rank] = culprit;
    for (int i = 0; i < 20; i++) {
        poll(NULL, 0, 10);
        CHECK(expect_death(tern_comm_health(comm), culprit) == 0);
        CHECK(expect_death(tern_comm_barrier(comm), culprit) == 0);
    }
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void of_two_deaths_all_name_the_same(void **state)
{
    struct plan plan = {KILL, BARRIER, 1, ranks_shared(sizeof(struct report))};
    for (int run = 0; run < 10; run++) {
        struct ranks ranks;
        ranks_begin(&ranks, 6, two_die, &plan);
        bool all = ranks_wait(&ranks, 20);
        for (int rank = 0; rank < 6; rank++) {
            assert_true(rank == 1 || rank == 4 || ranks.statuses[rank] == 0);
            assert_true(rank == 1 || rank == 4 ||
                        plan.report->noticed_ns[rank] == plan.report->noticed_ns[0]);
        }
        assert_true(all && ranks_end(&ranks));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_rank_is_named_soon),
        cmocka_unit_test(crashed_rank_is_named_soon),
        cmocka_unit_test(rank_that_exits_without_destroy_is_named_soon),
        cmocka_unit_test(rank_that_becomes_another_program_is_named_soon),
        cmocka_unit_test(death_is_noticed_also_by_a_rank_that_is_woken_all_the_time),
        cmocka_unit_test(part_without_the_dead_rank_works_on),
        cmocka_unit_test(of_two_deaths_all_name_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
