// SPDX-License-Identifier: Apache-2.0
// ctest-machines: 2
// Tasks that wait for signals: own and peers', several at a time, in many runs of one graph. A
// waiting task holds no core, and sees what was written before the notifies.
#include "support/cmocka.h"
#include <sched.h>
#include <stdlib.h>

#include "graph/chip.h"
#include "kit.h"
#include "support/machines.h"

#define RUN_ON(count, body) assert_true(ranks_run_comm(count, body, NULL, 60))
#define RUN_ON_MACHINES(layout, body) assert_true(machines_run_comm(layout, body, NULL, 60))

struct setting {
    tern_comm *comm;
    tern_window *window;
    tern_chip *chip;
    tern_graph *graph;
    int rank;
    int size;
    _Atomic int *calls;
};

static int open_setting_of(struct setting *s, tern_comm *comm, int aic_count, int aiv_count)
{
    tern_chip_options options = {.aic_count = aic_count,
                                 .aiv_count = aiv_count,
                                 .timeout_ns = 30000 * MS};
    s->comm = comm;
    s->rank = tern_comm_rank(comm);
    s->size = tern_comm_size(comm);
    CHECK(fine(tern_window_create(comm, 65536, NULL, &s->window)));
    CHECK(fine(tern_chip_create(comm, &options, &s->chip)));
    CHECK(fine(tern_graph_create(&s->graph)));
    return 0;
}

static int open_setting(struct setting *s, tern_comm *comm, int cores)
{
    return open_setting_of(s, comm, 0, cores);
}

static int close_setting(struct setting *s)
{
    CHECK(fine(tern_chip_destroy(s->chip)));
    CHECK(fine(tern_graph_destroy(s->graph)));
    CHECK(fine(tern_window_destroy(s->window)));
    return 0;
}

static int run(struct setting *s)
{
    CHECK(fine(tern_chip_launch(s->chip, s->graph)));
    CHECK(fine(tern_chip_synchronize(s->chip)));
    return 0;
}

static int32_t signal_at(const struct setting *s, size_t offset_bytes)
{
    int32_t value = INT32_MIN;
    int status = tern_signal_read(s->window, offset_bytes, &value);
    return status == TERN_OK ? value : INT32_MIN;
}

static int own_signal(tern_comm *comm, void *arg)
{
    struct setting s;
    _Atomic int calls = 0;
    CHECK(open_setting(&s, comm, 1) == 0);
    int task = add_task(s.graph, "waits", count_call, TERN_CORE_AIV, word(&calls), 0);
    CHECK(fine(add_wait(s.graph, task, s.window, 8, 3, 0)));
    CHECK(fine(tern_chip_launch(s.chip, s.graph)));
    for (int i = 0; i < 3; i++) {
        sleep_ns(20 * MS);
        CHECK(calls == 0);
        CHECK(fine(tern_signal_notify(s.window, 0, 8, 1, TERN_NOTIFY_ADD)));
    }
    CHECK(fine(tern_chip_synchronize(s.chip)));
    CHECK(calls == 1);
    return close_setting(&s);
}

static void a_task_waits_for_an_own_signal(void **state)
{
    RUN_ON(1, own_signal);
}

static int add_waiting(tern_graph *graph, void *arg)
{
    const struct setting *s = arg;
    int tasks[2];
    int status = TERN_OK;
    for (int i = 0; i < 2; i++) {
        tasks[i] = add_task(graph, "waits", count_call, TERN_CORE_AIV, word(&s->calls[i]), 0);
    }
    for (int i = 0; i < 2 && status == TERN_OK; i++) {
        status = add_wait(graph, tasks[i], s->window, 8 * (size_t)i, 1, 0);
    }
    for (int i = 0; i < 2 && status == TERN_OK; i++) {
        status = tern_graph_publish(graph, tasks[i]);
    }
    return status;
}

// The same of tasks that an orchestration adds, before it says what they wait for.
static int own_signal_on_chip(tern_comm *comm, void *arg)
{
    struct setting s;
    _Atomic int calls[2] = {0, 0};
    CHECK(open_setting(&s, comm, 1) == 0);
    s.calls = calls;
    CHECK(fine(tern_chip_orchestrate(s.chip, s.graph, add_waiting, &s, NULL)));
    for (size_t i = 0; i < 2; i++) {
        sleep_ns(20 * MS);
        CHECK(calls[i] == 0);
        CHECK(fine(tern_signal_notify(s.window, 0, 8 * i, 1, TERN_NOTIFY_ADD)));
    }
    CHECK(fine(tern_chip_synchronize(s.chip)));
    CHECK(calls[0] == 1 && calls[1] == 1);
    return close_setting(&s);
}

