// SPDX-License-Identifier: Apache-2.0
// The wait ladder: how often it looks before it sleeps, what ends a wait, and which of several
// reasons wins: the condition, then `broken`, then the deadline.
#include "support/cmocka.h"
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "sync/wait.h"
#include "tern/status.h"

#define LONG_NS (60 * TERN_NS_PER_SECOND) // never reached when the code is right

// A scripted condition: holds from its holds_at-th look on; breaks when asked.
struct script {
    struct tern__bell bell;
    uint32_t looks;
    uint32_t holds_at;  // 0: never
    uint32_t asleep_at; // the first look that saw a sleeper; 0: none
    uint32_t shallow;   // calls of broken
    uint32_t deep;
    int break_shallow; // what broken returns
    int break_deep;
    bool holds_once_broken;
    _Atomic uint32_t done; // for a thread that rings
};

static bool holds(void *arg)
{
    struct script *script = arg;
    script->looks++;
    if (script->asleep_at == 0 && tern__flag_load(&script->bell.sleepers) != 0) {
        script->asleep_at = script->looks;
    }
    bool broken = script->holds_once_broken && script->shallow + script->deep > 0;
    return broken || (script->holds_at != 0 && script->looks >= script->holds_at);
}

static int broken(void *arg, bool deep)
{
    struct script *script = arg;
    script->shallow += !deep;
    script->deep += deep;
    return deep ? script->break_deep : script->break_shallow;
}

static int climb(struct script *script, struct tern__ladder ladder, int64_t timeout_ns)
{
    struct tern__wait wait = {
        .bell = &script->bell,
        .ladder = &ladder,
        .timeout_ns = timeout_ns,
        .holds = holds,
        .broken = broken,
        .arg = script,
    };
    int status = tern__wait(&wait);
    assert_int_equal(script->bell.sleepers, 0); // signed off, however it ended
    return status;
}

static const struct tern__ladder short_ladder = {.spins = 5, .yields = 3};
static const struct tern__ladder no_ladder = {0};

static void threads_that_fit_spin_and_those_that_do_not_yield(void **state)
{
    struct tern__ladder alone = tern__ladder_for(1, 2);
    struct tern__ladder full = tern__ladder_for(2, 2);
    struct tern__ladder crowded = tern__ladder_for(3, 2);
    assert_int_equal(alone.spins, full.spins);
    assert_int_equal(alone.yields, full.yields);
    assert_true(crowded.spins > 0 && crowded.spins < alone.spins);
    assert_true(crowded.yields > 0 && crowded.yields < alone.yields);
    assert_int_equal(tern__ladder_for(65, 64).spins, crowded.spins);
    assert_int_equal(tern__ladder_for(64, 64).spins, alone.spins);
}

static void a_condition_that_holds_takes_one_look(void **state)
{
    struct script script = {.holds_at = 1, .break_shallow = TERN_ERR_PEER};
    assert_int_equal(climb(&script, short_ladder, 0), TERN_OK);
    assert_int_equal(script.looks, 1);
    assert_int_equal(script.shallow + script.deep, 0);
}

// How many looks come before the sleep when no yield takes long: the most of several climbs, since
// on a busy machine the yields end early.
static uint32_t looks_before_sleep(void)
{
    uint32_t most = 0;
    for (int i = 0; i < 50; i++) {
        struct script script = {.holds_at = 100000};
        assert_int_equal(climb(&script, short_ladder, 0), TERN_ERR_TIMEOUT);
        most = script.asleep_at - 1 > most ? script.asleep_at - 1 : most;
    }
    return most;
}

static void all_rungs_come_before_the_sleep(void **state)
{
    struct script script;
    uint32_t before = looks_before_sleep(); // a rung of yields may look more than once
    assert_true(before >= 5 + 3);
    for (int i = 0; i < 50; i++) {
        script = (struct script){.holds_at = before};
        assert_int_equal(climb(&script, short_ladder, LONG_NS), TERN_OK);
        if (script.asleep_at == 0) {
            break;
        }
    }
    assert_int_equal(script.asleep_at, 0); // came true on the last rung before
    for (int i = 0; i < 50 && script.asleep_at != before + 1; i++) {
        script = (struct script){.holds_at = before + 1};
        assert_int_equal(climb(&script, short_ladder, LONG_NS), TERN_OK);
    }
    assert_int_equal(script.asleep_at, before + 1); // by the look between signing on and sleeping
    script = (struct script){.holds_at = 100000};
    assert_int_equal(climb(&script, (struct tern__ladder){.spins = 777}, 0), TERN_ERR_TIMEOUT);
    assert_int_equal(script.asleep_at, 778);
}

