// SPDX-License-Identifier: Apache-2.0
// Ranks that die and machines that fall silent: everybody is told, with the same kind of sentence,
// and nobody waits for ever.
#include "support/cmocka.h"
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "comm/comm.h"
#include "net/state.h"
#include "support/machines.h"
#include "support/random.h"
#include "support/sanitized.h"
#include "tern/put.h"
#include "tern/signal.h"
#include "tern/window.h"

static int kills = ROUNDS_OF(20);

// What the ranks say to the test: memory that all of them share.
struct report {
    _Atomic int ready; // ranks that have joined
    struct {
        _Atomic int done;
        int status;
        int64_t at_ns;
        char text[TERN_ERROR_BYTES];
    } of[TERN_RANKS_MAX];
};

struct plan {
    const char *layout;
    struct report *report;
    int64_t timeout_ns;
    bool whole; // no communicators of a part of the ranks, whose end is no end of the whole
};

// What has failed first.
static void say(struct report *report, int rank, int status)
{
    if (status != TERN_OK && report->of[rank].status == TERN_OK) {
        report->of[rank].status = status;
        report->of[rank].at_ns = tern__now_ns();
        snprintf(report->of[rank].text, TERN_ERROR_BYTES, "%s", tern_last_error());
    }
}

// Puts to all and meets, until that fails.
static int work_until_it_fails(int rank, const struct ranks *ranks, void *arg)
{
    const struct plan *plan = arg;
    tern_comm *comm;
    tern_window *window;
    tern_comm *part = NULL;
    int64_t value = rank;
    CHECK(machines_join(rank, ranks, plan->layout, &comm) == TERN_OK);
    if (plan->timeout_ns != 0) {
        comm->group.job->timeout_ns = plan->timeout_ns;
    }
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    atomic_fetch_add(&plan->report->ready, 1);
    int status = TERN_OK;
    for (int round = 0; status == TERN_OK; round++) {
        for (int to = 0; to < ranks->count && status == TERN_OK; to++) {
            status = tern_put(window, to, (size_t)rank * sizeof value, &value, sizeof value);
        }
        status = status == TERN_OK ? tern_comm_barrier(comm) : status;
        if (status == TERN_OK && !plan->whole && round % 16 == 0) {
            status = tern_comm_split(comm, rank % 2, 0, &part);
            if (status == TERN_OK) {
                status = tern_comm_barrier(part);
                say(plan->report, rank, status);
                tern_comm_destroy(part);
            }
        }
    }
    say(plan->report, rank, status);
    atomic_store(&plan->report->of[rank].done, 1);
    tern_window_destroy(window);
    tern_comm_destroy(comm);
    return 0;
}

static void await_ready(const struct plan *plan, int count)
{
    for (int i = 0; i < 60000 && atomic_load(&plan->report->ready) < count; i++) {
        poll(NULL, 0, 1);
    }
    assert_int_equal(atomic_load(&plan->report->ready), count);
}

static void print(const char *layout, const struct report *report, int victim, int64_t since_ns)
{
    int64_t last_ns = 0;
    for (int rank = 0; rank < (int)strlen(layout); rank++) {
        int64_t at_ns = report->of[rank].at_ns;
        last_ns = rank != victim && at_ns > last_ns ? at_ns : last_ns;
    }
    printf("%s, rank %d: all told after %.0f ms: %s\n", layout, victim,
           (double)(last_ns - since_ns) * 1e-6, report->of[victim == 0].text);
}

// All but the ranks of `away` were told, with one of the words.
static void check_told(const char *layout, const struct report *report, uint64_t away,
                       const char *words, const char *or_words)
{
    for (int rank = 0; rank < (int)strlen(layout); rank++) {
        const char *text = report->of[rank].text;
        if ((away >> rank & 1) != 0) {
            continue;
        }
        assert_int_equal(atomic_load(&report->of[rank].done), 1);
        if (report->of[rank].status != TERN_ERR_PEER ||
            (strstr(text, words) == NULL && strstr(text, or_words) == NULL)) {
            fail_msg("rank %d of %s: status %d, '%s', without '%s' or '%s'", rank, layout,
                     report->of[rank].status, text, words, or_words);
        }
    }
}

