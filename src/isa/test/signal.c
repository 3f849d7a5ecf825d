// SPDX-License-Identifier: Apache-2.0
// Signals without waiting: the comparisons, adding and setting, reading and testing, and what is
// refused; then notifies of all ranks to all ranks, which must all be counted.
#include "support/cmocka.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "comm/window.h"
#include "support/machines.h"
#include "support/ranks.h"
#include "tern/signal.h"

static tern_comm *comm; // of one rank
static tern_window *window;
static size_t window_bytes;

static int open_window(void **state)
{
    bool open = tern_init(NULL, &comm) == TERN_OK &&
                tern_window_create(comm, 4096, NULL, &window) == TERN_OK;
    window_bytes = open ? tern_window_size(window) : 0;
    return open ? 0 : -1;
}

static int close_window(void **state)
{
    return tern_window_destroy(window) == TERN_OK && tern_comm_destroy(comm) == TERN_OK ? 0 : -1;
}

static const int32_t values[] = {INT32_MIN, INT32_MIN + 1, -65536,        -2,       -1, 0, 1,
                                 2,         65536,         INT32_MAX - 1, INT32_MAX};
enum { VALUES = sizeof values / sizeof values[0] };

static void set_to(size_t offset_bytes, int32_t value)
{
    assert_int_equal(tern_signal_notify(window, 0, offset_bytes, value, TERN_NOTIFY_SET), TERN_OK);
}

static int32_t read_at(size_t offset_bytes)
{
    int32_t value = 0x5a5a5a5a;
    assert_int_equal(tern_signal_read(window, offset_bytes, &value), TERN_OK);
    return value;
}

static void all_comparisons_are_of_signed_numbers(void **state)
{
    for (int i = 0; i < VALUES; i++) {
        set_to(8, values[i]);
        for (int j = 0; j < VALUES; j++) {
            // The values are in order, so that comparing them is comparing their indices.
            const int want[] = {i == j, i != j, i > j, i >= j, i < j, i <= j};
            for (int cmp = TERN_CMP_EQ; cmp <= TERN_CMP_LE; cmp++) {
                assert_int_equal(tern_signal_test(window, 8, (tern_cmp)cmp, values[j]), want[cmp]);
            }
        }
    }
}

static void wait_agrees_with_test(void **state)
{
    for (int i = 0; i < VALUES; i++) {
        set_to(8, values[i]);
        for (int j = 0; j < VALUES; j++) {
            for (int cmp = TERN_CMP_EQ; cmp <= TERN_CMP_LE; cmp++) {
                int holds = tern_signal_test(window, 8, (tern_cmp)cmp, values[j]);
                int status = tern_signal_wait(window, 8, (tern_cmp)cmp, values[j], 0);
                assert_int_equal(status, holds ? TERN_OK : TERN_ERR_TIMEOUT);
            }
        }
    }
}

static void set_replaces_the_value(void **state)
{
    for (int i = 0; i < VALUES; i++) {
        set_to(16, values[i]);
        assert_int_equal(read_at(16), values[i]);
    }
}

static void add_wraps_around(void **state)
{
    for (int i = 0; i < VALUES; i++) {
        for (int j = 0; j < VALUES; j++) {
            set_to(16, values[i]);
            assert_int_equal(tern_signal_notify(window, 0, 16, values[j], TERN_NOTIFY_ADD),
                             TERN_OK);
            assert_int_equal(read_at(16), (int32_t)((uint32_t)values[i] + (uint32_t)values[j]));
        }
    }
}

static void a_notify_changes_only_its_word(void **state)
{
    unsigned char *bytes = tern_window_address(window, 0);
    static const size_t offsets[] = {0, 4, 60, 64, 4092};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        memset(bytes, 0xa5, window_bytes);
        set_to(offsets[i], 0);
        for (size_t at = 0; at < window_bytes; at++) {
            bool inside = at >= offsets[i] && at < offsets[i] + 4;
            assert_int_equal(bytes[at], inside ? 0 : 0xa5);
        }
    }
    memset(bytes, 0, window_bytes);
}

static void the_last_word_of_the_window_is_a_signal(void **state)
{
    set_to(window_bytes - 4, 7);
    assert_int_equal(tern_signal_wait(window, window_bytes - 4, TERN_CMP_EQ, 7, 0), TERN_OK);
}

