// SPDX-License-Identifier: Apache-2.0
// Streams: order, blocks that run at the same time and spin on each other, events, failures, what
// is refused, the child of a fork.
#include "support/cmocka.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/ranks.h"
#include "tern/isa.h"
#include "tern/stream.h"

#define SOON TERN_TIMEOUT_DEFAULT

#if defined(__SANITIZE_THREAD__)
#define IS_TSAN 1
#else
#define IS_TSAN 0
#endif

struct log {
    _Atomic int next;
    int seen[4096];
};

struct entry {
    struct log *log;
    int value;
};

static int write_entry(void *args)
{
    struct entry *entry = args;
    if (tern_block_index() == 0) {
        entry->log->seen[entry->log->next++] = entry->value;
    }
    return TERN_OK;
}

static void launch(tern_stream *stream, tern_block_kernel kernel, int blocks, const void *args,
                   size_t args_bytes)
{
    tern_stream_kernel what = {
        .kernel = kernel, .name = "a", .blocks = blocks, .args = args, .args_bytes = args_bytes};
    assert_int_equal(tern_stream_launch(stream, &what), TERN_OK);
}

static tern_stream *new_stream(void)
{
    tern_stream *stream = NULL;
    assert_int_equal(tern_stream_create(&stream), TERN_OK);
    return stream;
}

static void kernels_run_in_order(void **state)
{
    static struct log log;
    tern_stream *stream = new_stream();
    for (int i = 0; i < 1000; i++) {
        launch(stream, write_entry, i % 5 + 1, &(struct entry){&log, i}, sizeof(struct entry));
    }
    assert_int_equal(tern_stream_sync(stream, SOON), TERN_OK);
    assert_int_equal(tern_stream_test(stream), 1);
    assert_int_equal(log.next, 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(log.seen[i], i);
    }
    assert_int_equal(tern_stream_destroy(stream), TERN_OK);
}

struct meeting {
    _Atomic int *arrived;
    int wanted;
};

// Returns when as many blocks are here.
static int meet(void *args)
{
    struct meeting *meeting = args;
    atomic_fetch_add(meeting->arrived, 1);
    while (atomic_load(meeting->arrived) < meeting->wanted) {
        sched_yield();
    }
    return tern_block_count() == meeting->wanted && tern_block_index() < meeting->wanted
               ? TERN_OK
               : TERN_ERR_STATE;
}

static void blocks_of_a_kernel_run_at_the_same_time(void **state)
{
    tern_stream *stream = new_stream();
    static const int counts[] = {1, 2, 3, 24, 48, 384};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        _Atomic int arrived = 0;
        launch(stream, meet, counts[i], &(struct meeting){&arrived, counts[i]},
               sizeof(struct meeting));
        assert_int_equal(tern_stream_sync(stream, SOON), TERN_OK);
        assert_int_equal(arrived, counts[i]);
    }
    assert_int_equal(tern_stream_destroy(stream), TERN_OK);
}

// A signal of each side: waits for its own, and then notifies the other.
struct rally {
    int32_t *mine, *other;
    int rounds;
    bool polls, serves;
};

static int play(void *args)
{
    struct rally *rally = args;
    int block = tern_block_index();
    tern_tensor mine = tern_tensor_1d(rally->mine + block, TERN_I32, 1);
    tern_tensor other = tern_tensor_1d(rally->other + block, TERN_I32, 1);
    for (int i = 1; i <= rally->rounds; i++) {
        int status = rally->serves ? tern_tensor_notify(&other, 1, TERN_NOTIFY_ADD) : TERN_OK;
        if (status != TERN_OK) {
            return status;
        }
        if (rally->polls) {
            while ((status = tern_tensor_test(&mine, TERN_CMP_GE, i)) == 0) {
            }
        } else {
            status = tern_tensor_wait(&mine, TERN_CMP_GE, i, TERN_TIMEOUT_DEFAULT);
        }
        if (status >= 0 && !rally->serves) {
            status = tern_tensor_notify(&other, 1, TERN_NOTIFY_ADD);
        }
        if (status < 0) {
            return status;
        }
    }
    return TERN_OK;
}

