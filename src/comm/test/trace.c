// SPDX-License-Identifier: Apache-2.0
// Traces: the file is JSON as Perfetto reads it, with the events of all ranks, named tracks, paired
// waits and the number of lost events; failures reach all ranks; off means off.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../graph/test/kit.h"
#include "support/trace_holds.h"
#include "tern/coll.h"
#include "tern/trace.h"

// Whether a Python expression over the trace holds. E: all events, X: those with a duration, M: the
// metadata, tracks: {(rank, track number): name}, zero: when the trace begins, in ns.
static bool holds(const char *path, const char *expression)
{
    return trace_holds(path,
                       "X = [e for e in E if e[\"ph\"] == \"X\"]\n"
                       "zero = int(trace[\"otherData\"][\"zero_ns\"])\n"
                       "M = [e for e in E if e[\"ph\"] == \"M\"]\n"
                       "tracks = {(e[\"pid\"], e[\"tid\"]): e[\"args\"][\"name\"] for e in M\n"
                       "          if e[\"name\"] == \"thread_name\"}\n"
                       "def named(name): return [e for e in E if e[\"name\"] == name]\n",
                       expression);
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
                 "for x in (\"first\", \"put\", \"tern_comm_barrier\"))",
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

static void a_window_is_one_slice_with_its_meetings_inside(void **state)
{
    struct job job = new_job();
    RUN_ON(2, traced_work, &job);
    assert_true(
        holds(job.path, "sorted(e[\"pid\"] for e in named(\"tern_window_create\")) == [1, 2]"));
    assert_true(holds(job.path, "all(e[\"args\"] == {\"bytes\": 256} "
                                "for e in named(\"tern_window_create\"))"));
    assert_true(
        holds(job.path,
              "all(any(m[\"pid\"] == w[\"pid\"] and w[\"ts\"] <= m[\"ts\"] and "
              "m[\"ts\"] + m[\"dur\"] <= w[\"ts\"] + w[\"dur\"] + 0.001 "
              "for m in named(\"all ranks meet\")) for w in named(\"tern_window_create\"))"));
    unlink(job.path);
}

static void tracks_are_named_after_threads(void **state)
{
    struct job job = new_job();
    RUN_ON(2, traced_work, &job);
    // Which of the two AIV cores took a task is not decided.
    assert_true(holds(job.path, "{n for (r, t), n in tracks.items() if r == 2} - "
                                "{\"AIV 0\", \"AIV 1\"} == {\"host\", \"scheduler\", \"AIC 0\"}"));
    assert_true(holds(job.path, "all(tracks[e[\"pid\"], e[\"tid\"]] == \"AIC 0\" "
                                "for e in named(\"first\"))"));
    assert_true(holds(job.path, "all(tracks[e[\"pid\"], e[\"tid\"]] == \"host\" "
                                "for e in named(\"tern_comm_barrier\") + named(\"put\"))"));
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
             "zero >= %lld and all(0 <= e[\"ts\"] and "
             "zero + 1000 * (e[\"ts\"] + e[\"dur\"]) <= %lld + 1000 for e in X)",
             (long long)begin, (long long)end);
    assert_true(holds(job.path, text));
    assert_true(holds(job.path, "min(e[\"ts\"] for e in X) == 0"));
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
    assert_true(holds(job.path, "len([e for e in X if e[\"cat\"] == \"task\"]) == 3 and "
                                "len(named(\"\\u00e9t\\u00e9 \\u6d4b \\U0001f426\")) == 1"));
    unlink(job.path);
}

static int chain(tern_comm *comm, void *arg)
{
    const struct job *job = arg;
    tern_chip *chip;
    tern_graph *graph;
    CHECK(fine(tern_trace_begin(0)));
    CHECK(fine(tern_chip_create(comm, NULL, &chip)));
    CHECK(fine(tern_graph_create(&graph)));
    for (int i = 0; i < 3; i++) {
        add_task(graph,
                 i == 0   ? "first"
                 : i == 1 ? "second"
                          : "third",
                 nap, i == 1 ? TERN_CORE_AIC : TERN_CORE_AIV, 2, 0);
        CHECK(i == 0 || fine(tern_graph_add_edge(graph, i - 1, i)));
    }
    CHECK(fine(tern_chip_launch(chip, graph)));
    CHECK(fine(tern_chip_synchronize(chip)));
    CHECK(fine(tern_chip_destroy(chip)));
    CHECK(fine(tern_graph_destroy(graph)));
    CHECK(fine(tern_trace_end(comm, job->path)));
    return 0;
}

