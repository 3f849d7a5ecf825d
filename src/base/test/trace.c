// SPDX-License-Identifier: Apache-2.0
// The trace recorder: events per thread and in order, names that are cut, those that did not fit
// counted, threads that have ended, and nothing recorded when it is off.
#include "support/cmocka.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/trace.h"

enum { SEEN_MAX = 4096 };

struct seen {
    int count;
    char tracks[SEEN_MAX][TERN__TRACE_TRACK_BYTES];
    struct tern__trace_event events[SEEN_MAX];
};

static struct seen seen;

static void keep(struct seen *into, const char *track, const struct tern__trace_event *event)
{
    if (into->count < SEEN_MAX) {
        snprintf(into->tracks[into->count], sizeof into->tracks[0], "%s", track);
        into->events[into->count++] = *event;
    }
}

static void remember(void *arg, const struct tern__trace_track *track)
{
    for (uint32_t i = 0; i < track->count; i++) {
        keep(arg, track->name, &tern__trace_events(track)[i]);
    }
    if (track->lost > 0) {
        struct tern__trace_event lost = {.bytes = track->lost, .name = "lost"};
        keep(arg, track->name, &lost);
    }
}

static void drain(void)
{
    seen.count = 0;
    tern__trace_drain(remember, &seen);
}

static int stop_between_tests(void **state)
{
    tern__trace_stop();
    drain();
    tern__trace_name_thread("host");
    return 0;
}

static void nothing_is_recorded_when_off(void **state)
{
    assert_int_equal(tern__trace_start(), 0);
    tern__trace_add(TERN__TRACE_TASK, "before", tern__trace_start(), 0);
    tern__trace_add(TERN__TRACE_TASK, "before", 5, 0);
    assert_true(tern__trace_begin(16));
    tern__trace_add(TERN__TRACE_TASK, "began while it was off", 0, 0);
    assert_true(tern__trace_stop());
    tern__trace_add(TERN__TRACE_TASK, "after", 5, 0);
    drain();
    assert_int_equal(seen.count, 0);
}

static void recording_starts_once_and_stops_once(void **state)
{
    assert_false(tern__trace_stop());
    assert_true(tern__trace_begin(16));
    assert_false(tern__trace_begin(16));
    assert_true(tern__trace_stop());
    assert_false(tern__trace_stop());
    assert_true(tern__trace_begin(16));
}

static void an_event_keeps_what_it_was_given(void **state)
{
    assert_true(tern__trace_begin(16));
    int64_t begin = tern__trace_start();
    assert_true(begin > 0);
    tern__trace_add(TERN__TRACE_TRANSFER, "put", begin, 12345678901);
    int64_t end = tern__now_ns();
    tern__trace_stop();
    drain();
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.tracks[0], "host");
    assert_string_equal(seen.events[0].name, "put");
    assert_int_equal(seen.events[0].kind, TERN__TRACE_TRANSFER);
    assert_int_equal(seen.events[0].bytes, 12345678901);
    assert_int_equal(seen.events[0].begin_ns, begin);
    assert_in_range(seen.events[0].duration_ns, 0, end - begin);
}

static void events_of_a_thread_keep_their_order(void **state)
{
    assert_true(tern__trace_begin(100));
    for (uint64_t i = 0; i < 100; i++) {
        tern__trace_add(TERN__TRACE_TASK, "t", tern__trace_start(), i);
    }
    tern__trace_stop();
    drain();
    assert_int_equal(seen.count, 100);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(seen.events[i].bytes, i);
    }
}

static void those_that_do_not_fit_are_counted(void **state)
{
    assert_true(tern__trace_begin(10));
    for (uint64_t i = 0; i < 17; i++) {
        tern__trace_add(TERN__TRACE_TASK, "t", tern__trace_start(), i);
    }
    tern__trace_stop();
    drain();
    assert_int_equal(seen.count, 11);
    assert_int_equal(seen.events[9].bytes, 9);
    assert_int_equal(seen.events[10].bytes, 7);
    assert_string_equal(seen.events[10].name, "lost");
}

static void a_drained_recording_is_forgotten(void **state)
{
    assert_true(tern__trace_begin(2));
    for (int i = 0; i < 5; i++) {
        tern__trace_add(TERN__TRACE_TASK, "old", tern__trace_start(), 0);
    }
    tern__trace_stop();
    drain();
    drain();
    assert_int_equal(seen.count, 0);
    assert_true(tern__trace_begin(4)); // another size: nothing of the old one is lost or kept
    tern__trace_add(TERN__TRACE_TASK, "new", tern__trace_start(), 0);
    tern__trace_stop();
    drain();
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.events[0].name, "new");
}