static void a_task_that_an_orchestration_adds_waits_too(void **state)
{
    RUN_ON(1, own_signal_on_chip);
}

// One signal after the other: the task runs when the last of its waits holds, not before.
static int several_waits(tern_comm *comm, void *arg)
{
    enum { WAITS = 9 };
    struct setting s;
    _Atomic int calls = 0;
    CHECK(open_setting(&s, comm, 1) == 0);
    int task = add_task(s.graph, "waits", count_call, TERN_CORE_AIV, word(&calls), 0);
    for (size_t i = 0; i < WAITS; i++) {
        CHECK(fine(add_wait(s.graph, task, s.window, i * 64, 1, 0)));
    }
    CHECK(fine(tern_chip_launch(s.chip, s.graph)));
    for (size_t i = 0; i < WAITS; i++) {
        sleep_ns(5 * MS);
        CHECK(calls == 0);
        CHECK(fine(tern_signal_notify(s.window, 0, (i * 4 + 2) % WAITS * 64, 1, TERN_NOTIFY_SET)));
    }
    CHECK(fine(tern_chip_synchronize(s.chip)));
    CHECK(calls == 1);
    return close_setting(&s);
}

static void a_task_waits_for_all_of_its_signals(void **state)
{
    RUN_ON(1, several_waits);
}

// For each comparison with 5: a value at which it does not hold, and one at which it does.
static int comparisons(tern_comm *comm, void *arg)
{
    static const int32_t values[6][2] = {{4, 5}, {5, 6}, {5, 6}, {4, 5}, {5, -7}, {6, 5}};
    for (int cmp = 0; cmp < 6; cmp++) {
        struct setting s;
        _Atomic int calls = 0;
        CHECK(open_setting(&s, comm, 1) == 0);
        int task = add_task(s.graph, "waits", count_call, TERN_CORE_AIV, word(&calls), 0);
        tern_condition condition = {.window = s.window, .cmp = (tern_cmp)cmp, .value = 5};
        CHECK(fine(tern_graph_add_wait(s.graph, task, &condition, 0)));
        CHECK(fine(tern_signal_notify(s.window, 0, 0, values[cmp][0], TERN_NOTIFY_SET)));
        CHECK(fine(tern_chip_launch(s.chip, s.graph)));
        sleep_ns(20 * MS);
        CHECK(calls == 0);
        CHECK(fine(tern_signal_notify(s.window, 0, 0, values[cmp][1], TERN_NOTIFY_SET)));
        CHECK(fine(tern_chip_synchronize(s.chip)));
        CHECK(calls == 1);
        CHECK(close_setting(&s) == 0);
    }
    return 0;
}

static void every_comparison_can_be_waited_for(void **state)
{
    RUN_ON(1, comparisons);
}