// On several ranks at once, whose tasks have the same numbers.
static void an_arrow_leads_from_a_task_to_the_next(void **state)
{
    struct job job = new_job();
    RUN_ON(2, chain, &job);
    assert_true(holds(job.path, "sorted((a[\"pid\"], b[\"pid\"]) for a in E for b in E if "
                                "a[\"name\"] == b[\"name\"] == \"after\" and "
                                "a[\"ph\"] == \"s\" and b[\"ph\"] == \"f\" and "
                                "a[\"id\"] == b[\"id\"]) == [(1, 1), (1, 1), (2, 2), (2, 2)]"));
    // From the track of the one to that of the other, within their slices.
    assert_true(holds(job.path, "all(any(a[\"name\"] == \"after\" and a[\"ph\"] == ph and "
                                "(a[\"pid\"], a[\"tid\"]) == (t[\"pid\"], t[\"tid\"]) and "
                                "t[\"ts\"] <= a[\"ts\"] <= t[\"ts\"] + t[\"dur\"] for a in E) "
                                "for name, ph in ((\"first\", \"s\"), (\"second\", \"f\"), "
                                "(\"second\", \"s\"), (\"third\", \"f\")) for t in named(name))"));
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
    assert_true(holds(job.path, "set(tracks.values()) <= {\"host\", \"AIV 0\", "
                                "\"AIV 0 #2\", \"scheduler\", \"scheduler #2\"}"));
    unlink(job.path);
}

// What a program does with calls, messages and signals.
static int calling(tern_comm *comm, void *arg)
{
    const struct job *job = arg;
    enum { COUNT = 30000 };
    static float in[COUNT];
    static float out[COUNT];
    int rank = tern_comm_rank(comm);
    int next = (rank + 1) % tern_comm_size(comm);
    tern_window *window;
    tern_request request;
    tern_coll later = {.kind = TERN_COLL_BARRIER};
    CHECK(fine(tern_window_create(comm, sizeof in + sizeof out, NULL, &window)));
    float *shared = tern_window_address(window, rank);
    CHECK(fine(tern_trace_begin(0)));
    CHECK(fine(tern_all_reduce(comm, in, out, 10, TERN_F32, TERN_SUM)));
    CHECK(fine(tern_all_reduce(comm, in, out, COUNT, TERN_F32, TERN_SUM)));
    CHECK(fine(tern_all_reduce(comm, shared, shared + COUNT, COUNT, TERN_F32, TERN_SUM)));
    CHECK(fine(tern_broadcast(comm, in, out, 100, TERN_F32, 1)));
    CHECK(fine(tern_coll_start(comm, &later, &request)));
    CHECK(fine(tern_request_wait(&request)));
    CHECK(rank != 0 || fine(tern_send(comm, in, COUNT, TERN_F32, 1)));
    CHECK(rank != 1 || fine(tern_recv(comm, out, COUNT, TERN_F32, 0)));
    CHECK(fine(tern_signal_notify(window, next, 64, 1, TERN_NOTIFY_ADD)));
    CHECK(fine(tern_signal_wait(window, 64, TERN_CMP_GE, 1, TERN_TIMEOUT_DEFAULT)));
    CHECK(fine(tern_trace_end(comm, job->path)));
    CHECK(fine(tern_window_destroy(window)));
    return 0;
}