static void streams_wait_for_each_other(void **state)
{
    enum { BLOCKS = 24, ROUNDS = 20 };
    tern_stream *one = new_stream();
    tern_stream *two = new_stream();
    for (int polls = 0; polls <= 1; polls++) {
        int32_t words[2][BLOCKS] = {{0}};
        // The one that polls is launched before what it polls.
        struct rally rally = {words[0], words[1], ROUNDS, polls == 1, false};
        launch(one, play, BLOCKS, &rally, sizeof rally);
        rally = (struct rally){words[1], words[0], ROUNDS, polls == 1, true};
        launch(two, play, BLOCKS, &rally, sizeof rally);
        assert_int_equal(tern_stream_sync(one, SOON), TERN_OK);
        assert_int_equal(tern_stream_sync(two, SOON), TERN_OK);
        for (int i = 0; i < BLOCKS; i++) {
            assert_int_equal(words[0][i], ROUNDS);
            assert_int_equal(words[1][i], ROUNDS);
        }
    }
    assert_int_equal(tern_stream_destroy(one), TERN_OK);
    assert_int_equal(tern_stream_destroy(two), TERN_OK);
}

static int sleep_then_write(void *args)
{
    usleep(20000);
    return write_entry(args);
}

static void events_order_streams(void **state)
{
    static struct log log;
    tern_stream *one = new_stream();
    tern_stream *two = new_stream();
    tern_event *event;
    tern_event *later;
    int64_t elapsed_ns;
    assert_int_equal(tern_event_create(&event), TERN_OK);
    assert_int_equal(tern_event_create(&later), TERN_OK);
    assert_int_equal(tern_stream_wait_event(two, event), TERN_OK); // never recorded: no wait
    assert_int_equal(tern_stream_sync(two, SOON), TERN_OK);
    assert_int_equal(tern_event_elapsed(event, later, &elapsed_ns), TERN_ERR_STATE);
    assert_int_equal(tern_event_record(event, one), TERN_OK);
    assert_int_equal(tern_event_sync(event, SOON), TERN_OK);
    for (int i = 0; i < 10; i++) {
        launch(one, sleep_then_write, 2, &(struct entry){&log, 2 * i}, sizeof(struct entry));
        assert_int_equal(tern_event_record(later, one), TERN_OK);
        assert_int_equal(tern_event_test(later), 0);
        assert_int_equal(tern_stream_wait_event(two, later), TERN_OK);
        launch(two, write_entry, 1, &(struct entry){&log, 2 * i + 1}, sizeof(struct entry));
        if (i == 5) { // streams and events may be mixed with synchronizing
            assert_int_equal(tern_event_sync(later, SOON), TERN_OK);
        }
        assert_int_equal(tern_event_record(later, two), TERN_OK);
        assert_int_equal(tern_stream_wait_event(one, later), TERN_OK);
    }
    assert_int_equal(tern_event_destroy(later), TERN_OK); // the streams still use it
    assert_int_equal(tern_stream_sync(two, SOON), TERN_OK);
    assert_int_equal(tern_stream_sync(one, SOON), TERN_OK);
    assert_int_equal(log.next, 20);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(log.seen[i], i);
    }
    assert_int_equal(tern_event_create(&later), TERN_OK);
    assert_int_equal(tern_event_record(later, one), TERN_OK);
    assert_int_equal(tern_event_sync(later, SOON), TERN_OK);
    assert_int_equal(tern_event_test(later), 1);
    assert_int_equal(tern_event_elapsed(event, later, &elapsed_ns), TERN_OK);
    assert_true(elapsed_ns >= 200000000);
    assert_int_equal(tern_event_destroy(event), TERN_OK);
    assert_int_equal(tern_event_destroy(later), TERN_OK);
    assert_int_equal(tern_stream_destroy(one), TERN_OK);
    assert_int_equal(tern_stream_destroy(two), TERN_OK);
}

static int spin(void *args);

