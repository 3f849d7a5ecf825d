// SPDX-License-Identifier: Apache-2.0
// Doorbells, by litmus: no wake-up is lost. Threads change a word, ring, and wait for another's
// word with ladders so short that they run into the sleep again and again. These waits have no
// second look (no `broken`), so that nothing but the ring can end a sleep: a lost one shows as a
// deadline.
#include "support/cmocka.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/order.h"
#include "support/sanitized.h"
#include "sync/bell.h"
#include "sync/wait.h"
#include "tern/status.h"

enum { SCALE = SANITIZED ? 10 : 1 };

#define DEADLINE_NS (20 * TERN_NS_PER_SECOND) // of one wait, which takes microseconds

enum { PLAYERS_MAX = 8 };

// What one thread owns: others change its word and ring its bell.
static struct place {
    _Alignas(TERN_CACHE_LINE) struct tern__bell bell;
    _Alignas(TERN_CACHE_LINE) _Atomic uint32_t word;
} places[PLAYERS_MAX];

static struct tern__bell shared_bell;
static uint32_t rounds;
static int players;

struct goal {
    const _Atomic uint32_t *word;
    uint32_t value;
};

static bool reached(void *arg)
{
    const struct goal *goal = arg;
    return (int32_t)(tern__flag_load(goal->word) - goal->value) >= 0;
}

// From no spin at all to some: the sleep begins at ever different points of the notifier's work.
static struct tern__ladder ladder_of(uint32_t round)
{
    static const uint32_t rungs[][2] = {{0, 0}, {1, 0}, {0, 1}, {7, 0}, {70, 0}, {130, 0}};
    const uint32_t *of = rungs[round % (sizeof rungs / sizeof rungs[0])];
    return (struct tern__ladder){.spins = of[0], .yields = of[1]};
}

static int wait_for(struct tern__bell *bell, const _Atomic uint32_t *word, uint32_t value)
{
    struct goal goal = {.word = word, .value = value};
    struct tern__ladder ladder = ladder_of(value);
    struct tern__wait wait = {
        .bell = bell,
        .ladder = &ladder,
        .timeout_ns = DEADLINE_NS,
        .holds = reached,
        .arg = &goal,
    };
    return tern__wait(&wait);
}

static void reset(int count, uint32_t each)
{
    players = count;
    rounds = each;
    for (int i = 0; i < PLAYERS_MAX; i++) {
        tern__flag_store(&places[i].word, 0);
        tern__flag_store(&places[i].bell.sleepers, 0);
        tern__flag_store(&places[i].bell.rings, 0);
    }
    tern__flag_store(&shared_bell.sleepers, 0);
    tern__flag_store(&shared_bell.rings, 0);
}

// Runs `body` on `count` threads; each gets its number and returns NULL or what went wrong.
static void run_threads(int count, void *(*body)(void *))
{
    pthread_t threads[PLAYERS_MAX];
    int numbers[PLAYERS_MAX];
    const char *wrong = NULL;
    for (int i = 0; i < count; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, body, &numbers[i]), 0);
    }
    for (int i = 0; i < count; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong = result != NULL ? result : wrong;
    }
    assert_null(wrong);
    for (int i = 0; i < PLAYERS_MAX; i++) {
        assert_int_equal(places[i].bell.sleepers, 0); // who slept has signed off
    }
    assert_int_equal(shared_bell.sleepers, 0);
}

static void notify(struct place *place)
{
    tern__flag_add(&place->word, 1);
    tern__bell_ring(&place->bell);
}

// Every thread notifies the next one and waits for the one before: all in motion at once.
static void *go_round(void *arg)
{
    int me = *(const int *)arg;
    for (uint32_t round = 1; round <= rounds; round++) {
        notify(&places[(me + 1) % players]);
        if (wait_for(&places[me].bell, &places[me].word, round) != TERN_OK) {
            return "a wake-up was lost";
        }
    }
    return NULL;
}

static void two_threads_never_lose_a_wake_up(void **state)
{
    reset(2, 300000 / SCALE);
    run_threads(2, go_round);
    assert_int_equal(places[0].word, rounds);
    assert_int_equal(places[1].word, rounds);
}

static void eight_threads_never_lose_a_wake_up(void **state)
{
    reset(8, 60000 / SCALE);
    run_threads(8, go_round);
}

// One runs at a time: every wait sleeps, and the ring must wake it.
static void *pass_the_token(void *arg)
{
    int me = *(const int *)arg;
    for (uint32_t round = 1; round <= rounds; round++) {
        if (me != 0 || round > 1) {
            uint32_t wanted = me == 0 ? round - 1 : round;
            if (wait_for(&places[me].bell, &places[me].word, wanted) != TERN_OK) {
                return "the token was lost";
            }
        }
        notify(&places[(me + 1) % players]);
    }
    return NULL;
}

