// SPDX-License-Identifier: Apache-2.0
// Memory order, by litmus: message passing through publish and observe, the two-sided handshake
// through the flags, and flags as counters. A lost guarantee shows as an outcome that C11 forbids.
#include "support/cmocka.h"
#include <pthread.h>
#include <sched.h>

#include "base/clock.h"
#include "base/order.h"
#include "support/sanitized.h"

enum {
    PASSES = ROUNDS_OF(100000),
    HANDSHAKES = ROUNDS_OF(100000),
    ADDERS = 8,
    ADDS = ROUNDS_OF(20000)
};

// On a busy machine each step of two threads may take a slice of time: then there are fewer.
#define LONGEST_NS (5 * TERN_NS_PER_SECOND)

// Whether this step is the last one. One of the two asks, and says so before the other comes to it.
static bool is_last(uint32_t step, uint32_t steps, int64_t end_ns)
{
    return step == steps || (step % 64 == 0 && tern__now_ns() >= end_ns);
}

static struct {
    _Alignas(TERN_CACHE_LINE) _Atomic uint32_t word;
    _Alignas(TERN_CACHE_LINE) uint64_t data[4];
    bool last;
    _Alignas(TERN_CACHE_LINE) _Atomic uint32_t back;
} channel;

static void wait_for(const _Atomic uint32_t *word, uint32_t value)
{
    for (uint32_t i = 1; tern__observe(word) < value; i++) {
        if (i % 64 == 0) {
            sched_yield();
        }
        tern__cpu_relax();
    }
}

static void *pass_messages(void *unused)
{
    int64_t end_ns = tern__deadline_after(LONGEST_NS);
    bool last = false;
    for (uint32_t i = 1; !last; i++) {
        for (uint64_t j = 0; j < 4; j++) {
            channel.data[j] = i * 1000003u ^ j;
        }
        channel.last = last = is_last(i, PASSES, end_ns);
        tern__publish(&channel.word, i);
        wait_for(&channel.back, i);
    }
    return NULL;
}

static void who_observes_sees_what_was_written_before_publish(void **state)
{
    pthread_t thread;
    uint32_t wrong = 0;
    assert_int_equal(pthread_create(&thread, NULL, pass_messages, NULL), 0);
    bool last = false;
    for (uint32_t i = 1; !last; i++) {
        wait_for(&channel.word, i);
        for (uint64_t j = 0; j < 4; j++) {
            wrong += channel.data[j] != (i * 1000003u ^ j);
        }
        last = channel.last;
        tern__publish(&channel.back, i);
    }
    pthread_join(thread, NULL);
    assert_int_equal(wrong, 0);
}

// Store mine, then look at yours: not both may miss the other.
static struct {
    _Alignas(TERN_CACHE_LINE) _Atomic uint32_t flag[2][16];
    uint32_t saw[2][HANDSHAKES];
    _Atomic uint32_t last; // step; the first thread says it
    _Atomic uint32_t phase[2];
} shake;

static void *shake_hands(void *arg)
{
    int me = *(const int *)arg;
    int64_t end_ns = tern__deadline_after(LONGEST_NS);
    bool last = false;
    for (uint32_t i = 1; !last; i++) {
        if (me == 0 && is_last(i, HANDSHAKES, end_ns)) {
            tern__poke(&shake.last, i);
        }
        tern__publish(&shake.phase[me], i);
        wait_for(&shake.phase[1 - me], i); // start together: neither can be a whole round ahead
        last = tern__peek(&shake.last) == i;
        tern__flag_store(&shake.flag[me][i % 16], i);
        shake.saw[me][i - 1] = tern__flag_load(&shake.flag[1 - me][i % 16]);
    }
    tern__publish(&shake.phase[me], HANDSHAKES + 1);
    return NULL;
}

static void of_two_that_store_and_look_one_sees_the_other(void **state)
{
    static const int numbers[2] = {0, 1};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, shake_hands, (void *)&numbers[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    for (uint32_t i = 1; i <= shake.last; i++) {
        assert_true(shake.saw[0][i - 1] == i || shake.saw[1][i - 1] == i);
    }
}

static _Atomic uint32_t total;
static _Atomic uint32_t swapped;

static void *add_and_swap(void *unused)
{
    for (int i = 0; i < ADDS; i++) {
        tern__flag_add(&total, 1);
        uint32_t seen;
        do {
            seen = tern__peek(&swapped);
        } while (!tern__flag_swap(&swapped, seen, seen + 3));
    }
    return NULL;
}

static void no_addition_and_no_swap_is_lost(void **state)
{
    pthread_t threads[ADDERS];
    for (int i = 0; i < ADDERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, add_and_swap, NULL), 0);
    }
    for (int i = 0; i < ADDERS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(tern__flag_load(&total), ADDERS * ADDS);
    assert_int_equal(tern__flag_load(&swapped), 3 * ADDERS * ADDS);
}

static void adding_returns_what_was_there_and_wraps(void **state)
{
    _Atomic uint32_t word = UINT32_MAX;
    assert_int_equal(tern__flag_add(&word, 3), UINT32_MAX);
    assert_int_equal(tern__flag_load(&word), 2);
    assert_int_equal(tern__flag_add(&word, UINT32_MAX), 2); // takes one away
    assert_int_equal(tern__peek(&word), 1);
}

static void a_swap_that_fails_changes_nothing(void **state)
{
    _Atomic uint32_t word = 5;
    assert_false(tern__flag_swap(&word, 4, 9));
    assert_int_equal(tern__flag_load(&word), 5);
    assert_true(tern__flag_swap(&word, 5, 9));
    assert_int_equal(tern__observe(&word), 9);
    tern__poke(&word, 11);
    assert_int_equal(tern__peek(&word), 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_observes_sees_what_was_written_before_publish),
        cmocka_unit_test(of_two_that_store_and_look_one_sees_the_other),
        cmocka_unit_test(no_addition_and_no_swap_is_lost),
        cmocka_unit_test(adding_returns_what_was_there_and_wraps),
        cmocka_unit_test(a_swap_that_fails_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