static void offsets_that_stick_out_are_refused(void **state)
{
    const size_t bad[] = {window_bytes - 3, window_bytes - 1, window_bytes,
                          window_bytes + 4, SIZE_MAX - 3,     SIZE_MAX};
    int32_t value = 42;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(tern_signal_notify(window, 0, bad[i], 1, TERN_NOTIFY_ADD), TERN_ERR_ARG);
        assert_non_null(strstr(tern_last_error(), "tern_signal_notify"));
        assert_int_equal(tern_signal_wait(window, bad[i], TERN_CMP_EQ, 0, 0), TERN_ERR_ARG);
        assert_non_null(strstr(tern_last_error(), "tern_signal_wait"));
        assert_int_equal(tern_signal_test(window, bad[i], TERN_CMP_EQ, 0), TERN_ERR_ARG);
        assert_int_equal(tern_signal_read(window, bad[i], &value), TERN_ERR_ARG);
        assert_int_equal(value, 42);
    }
}

static void offsets_that_are_not_aligned_are_refused(void **state)
{
    int32_t value = 42;
    for (size_t offset = 1; offset < 12; offset++) {
        int want = offset % 4 == 0 ? TERN_OK : TERN_ERR_ARG;
        assert_int_equal(tern_signal_notify(window, 0, offset, 1, TERN_NOTIFY_SET), want);
        assert_int_equal(tern_signal_wait(window, offset, TERN_CMP_EQ, 1, 0), want);
        assert_int_equal(tern_signal_test(window, offset, TERN_CMP_EQ, 1),
                         want == TERN_OK ? 1 : want);
        assert_int_equal(tern_signal_read(window, offset, &value), want);
    }
}

static void wrong_ranks_windows_and_words_are_refused(void **state)
{
    static const int ranks[] = {-1, 1, INT_MAX, INT_MIN};
    int32_t value;
    size_t which;
    tern_condition none = {.window = NULL};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(tern_signal_notify(window, ranks[i], 0, 1, TERN_NOTIFY_ADD), TERN_ERR_ARG);
    }
    assert_int_equal(tern_signal_notify(window, 0, 0, 1, (tern_notify_op)2), TERN_ERR_ARG);
    assert_int_equal(tern_signal_notify(window, 0, 0, 1, (tern_notify_op)-1), TERN_ERR_ARG);
    assert_int_equal(tern_signal_notify(NULL, 0, 0, 1, TERN_NOTIFY_ADD), TERN_ERR_ARG);
    assert_int_equal(tern_signal_wait(NULL, 0, TERN_CMP_EQ, 0, 0), TERN_ERR_ARG);
    assert_int_equal(tern_signal_wait(window, 0, (tern_cmp)6, 0, 0), TERN_ERR_ARG);
    assert_int_equal(tern_signal_wait(window, 0, (tern_cmp)-1, 0, 0), TERN_ERR_ARG);
    assert_int_equal(tern_signal_wait(window, 0, TERN_CMP_EQ, 0, -2), TERN_ERR_ARG);
    assert_int_equal(tern_signal_wait(window, 0, TERN_CMP_EQ, 0, INT64_MIN), TERN_ERR_ARG);
    assert_int_equal(tern_signal_test(NULL, 0, TERN_CMP_EQ, 0), TERN_ERR_ARG);
    assert_int_equal(tern_signal_test(window, 0, (tern_cmp)6, 0), TERN_ERR_ARG);
    assert_int_equal(tern_signal_read(NULL, 0, &value), TERN_ERR_ARG);
    assert_int_equal(tern_signal_read(window, 0, NULL), TERN_ERR_ARG);
    assert_int_equal(tern_signal_wait_all(NULL, 1, 0), TERN_ERR_ARG);
    assert_string_equal(tern_last_error(), "tern_signal_wait_all: conditions must not be NULL");
    assert_int_equal(tern_signal_wait_all(&none, 0, 0), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "there must be at least one condition"));
    assert_int_equal(tern_signal_wait_all(&none, 1, 0), TERN_ERR_ARG);
    assert_int_equal(tern_signal_wait_any(&none, 1, 0, &which), TERN_ERR_ARG);
    assert_int_equal(tern_signal_wait_any(&none, 1, 0, NULL), TERN_ERR_ARG);
    assert_int_equal(tern_comm_health(comm), TERN_OK); // a wrong argument fails the call only
}