static void notify_own(int64_t *args)
{
    if (tern_signal_notify(pointer(args[0]), (int)args[1], 0, 1, TERN_NOTIFY_ADD) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

// The least of ten times from a notify to the end of the run: with a lost wake-up the scheduler
// would see the signal only when it looks after its peers, 80 ms later.
static int wake_up(tern_comm *comm, void *arg)
{
    struct setting s;
    int64_t least = INT64_MAX;
    CHECK(open_setting(&s, comm, 1) == 0);
    int task = add_task(s.graph, "waits", do_nothing, TERN_CORE_AIV, 0, 0);
    CHECK(fine(add_wait(s.graph, task, s.window, 0, 1, 1)));
    for (int i = 0; i < 10; i++) {
        CHECK(fine(tern_chip_launch(s.chip, s.graph)));
        sleep_ns(20 * MS);
        int64_t begin = clock_ns();
        CHECK(fine(tern_signal_notify(s.window, 0, 0, 1, TERN_NOTIFY_ADD)));
        CHECK(fine(tern_chip_synchronize(s.chip)));
        int64_t took = clock_ns() - begin;
        least = took < least ? took : least;
    }
    CHECK(least < 40 * MS);
    return close_setting(&s);
}

static void a_notify_wakes_the_scheduler(void **state)
{
    RUN_ON(1, wake_up);
}

// With one core, a waiting task that held it would keep the notifier from running for ever.
static int no_core_held(tern_comm *comm, void *arg)
{
    struct setting s;
    _Atomic int calls = 0;
    CHECK(open_setting(&s, comm, 1) == 0);
    for (int i = 0; i < 20; i++) {
        int task = add_task(s.graph, "waits", count_call, TERN_CORE_AIV, word(&calls), 0);
        CHECK(fine(add_wait(s.graph, task, s.window, 0, 1, 1)));
    }
    add_task(s.graph, "notifies", notify_own, TERN_CORE_AIV, word(s.window), 0);
    for (int i = 1; i <= 20; i++) {
        CHECK(run(&s) == 0);
        CHECK(calls == 20 * i);
    }
    return close_setting(&s);
}

static void a_waiting_task_holds_no_core(void **state)
{
    RUN_ON(1, no_core_held);
}

// The comparison moves with the runs and wraps around like the signal does; nothing is ever reset.
static int wrapping(tern_comm *comm, void *arg)
{
    struct setting s;
    _Atomic int calls = 0;
    CHECK(open_setting(&s, comm, 1) == 0);
    int task = add_task(s.graph, "waits", count_call, TERN_CORE_AIV, word(&calls), 0);
    tern_condition condition = {.window = s.window, .value = INT32_MAX - 10};
    CHECK(fine(tern_graph_add_wait(s.graph, task, &condition, 7)));
    CHECK(fine(tern_signal_notify(s.window, 0, 0, INT32_MAX - 17, TERN_NOTIFY_SET)));
    for (int i = 1; i <= 10; i++) {
        CHECK(fine(tern_chip_launch(s.chip, s.graph)));
        CHECK(fine(tern_signal_notify(s.window, 0, 0, 7, TERN_NOTIFY_ADD)));
        CHECK(fine(tern_chip_synchronize(s.chip)));
        CHECK(calls == i);
    }
    return close_setting(&s);
}

static void a_step_per_run_wraps_around(void **state)
{
    RUN_ON(1, wrapping);
}

enum { WORDS = 300, ROUNDS = 50, ROW = WORDS * 8, SIGNALS = 60000 };

// Puts a row that only this rank and run have into every rank's window, in a random order of ranks,
// and notifies.
static void send_rows(int64_t *args)
{
    struct setting *s = pointer(args[0]);
    uint64_t row[WORDS];
    int run_number = tern_kernel_run();
    for (size_t i = 0; i < WORDS; i++) {
        row[i] = (uint64_t)run_number << 32 | (uint64_t)s->rank << 16 | i;
    }
    for (int i = 0; i < s->size; i++) {
        int peer = (s->rank + i) % s->size;
        if (tern_put(s->window, peer, (size_t)s->rank * ROW, row, sizeof row) != TERN_OK ||
            tern_signal_notify(s->window, peer, SIGNALS + 4 * (size_t)s->rank, 1,
                               TERN_NOTIFY_ADD) != TERN_OK) {
            tern_kernel_fail("%s", tern_last_error());
            return;
        }
    }
}

// Reads the row of one rank with plain loads.
static void check_row(int64_t *args)
{
    struct setting *s = pointer(args[0]);
    const uint64_t *row =
        (const uint64_t *)tern_window_address(s->window, s->rank) + args[1] * WORDS;
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t wanted = (uint64_t)tern_kernel_run() << 32 | (uint64_t)args[1] << 16 | i;
        if (row[i] != wanted) {
            tern_kernel_fail("word %zu of rank %d is 0x%llx instead of 0x%llx", i, (int)args[1],
                             (unsigned long long)row[i], (unsigned long long)wanted);
            return;
        }
    }
}

static int all_to_all(tern_comm *comm, void *arg)
{
    struct setting s;
    CHECK(open_setting(&s, comm, 2) == 0);
    for (int peer = 0; peer < s.size; peer++) {
        int task = add_task(s.graph, "check", check_row, TERN_CORE_AIV, word(&s), peer);
        size_t offset = SIGNALS + 4 * (size_t)peer;
        CHECK(fine(add_wait(s.graph, task, s.window, offset, 1, 1)));
    }
    add_task(s.graph, "send", send_rows, TERN_CORE_AIV, word(&s), 0);
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(run(&s) == 0);
        CHECK(fine(tern_comm_barrier(comm))); // nobody overwrites what is still being read
    }
    for (int peer = 0; peer < s.size; peer++) {
        CHECK(signal_at(&s, SIGNALS + 4 * (size_t)peer) == ROUNDS);
    }
    CHECK(fine(tern_comm_barrier(comm)));
    return close_setting(&s);
}

