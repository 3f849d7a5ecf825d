// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240, ctest-machines: 2, ctest-threads: none
// Ranks that die, stay away or leave while the others make calls. Seeded: a rank of 2, 3, 5 or 8 is
// killed at a random moment of a loop of random calls, by its own timer or from outside; each
// survivor has TERN_ERR_PEER within a second, with a sentence that names rank and call; what had
// ended before was right, and nothing stays behind. With both words of TERN_AGREE;
// TERN_TEST_CASES says how many of each.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "coll/call/test/random.h"

enum { MOST_BYTES = 4 << 20, NAMED = 10 };

static uint64_t base_seed;

#define START_NS (60 * TERN_NS_PER_SECOND) // of the ranks of a case, on a busy machine

// Shared by all ranks and the test.
static struct board {
    _Atomic int working;  // ranks that have begun their calls
    _Atomic int reported; // survivors whose call has failed
    _Atomic int64_t killed_ns;
    _Atomic int64_t late_ns; // of the slowest survivor of the case
    _Atomic long calls;
} * board;

struct trial {
    int n, victim;
    uint64_t seed;
    bool large;
    bool by_itself; // its own timer kills it
    int64_t moment_us;
};

static void die(int signal_number)
{
    board->killed_ns = tern__now_ns();
    raise(SIGKILL);
}