// A sleeper that signs on right after the word has changed may have looked before: it must be rung
// for. (A waiter's look now and then would hide that, at a cost of 0.1 s each time.)
static void change_and_sign_on(char *remote, int32_t value, tern_notify_op op)
{
    tern__xport_shm.notify(remote, value, op);
    tern__flag_add(&tern__window_bell(window, 0)->sleepers, 1);
}

static void a_notify_changes_the_word_before_it_looks_for_sleepers(void **state)
{
    struct tern__xport slow = tern__xport_shm;
    struct tern__bell *bell = tern__window_bell(window, 0);
    slow.notify = change_and_sign_on;
    window->xports[0] = &slow;
    assert_int_equal(tern_signal_notify(window, 0, 0, 1, TERN_NOTIFY_ADD), TERN_OK);
    assert_int_equal(bell->rings, 1);
    assert_int_equal(tern_signal_notify(window, 0, 0, 1, TERN_NOTIFY_SET), TERN_OK);
    assert_int_equal(bell->rings, 2);
    tern__flag_store(&bell->sleepers, 0);
    window->xports[0] = &tern__xport_shm;
    assert_int_equal(tern_signal_notify(window, 0, 0, 1, TERN_NOTIFY_ADD), TERN_OK);
    assert_int_equal(bell->rings, 2); // nobody sleeps: no system call
}

enum { NOTIFIES = 2000 };

static int notify_everybody(tern_comm *ranks, void *arg)
{
    tern_window *shared;
    int rank = tern_comm_rank(ranks);
    int size = tern_comm_size(ranks);
    int32_t value;
    CHECK(tern_window_create(ranks, 4096, NULL, &shared) == TERN_OK);
    for (int i = 0; i < NOTIFIES; i++) {
        for (int step = 0; step < size; step++) { // the caller itself among them
            int peer = (rank + step) % size;
            CHECK(tern_signal_notify(shared, peer, 64, 1, TERN_NOTIFY_ADD) == TERN_OK);
            CHECK(tern_signal_notify(shared, peer, 128, INT32_MAX, TERN_NOTIFY_ADD) == TERN_OK);
        }
        CHECK(tern_signal_notify(shared, rank, 192, i, TERN_NOTIFY_SET) == TERN_OK);
    }
    CHECK(tern_signal_wait(shared, 64, TERN_CMP_GE, size * NOTIFIES, TERN_TIMEOUT_DEFAULT) ==
          TERN_OK);
    CHECK(tern_comm_barrier(ranks) == TERN_OK);
    CHECK(tern_signal_read(shared, 64, &value) == TERN_OK);
    CHECK(value == size * NOTIFIES);
    CHECK(tern_signal_read(shared, 128, &value) == TERN_OK);
    CHECK((uint32_t)value == (uint32_t)INT32_MAX * (uint32_t)(size * NOTIFIES)); // wrapped often
    CHECK(tern_signal_read(shared, 192, &value) == TERN_OK);
    CHECK(value == NOTIFIES - 1);
    CHECK(tern_window_destroy(shared) == TERN_OK);
    return 0;
}

static void no_notify_of_any_rank_is_lost(void **state)
{
    assert_true(ranks_run_counts(1, 16, notify_everybody, NULL, 60));
    assert_true(machines_run_comm("aabbc", notify_everybody, NULL, 60));
}

#define WITH_WINDOW(test) cmocka_unit_test_setup_teardown(test, open_window, close_window)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WINDOW(all_comparisons_are_of_signed_numbers),
        WITH_WINDOW(wait_agrees_with_test),
        WITH_WINDOW(set_replaces_the_value),
        WITH_WINDOW(add_wraps_around),
        WITH_WINDOW(a_notify_changes_only_its_word),
        WITH_WINDOW(the_last_word_of_the_window_is_a_signal),
        WITH_WINDOW(a_notify_changes_the_word_before_it_looks_for_sleepers),
        WITH_WINDOW(offsets_that_stick_out_are_refused),
        WITH_WINDOW(offsets_that_are_not_aligned_are_refused),
        WITH_WINDOW(wrong_ranks_windows_and_words_are_refused),
        cmocka_unit_test(no_notify_of_any_rank_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
