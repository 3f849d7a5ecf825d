// SPDX-License-Identifier: Apache-2.0
// Functions of the host in the order of a stream: order beside kernels and events, who runs them,
// failures, what is dropped and refused.
#include "support/cmocka.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "support/look.h"
#include "tern/stream.h"

#define SOON TERN_TIMEOUT_DEFAULT

struct log {
    _Atomic int next;
    int seen[1024];
};

struct entry {
    struct log *log;
    int value;
};

static int write_entry(void *args)
{
    struct entry *entry = args;
    entry->log->seen[entry->log->next++] = entry->value;
    return TERN_OK;
}

static int break_stream(void *args)
{
    (void)args;
    return tern_stream_sync(NULL, SOON);
}

static void write_dropped(void *args)
{
    if (look_says("broken: ")) {
        write_entry(args);
    }
}

struct gate {
    _Atomic int open, thread_waits;
    pthread_t ran_by;
};

static int pass(void *args)
{
    struct gate *gate = *(struct gate **)args;
    gate->ran_by = pthread_self();
    gate->thread_waits = 1;
    while (gate->open == 0) {
        sched_yield();
    }
    return TERN_OK;
}

static tern_stream *new_stream(void)
{
    tern_stream *stream = NULL;
    assert_int_equal(tern_stream_create(&stream), TERN_OK);
    return stream;
}

static void append(tern_stream *stream, int (*function)(void *), const void *args, size_t bytes)
{
    tern_stream_host_call what = {.function = function, .args = args, .args_bytes = bytes};
    assert_int_equal(tern_stream_call(stream, &what), TERN_OK);
}

static void append_gate(tern_stream *stream, struct gate *gate)
{
    append(stream, pass, (struct gate *[]){gate}, sizeof(void *));
}

static void kernels_and_calls_run_in_order(void **state)
{
    static struct log log;
    tern_stream *stream = new_stream();
    for (int i = 0; i < 1000; i++) {
        struct entry entry = {&log, i};
        if (i % 3 == 1) {
            tern_stream_kernel kernel = {.kernel = write_entry,
                                         .blocks = 1,
                                         .args = &entry,
                                         .args_bytes = sizeof entry};
            assert_int_equal(tern_stream_launch(stream, &kernel), TERN_OK);
        } else {
            append(stream, write_entry, &entry, sizeof entry);
        }
        if (i % 100 == 0) {
            assert_int_equal(tern_stream_sync(stream, SOON), TERN_OK);
        }
    }
    assert_int_equal(tern_stream_sync(stream, SOON), TERN_OK);
    assert_int_equal(log.next, 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(log.seen[i], i);
    }
    assert_int_equal(tern_stream_destroy(stream), TERN_OK);
}

// Also after one that a waiting thread ran, when the next is left to such a thread.
static void one_that_nobody_waits_for_runs(void **state)
{
    static struct log log;
    tern_stream *stream = new_stream();
    for (int i = 0; i < 20; i++) {
        for (int j = 0; j < 20; j++) { // one of them is run by this thread, likely
            append(stream, write_entry, &(struct entry){&log, i}, sizeof(struct entry));
            assert_int_equal(tern_stream_sync(stream, SOON), TERN_OK);
        }
        append(stream, write_entry, &(struct entry){&log, i}, sizeof(struct entry));
        while (tern_stream_test(stream) == 0) {
            sched_yield();
        }
        assert_int_equal(log.next, (i + 1) * 21);
    }
    assert_int_equal(tern_stream_destroy(stream), TERN_OK);
}

static void events_order_calls_of_streams(void **state)
{
    static struct log log;
    tern_stream *streams[3] = {new_stream(), new_stream(), new_stream()};
    tern_event *ended = NULL;
    assert_int_equal(tern_event_create(&ended), TERN_OK);
    for (int i = 0; i < 900; i++) {
        tern_stream *stream = streams[i * 7 / 2 % 3];
        struct entry entry = {&log, i};
        tern_stream_host_call what = {.function = write_entry,
                                      .args = &entry,
                                      .args_bytes = sizeof entry,
                                      .ended = ended};
        assert_int_equal(tern_stream_wait_event(stream, ended), TERN_OK);
        assert_int_equal(tern_stream_call(stream, &what), TERN_OK);
        if (i % 50 == 49) {
            assert_int_equal(tern_event_sync(ended, SOON), TERN_OK);
            assert_int_equal(log.next, i + 1);
        }
    }
    assert_int_equal(tern_stream_sync_all(SOON), TERN_OK);
    for (int i = 0; i < 900; i++) {
        assert_int_equal(log.seen[i], i);
    }
    assert_int_equal(tern_event_destroy(ended), TERN_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tern_stream_destroy(streams[i]), TERN_OK);
    }
}