static void a_killed_rank_is_told_everywhere(void **state)
{
    uint64_t seed = random_seed();
    for (int kill_number = 0; kill_number < kills; kill_number++) {
        const char *layout = machines_layouts[random_below(&seed, 8)];
        int count = (int)strlen(layout);
        int victim = (int)random_below(&seed, (uint64_t)count);
        struct plan plan = {.layout = layout, .report = ranks_shared(sizeof(struct report))};
        struct ranks ranks;
        char words[64];
        char or_words[64];
        ranks_begin(&ranks, count, work_until_it_fails, &plan);
        await_ready(&plan, count);
        poll(NULL, 0, (int)random_below(&seed, 30));
        int64_t since_ns = tern__now_ns();
        kill(ranks.pids[victim], SIGKILL);
        bool all = ranks_wait(&ranks, 20);
        print(layout, plan.report, victim, since_ns);
        assert_true(all);
        snprintf(words, sizeof words, "rank %d died", victim);
        snprintf(or_words, sizeof or_words, "rank %d on machine %c died", victim, layout[victim]);
        check_told(layout, plan.report, UINT64_C(1) << victim, words, or_words);
        machines_clean(&ranks);
        assert_true(ranks_end(&ranks));
    }
}

// All processes of a machine stop: nothing comes from it. Those that go on later are told, too.
static void stop_machine(const char *layout, char machine, const char *words)
{
    struct plan plan = {.layout = layout, .report = ranks_shared(sizeof(struct report))};
    struct ranks ranks;
    int count = (int)strlen(layout);
    uint64_t stopped = 0;
    ranks_begin(&ranks, count, work_until_it_fails, &plan);
    await_ready(&plan, count);
    int64_t since_ns = tern__now_ns();
    for (int rank = 0; rank < count; rank++) {
        stopped |= layout[rank] == machine ? UINT64_C(1) << rank : 0;
        if (layout[rank] == machine) {
            kill(ranks.pids[rank], SIGSTOP);
        }
    }
    for (int i = 0; i < 30000; i++) {
        int done = 0;
        for (int rank = 0; rank < count; rank++) {
            done += atomic_load(&plan.report->of[rank].done);
        }
        if (done + __builtin_popcountll(stopped) == count) {
            break;
        }
        poll(NULL, 0, 1);
    }
    check_told(layout, plan.report, stopped, words, words);
    print(layout, plan.report, __builtin_ctzll(stopped), since_ns);
    // Only those: where a rank ends, SIGCONT takes back the SIGSTOP by which LeakSanitizer holds
    // it, and that waits for ever.
    for (uint64_t left = stopped; left != 0; left &= left - 1) {
        kill(ranks.pids[__builtin_ctzll(left)], SIGCONT);
    }
    assert_true(ranks_wait(&ranks, 20));
    for (uint64_t left = stopped; left != 0; left &= left - 1) {
        int rank = __builtin_ctzll(left);
        printf("  rank %d, when it went on: %s\n", rank, plan.report->of[rank].text);
        assert_int_equal(plan.report->of[rank].status, TERN_ERR_PEER);
    }
    machines_clean(&ranks);
    assert_true(ranks_end(&ranks));
}

static void a_silent_machine_has_ended(void **state)
{
    stop_machine("aabb", 'b', "machine b (ranks 2-3) has been silent for 1.0 s");
    stop_machine("aabb", 'a', "machine a (ranks 0-1) has been silent for 1.0 s");
    stop_machine("abc", 'c', "machine c (rank 2) has been silent for 1.0 s");
    stop_machine("abab", 'b', "machine b (ranks 1, 3) has been silent for 1.0 s");
}