// A wait is for the event as it was recorded by then, whatever is recorded later and elsewhere.
static void a_later_record_ends_no_wait(void **state)
{
    static struct log log;
    _Atomic int end = 0;
    _Atomic int *at = &end;
    tern_stream *streams[3] = {new_stream(), new_stream(), new_stream()};
    tern_event *event;
    assert_int_equal(tern_event_create(&event), TERN_OK);
    launch(streams[0], spin, 1, &at, sizeof at);
    assert_int_equal(tern_event_record(event, streams[0]), TERN_OK);
    assert_int_equal(tern_stream_wait_event(streams[1], event), TERN_OK);
    launch(streams[1], write_entry, 1, &(struct entry){&log, 1}, sizeof(struct entry));
    assert_int_equal(tern_event_record(event, streams[2]), TERN_OK);
    assert_int_equal(tern_event_sync(event, SOON), TERN_OK);
    assert_int_equal(tern_event_test(event), 1);
    assert_int_equal(tern_stream_sync(streams[1], 20000000), TERN_ERR_TIMEOUT);
    assert_int_equal(log.next, 0);
    end = 1;
    assert_int_equal(tern_stream_sync_all(SOON), TERN_OK);
    assert_int_equal(log.next, 1);
    assert_int_equal(tern_event_destroy(event), TERN_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tern_stream_destroy(streams[i]), TERN_OK);
    }
}

// Block 1 has a tile that does not fit; the others wait for it in vain.
static int fail_or_wait(void *args)
{
    int32_t *word = *(int32_t **)args;
    tern_tensor signal = tern_tensor_1d(word, TERN_I32, 1);
    void *address;
    if (tern_block_index() == 1) {
        return tern_buffer_address(TERN_BUFFER_UB, 196608 - 32, 64, &address);
    }
    if (tern_block_index() == 0) {
        int status;
        while ((status = tern_tensor_test(&signal, TERN_CMP_GE, 1)) == 0) {
        }
        return status;
    }
    return tern_tensor_wait(&signal, TERN_CMP_GE, 1, TERN_TIMEOUT_DEFAULT);
}

static void a_failed_block_ends_the_waits_of_all(void **state)
{
    static struct log log;
    int32_t word = 0;
    int32_t *at = &word;
    tern_stream *one = new_stream();
    tern_stream *two = new_stream();
    struct rally rally = {&word, &word, 1, false, false};
    launch(two, play, 1, &rally, sizeof rally); // waits, beside it
    launch(one, fail_or_wait, 5, &at, sizeof at);
    launch(one, write_entry, 1, &(struct entry){&log, 0}, sizeof(struct entry));
    assert_int_equal(tern_stream_sync(one, SOON), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "kernel 'a', block 1 of 5: 64 bytes at offset"));
    assert_non_null(strstr(tern_last_error(), "of UB reach beyond its 196608 bytes (chip a2a3)"));
    assert_int_equal(tern_stream_sync(two, SOON), TERN_ERR_KERNEL);
    assert_non_null(strstr(tern_last_error(), "kernel 'a', block 0 of 1: its wait was ended: "
                                              "kernel 'a', block 1 of 5: 64 bytes"));
    assert_int_equal(log.next, 0); // what was behind it did not run
    launch(one, write_entry, 1, &(struct entry){&log, 0}, sizeof(struct entry));
    assert_int_equal(tern_stream_sync(one, SOON), TERN_OK); // the stream works again
    assert_int_equal(log.next, 1);
    word = 1;
    launch(two, play, 1, &rally, sizeof rally);
    assert_int_equal(tern_stream_destroy(two), TERN_OK);
    assert_int_equal(tern_stream_destroy(one), TERN_OK);
}

static int write_all(void *args)
{
    char **seen = args;
    size_t size = tern_buffer_size(TERN_BUFFER_L0C);
    void *address;
    int status = tern_buffer_address(TERN_BUFFER_L0C, 0, size, &address);
    if (status != TERN_OK) {
        return status;
    }
    int block = tern_block_index();
    memset(address, block, size);
    seen[block] = address;
    sched_yield();
    for (size_t i = 0; i < size; i++) {
        if (((char *)address)[i] != block) {
            return TERN_ERR_STATE;
        }
    }
    return TERN_OK;
}

