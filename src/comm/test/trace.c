// SPDX-License-Identifier: Apache-2.0
// Traces: the file is JSON as Perfetto reads it, with the events of all ranks, named tracks, paired
// waits and the number of lost events; failures reach all ranks; off means off.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../graph/test/kit.h"
#include "tern/trace.h"

// Whether a Python expression over the trace holds. E: all events, X: those with a duration, M: the
// metadata, tracks: {(rank, track number): name}.
static bool holds(const char *path, const char *expression)
{
    char command[2048];
    snprintf(command, sizeof command,
             "python3 -c '\n"
             "import json, sys\n"
             "E = json.load(open(\"%s\", encoding=\"utf-8\"))[\"traceEvents\"]\n"
             "X = [e for e in E if e[\"ph\"] == \"X\"]\n"
             "M = [e for e in E if e[\"ph\"] == \"M\"]\n"
             "tracks = {(e[\"pid\"], e[\"tid\"]): e[\"args\"][\"name\"] for e in M\n"
             "          if e[\"name\"] == \"thread_name\"}\n"
             "def named(name): return [e for e in E if e[\"name\"] == name]\n"
             "sys.exit(0 if (%s) else 1)'",
             path, expression);
    if (system(command) == 0) {
        return true;
    }
    fprintf(stderr, "does not hold of the trace: %s\n", expression);
    return false;
}

struct job {
    char path[96];
};

static void nap(int64_t *args)
{
    sleep_ns(args[0] * MS);
}

// A graph with one task on each core, and two waits that overlap; plus a put and a barrier.
static int work(tern_comm *comm)
{
    static const char *const names[] = {"first", "sec\"o\\nd\n", "third"};
    tern_window *window;
    tern_chip *chip;
    tern_graph *graph;
    tern_chip_options options = {.aic_count = 1, .aiv_count = 2};
    int rank = tern_comm_rank(comm);
    int next = (rank + 1) % tern_comm_size(comm);
    CHECK(fine(tern_window_create(comm, 256, NULL, &window)));
    CHECK(fine(tern_chip_create(comm, &options, &chip)));
    CHECK(fine(tern_graph_create(&graph)));
    for (int i = 0; i < 3; i++) {
        add_task(graph, names[i], nap, i == 0 ? TERN_CORE_AIC : TERN_CORE_AIV, 5, 0);
    }
    CHECK(fine(add_wait(graph, 1, window, 0, 1, 1)));
    CHECK(fine(add_wait(graph, 2, window, 4, 1, 1)));
    CHECK(fine(tern_chip_launch(chip, graph)));
    CHECK(fine(tern_put(window, next, 64, names[0], 5)));
    CHECK(fine(tern_signal_notify(window, next, 4, 1, TERN_NOTIFY_ADD)));
    CHECK(fine(tern_signal_notify(window, next, 0, 1, TERN_NOTIFY_ADD)));
    CHECK(fine(tern_chip_synchronize(chip)));
    CHECK(fine(tern_comm_barrier(comm)));
    CHECK(fine(tern_chip_destroy(chip)));
    CHECK(fine(tern_graph_destroy(graph)));
    CHECK(fine(tern_window_destroy(window)));
    return 0;
}

static int traced_work(tern_comm *comm, void *arg)
{
    const struct job *job = arg;
    CHECK(fine(tern_trace_begin(0)));
    CHECK(work(comm) == 0);
    CHECK(fine(tern_trace_end(comm, job->path)));
    return 0;
}

static struct job new_job(void)
{
    struct job job = {.path = "/tmp/tern-test-trace-XXXXXX"};
    int fd = mkstemp(job.path);
    assert_true(fd >= 0);
    close(fd);
    return job;
}

#define RUN_ON(count, body, job) assert_true(ranks_run_comm(count, body, job, 60))