// The leader of a machine stops, the other rank there does not.
static void stop_leader(rank_body body, const char *words)
{
    struct plan plan = {.layout = "aabb", .report = ranks_shared(sizeof(struct report))};
    struct ranks ranks;
    ranks_begin(&ranks, 4, body, &plan);
    await_ready(&plan, 4);
    int64_t since_ns = tern__now_ns();
    kill(ranks.pids[2], SIGSTOP);
    for (int i = 0; i < 30000 && (atomic_load(&plan.report->of[0].done) == 0 ||
                                  atomic_load(&plan.report->of[1].done) == 0 ||
                                  atomic_load(&plan.report->of[3].done) == 0);
         i++) {
        poll(NULL, 0, 1);
    }
    check_told("aabb", plan.report, UINT64_C(1) << 2, words, words);
    print("aabb", plan.report, 2, since_ns);
    printf("  rank 3: %s\n", plan.report->of[3].text);
    kill(ranks.pids[2], SIGCONT);
    assert_true(ranks_wait(&ranks, 20));
    assert_int_equal(plan.report->of[2].status, TERN_ERR_PEER);
    machines_clean(&ranks);
    assert_true(ranks_end(&ranks));
}

static void a_machine_whose_leader_stops_is_silent(void **state)
{
    stop_leader(work_until_it_fails, "machine b (ranks 2-3) has been silent for 1.0 s");
}

// Where that rank finds it in a communicator of a part, and first: the others are told of the
// machine, not that the rank has left.
static int find_it_in_a_part(int rank, const struct ranks *ranks, void *arg)
{
    const struct plan *plan = arg;
    tern_comm *comm;
    tern_comm *part;
    int status = TERN_OK;
    if (rank == 3) {
        setenv("TERN_NET_TIMEOUT", "0.5", 1);
    }
    CHECK(machines_join(rank, ranks, plan->layout, &comm) == TERN_OK);
    CHECK(tern_comm_split(comm, rank % 2, 0, &part) == TERN_OK);
    atomic_fetch_add(&plan->report->ready, 1);
    while (status == TERN_OK) {
        status = tern_comm_barrier(rank % 2 == 1 ? part : comm);
    }
    say(plan->report, rank, status);
    atomic_store(&plan->report->of[rank].done, 1);
    tern_comm_destroy(part);
    tern_comm_destroy(comm);
    return 0;
}

static void a_part_that_finds_a_machine_silent_says_so_to_all(void **state)
{
    stop_leader(find_it_in_a_part, "machine b (ranks 2-3) has been silent for 0.5 s");
}

// Another one stops: that is no end, and who waits for it says after its deadline what it sees.
static void who_waits_for_a_stopped_rank_says_so_after_its_deadline(void **state)
{
    struct plan plan = {.layout = "aabb",
                        .report = ranks_shared(sizeof(struct report)),
                        .timeout_ns = 4 * TERN_NS_PER_SECOND,
                        .whole = true};
    struct ranks ranks;
    ranks_begin(&ranks, 4, work_until_it_fails, &plan);
    await_ready(&plan, 4);
    kill(ranks.pids[3], SIGSTOP);
    for (int i = 0; i < 30000 && (atomic_load(&plan.report->of[0].done) == 0 ||
                                  atomic_load(&plan.report->of[1].done) == 0 ||
                                  atomic_load(&plan.report->of[2].done) == 0);
         i++) {
        poll(NULL, 0, 1);
    }
    for (int rank = 0; rank < 3; rank++) {
        printf("rank %d: %s\n", rank, plan.report->of[rank].text);
        assert_int_equal(plan.report->of[rank].status, TERN_ERR_TIMEOUT);
    }
    kill(ranks.pids[3], SIGCONT);
    assert_true(ranks_wait(&ranks, 20));
    machines_clean(&ranks);
    assert_true(ranks_end(&ranks));
}