static void each_block_has_its_own_memory(void **state)
{
    enum { BLOCKS = 8 };
    char *seen[BLOCKS];
    tern_stream *stream = new_stream();
    tern_stream_kernel what = {.kernel = write_all, .blocks = BLOCKS, .args = seen};
    what.args_bytes = sizeof seen; // a copy: the blocks do not write this one
    assert_int_equal(tern_stream_launch(stream, &what), TERN_OK);
    assert_int_equal(tern_stream_sync(stream, SOON), TERN_OK);
    assert_int_equal(tern_stream_destroy(stream), TERN_OK);
    void *here;
    assert_int_equal(tern_buffer_address(TERN_BUFFER_UB, 16, 1, &here), TERN_ERR_ARG);
    assert_int_equal(tern_buffer_address(TERN_BUFFERS, 0, 1, &here), TERN_ERR_ARG);
    assert_int_equal(tern_buffer_address(TERN_BUFFER_L1, 0, (512 << 10) + 1, &here), TERN_ERR_ARG);
    assert_int_equal(tern_buffer_address(TERN_BUFFER_L1, 0, 512 << 10, &here), TERN_OK);
    assert_int_equal(tern_block_index(), 0);
    assert_int_equal(tern_block_count(), 1);
}

static int poll_for_ever(void *args)
{
    static int32_t word;
    tern_tensor signal = tern_tensor_1d(&word, TERN_I32, 1);
    int status;
    while ((status = tern_tensor_test(&signal, TERN_CMP_NE, 0)) == 0) {
    }
    return status;
}

static void a_kernel_that_only_polls_has_a_deadline(void **state)
{
    pid_t child = fork(); // TERN_TIMEOUT is read once
    if (child == 0) {
        setenv("TERN_TIMEOUT", "0.3", 1);
        tern_stream *stream;
        bool right = tern_stream_create(&stream) == TERN_OK;
        tern_stream_kernel what = {.kernel = poll_for_ever, .blocks = 2};
        right =
            right && tern_stream_launch(stream, &what) == TERN_OK &&
            tern_stream_sync(stream, RANKS_SOON_NS) == TERN_ERR_TIMEOUT &&
            strstr(tern_last_error(), "nothing that the block polls has come for 0.3 s") != NULL;
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int spin(void *args)
{
    _Atomic int *end = *(_Atomic int **)args;
    while (atomic_load(end) == 0) {
        sched_yield();
    }
    return TERN_OK;
}

static void *synchronize(void *stream)
{
    return tern_stream_sync(stream, SOON) == TERN_OK ? stream : NULL;
}

// Threads of the parent sleep in a sync when it forks.
static void the_child_of_a_waiting_parent_has_streams(void **state)
{
    _Atomic int end = 0;
    _Atomic int *at = &end;
    tern_stream *stream = new_stream();
    pthread_t threads[3];
    launch(stream, spin, 1, &at, sizeof at);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, synchronize, stream), 0);
    }
    usleep(20000);
    pid_t child = fork();
    if (child == 0) {
        static struct log log;
        alarm(20);
        stream = new_stream();
        for (int i = 0; i < 100 && !IS_TSAN; i++) { // it lets no such child start a thread
            launch(stream, write_entry, 2, &(struct entry){&log, i}, sizeof(struct entry));
            assert_int_equal(tern_stream_sync(stream, SOON), TERN_OK);
        }
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    end = 1;
    for (int i = 0; i < 3; i++) {
        void *seen;
        assert_int_equal(pthread_join(threads[i], &seen), 0);
        assert_ptr_equal(seen, stream);
    }
    assert_int_equal(status, 0);
    assert_int_equal(tern_stream_destroy(stream), TERN_OK);
}