static void a_recording_that_nobody_drained_does_not_leak_into_the_next(void **state)
{
    assert_true(tern__trace_begin(4));
    tern__trace_add(TERN__TRACE_TASK, "old", tern__trace_start(), 0);
    tern__trace_stop();
    assert_true(tern__trace_begin(4));
    tern__trace_stop();
    drain();
    assert_int_equal(seen.count, 0);
}

static void long_names_are_cut(void **state)
{
    static const char name[] = "0123456789012345678901234567890123456789";
    assert_true(tern__trace_begin(4));
    tern__trace_name_thread(name);
    tern__trace_add(TERN__TRACE_TASK, name, tern__trace_start(), 0);
    tern__trace_stop();
    drain();
    assert_int_equal(seen.count, 1);
    assert_int_equal(strlen(seen.events[0].name), TERN__TRACE_NAME_BYTES - 1);
    assert_memory_equal(seen.events[0].name, name, TERN__TRACE_NAME_BYTES - 1);
    assert_int_equal(strlen(seen.tracks[0]), TERN__TRACE_TRACK_BYTES - 1);
    assert_memory_equal(seen.tracks[0], name, TERN__TRACE_TRACK_BYTES - 1);
}

static void a_name_given_late_holds_for_the_whole_track(void **state)
{
    assert_true(tern__trace_begin(4));
    tern__trace_add(TERN__TRACE_TASK, "t", tern__trace_start(), 0);
    tern__trace_name_thread("AIC 7");
    tern__trace_stop();
    drain();
    assert_string_equal(seen.tracks[0], "AIC 7");
}

enum { THREADS = 8, EACH = 200 };

static void *record_in_a_thread(void *arg)
{
    char track[TERN__TRACE_TRACK_BYTES];
    snprintf(track, sizeof track, "AIV %d", *(const int *)arg);
    tern__trace_name_thread(track);
    for (uint64_t i = 0; i < EACH + 3; i++) {
        tern__trace_add(TERN__TRACE_TASK, "t", tern__trace_start(), i);
    }
    return NULL;
}

static void each_thread_has_its_own_buffer_which_outlives_it(void **state)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    assert_true(tern__trace_begin(EACH));
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, record_in_a_thread, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    tern__trace_stop();
    drain();
    assert_int_equal(seen.count, THREADS * (EACH + 1));
    for (int i = 0; i < THREADS; i++) {
        char track[TERN__TRACE_TRACK_BYTES];
        uint64_t next = 0;
        snprintf(track, sizeof track, "AIV %d", i);
        for (int j = 0; j < seen.count; j++) {
            if (strcmp(seen.tracks[j], track) == 0) {
                assert_int_equal(seen.events[j].bytes, next == EACH ? 3 : next);
                next++;
            }
        }
        assert_int_equal(next, EACH + 1);
    }
    drain(); // the buffers of the ended threads are gone now
    assert_int_equal(seen.count, 0);
}

static void *record_without_a_name(void *unused)
{
    tern__trace_add(TERN__TRACE_TASK, "other", tern__trace_start(), 0);
    return NULL;
}

static void living_threads_do_not_share_a_track(void **state)
{
    pthread_t thread;
    assert_true(tern__trace_begin(16));
    tern__trace_add(TERN__TRACE_TASK, "own", tern__trace_start(), 0);
    assert_int_equal(pthread_create(&thread, NULL, record_without_a_name, NULL), 0);
    pthread_join(thread, NULL);
    tern__trace_stop();
    drain();
    assert_int_equal(seen.count, 2);
    for (int i = 0; i < 2; i++) {
        bool own = strcmp(seen.events[i].name, "own") == 0;
        assert_string_equal(seen.tracks[i], own ? "host" : "host #2");
    }
}

static pthread_key_t late_key;

static void record_once_more(void *unused)
{
    drain(); // what the recorder keeps of an ended thread is freed here
    tern__trace_add(TERN__TRACE_TASK, "late", tern__trace_start(), 0);
}

static void *record_and_end(void *unused)
{
    pthread_setspecific(late_key, &late_key);
    tern__trace_add(TERN__TRACE_TASK, "early", tern__trace_start(), 0);
    return NULL;
}