// Rank 1 tells rank 2 of what rank 3 has got, when that has confirmed it; the others do nothing.
static int notify_until_it_fails(int rank, const struct ranks *ranks, void *arg)
{
    const struct plan *plan = arg;
    tern_comm *comm;
    tern_window *window;
    int64_t value = 1;
    CHECK(machines_join(rank, ranks, plan->layout, &comm) == TERN_OK);
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    atomic_fetch_add(&plan->report->ready, 1);
    int status = TERN_OK;
    while (status == TERN_OK && rank == 1) {
        status = tern_put(window, 3, 0, &value, sizeof value);
        status = status == TERN_OK ? tern_signal_notify(window, 2, 8, 1, TERN_NOTIFY_ADD) : status;
    }
    if (rank != 1) {
        pause();
    }
    say(plan->report, rank, status);
    atomic_store(&plan->report->of[rank].done, 1);
    exit(0);
}

static void who_waits_for_a_confirmation_hears_of_a_death(void **state)
{
    struct plan plan = {.layout = "aabb", .report = ranks_shared(sizeof(struct report))};
    struct ranks ranks;
    ranks_begin(&ranks, 4, notify_until_it_fails, &plan);
    await_ready(&plan, 4);
    kill(ranks.pids[3], SIGSTOP);
    poll(NULL, 0, 50);
    kill(ranks.pids[0], SIGKILL);
    for (int i = 0; i < 20000 && atomic_load(&plan.report->of[1].done) == 0; i++) {
        poll(NULL, 0, 1);
    }
    kill(ranks.pids[3], SIGKILL);
    kill(ranks.pids[2], SIGKILL);
    check_told("aabb", plan.report, 0xd, "rank 0 died", "rank 0 on machine a died");
    assert_true(ranks_wait(&ranks, 20));
    machines_clean(&ranks);
    assert_true(ranks_end(&ranks));
}

// Ends without destroying anything.
static int end_suddenly(int rank, const struct ranks *ranks, void *arg)
{
    const struct plan *plan = arg;
    tern_comm *comm;
    if (rank != ranks->count - 1) {
        return work_until_it_fails(rank, ranks, arg);
    }
    tern_window *window;
    CHECK(machines_join(rank, ranks, plan->layout, &comm) == TERN_OK);
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    await_ready(plan, rank);
    exit(0);
}

static void who_ends_without_destroy_has_died(void **state)
{
    struct plan plan = {.layout = "aabb", .report = ranks_shared(sizeof(struct report))};
    struct ranks ranks;
    ranks_begin(&ranks, 4, end_suddenly, &plan);
    assert_true(ranks_wait(&ranks, 20));
    check_told("aabb", plan.report, UINT64_C(1) << 3, "rank 3 died", "rank 3 on machine b died");
    machines_clean(&ranks);
    assert_true(ranks_end(&ranks));
}

// Meets the others until that fails, and ends at once. Each has told the others why, by then: a
// flush is one word, and the reason another.
static int end_when_it_fails(int rank, const struct ranks *ranks, void *arg)
{
    const struct plan *plan = arg;
    tern_comm *comm;
    CHECK(machines_join(rank, ranks, plan->layout, &comm) == TERN_OK);
    const _Atomic uint32_t *said = &comm->group.job->net->said;
    atomic_fetch_add(&plan->report->ready, 1);
    if (rank == ranks->count - 1) {
        pause();
    }
    uint32_t before = atomic_load(said);
    int status = tern_comm_barrier(comm);
    say(plan->report, rank, status);
    atomic_store(&plan->report->of[rank].done, 1);
    exit(rank > 0 && atomic_load(said) - before < 2 ? 1 : 0);
}