static void what_peers_wrote_before_they_notified_is_seen(void **state)
{
    for (int i = 0; i < 6; i++) {
        RUN_ON(ranks_counts[i], all_to_all);
    }
    RUN_ON_MACHINES("aabbc", all_to_all);
}

// Takes the token from this rank's window, adds one, and passes it on.
static void pass_token(int64_t *args)
{
    struct setting *s = pointer(args[0]);
    int next = (s->rank + 1) % s->size;
    int64_t token = *(int64_t *)tern_window_address(s->window, s->rank) + 1;
    if (tern_put(s->window, next, 0, &token, sizeof token) != TERN_OK ||
        tern_signal_notify(s->window, next, 64, 1, TERN_NOTIFY_ADD) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

// Three laps in each run of a graph without any barrier: rank 0 starts the token, which then drives
// all others, and it ends where it began.
static int token_ring(tern_comm *comm, void *arg)
{
    enum { LAPS = 3, RUNS = 15 };
    struct setting s;
    CHECK(open_setting(&s, comm, 1) == 0);
    int before = -1;
    for (int lap = 0; lap < LAPS; lap++) {
        int task = add_task(s.graph, "pass", pass_token, TERN_CORE_AIV, word(&s), 0);
        int arrivals = lap + (s.rank == 0 ? 0 : 1);
        CHECK(fine(add_wait(s.graph, task, s.window, 64, arrivals, LAPS)));
        CHECK(before < 0 || fine(tern_graph_add_edge(s.graph, before, task)));
        before = task;
    }
    int last = add_task(s.graph, "receive", do_nothing, TERN_CORE_AIV, 0, 0);
    CHECK(fine(add_wait(s.graph, last, s.window, 64, LAPS, LAPS)));
    for (int i = 0; i < RUNS; i++) {
        CHECK(run(&s) == 0);
    }
    int64_t token = *(int64_t *)tern_window_address(s.window, s.rank);
    CHECK(signal_at(&s, 64) == LAPS * RUNS);
    CHECK(token == (LAPS * RUNS - 1) * s.size + (s.rank == 0 ? s.size : s.rank));
    CHECK(fine(tern_comm_barrier(comm)));
    return close_setting(&s);
}

static void a_token_goes_round_through_graphs(void **state)
{
    for (int i = 0; i < 6; i++) {
        RUN_ON(ranks_counts[i], token_ring);
    }
    RUN_ON_MACHINES("abcab", token_ring);
}

static int refusals(tern_comm *comm, void *arg)
{
    struct setting s;
    CHECK(open_setting(&s, comm, 1) == 0);
    int task = add_task(s.graph, "waits", do_nothing, TERN_CORE_AIV, 0, 0);
    tern_condition condition = {.window = s.window, .cmp = (tern_cmp)6};
    CHECK(says(tern_graph_add_wait(s.graph, task, &condition, 0), TERN_ERR_ARG, "no comparison"));
    CHECK(says(add_wait(s.graph, task, s.window, 2, 0, 0), TERN_ERR_ARG, "not 4-byte aligned"));
    CHECK(says(add_wait(s.graph, task, s.window, 65536, 0, 0), TERN_ERR_ARG, "beyond the 65536"));
    CHECK(fine(add_wait(s.graph, task, s.window, 65532, 0, 0)));
    tern_chip *alone;
    CHECK(fine(tern_chip_create(NULL, NULL, &alone)));
    CHECK(says(tern_chip_launch(alone, s.graph), TERN_ERR_ARG,
               "task 'waits' names a signal of another job than the chip's"));
    CHECK(fine(tern_chip_destroy(alone)));
    CHECK(run(&s) == 0);
    return close_setting(&s);
}

static void waits_that_cannot_be_are_refused(void **state)
{
    RUN_ON(1, refusals);
}

// While the core looks at signals, the scheduler sleeps where a notify does not ring it. On a busy
// machine that takes some runs.
static int quiet_notifies(tern_comm *comm, void *arg)
{
    enum { TASKS = 1000, GAP_NS = 20000 };
    struct setting s;
    _Atomic int calls = 0;
    int runs = 0;
    int quiet = 0;
    CHECK(open_setting(&s, comm, 1) == 0);
    const struct tern__bell *rung = tern__chip_bell(s.chip);
    for (int i = 0; i < TASKS; i++) {
        CHECK(add_task(s.graph, "waits", count_call, TERN_CORE_AIV, word(&calls), 0) == i);
        CHECK(i == 0 || fine(tern_graph_add_edge(s.graph, i - 1, i)));
        CHECK(fine(add_wait(s.graph, i, s.window, 8, i + 1, TASKS)));
    }
    for (const int64_t deadline = clock_ns() + 20000 * MS; quiet == 0 && clock_ns() < deadline;
         runs++) {
        CHECK(fine(tern_chip_launch(s.chip, s.graph)));
        for (int i = 0; i < TASKS; i++) {
            CHECK(fine(tern_signal_notify(s.window, 0, 8, 1, TERN_NOTIFY_ADD)));
            const int64_t end = clock_ns() + GAP_NS;
            while (clock_ns() < end) {
                quiet += tern__flag_load(&s.chip->nap_bell.sleepers) != 0 &&
                         tern__flag_load(&rung->sleepers) == 0;
            }
        }
        CHECK(fine(tern_chip_synchronize(s.chip)));
    }
    CHECK(calls == runs * TASKS);
    CHECK(quiet > 0);
    return close_setting(&s);
}

static void peers_do_not_ring_while_a_core_looks(void **state)
{
    RUN_ON(1, quiet_notifies);
}

// A kernel that runs until another core has run what waits for its signal.
static void notify_and_see(int64_t *args)
{
    if (tern_signal_notify(pointer(args[0]), 0, 8, 1, TERN_NOTIFY_ADD) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
    while (atomic_load((_Atomic int *)pointer(args[1])) == 0) {
        sched_yield();
    }
}

static int rings_again(tern_comm *comm, void *arg)
{
    enum { TURNS = 50 };
    struct setting s;
    CHECK(open_setting_of(&s, comm, 1, 1) == 0);
    _Atomic int *calls = calloc(TURNS, sizeof *calls);
    int before = -1;
    CHECK(calls != NULL);
    for (int i = 0; i < TURNS; i++) {
        int begins = add_task(s.graph, "begins", notify_and_see, TERN_CORE_AIV, word(s.window),
                              word(&calls[i]));
        int ends = add_task(s.graph, "ends", count_call, TERN_CORE_AIC, word(&calls[i]), 0);
        CHECK(before < 0 || fine(tern_graph_add_edge(s.graph, before, begins)));
        CHECK(fine(add_wait(s.graph, begins, s.window, 16, i + 1, 0)));
        CHECK(fine(add_wait(s.graph, ends, s.window, 8, i + 1, 0)));
        before = begins;
    }
    CHECK(fine(tern_chip_launch(s.chip, s.graph)));
    for (int i = 0; i < TURNS; i++) {
        CHECK(fine(tern_signal_notify(s.window, 0, 16, 1, TERN_NOTIFY_ADD)));
        if (i % 2 == 0) {
            sleep_ns(2 * MS);
        }
    }
    CHECK(fine(tern_chip_synchronize(s.chip)));
    free((void *)calls);
    return close_setting(&s);
}

static void signals_are_seen_while_cores_sleep_or_work(void **state)
{
    RUN_ON(1, rings_again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_waits_for_an_own_signal),
        cmocka_unit_test(a_task_that_an_orchestration_adds_waits_too),
        cmocka_unit_test(a_notify_wakes_the_scheduler),
        cmocka_unit_test(a_task_waits_for_all_of_its_signals),
        cmocka_unit_test(every_comparison_can_be_waited_for),
        cmocka_unit_test(a_waiting_task_holds_no_core),
        cmocka_unit_test(a_step_per_run_wraps_around),
        cmocka_unit_test(what_peers_wrote_before_they_notified_is_seen),
        cmocka_unit_test(a_token_goes_round_through_graphs),
        cmocka_unit_test(waits_that_cannot_be_are_refused),
        cmocka_unit_test(peers_do_not_ring_while_a_core_looks),
        cmocka_unit_test(signals_are_seen_while_cores_sleep_or_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