static void die_later(int64_t moment_us)
{
    struct sigaction action = {.sa_handler = die};
    struct itimerval timer = {.it_value = {.tv_usec = moment_us + 1}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static struct ref_case draw_case(const struct trial *t, uint64_t *state)
{
    struct ref_case c = random_case(state, t->large ? 300000 : 20000);
    if (t->large && c.kind != TERN_COLL_BARRIER && random_below(state, 3) == 0) {
        c.count = random_below(state, MOST_BYTES) / ref_element(&c);
    }
    if (ref_has_shares(c.kind)) {
        c.count /= (size_t)t->n;
    }
    return c;
}

// What a rank's calls on a communicator were, the last one at the end.
struct history {
    uint64_t calls;
    struct ref_case last;
};

static bool names_algorithm(tern_coll_kind kind)
{
    const char *name;
    for (int i = 0; (name = tern_algo_name((tern_plan_kind)kind, i)) != NULL; i++) {
        if (kit_mentions(name)) {
            return true;
        }
    }
    return ref_is_v(kind);
}

// The sentence of a call that failed because of the victim.
static int check_sentence(const struct trial *t, const struct history *h, int victim)
{
    char words[64];
    snprintf(words, sizeof words, "rank %d", victim);
    CHECK(kit_mentions(words));
    if (look_says("was not made")) { // the others had noticed before
        return 0;
    }
    if (h->last.kind == TERN_COLL_SEND || h->last.kind == TERN_COLL_RECV) {
        CHECK(kit_mentions("send") || kit_mentions("recv"));
        return 0;
    }
    snprintf(words, sizeof words, "call %llu", (unsigned long long)h->calls);
    CHECK(kit_mentions(words));
    CHECK(kit_mentions(tern_coll_kind_name(h->last.kind)));
    CHECK(kit_mentions("bytes") || h->last.kind == TERN_COLL_BARRIER);
    CHECK(!kit_mentions("barrier of 0 bytes"));
    CHECK(names_algorithm(h->last.kind));
    if (!ref_is_v(h->last.kind) && h->last.kind != TERN_COLL_BARRIER) {
        size_t bytes = h->last.count * ref_element(&h->last);
        bytes *= ref_has_shares(h->last.kind) ? (size_t)t->n : 1;
        snprintf(words, sizeof words, "%zu bytes", bytes);
        CHECK(kit_mentions(words));
    }
    return 0;
}

// Calls until one fails; each that ends is compared. The status of the one that failed.
static int call_until_failure(const struct trial *t, struct kit_bench *bench, int *status)
{
    struct history histories[2] = {{0}};
    uint64_t state = t->seed;
    uint64_t own = ref_mix(t->seed, 11, (uint64_t)bench->rank);
    for (*status = TERN_OK; *status >= 0; board->calls++) {
        struct kit_work work;
        struct ref_case c = draw_case(t, &state);
        enum kit_comm comm = random_below(&state, 4) == 0 ? KIT_BACKWARDS : KIT_WORLD;
        struct history *h = &histories[comm];
        bool windows = random_below(&state, 2) == 0;
        int in = windows ? KIT_WINDOW : (int)random_below(&own, KIT_PLACES);
        int out = windows ? KIT_WINDOW : (int)random_below(&own, KIT_PLACES);
        kit_make(bench, comm, &c, random_below(&own, 4) == 0, in, out, 0, &work);
        kit_fill(&work);
        bool messages = kit_is_pair_of_calls(&work);
        h->calls += !messages;
        h->last = work.c;
        int64_t begin = tern__now_ns();
        if (messages || random_below(&own, 2) == 0) {
            *status = kit_start(&work);
            int waited = kit_wait(&work); // one of two may have been started
            *status = *status < 0 ? *status : waited;
        } else {
            *status = tern_coll_run(bench->comms[comm], &work.call);
        }
        int64_t end = tern__now_ns();
        if (*status >= 0) {
            CHECK(kit_compare(&work, true) == 0);
            continue;
        }
        int victim = comm == KIT_WORLD ? t->victim : t->n - 1 - t->victim;
        CHECK(*status == TERN_ERR_PEER);
        CHECK(check_sentence(t, h, victim) == 0);
        int64_t since = begin > board->killed_ns ? begin : board->killed_ns;
        for (int64_t seen = board->late_ns; end - since > seen;) {
            atomic_compare_exchange_weak(&board->late_ns, &seen, end - since);
        }
        CHECK(tern_coll_run(bench->comms[comm], &work.call) == TERN_ERR_PEER); // it stays so
    }
    return 0;
}

static void wait_for_reports(int wanted)
{
    int64_t deadline = tern__now_ns() + 10 * TERN_NS_PER_SECOND;
    while (board->reported < wanted && tern__now_ns() < deadline) {
        poll(NULL, 0, 1);
    }
}

static int take_part(int rank, const struct ranks *ranks, void *arg)
{
    const struct trial *t = arg;
    tern_comm *world;
    struct kit_bench bench;
    int status;
    CHECK(ranks_join(rank, ranks, START_NS, &world) == TERN_OK);
    CHECK(kit_open(world, random_most(MOST_BYTES / (size_t)t->n, t->n) + 64, 1, &bench) == 0);
    CHECK(tern_barrier(bench.comms[KIT_PARITY]) == TERN_OK);
    board->working++;
    while (board->working < t->n) {
        poll(NULL, 0, 1);
    }
    if (rank == t->victim && t->by_itself) {
        die_later(t->moment_us);
    }
    int result = call_until_failure(t, &bench, &status);
    board->reported++;
    CHECK(result == 0);
    CHECK(look_shm() == 0);
    wait_for_reports(t->n - 1); // who leaves early would be another reason to fail
    CHECK(kit_close(&bench) == 0);
    CHECK(tern_comm_destroy(world) == TERN_OK);
    return NAMED;
}

static void kill_one(struct trial *t)
{
    struct ranks ranks;
    memset(board, 0, sizeof *board);
    board->killed_ns = INT64_MAX;
    ranks_begin(&ranks, t->n, take_part, t);
    int64_t deadline = tern__now_ns() + START_NS;
    while (board->working < t->n && tern__now_ns() < deadline) {
        poll(NULL, 0, 1);
    }
    if (board->working < t->n) { // a kill now would be one in the start
        ranks_end(&ranks);
        fail_msg("%d ranks did not start within %lld s; seed %llu", t->n,
                 (long long)(START_NS / TERN_NS_PER_SECOND), (unsigned long long)base_seed);
    }
    if (!t->by_itself) {
        struct timespec pause = {.tv_nsec = t->moment_us * 1000};
        nanosleep(&pause, NULL);
        board->killed_ns = tern__now_ns();
        kill(ranks.pids[t->victim], SIGKILL);
    }
    bool all = ranks_wait(&ranks, 40);
    bool clean = ranks_end(&ranks);
    for (int rank = 0; rank < t->n; rank++) {
        int status = ranks.statuses[rank];
        int wanted = rank == t->victim ? SIGKILL : NAMED << 8;
        if (status != wanted || !all || !clean) {
            fail_msg(
                "rank %d of %d ended with 0x%x; rank %d was killed %s after %lld us; seed %llu",
                rank, t->n, (unsigned)status, t->victim,
                t->by_itself ? "by itself" : "from outside", (long long)t->moment_us,
                (unsigned long long)base_seed);
        }
    }
}

static void kill_many(const char *agree)
{
    static const int sizes[] = {2, 3, 5, 8};
    uint64_t draws = base_seed;
    uint64_t cases = kit_number("TERN_TEST_CASES", 40);
    int64_t slowest = 0;
    long calls = 0;
    int descriptors = look_fds();
    setenv("TERN_AGREE", agree, 1);
    for (uint64_t i = 0; i < cases; i++) {
        struct trial t = {.n = sizes[i % 4], .seed = random_below(&draws, UINT64_C(1) << 40)};
        t.victim = (int)random_below(&draws, (uint64_t)t.n);
        t.large = random_below(&draws, 3) == 0;
        t.by_itself = random_below(&draws, 2) == 0;
        t.moment_us = (int64_t)random_below(&draws, t.large ? 100000 : 20000);
        kill_one(&t);
        slowest = board->late_ns > slowest ? board->late_ns : slowest;
        calls += board->calls;
        if (board->late_ns > RANKS_SOON_NS) {
            fail_msg("a survivor returned %.3f s after the death", (double)board->late_ns * 1e-9);
        }
    }
    assert_int_equal(look_fds(), descriptors);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    printf("%s: %llu kills amid %ld calls; the slowest survivor returned after %.0f ms\n", agree,
           (unsigned long long)cases, calls, (double)slowest * 1e-6);
}

static void a_killed_rank_is_an_error_on_all_others_within_a_second(void **state)
{
    kill_many("strict");
    kill_many("early");
}

// A few calls of all, then this many ranks make one without the victim: its status on them.
static int call_without(struct kit_bench *bench, const struct trial *t, bool started, int *status)
{
    uint64_t state = t->seed;
    struct kit_work work;
    struct ref_case c;
    for (int i = 0; i < 5; i++) {
        c = random_case(&state, 2000);
        kit_make(bench, KIT_WORLD, &c, false, KIT_WINDOW, KIT_HEAP, 0, &work);
        CHECK(kit_run(&work, KIT_TEST) == 0);
    }
    // All have ended them before anybody makes the one that fails, and with it whatever is under
    // way.
    CHECK(tern_barrier(bench->comms[KIT_WORLD]) == TERN_OK);
    if (bench->rank == t->victim) {
        *status = TERN_OK;
        return 0;
    }
    do {
        c = random_case(&state, t->large ? 300000 : 2000);
    } while (c.kind == TERN_COLL_SEND || c.kind == TERN_COLL_RECV);
    kit_make(bench, KIT_WORLD, &c, false, (int)(t->seed % KIT_PLACES), KIT_WINDOW, 0, &work);
    kit_fill(&work);
    if (started) {
        *status = kit_start(&work);
        *status = *status < 0 ? *status : kit_wait(&work);
    } else {
        *status = tern_coll_run(bench->comms[KIT_WORLD], &work.call);
    }
    bool early = kit_may_be_early(c.kind);
    if (*status == TERN_OK && early) { // the victim was not needed
        CHECK(kit_compare(&work, true) == 0);
        c.kind = TERN_COLL_BARRIER;
        *status = tern_barrier(bench->comms[KIT_WORLD]);
    }
    // One that was not held up may have failed in the barrier before this one made its call; or one
    // that was, in the call, before this one came to the barrier.
    bool ahead = early && (kit_mentions("barrier") || kit_mentions("was not made"));
    CHECK(ahead || kit_mentions(tern_coll_kind_name(c.kind)));
    CHECK(ahead || kit_mentions("bytes") || c.kind == TERN_COLL_BARRIER);
    return 0;
}

static int stay_away(int rank, const struct ranks *ranks, void *arg)
{
    const struct trial *t = arg;
    tern_comm *world;
    struct kit_bench bench;
    int status;
    char who[32];
    CHECK(ranks_join(rank, ranks, 3 * TERN_NS_PER_SECOND, &world) == TERN_OK);
    CHECK(kit_open(world, random_most(300000, t->n), 1, &bench) == 0);
    int64_t begin = tern__now_ns();
    CHECK(call_without(&bench, t, t->by_itself, &status) == 0);
    if (rank == t->victim) {
        wait_for_reports(t->n - 1);
        while (tern_comm_health(world) == TERN_OK) { // between machines the news takes time
            poll(NULL, 0, 1);
        }
        CHECK(tern_barrier(world) == TERN_ERR_TIMEOUT); // too late
    } else {
        CHECK(status == TERN_ERR_TIMEOUT);
        int64_t took = tern__now_ns() - begin;
        CHECK(took > 27 * TERN_NS_PER_SECOND / 10 && took < RANKS_SOON_NS);
        board->reported++;
        snprintf(who, sizeof who, "rank %d", t->victim);
        CHECK(kit_mentions(who));
        if (rank == (t->victim + 1) % t->n) {
            printf("%s\n", tern_last_error());
        }
    }
    CHECK(kit_close(&bench) == 0);
    CHECK(tern_comm_destroy(world) == TERN_OK);
    return 0;
}

static int leave(int rank, const struct ranks *ranks, void *arg)
{
    const struct trial *t = arg;
    tern_comm *world;
    struct kit_bench bench;
    int status;
    char who[32];
    CHECK(ranks_join(rank, ranks, 20 * TERN_NS_PER_SECOND, &world) == TERN_OK);
    CHECK(kit_open(world, random_most(300000, t->n), 1, &bench) == 0);
    CHECK(call_without(&bench, t, t->by_itself, &status) == 0);
    if (rank != t->victim) {
        CHECK(status == TERN_ERR_LEFT);
        snprintf(who, sizeof who, "rank %d", t->victim);
        CHECK(kit_mentions(who));
        board->reported++;
        wait_for_reports(t->n - 1);
    }
    CHECK(kit_close(&bench) == 0);
    CHECK(tern_comm_destroy(world) == TERN_OK);
    return 0;
}

// Large and small, blocking and not.
static void run_all_sorts(rank_body body)
{
    uint64_t draws = base_seed + 1;
    for (int i = 0; i < 8; i++) {
        setenv("TERN_AGREE", i % 2 == 0 ? "strict" : "early", 1);
        struct trial t = {.n = ranks_counts[1 + i % 4], .seed = random_below(&draws, 1 << 30)};
        t.victim = (int)random_below(&draws, (uint64_t)t.n);
        t.large = i / 2 % 2 == 0;
        t.by_itself = i / 4 == 0;
        memset(board, 0, sizeof *board);
        assert_true(ranks_run(t.n, body, &t, 20));
    }
}

static void a_rank_that_stays_away_is_named_at_the_deadline(void **state)
{
    run_all_sorts(stay_away);
}

static void a_rank_that_leaves_is_an_error_on_all_others(void **state)
{
    run_all_sorts(leave);
}

// Ranks 0 and 1 send a number to and fro, until one of the messages fails.
static int play(tern_comm *world, int rank, int rounds, int *status)
{
    int to = 1 - rank;
    for (int i = 0; i < rounds; i++) {
        int got = -1;
        *status = rank == 0 ? tern_send(world, &i, 1, TERN_I32, to)
                            : tern_recv(world, &got, 1, TERN_I32, to);
        if (*status == TERN_OK) {
            *status = rank == 0 ? tern_recv(world, &got, 1, TERN_I32, to)
                                : tern_send(world, &got, 1, TERN_I32, to);
        }
        if (*status != TERN_OK) {
            return 0;
        }
        CHECK(got == i);
    }
    return 0;
}

// Rank 3 leaves; 0 and 1 go on with messages; then rank 2 makes a call that needs rank 3.
static int leave_two_at_play(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *world;
    float in = 1;
    float out = 0;
    int status = TERN_OK;
    CHECK(ranks_join(rank, ranks, 20 * TERN_NS_PER_SECOND, &world) == TERN_OK);
    CHECK(tern_all_reduce(world, &in, &out, 1, TERN_F32, TERN_SUM) == TERN_OK);
    if (rank < 2) {
        while (board->calls == 0) { // the one that leaves
            poll(NULL, 0, 1);
        }
        CHECK(play(world, rank, 1000, &status) == 0);
        CHECK(status == TERN_OK);
        board->working++;
        CHECK(play(world, rank, INT32_MAX, &status) == 0);
        CHECK(status == TERN_ERR_LEFT && kit_mentions("rank 3"));
    }
    if (rank == 2) {
        while (board->working < 2) {
            poll(NULL, 0, 1);
        }
        CHECK(tern_all_reduce(world, &in, &out, 1, TERN_F32, TERN_SUM) == TERN_ERR_LEFT);
        CHECK(kit_mentions("rank 3"));
    }
    if (rank < 3) {
        CHECK(tern_send(world, &in, 1, TERN_F32, (rank + 1) % 3) == TERN_ERR_LEFT);
        CHECK(kit_mentions("rank 3"));
    }
    CHECK(tern_comm_destroy(world) == TERN_OK);
    board->calls += rank == 3;
    return 0;
}

static void messages_of_others_go_on_until_a_call_needs_the_rank_that_left(void **state)
{
    memset(board, 0, sizeof *board);
    assert_true(ranks_run(4, leave_two_at_play, NULL, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_rank_is_an_error_on_all_others_within_a_second),
        cmocka_unit_test(a_rank_that_stays_away_is_named_at_the_deadline),
        cmocka_unit_test(a_rank_that_leaves_is_an_error_on_all_others),
        cmocka_unit_test(messages_of_others_go_on_until_a_call_needs_the_rank_that_left),
    };
    base_seed = random_seed();
    board = ranks_shared(sizeof *board);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