static void a_token_never_gets_lost_between_two(void **state)
{
    reset(2, 60000 / SCALE);
    run_threads(2, pass_the_token);
}

static void a_token_never_gets_lost_among_eight(void **state)
{
    reset(8, 8000 / SCALE);
    run_threads(8, pass_the_token);
}

// As in a rank with several threads: one bell, and each sleeper waits for a word of its own.
static void *go_round_on_one_bell(void *arg)
{
    int me = *(const int *)arg;
    for (uint32_t round = 1; round <= rounds; round++) {
        tern__flag_add(&places[(me + 1) % players].word, 1);
        tern__bell_ring(&shared_bell);
        if (wait_for(&shared_bell, &places[me].word, round) != TERN_OK) {
            return "a wake-up was lost";
        }
    }
    return NULL;
}

static void a_bell_that_eight_threads_sleep_on_wakes_the_right_one(void **state)
{
    reset(8, 10000 / SCALE);
    run_threads(8, go_round_on_one_bell);
}

static void *sleep_for_own_word(void *arg)
{
    int me = *(const int *)arg;
    // Without a spin: value 0 modulo the number of ladders.
    return wait_for(&shared_bell, &places[me].word, 6) == TERN_OK ? NULL : "was not woken";
}

// All sleep, and the one that is notified is the last that the kernel would think of.
static void a_ring_reaches_every_sleeper(void **state)
{
    reset(8, 0);
    pthread_t threads[8];
    int numbers[8];
    for (int i = 0; i < 8; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, sleep_for_own_word, &numbers[i]), 0);
        while (tern__flag_load(&shared_bell.sleepers) != (uint32_t)i + 1) {
            sched_yield();
        }
    }
    for (int i = 7; i >= 0; i--) {
        void *wrong;
        tern__flag_store(&places[i].word, 6);
        tern__bell_ring(&shared_bell);
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    assert_int_equal(shared_bell.sleepers, 0);
}

// Many notifiers, one sleeper that looks for the sum: the last ring must not be the one that is
// lost.
static void *add_or_sum(void *arg)
{
    int me = *(const int *)arg;
    uint32_t others = (uint32_t)players - 1;
    for (uint32_t round = 1; round <= rounds; round++) {
        if (me != 0) {
            notify(&places[0]);
            if (wait_for(&places[me].bell, &places[me].word, round) != TERN_OK) {
                return "the answer was lost";
            }
            continue;
        }
        if (wait_for(&places[0].bell, &places[0].word, others * round) != TERN_OK) {
            return "one of many wake-ups was lost";
        }
        for (int i = 1; i < players; i++) {
            notify(&places[i]);
        }
    }
    return NULL;
}

static void the_last_of_many_notifiers_wakes_the_sleeper(void **state)
{
    reset(8, 10000 / SCALE);
    run_threads(8, add_or_sum);
}

static void nobody_is_rung_for_when_nobody_sleeps(void **state)
{
    reset(2, 0);
    for (int i = 0; i < 10; i++) {
        notify(&places[0]);
    }
    assert_int_equal(places[0].bell.rings, 0); // no system call either
    tern__flag_store(&places[0].bell.sleepers, 1);
    notify(&places[0]);
    assert_int_equal(places[0].bell.rings, 1);
    tern__flag_store(&places[0].bell.sleepers, 0);
}

static void a_bell_that_rang_before_does_not_let_sleep(void **state)
{
    struct tern__bell bell = {0};
    tern__bell_wake(&bell);
    int64_t begin = tern__now_ns();
    tern__bell_sleep(&bell, 0, tern__deadline_after(DEADLINE_NS)); // returns at once: rings is 1
    assert_true(tern__now_ns() - begin < DEADLINE_NS);
}

static void a_sleep_ends_at_its_deadline_and_not_before(void **state)
{
    struct tern__bell bell = {0};
    int64_t deadline = tern__deadline_after(30 * TERN_NS_PER_MS);
    while (tern__now_ns() < deadline) {
        tern__bell_sleep(&bell, 0, deadline);
    }
    tern__bell_sleep(&bell, 0, deadline); // a deadline that has passed does not block
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_threads_never_lose_a_wake_up),
        cmocka_unit_test(eight_threads_never_lose_a_wake_up),
        cmocka_unit_test(a_token_never_gets_lost_between_two),
        cmocka_unit_test(a_token_never_gets_lost_among_eight),
        cmocka_unit_test(a_bell_that_eight_threads_sleep_on_wakes_the_right_one),
        cmocka_unit_test(a_ring_reaches_every_sleeper),
        cmocka_unit_test(the_last_of_many_notifiers_wakes_the_sleeper),
        cmocka_unit_test(nobody_is_rung_for_when_nobody_sleeps),
        cmocka_unit_test(a_bell_that_rang_before_does_not_let_sleep),
        cmocka_unit_test(a_sleep_ends_at_its_deadline_and_not_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