// A thread that waits for a limited time does not run what may take longer.
static void a_timeout_is_kept(void **state)
{
    static struct gate gate;
    tern_stream *stream = new_stream();
    append_gate(stream, &gate);
    assert_int_equal(tern_stream_sync(stream, 1000000), TERN_ERR_TIMEOUT);
    assert_true(look_says("'call' has not returned"));
    while (gate.thread_waits == 0) { // else this thread may run it, as it waits long enough below
        sched_yield();
    }
    gate.open = 1;
    assert_int_equal(tern_stream_sync(stream, SOON), TERN_OK);
    assert_false(pthread_equal(gate.ran_by, pthread_self()));
    assert_int_equal(tern_stream_destroy(stream), TERN_OK);
}

static void streams_do_not_wait_for_each_other(void **state)
{
    static struct gate first, second = {.open = 1};
    tern_stream *streams[2] = {new_stream(), new_stream()};
    append_gate(streams[0], &first);
    append_gate(streams[1], &second);
    assert_int_equal(tern_stream_sync(streams[1], SOON), TERN_OK);
    assert_int_equal(tern_stream_test(streams[0]), 0);
    first.open = 1;
    assert_int_equal(tern_stream_destroy(streams[0]), TERN_OK);
    assert_int_equal(tern_stream_destroy(streams[1]), TERN_OK);
}

static void what_follows_a_failure_is_dropped(void **state)
{
    static struct log log;
    tern_event *ended = NULL;
    assert_int_equal(tern_event_create(&ended), TERN_OK);
    tern_stream *stream = new_stream();
    struct entry entry = {&log, 7};
    tern_stream_host_call what = {.function = break_stream, .name = "broken"};
    assert_int_equal(tern_stream_call(stream, &what), TERN_OK);
    what = (tern_stream_host_call){.function = write_entry,
                                   .dropped = write_dropped,
                                   .args = &entry,
                                   .args_bytes = sizeof entry,
                                   .ended = ended};
    assert_int_equal(tern_stream_call(stream, &what), TERN_OK);
    what.dropped = NULL;
    assert_int_equal(tern_stream_call(stream, &what), TERN_OK);
    assert_int_equal(tern_event_sync(ended, SOON), TERN_ERR_ARG);
    assert_true(look_says("the event's stream had failed: broken: tern_stream_sync: "));
    assert_int_equal(tern_stream_sync(stream, SOON), TERN_ERR_ARG);
    assert_true(look_says("broken: tern_stream_sync: "));
    assert_int_equal(log.next, 1);
    append(stream, write_entry, &entry, sizeof entry); // it works again
    assert_int_equal(tern_stream_sync(stream, SOON), TERN_OK);
    assert_int_equal(log.next, 2);
    assert_int_equal(tern_event_destroy(ended), TERN_OK);
    assert_int_equal(tern_stream_destroy(stream), TERN_OK);
}

static void bad_calls_are_refused(void **state)
{
    tern_stream *stream = new_stream();
    tern_stream_host_call what = {.args_bytes = 8};
    assert_true(says(tern_stream_call(NULL, &what), TERN_ERR_ARG, "tern_stream_call: "));
    assert_true(says(tern_stream_call(stream, NULL), TERN_ERR_ARG, "no function"));
    assert_true(says(tern_stream_call(stream, &what), TERN_ERR_ARG, "no function"));
    what.function = write_entry;
    assert_true(says(tern_stream_call(stream, &what), TERN_ERR_ARG, "8 bytes of arguments"));
    what.args = stream;
    what.args_bytes = SIZE_MAX;
    assert_true(says(tern_stream_call(stream, &what), TERN_ERR_MEMORY, "no memory"));
    what.args_bytes = 0;
    what.ended = (tern_event *)(void *)stream;
    assert_true(says(tern_stream_call(stream, &what), TERN_ERR_ARG, "tern_stream_call: "));
    assert_int_equal(tern_stream_destroy(stream), TERN_OK);
}

static void destroying_what_is_no_stream_writes_nothing(void **state)
{
    static char page[4096], before[sizeof page];
    memset(page, 0x5a, sizeof page);
    memcpy(before, page, sizeof page);
    assert_true(says(tern_stream_destroy((tern_stream *)(void *)page), TERN_ERR_ARG,
                     "stream points to something that is no stream"));
    assert_memory_equal(page, before, sizeof page);
    tern_stream *stream = new_stream();
    assert_int_equal(tern_stream_destroy(stream), TERN_OK);
    assert_true(says(tern_stream_destroy(stream), TERN_ERR_ARG, "has been destroyed"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_and_calls_run_in_order),
        cmocka_unit_test(one_that_nobody_waits_for_runs),
        cmocka_unit_test(events_order_calls_of_streams),
        cmocka_unit_test(a_timeout_is_kept),
        cmocka_unit_test(streams_do_not_wait_for_each_other),
        cmocka_unit_test(what_follows_a_failure_is_dropped),
        cmocka_unit_test(bad_calls_are_refused),
        cmocka_unit_test(destroying_what_is_no_stream_writes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