static void the_trace_has_the_events_of_all_ranks(void **state)
{
    for (int i = 0; i < 4; i++) {
        struct job job = new_job();
        char text[256];
        int n = ranks_counts[i];
        RUN_ON(n, traced_work, &job);
        snprintf(text, sizeof text,
                 "all(sorted(e[\"pid\"] for e in named(x)) == list(range(1, %d + 1)) "
                 "for x in (\"first\", \"put\", \"barrier\"))",
                 n);
        assert_true(holds(job.path, text));
        snprintf(text, sizeof text,
                 "{e[\"pid\"] for e in X if e[\"cat\"] == \"task\"} == set(range(1, %d + 1)) and "
                 "len([e for e in X if e[\"cat\"] == \"task\"]) == 3 * %d",
                 n, n);
        assert_true(holds(job.path, text));
        snprintf(text, sizeof text,
                 "{e[\"args\"][\"name\"] for e in M if e[\"name\"] == \"process_name\"} == "
                 "{\"rank %%d\" %% r for r in range(%d)}",
                 n);
        assert_true(holds(job.path, text));
        unlink(job.path);
    }
}

static void tracks_are_named_after_threads(void **state)
{
    struct job job = new_job();
    RUN_ON(2, traced_work, &job);
    assert_true(holds(job.path, "{n for (r, t), n in tracks.items() if r == 2} == "
                                "{\"host\", \"scheduler\", \"AIC 0\", \"AIV 0\", \"AIV 1\"}"));
    assert_true(holds(job.path, "all(tracks[e[\"pid\"], e[\"tid\"]] == \"AIC 0\" "
                                "for e in named(\"first\"))"));
    assert_true(holds(job.path, "all(tracks[e[\"pid\"], e[\"tid\"]] == \"host\" "
                                "for e in named(\"barrier\") + named(\"put\"))"));
    unlink(job.path);
}

static void times_and_bytes_are_right(void **state)
{
    struct job job = new_job();
    int64_t begin = clock_ns();
    RUN_ON(2, traced_work, &job);
    int64_t end = clock_ns();
    char text[256];
    snprintf(text, sizeof text,
             "all(%.3f <= e[\"ts\"] and e[\"ts\"] + e[\"dur\"] <= %.3f for e in X)",
             (double)begin * 1e-3, (double)end * 1e-3 + 1);
    assert_true(holds(job.path, text));
    assert_true(holds(job.path, "all(e[\"dur\"] >= 5000 for e in X if e[\"cat\"] == \"task\")"));
    assert_true(holds(job.path, "all(e[\"args\"][\"bytes\"] == 5 for e in named(\"put\"))"));
    unlink(job.path);
}

// Waits of the scheduler overlap, so each is a pair of events with an id that no other pair has,
// also among other ranks: readers do not tell ids of processes apart.
static void waits_of_the_scheduler_are_pairs_of_their_own(void **state)
{
    struct job job = new_job();
    RUN_ON(3, traced_work, &job);
    assert_true(holds(job.path, "len([e for e in E if e[\"ph\"] == \"b\"]) == 6"));
    assert_true(holds(job.path,
                      "all(sorted((e[\"ph\"], e[\"name\"], e[\"pid\"]) for e in E if "
                      "e.get(\"id\") == i) == [(\"b\",) + p, (\"e\",) + p] for i in "
                      "{e[\"id\"] for e in E if e[\"ph\"] in \"be\"} for p in [next((e[\"name\"],"
                      " e[\"pid\"]) for e in E if e.get(\"id\") == i)])"));
    unlink(job.path);
}

static void names_are_escaped(void **state)
{
    struct job job = new_job();
    RUN_ON(1, traced_work, &job);
    assert_true(
        holds(job.path, "len([e for e in X if e[\"name\"] == \"sec\\\"o\\\\nd\\n\"]) == 1"));
    unlink(job.path);
}