static void without_rungs_it_looks_once_more_before_it_sleeps(void **state)
{
    struct script script = {.holds_at = 1};
    assert_int_equal(climb(&script, no_ladder, 0), TERN_OK);
    assert_int_equal(script.looks, 1);
    assert_int_equal(script.asleep_at, 1);
}

static void a_timeout_of_zero_still_looks(void **state)
{
    struct script script = {0};
    assert_int_equal(climb(&script, no_ladder, 0), TERN_ERR_TIMEOUT);
    assert_int_equal(script.looks, 1);
    assert_int_equal(script.shallow, 1);
}

static void a_timeout_is_not_early(void **state)
{
    struct script script = {0};
    int64_t begin = tern__now_ns();
    assert_int_equal(climb(&script, short_ladder, 150 * TERN_NS_PER_MS), TERN_ERR_TIMEOUT);
    assert_true(tern__now_ns() - begin >= 150 * TERN_NS_PER_MS);
    assert_true(script.deep >= 1); // it lasted longer than TERN__LOOK_NS
}

static void without_broken_only_the_deadline_ends_it(void **state)
{
    struct script script = {0};
    struct tern__wait wait = {
        .bell = &script.bell,
        .ladder = &no_ladder,
        .timeout_ns = 150 * TERN_NS_PER_MS,
        .holds = holds,
        .arg = &script,
    };
    int64_t begin = tern__now_ns();
    assert_int_equal(tern__wait(&wait), TERN_ERR_TIMEOUT);
    assert_true(tern__now_ns() - begin >= 150 * TERN_NS_PER_MS);
}

static void broken_wins_over_the_deadline(void **state)
{
    struct script script = {.break_shallow = TERN_ERR_LEFT};
    assert_int_equal(climb(&script, short_ladder, 0), TERN_ERR_LEFT);
    script = (struct script){.break_shallow = TERN_ERR_LEFT};
    assert_int_equal(climb(&script, short_ladder, LONG_NS), TERN_ERR_LEFT);
    assert_int_equal(script.shallow, 1);
}

static void the_condition_wins_over_broken(void **state)
{
    struct script script = {.holds_at = 1, .break_shallow = TERN_ERR_PEER};
    assert_int_equal(climb(&script, no_ladder, LONG_NS), TERN_OK);
    // Came true while broken was looking: the wait has what it wanted.
    script = (struct script){.holds_once_broken = true, .break_shallow = TERN_ERR_PEER};
    assert_int_equal(climb(&script, short_ladder, LONG_NS), TERN_OK);
    script = (struct script){.holds_once_broken = true, .break_deep = TERN_ERR_PEER};
    assert_int_equal(climb(&script, short_ladder, LONG_NS), TERN_OK);
}

static void a_long_sleep_looks_deep_and_passes_on_what_it_finds(void **state)
{
    struct script script = {.break_deep = TERN_ERR_PEER};
    int64_t begin = tern__now_ns();
    assert_int_equal(climb(&script, short_ladder, LONG_NS), TERN_ERR_PEER);
    assert_int_equal(script.deep, 1);
    assert_true(tern__now_ns() - begin >= TERN__LOOK_NS);
    assert_true(tern__now_ns() - begin < LONG_NS);
}