static void slices_are_calls_and_arrows_lead_to_those_who_waited(void **state)
{
    static const char *const expressions[] = {
        "[[e['args'].get('way') for e in named('all_reduce #%d' % i)] for i in (1, 2, 3)] == "
        "[['slot'] * 3, ['staged'] * 3, ['window'] * 3]",
        "[e['args']['bytes'] for e in named('all_reduce #2')] == [120000] * 3",
        "all(e['args']['algorithm'] for e in calls if e['args']['way'] != 'mail')",
        "[e['args']['peer'] for e in named('broadcast #4')] == [1] * 3",
        "[e['ph'] for e in named('barrier #5')] == ['b'] * 3",
        "[(rank(e), e['args']['peer'], e['args']['bytes']) for e in named('send #1')] == "
        "[(0, 1, 120000)]",
        "[(rank(e), e['args']['peer'], e['args']['bytes']) for e in named('recv #1')] == "
        "[(1, 0, 120000)]",
        // Every rank of a call that all have to come to waits for the last of the others.
        "all(sum(b['name'] == 'all have come #%d' % i for a, b in arrows) >= 2 for i in (1, 2, 3, 5))",
        // In a broadcast, ranks wait for the root alone, and the root for nobody.
        "len(named('publish #4')) == 3 and {rank(e) for e in named('its peers have come #4')} >= {0, 2}",
        "all(a['name'].split('#')[1] == b['name'].split('#')[1] for a, b in arrows "
        "if a['name'].startswith('publish'))",
        "{(rank(a), rank(b)) for a, b in arrows if a['name'] == 'notify'} == {(0, 1), (1, 2), (2, 0)}",
        "all(a['args']['signal'] == b['args']['signal'] == 64 and a['args']['peer'] == rank(b) and "
        "b['name'] == 'wait' for a, b in arrows if a['name'] == 'notify')",
        "[(rank(a), rank(b)) for a, b in arrows if a['name'] == 'put piece'] == [(0, 1)] * "
        "len(named('take piece')) and named('take piece')",
        "not named('call') and not named('wait in call')",
    };
    struct job job = new_job();
    RUN_ON(3, calling, &job);
    for (size_t i = 0; i < sizeof expressions / sizeof expressions[0]; i++) {
        char command[1024];
        snprintf(command, sizeof command,
                 "python3 " TERN_SOURCE_DIR "/test/support/trace_check.py %s 3 \"%s\"", job.path,
                 expressions[i]);
        assert_int_equal(system(command), 0);
    }
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
    assert_true(holds(job.path, "len(named(\"tern_comm_barrier\")) == 20"));
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

static int different_paths(tern_comm *comm, void *arg)
{
    char long_path[1000];
    bool odd = tern_comm_rank(comm) == 1;
    memset(long_path, 'x', sizeof long_path);
    snprintf(long_path + 980, 20, odd ? "/b.json" : "/a.json");
    CHECK(fine(tern_trace_begin(0)));
    CHECK(
        says(tern_trace_end(comm, odd ? "/tmp/tern-never/b" : "/tmp/tern-never/a"),
             TERN_ERR_MISMATCH,
             "rank 0 wants the trace in '/tmp/tern-never/a', rank 1 in '/tmp/tern-never/b'; all"));
    CHECK(fine(tern_trace_begin(0)));
    CHECK(says(tern_trace_end(comm, long_path), TERN_ERR_MISMATCH,
               "rank 0 wants the trace in '...x"));
    CHECK(strstr(tern_last_error(), "x/a.json', rank 1 in '...x") != NULL);
    CHECK(strstr(tern_last_error(), "x/b.json';") != NULL);
    CHECK(fine(tern_comm_barrier(comm))); // nothing but the path is wrong
    return 0;
}

static void different_paths_are_named(void **state)
{
    RUN_ON(3, different_paths, NULL);
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
    assert_true(holds(job.path, "[e[\"name\"] for e in X] == [\"tern_comm_barrier\"] * 2"));
    assert_true(holds(job.path, "set(tracks.values()) == {\"host\"}"));
    unlink(job.path);
}

static int wrong_calls(tern_comm *comm, void *arg)
{
    CHECK(says(tern_trace_end(NULL, "x"), TERN_ERR_ARG, "must not be NULL"));
    CHECK(says(tern_trace_end(comm, NULL), TERN_ERR_ARG, "must not be NULL"));
    CHECK(says(tern_trace_begin(SIZE_MAX), TERN_ERR_LIMIT, "at most"));
    CHECK(says(tern_trace_end(comm, "/tmp/never"), TERN_ERR_STATE, "this rank does not record"));
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
               rank == 1 ? "this rank does not record" : "rank 1 does not record"));
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
        cmocka_unit_test(a_window_is_one_slice_with_its_meetings_inside),
        cmocka_unit_test(tracks_are_named_after_threads),
        cmocka_unit_test(times_and_bytes_are_right),
        cmocka_unit_test(waits_of_the_scheduler_are_pairs_of_their_own),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(names_that_are_no_utf8_leave_the_file_valid),
        cmocka_unit_test(an_arrow_leads_from_a_task_to_the_next),
        cmocka_unit_test(threads_of_the_same_name_have_tracks_of_their_own),
        cmocka_unit_test(slices_are_calls_and_arrows_lead_to_those_who_waited),
        cmocka_unit_test(lost_events_are_reported),
        cmocka_unit_test(an_unwritable_path_is_an_error_on_all_ranks),
        cmocka_unit_test(different_paths_are_named),
        cmocka_unit_test(recording_can_begin_again),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(a_rank_that_does_not_record_is_an_error_on_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