// A cut in the middle of a character, and bytes that are none.
static int odd_names(tern_comm *comm, void *arg)
{
    const struct job *job = arg;
    static const char *const names[] = {"0123456789012345678901234567890123\xc3\xa9", "\xff\xfe!",
                                        "\xc3\xa9t\xc3\xa9 \xe6\xb5\x8b \xf0\x9f\x90\xa6"};
    tern_chip *chip;
    tern_graph *graph;
    CHECK(fine(tern_trace_begin(0)));
    CHECK(fine(tern_chip_create(comm, NULL, &chip)));
    CHECK(fine(tern_graph_create(&graph)));
    for (int i = 0; i < 3; i++) {
        add_task(graph, names[i], do_nothing, TERN_CORE_AIV, 0, 0);
    }
    CHECK(fine(tern_chip_launch(chip, graph)));
    CHECK(fine(tern_chip_synchronize(chip)));
    CHECK(fine(tern_chip_destroy(chip)));
    CHECK(fine(tern_graph_destroy(graph)));
    CHECK(fine(tern_trace_end(comm, job->path)));
    return 0;
}

static void names_that_are_no_utf8_leave_the_file_valid(void **state)
{
    struct job job = new_job();
    RUN_ON(1, odd_names, &job);
    assert_true(holds(job.path, "len(X) == 3 and "
                                "len(named(\"\\u00e9t\\u00e9 \\u6d4b \\U0001f426\")) == 1"));
    unlink(job.path);
}

// Two chips at once, whose cores have the same names: no two events of a track overlap.
static int two_chips(tern_comm *comm, void *arg)
{
    const struct job *job = arg;
    tern_chip *chips[2];
    tern_graph *graphs[2];
    CHECK(fine(tern_trace_begin(0)));
    for (int i = 0; i < 2; i++) {
        CHECK(fine(tern_chip_create(comm, NULL, &chips[i])));
        CHECK(fine(tern_graph_create(&graphs[i])));
        add_task(graphs[i], "nap", nap, TERN_CORE_AIV, 50 + 100 * i, 0);
        CHECK(fine(tern_chip_launch(chips[i], graphs[i])));
    }
    for (int i = 0; i < 2; i++) {
        CHECK(fine(tern_chip_synchronize(chips[i])));
        CHECK(fine(tern_chip_destroy(chips[i])));
        CHECK(fine(tern_graph_destroy(graphs[i])));
    }
    CHECK(fine(tern_trace_end(comm, job->path)));
    return 0;
}

static void threads_of_the_same_name_have_tracks_of_their_own(void **state)
{
    struct job job = new_job();
    RUN_ON(1, two_chips, &job);
    assert_true(holds(job.path,
                      "len(named(\"nap\")) == 2 and all(a is b or a[\"tid\"] != b[\"tid\"] or "
                      "a[\"ts\"] + a[\"dur\"] <= b[\"ts\"] or b[\"ts\"] + b[\"dur\"] <= "
                      "a[\"ts\"] for a in named(\"nap\") for b in named(\"nap\"))"));
    assert_true(holds(job.path, "set(tracks.values()) <= {\"host\", \"AIV 0\", \"AIV 0 #2\"}"));
    unlink(job.path);
}

static int lossy(tern_comm *comm, void *arg)
{
    const struct job *job = arg;
    CHECK(fine(tern_trace_begin(10)));
    for (int i = 0; i < 25; i++) {
        CHECK(fine(tern_comm_barrier(comm)));
    }
    CHECK(fine(tern_trace_end(comm, job->path)));
    return 0;
}

static void lost_events_are_reported(void **state)
{
    struct job job = new_job();
    RUN_ON(2, lossy, &job);
    assert_true(holds(job.path, "len(named(\"barrier\")) == 20"));
    assert_true(holds(job.path, "[e[\"args\"][\"lost\"] for e in named(\"15 events lost\")] == "
                                "[15, 15]"));
    unlink(job.path);
}