static void who_ends_because_of_a_death_is_not_the_reason(void **state)
{
    for (int round = 0; round < 5; round++) {
        struct plan plan = {.layout = "abbbb", .report = ranks_shared(sizeof(struct report))};
        struct ranks ranks;
        ranks_begin(&ranks, 5, end_when_it_fails, &plan);
        await_ready(&plan, 5);
        kill(ranks.pids[4], SIGKILL);
        assert_true(ranks_wait(&ranks, 20));
        for (int rank = 0; rank < 4; rank++) {
            assert_int_equal(ranks.statuses[rank], 0);
        }
        check_told("abbbb", plan.report, UINT64_C(1) << 4, "rank 4 died",
                   "rank 4 on machine b died");
        machines_clean(&ranks);
        assert_true(ranks_end(&ranks));
    }
}

// A rank whose connection has closed is no death yet while its launcher may say how it ended;
// whoever takes what comes from the others does not wait for that.
static int lose_the_other(tern_comm *comm, void *arg)
{
    struct tern__job *job = comm->group.job;
    struct tern__net *net = job->net;
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (tern_comm_rank(comm) == 0) {
        job->launched = true;
        pthread_mutex_lock(&net->work);
        tern__net_lost(net, 1);
        bool lives = tern__flag_load(&job->ctl->ranks[1].state) == TERN__RANK_ACTIVE;
        bool waits = tern__net_losing(net);
        tern__ctl_mark_dead(job->ctl, 1); // as the launcher does when it has said it
        bool over = !tern__net_losing(net);
        pthread_mutex_unlock(&net->work);
        CHECK(lives && waits && over);
    }
    return 0;
}

static void what_a_launcher_may_say_holds_nobody_up(void **state)
{
    assert_true(machines_run_comm("ab", lose_the_other, NULL, 20));
}

// A rank has left the job, and its word that it leaves the communicator was lost with the
// connection that it went by: nobody waits for that.
static int leave_without_the_word(tern_comm *comm, void *arg)
{
    _Atomic int *left = arg;
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (tern_comm_rank(comm) != 0) {
        ranks_count_await(left, 1);
        return 0;
    }
    struct tern__ctl *ctl = comm->group.job->ctl;
    for (int rank = 1; rank < tern_comm_size(comm); rank++) {
        tern__ctl_mark_left(ctl, rank); // as its BYE does
    }
    int64_t begin_ns = tern__now_ns();
    int status = tern_comm_destroy(comm);
    bool soon = tern__now_ns() - begin_ns < RANKS_SOON_NS;
    atomic_store(left, 1);
    exit(status == TERN_OK && soon ? 0 : 1);
}

static void who_has_left_the_job_is_not_waited_for(void **state)
{
    static const char *const layouts[] = {"ab", "abb", "abc"};
    for (int i = 0; i < 3; i++) {
        assert_true(machines_run_comm(layouts[i], leave_without_the_word,
                                      ranks_shared(sizeof(_Atomic int)), 100));
    }
}

// Where a machine is to be silent it is soon; elsewhere this one may be busy for as long as that.
static int be_impatient(void **state)
{
    return setenv("TERN_NET_TIMEOUT", "1", 1);
}

static int be_patient(void **state)
{
    return setenv("TERN_NET_TIMEOUT", "60", 1);
}

int main(void)
{
    be_patient(NULL);
    kills = getenv("TERN_TEST_LONG") != NULL ? 300 : kills;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_rank_is_told_everywhere),
        cmocka_unit_test_setup_teardown(a_silent_machine_has_ended, be_impatient, be_patient),
        cmocka_unit_test_setup_teardown(a_machine_whose_leader_stops_is_silent, be_impatient,
                                        be_patient),
        cmocka_unit_test_setup_teardown(a_part_that_finds_a_machine_silent_says_so_to_all,
                                        be_impatient, be_patient),
        cmocka_unit_test(who_waits_for_a_stopped_rank_says_so_after_its_deadline),
        cmocka_unit_test(who_waits_for_a_confirmation_hears_of_a_death),
        cmocka_unit_test(who_ends_without_destroy_has_died),
        cmocka_unit_test(who_ends_because_of_a_death_is_not_the_reason),
        cmocka_unit_test(what_a_launcher_may_say_holds_nobody_up),
        cmocka_unit_test(who_has_left_the_job_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