static void what_is_wrong_is_refused(void **state)
{
    tern_stream *stream = new_stream();
    tern_event *event;
    assert_int_equal(tern_event_create(&event), TERN_OK);
    tern_stream_kernel what = {.kernel = write_entry, .blocks = 0};
    assert_int_equal(tern_stream_launch(stream, &what), TERN_ERR_ARG);
    what.blocks = TERN_BLOCKS_MAX + 1;
    assert_int_equal(tern_stream_launch(stream, &what), TERN_ERR_ARG);
    what = (tern_stream_kernel){.kernel = NULL, .blocks = 1};
    assert_int_equal(tern_stream_launch(stream, &what), TERN_ERR_ARG);
    assert_int_equal(tern_stream_launch(stream, NULL), TERN_ERR_ARG);
    what = (tern_stream_kernel){.kernel = write_entry, .blocks = 1, .args_bytes = 8};
    assert_int_equal(tern_stream_launch(stream, &what), TERN_ERR_ARG);
    assert_int_equal(tern_stream_create(NULL), TERN_ERR_ARG);
    assert_int_equal(tern_event_create(NULL), TERN_ERR_ARG);
    assert_int_equal(tern_stream_sync(NULL, SOON), TERN_ERR_ARG);
    assert_int_equal(tern_stream_sync(stream, -5), TERN_ERR_ARG);
    assert_int_equal(tern_stream_destroy(NULL), TERN_OK);
    assert_int_equal(tern_event_destroy(NULL), TERN_OK);
    assert_int_equal(tern_event_elapsed(event, event, NULL), TERN_ERR_ARG);

    _Atomic int end = 0;
    _Atomic int *at = &end;
    launch(stream, spin, 3, &at, sizeof at);
    assert_int_equal(tern_event_record(event, stream), TERN_OK);
    assert_int_equal(tern_stream_sync(stream, 1000000), TERN_ERR_TIMEOUT);
    assert_non_null(strstr(tern_last_error(), "3 of the 3 blocks of kernel 'a' have not returned"));
    assert_int_equal(tern_event_sync(event, 1000000), TERN_ERR_TIMEOUT);
    assert_int_equal(tern_stream_test(stream), 0);

    pid_t child = fork(); // while blocks run
    if (child == 0) {
        what = (tern_stream_kernel){.kernel = write_all, .blocks = 2};
        char *seen[2];
        what.args = seen;
        what.args_bytes = sizeof seen;
        tern_stream *own;
        bool right = tern_stream_sync(stream, SOON) == TERN_ERR_STATE &&
                     tern_event_sync(event, SOON) == TERN_ERR_STATE &&
                     tern_stream_destroy(stream) == TERN_OK &&
                     tern_event_destroy(event) == TERN_OK && tern_stream_create(&own) == TERN_OK;
#if !IS_TSAN // which lets no such child start a thread
        right = right && tern_stream_launch(own, &what) == TERN_OK; // a stream of its own works
#endif
        right = right && tern_stream_destroy(own) == TERN_OK;
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    end = 1;
    assert_int_equal(tern_stream_sync(stream, SOON), TERN_OK);
    assert_int_equal(tern_event_sync(event, SOON), TERN_OK);
    assert_int_equal(tern_stream_destroy(stream), TERN_OK);
    assert_int_equal(tern_stream_sync(stream, SOON), TERN_ERR_ARG); // destroyed
    assert_int_equal(tern_event_destroy(event), TERN_OK);
    assert_int_equal(tern_event_record(event, stream), TERN_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_only_polls_has_a_deadline), // before anybody has polled
        cmocka_unit_test(kernels_run_in_order),
        cmocka_unit_test(blocks_of_a_kernel_run_at_the_same_time),
        cmocka_unit_test(streams_wait_for_each_other),
        cmocka_unit_test(events_order_streams),
        cmocka_unit_test(a_later_record_ends_no_wait),
        cmocka_unit_test(a_failed_block_ends_the_waits_of_all),
        cmocka_unit_test(each_block_has_its_own_memory),
        cmocka_unit_test(the_child_of_a_waiting_parent_has_streams),
        cmocka_unit_test(what_is_wrong_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