static void *ring_often(void *arg)
{
    struct script *script = arg;
    struct timespec pause = {.tv_nsec = 5000000};
    while (tern__flag_load(&script->done) == 0) {
        tern__bell_wake(&script->bell);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static int climb_while_it_rings(struct script *script, int64_t timeout_ns)
{
    pthread_t ringer;
    assert_int_equal(pthread_create(&ringer, NULL, ring_often, script), 0);
    int status = climb(script, no_ladder, timeout_ns);
    tern__flag_store(&script->done, 1);
    pthread_join(ringer, NULL);
    return status;
}

static void rings_for_others_do_not_end_a_wait(void **state)
{
    struct script script = {0};
    int64_t begin = tern__now_ns();
    assert_int_equal(climb_while_it_rings(&script, 200 * TERN_NS_PER_MS), TERN_ERR_TIMEOUT);
    assert_true(tern__now_ns() - begin >= 200 * TERN_NS_PER_MS);
}

// A rank has one bell: rings for its other threads must not keep this one from ever seeing that the
// peer it waits for is dead.
static void rings_for_others_do_not_put_off_the_deep_look(void **state)
{
    struct script script = {.break_deep = TERN_ERR_PEER};
    assert_int_equal(climb_while_it_rings(&script, 10 * TERN_NS_PER_SECOND), TERN_ERR_PEER);
}

static void *set_after_a_while(void *arg)
{
    struct script *script = arg;
    while (tern__flag_load(&script->bell.sleepers) == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    tern__flag_store(&script->done, 1);
    tern__bell_ring(&script->bell);
    return NULL;
}

static bool done(void *arg)
{
    return tern__flag_load(&((struct script *)arg)->done) != 0;
}

static void an_endless_wait_is_ended_by_its_condition(void **state)
{
    struct script script = {0};
    pthread_t thread;
    struct tern__wait wait = {
        .bell = &script.bell,
        .ladder = &no_ladder,
        .timeout_ns = INT64_MAX,
        .holds = done,
        .arg = &script,
    };
    assert_int_equal(pthread_create(&thread, NULL, set_after_a_while, &script), 0);
    assert_int_equal(tern__wait(&wait), TERN_OK);
    pthread_join(thread, NULL);
}

// The narrowest moment of the handshake, made certain: the change and the ring come right after the
// look that still saw nothing, and before the sleep.
static bool changed_right_after_the_look(void *arg)
{
    struct script *script = arg;
    bool seen = tern__flag_load(&script->done) != 0;
    if (tern__flag_load(&script->bell.sleepers) != 0) {
        tern__flag_store(&script->done, 1);
        tern__bell_ring(&script->bell);
    }
    return seen;
}

static void a_change_between_the_look_and_the_sleep_is_not_slept_through(void **state)
{
    struct script script = {0};
    struct tern__wait wait = {
        .bell = &script.bell,
        .ladder = &short_ladder,
        .timeout_ns = 10 * TERN_NS_PER_SECOND,
        .holds = changed_right_after_the_look,
        .arg = &script,
    };
    int64_t begin = tern__now_ns();
    assert_int_equal(tern__wait(&wait), TERN_OK);
    assert_true(tern__now_ns() - begin < 10 * TERN_NS_PER_SECOND);
}

// Processes that compute without end on the processor of this one.
#define BUSY 8
static void start_busy(pid_t busy[BUSY])
{
    for (int i = 0; i < BUSY; i++) {
        busy[i] = fork();
        if (busy[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (volatile unsigned turn = 0;; turn++) {
            }
        }
    }
}

// Each yield costs a time slice of each other program: 1000 of them would take 20 s.
static void busy_programs_beside_it_do_not_hold_up_a_wait(void **state)
{
    cpu_set_t before;
    cpu_set_t one;
    pid_t busy[BUSY];
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &before)) {
            CPU_SET(cpu, &one);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    start_busy(busy);
    struct script script = {0};
    int64_t begin = tern__now_ns();
    int status = climb(&script, (struct tern__ladder){.yields = 1000}, TERN_NS_PER_MS);
    int64_t time_ns = tern__now_ns() - begin;
    for (int i = 0; i < BUSY; i++) {
        kill(busy[i], SIGKILL);
        waitpid(busy[i], NULL, 0);
    }
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(status, TERN_ERR_TIMEOUT);
    print_message("%.0f ms\n", (double)time_ns * 1e-6);
    assert_true(time_ns < 5 * TERN_NS_PER_SECOND);
}

// From here on: patience does not end.
static void a_patient_wait_that_is_broken_takes_what_still_comes(void **state)
{
    struct script script = {.holds_at = 5, .break_shallow = TERN_ERR_PEER};
    assert_int_equal(climb(&script, no_ladder, LONG_NS), TERN_ERR_PEER);
    assert_true(script.looks < 5);
    tern__ladder_go_far(NULL);
    script = (struct script){.break_shallow = TERN_ERR_PEER};
    assert_int_equal(climb(&script, no_ladder, LONG_NS), TERN_ERR_PEER);
    assert_true(script.shallow > 1);
    script = (struct script){.break_shallow = TERN_ERR_PEER}; // the same failure: no more time
    assert_int_equal(climb(&script, no_ladder, LONG_NS), TERN_ERR_PEER);
    poll(NULL, 0, 1100);
    script = (struct script){.holds_at = 5, .break_shallow = TERN_ERR_PEER};
    assert_int_equal(climb(&script, no_ladder, LONG_NS), TERN_OK);
}

static struct script *comes; // by the poll below, as from another machine
static uint32_t polls;

static void take_it(void)
{
    polls++;
    if (comes != NULL) {
        comes->holds_at = 1;
    }
}

static void between_machines_a_wait_takes_itself_what_has_come(void **state)
{
    struct tern__ladder crowded = tern__ladder_for(3, 2);
    struct script script = {0};
    tern__ladder_go_far(take_it);
    comes = &script;
    assert_int_equal(climb(&script, tern__ladder_for(1, 2), LONG_NS), TERN_OK);
    assert_int_equal(polls, 1);
    assert_int_equal(script.asleep_at, 0);
    comes = NULL;
    polls = 0;
    script = (struct script){0}; // others need the processor: no more often than it yields
    assert_int_equal(climb(&script, crowded, TERN_NS_PER_MS), TERN_ERR_TIMEOUT);
    assert_in_range(polls, 1, crowded.yields);
}

// How often a wait for the next piece of a large sum polls. *cut: others had the processor for so
// long that it may have given up polling for that.
static uint32_t polls_of(struct script *script, bool arrives, bool *cut)
{
    struct tern__ladder pieces = tern__ladder_for(3, 2);
    pieces.awaits = TERN__AWAITS_PIECES;
    *script = (struct script){0};
    comes = arrives ? script : NULL;
    polls = 0;
    int64_t begin = tern__now_ns();
    int status = climb(script, pieces, arrives ? LONG_NS : 0);
    *cut = tern__now_ns() - begin >= TERN_NS_PER_MS;
    comes = NULL;
    assert_int_equal(status, arrives ? TERN_OK : TERN_ERR_TIMEOUT);
    return polls;
}

static void in_a_large_sum_waits_that_took_nothing_are_followed_by_short_ones(void **state)
{
    struct script script;
    const uint32_t most = tern__ladder_for(3, 2).yields;
    const int waits = 1000;
    int longer = 0;
    bool cut;
    tern__ladder_go_far(take_it);
    for (int i = 0; i < waits; i++) {
        uint32_t times = polls_of(&script, false, &cut);
        assert_true(cut || times == 2 || times == most);
        assert_true(i >= 2 || cut || times == most);
        longer += times > 2;
    }
    assert_in_range(longer, 0, waits / 64 + 2);
    for (int i = 0; i < waits; i++) {
        assert_int_equal(polls_of(&script, true, &cut), 1);
    }
    for (int i = 0; i < waits; i++) { // one of two takes something: that is often enough
        assert_true(polls_of(&script, false, &cut) == most || cut);
        assert_int_equal(polls_of(&script, true, &cut), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_fit_spin_and_those_that_do_not_yield),
        cmocka_unit_test(a_condition_that_holds_takes_one_look),
        cmocka_unit_test(all_rungs_come_before_the_sleep),
        cmocka_unit_test(busy_programs_beside_it_do_not_hold_up_a_wait),
        cmocka_unit_test(without_rungs_it_looks_once_more_before_it_sleeps),
        cmocka_unit_test(a_timeout_of_zero_still_looks),
        cmocka_unit_test(a_timeout_is_not_early),
        cmocka_unit_test(without_broken_only_the_deadline_ends_it),
        cmocka_unit_test(broken_wins_over_the_deadline),
        cmocka_unit_test(the_condition_wins_over_broken),
        cmocka_unit_test(a_long_sleep_looks_deep_and_passes_on_what_it_finds),
        cmocka_unit_test(rings_for_others_do_not_end_a_wait),
        cmocka_unit_test(rings_for_others_do_not_put_off_the_deep_look),
        cmocka_unit_test(a_change_between_the_look_and_the_sleep_is_not_slept_through),
        cmocka_unit_test(an_endless_wait_is_ended_by_its_condition),
        cmocka_unit_test(a_patient_wait_that_is_broken_takes_what_still_comes),
        cmocka_unit_test(between_machines_a_wait_takes_itself_what_has_come),
        cmocka_unit_test(in_a_large_sum_waits_that_took_nothing_are_followed_by_short_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