static int unwritable(tern_comm *comm, void *arg)
{
    static const char *const paths[] = {"/nowhere/trace.json", "/tmp", "/dev/full"};
    for (int i = 0; i < 3; i++) {
        CHECK(fine(tern_trace_begin(0)));
        CHECK(fine(tern_comm_barrier(comm)));
        CHECK(says(tern_trace_end(comm, paths[i]), TERN_ERR_SYSTEM, paths[i]));
        CHECK(fine(tern_comm_barrier(comm))); // nothing but the file is wrong
    }
    return 0;
}

static void an_unwritable_path_is_an_error_on_all_ranks(void **state)
{
    RUN_ON(1, unwritable, NULL);
    RUN_ON(3, unwritable, NULL);
}

// What happens while recording is off is not in the file, nor is what an earlier file had.
static int on_off_on(tern_comm *comm, void *arg)
{
    const struct job *job = arg;
    CHECK(fine(tern_trace_begin(0)));
    CHECK(work(comm) == 0);
    CHECK(fine(tern_trace_end(comm, job->path)));
    CHECK(work(comm) == 0);
    CHECK(fine(tern_trace_begin(100)));
    CHECK(fine(tern_comm_barrier(comm)));
    CHECK(fine(tern_trace_end(comm, job->path)));
    return 0;
}

static void recording_can_begin_again(void **state)
{
    struct job job = new_job();
    RUN_ON(2, on_off_on, &job);
    assert_true(holds(job.path, "[e[\"name\"] for e in X] == [\"barrier\", \"barrier\"]"));
    assert_true(holds(job.path, "set(tracks.values()) == {\"host\"}"));
    unlink(job.path);
}

static int wrong_calls(tern_comm *comm, void *arg)
{
    CHECK(says(tern_trace_end(NULL, "x"), TERN_ERR_ARG, "must not be NULL"));
    CHECK(says(tern_trace_end(comm, NULL), TERN_ERR_ARG, "must not be NULL"));
    CHECK(says(tern_trace_begin(SIZE_MAX), TERN_ERR_LIMIT, "at most"));
    CHECK(says(tern_trace_end(comm, "/tmp/never"), TERN_ERR_STATE, "recording is not on"));
    CHECK(fine(tern_trace_begin(0)));
    CHECK(says(tern_trace_begin(0), TERN_ERR_STATE, "recording is on already"));
    CHECK(fine(tern_trace_end(comm, "/dev/null")));
    return 0;
}

static void wrong_calls_are_refused(void **state)
{
    RUN_ON(1, wrong_calls, NULL);
}

// One rank forgot to begin: all learn it, nobody waits for the deadline.
static int forgetful(tern_comm *comm, void *arg)
{
    int rank = tern_comm_rank(comm);
    CHECK(rank == 1 || fine(tern_trace_begin(0)));
    int64_t begin = clock_ns();
    CHECK(says(tern_trace_end(comm, "/tmp/never"), TERN_ERR_STATE,
               rank == 1 ? "recording is not on" : "rank 1"));
    CHECK(clock_ns() - begin < 5000 * MS);
    CHECK(fine(tern_comm_barrier(comm)));
    return 0;
}

static void a_rank_that_does_not_record_is_an_error_on_all_ranks(void **state)
{
    RUN_ON(3, forgetful, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_trace_has_the_events_of_all_ranks),
        cmocka_unit_test(tracks_are_named_after_threads),
        cmocka_unit_test(times_and_bytes_are_right),
        cmocka_unit_test(waits_of_the_scheduler_are_pairs_of_their_own),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(names_that_are_no_utf8_leave_the_file_valid),
        cmocka_unit_test(threads_of_the_same_name_have_tracks_of_their_own),
        cmocka_unit_test(lost_events_are_reported),
        cmocka_unit_test(an_unwritable_path_is_an_error_on_all_ranks),
        cmocka_unit_test(recording_can_begin_again),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(a_rank_that_does_not_record_is_an_error_on_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