// Destructors of thread-specific values run in an unspecified order: another library's may still
// call into tern after the recorder's own has run.
static void a_thread_may_record_while_it_ends(void **state)
{
    pthread_t thread;
    assert_true(tern__trace_begin(16));
    tern__trace_add(TERN__TRACE_TASK, "t", tern__trace_start(),
                    0); // the recorder's key comes first
    assert_int_equal(pthread_key_create(&late_key, record_once_more), 0);
    assert_int_equal(pthread_create(&thread, NULL, record_and_end, NULL), 0);
    pthread_join(thread, NULL);
    pthread_key_delete(late_key);
    tern__trace_stop();
    drain();
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.events[0].name, "late");
}

// What happens within something ends before it does, and what follows begins later, also on a clock
// that stands still between two looks.
static void looks_at_the_clock_differ(void **state)
{
    int64_t last = 0;
    for (int i = 0; i < 100000; i++) {
        int64_t now = tern__trace_clock();
        assert_true(now > last);
        last = now;
    }
}

// A rank of a job that the launcher records, with a thread of its own, killed in the middle.
static void be_recorded_and_die(int fd)
{
    pthread_t thread;
    if (!tern__trace_attach(fd) || tern__trace_attach(fd) || tern__trace_begin(16) ||
        tern__trace_stop()) {
        _exit(1);
    }
    for (int i = 0; i < 3; i++) { // one after the other: they share a track
        pthread_create(&thread, NULL, record_without_a_name, NULL);
        pthread_join(thread, NULL);
    }
    tern__trace_name_thread("main");
    for (uint64_t i = 0; i < 12; i++) {
        tern__trace_add(TERN__TRACE_TRANSFER, "put", tern__trace_start(), i);
    }
    if (fork() == 0) { // records nothing
        tern__trace_add(TERN__TRACE_TRANSFER, "child", tern__trace_start(), 0);
        raise(SIGKILL);
    }
    wait(NULL);
    raise(SIGKILL);
}

static void a_region_outlives_its_rank(void **state)
{
    enum { CAPACITY = 8 };
    int fd = memfd_create("tern-test", MFD_CLOEXEC);
    size_t bytes = tern__trace_region_bytes(CAPACITY);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    assert_false(tern__trace_attach(fd)); // not before somebody has made one of it
    struct tern__trace_region *region =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(region, MAP_FAILED);
    region->magic = TERN__TRACE_MAGIC;
    region->capacity = CAPACITY;
    pid_t pid = fork();
    if (pid == 0) {
        be_recorded_and_die(fd);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(region->used, 2);
    const struct tern__trace_track *other = tern__trace_region_track(region, CAPACITY, 0);
    const struct tern__trace_track *own = tern__trace_region_track(region, CAPACITY, 1);
    assert_string_equal(other->name, "host");
    assert_int_equal(other->count, 3);
    assert_string_equal(own->name, "main");
    assert_int_equal(own->count, CAPACITY);
    assert_int_equal(own->lost, 4);
    for (uint64_t i = 0; i < CAPACITY; i++) {
        assert_string_equal(tern__trace_events(own)[i].name, "put");
        assert_int_equal(tern__trace_events(own)[i].bytes, i);
    }
    munmap(region, bytes);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_region_outlives_its_rank),
        cmocka_unit_test(looks_at_the_clock_differ),
        cmocka_unit_test_teardown(nothing_is_recorded_when_off, stop_between_tests),
        cmocka_unit_test_teardown(recording_starts_once_and_stops_once, stop_between_tests),
        cmocka_unit_test_teardown(an_event_keeps_what_it_was_given, stop_between_tests),
        cmocka_unit_test_teardown(events_of_a_thread_keep_their_order, stop_between_tests),
        cmocka_unit_test_teardown(those_that_do_not_fit_are_counted, stop_between_tests),
        cmocka_unit_test_teardown(a_drained_recording_is_forgotten, stop_between_tests),
        cmocka_unit_test_teardown(a_recording_that_nobody_drained_does_not_leak_into_the_next,
                                  stop_between_tests),
        cmocka_unit_test_teardown(long_names_are_cut, stop_between_tests),
        cmocka_unit_test_teardown(a_name_given_late_holds_for_the_whole_track, stop_between_tests),
        cmocka_unit_test_teardown(each_thread_has_its_own_buffer_which_outlives_it,
                                  stop_between_tests),
        cmocka_unit_test_teardown(living_threads_do_not_share_a_track, stop_between_tests),
        cmocka_unit_test_teardown(a_thread_may_record_while_it_ends, stop_between_tests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
