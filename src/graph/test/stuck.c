// SPDX-License-Identifier: Apache-2.0
// Order and endings that are easily got wrong: tasks of several calls beside long chains; waits
// that are in vain; ends that are deferred to words and signals; kernels and orchestrations that do
// not return in time, and later do; ranks that die; two chips of one process.
#include "support/cmocka.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "rings_kit.h"

static _Atomic int counter, seen_by_gang, release;

static void count_on(int64_t *args)
{
    atomic_fetch_add(&counter, 1);
}

static void see_counter(int64_t *args)
{
    atomic_store(&seen_by_gang, atomic_load(&counter));
}

static void await_release(int64_t *args)
{
    while (atomic_load(&release) == 0) {
        sleep_ns(MS);
    }
}

static void nap(int64_t *args)
{
    sleep_ns(args[0]);
}

static void fail_now(int64_t *args)
{
    tern_kernel_fail("no more");
}

// Both become ready with the end of the first task; a core that goes on with the chain gives way.
static void a_chain_gives_way_to_a_task_of_blocks(void **state)
{
    enum { CHAIN = 1000 };
    tern_chip *chip = chip_of(0, 1);
    tern_graph *graph;
    int gang;
    assert_true(fine(tern_graph_create(&graph)));
    for (int i = 0; i < CHAIN; i++) {
        assert_true(add_task(graph, "link", count_on, TERN_CORE_AIV, 0, 0) == i);
        if (i > 0) {
            assert_true(fine(tern_graph_add_edge(graph, i - 1, i)));
        }
    }
    tern_task blocks = {.kernel = see_counter, .core = TERN_CORE_AIV, .blocks = 2};
    assert_true(fine(tern_graph_add_task(graph, &blocks, &gang)));
    assert_true(fine(tern_graph_add_edge(graph, 0, gang)));
    assert_true(fine(tern_chip_launch(chip, graph)));
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_int_equal(counter, CHAIN);
    assert_true(seen_by_gang < 10);
    assert_true(fine(tern_chip_destroy(chip)));
    assert_true(fine(tern_graph_destroy(graph)));
}

static void defer_to_signal(int64_t *args)
{
    tern_condition condition = {.window = pointer(args[0]),
                                .offset_bytes = 4,
                                .cmp = TERN_CMP_GE,
                                .value = 1};
    if (tern_kernel_defer(&condition) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

// A task fails at once; another one ends later, and before what waits for signals that never come.
static int waits_in_vain(tern_comm *comm, void *arg)
{
    _Atomic int calls = 0;
    tern_window *window;
    tern_chip *chip;
    tern_graph *graph;
    CHECK(fine(tern_window_create(comm, 4096, NULL, &window)));
    tern_chip_options options = {.aiv_count = 2, .timeout_ns = 20000 * MS};
    CHECK(fine(tern_chip_create(comm, &options, &chip)));
    CHECK(fine(tern_graph_create(&graph)));
    int fails = add_task(graph, "fails", fail_now, TERN_CORE_AIV, 0, 0);
    int naps = add_task(graph, "naps", nap, TERN_CORE_AIV, 300 * MS, 0);
    int waits = add_task(graph, "waits", count_call, TERN_CORE_AIV, word(&calls), 0);
    int defers = add_task(graph, "defers", defer_to_signal, TERN_CORE_AIV, word(window), 0);
    int after = add_task(graph, "after", count_call, TERN_CORE_AIV, word(&calls), 0);
    CHECK(fails >= 0 && fine(add_wait(graph, waits, window, 0, 1, 0)));
    CHECK(fine(tern_graph_add_edge(graph, naps, waits)));
    CHECK(fine(tern_graph_add_edge(graph, naps, defers)));
    CHECK(fine(tern_graph_add_edge(graph, defers, after)));
    int64_t begin_ns = clock_ns();
    CHECK(fine(tern_chip_launch(chip, graph)));
    CHECK(says(tern_chip_synchronize(chip), TERN_ERR_KERNEL, "task 'fails' failed: no more"));
    CHECK(calls == 0);
    CHECK(clock_ns() - begin_ns < RANKS_SOON_NS);
    CHECK(fine(tern_chip_destroy(chip)));
    CHECK(fine(tern_graph_destroy(graph)));
    CHECK(fine(tern_window_destroy(window)));
    return 0;
}

static void what_waits_in_vain_does_not_run(void **state)
{
    assert_true(ranks_run_comm(1, waits_in_vain, NULL, 60));
}

static int submit_waiting(tern_graph *graph, void *window)
{
    tern_condition condition = {.window = window, .cmp = TERN_CMP_GE, .value = 1};
    tern_submission submission = {
        .task = {.name = "waits", .kernel = do_nothing, .core = TERN_CORE_AIV},
        .waits = &condition,
        .waits_count = 1,
    };
    return tern_graph_submit(graph, &submission, NULL);
}

// A chip without a communicator is not rung by anybody's signals.
static int foreign_signal(tern_comm *comm, void *arg)
{
    tern_window *window;
    tern_chip *chip;
    tern_graph *graph;
    CHECK(fine(tern_window_create(comm, 4096, NULL, &window)));
    CHECK(fine(tern_chip_create(NULL, &(tern_chip_options){.timeout_ns = 20000 * MS}, &chip)));
    CHECK(fine(tern_graph_create(&graph)));
    CHECK(add_task(graph, "defers", defer_to_signal, TERN_CORE_AIV, word(window), 0) == 0);
    CHECK(fine(tern_chip_launch(chip, graph)));
    CHECK(says(tern_chip_synchronize(chip), TERN_ERR_KERNEL, "another job than the chip's"));
    CHECK(tern_chip_code(chip) == 101);
    CHECK(says(run_rings(chip, NULL, submit_waiting, window, false), TERN_ERR_ARG,
               "task 'waits' names a signal of another job than the chip's"));
    CHECK(tern_chip_code(chip) == 5);
    CHECK(fine(tern_chip_destroy(chip)));
    CHECK(fine(tern_graph_destroy(graph)));
    CHECK(fine(tern_window_destroy(window)));
    return 0;
}

static void tasks_wait_for_signals_of_their_job_only(void **state)
{
    assert_true(ranks_run_comm(1, foreign_signal, NULL, 60));
}

// Each rank's task ends with a signal of the rank before it; a task behind it tells the next.
static void tell_next(int64_t *args)
{
    tern_window *window = pointer(args[0]);
    if (tern_signal_notify(window, (int)args[1], 4, 1, TERN_NOTIFY_SET) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

static int deferred_ring(tern_comm *comm, void *arg)
{
    _Atomic int calls = 0;
    tern_window *window;
    tern_chip *chip;
    tern_graph *graph;
    int rank = tern_comm_rank(comm);
    int size = tern_comm_size(comm);
    CHECK(fine(tern_window_create(comm, 4096, NULL, &window)));
    tern_chip_options options = {.aiv_count = 1, .timeout_ns = 30000 * MS};
    CHECK(fine(tern_chip_create(comm, &options, &chip)));
    CHECK(fine(tern_graph_create(&graph)));
    int defers = add_task(graph, "defers", defer_to_signal, TERN_CORE_AIV, word(window), 0);
    int after = add_task(graph, "after", count_call, TERN_CORE_AIV, word(&calls), 0);
    int tells = add_task(graph, "tells", tell_next, TERN_CORE_AIV, word(window), (rank + 1) % size);
    CHECK(fine(tern_graph_add_edge(graph, defers, after)));
    if (rank != 0) {
        CHECK(fine(tern_graph_add_edge(graph, after, tells)));
    }
    CHECK(fine(tern_chip_launch(chip, graph)));
    CHECK(fine(tern_chip_synchronize(chip)));
    CHECK(calls == 1);
    CHECK(fine(tern_chip_destroy(chip)));
    CHECK(fine(tern_graph_destroy(graph)));
    CHECK(fine(tern_window_destroy(window)));
    return 0;
}

static void a_task_ends_with_a_signal_of_another_rank(void **state)
{
    assert_true(ranks_run_counts(1, 5, deferred_ring, NULL, 60));
}

static uint32_t host_words[4];

static void defer_to_words(int64_t *args)
{
    for (int i = 0; i < 4; i++) {
        if (tern_kernel_defer_word(&host_words[i], 5) != TERN_OK) {
            tern_kernel_fail("%s", tern_last_error());
        }
    }
}

static int submit_deferred(tern_graph *graph, void *arg)
{
    static int64_t cell;
    tern_region region = row_of(&cell, 1, TERN_REGION_I64);
    tern_task defers = {.core = TERN_CORE_AIV, .kernel = defer_to_words, .blocks = 3};
    tern_task after = {.core = TERN_CORE_AIV, .kernel = count_on};
    tern_task_arg args[] = {region_arg(TERN_INOUT, &region)};
    TRY(submit(graph, &defers, args, 1, NULL));
    return submit(graph, &after, args, 1, NULL);
}

// The host sets the words one after the other, the last one later.
static void a_task_ends_with_words_that_the_host_sets(void **state)
{
    tern_chip *chip = chip_of(0, 1);
    tern_graph *graph;
    assert_true(fine(tern_graph_create_rings(NULL, &graph)));
    for (int first = 0; first < 2; first++) {
        tern_orchestrate_options options = {.build_first = first != 0};
        memset(host_words, 0, sizeof host_words);
        atomic_store(&counter, 0);
        assert_true(fine(tern_chip_orchestrate(chip, graph, submit_deferred, NULL, &options)));
        for (int i = 0; i < 4; i++) {
            atomic_store((_Atomic uint32_t *)&host_words[i], 4);
            sleep_ns(10 * MS);
            assert_int_equal(counter, 0);
            atomic_store((_Atomic uint32_t *)&host_words[i], 5 + (uint32_t)i);
        }
        assert_true(fine(tern_chip_synchronize(chip)));
        assert_int_equal(counter, 1);
    }
    assert_true(fine(tern_graph_destroy(graph)));
    assert_true(fine(tern_chip_destroy(chip)));
}

// Until the kernel has returned, and a run ends within its short deadline on a busy machine.
static void await_free(tern_chip *chip, tern_graph *graph)
{
    int status = TERN_ERR_STATE;
    for (int i = 0; i < 20000 && (status == TERN_ERR_STATE || status == TERN_ERR_TIMEOUT); i++) {
        sleep_ns(MS);
        status = tern_chip_launch(chip, graph);
        status = status == TERN_OK ? tern_chip_synchronize(chip) : status;
    }
    assert_true(fine(status));
}

static int submit_stuck(tern_graph *graph, void *arg)
{
    tern_task task = {.name = "stuck", .core = TERN_CORE_AIV, .kernel = await_release};
    task.blocks = *(int *)arg;
    return submit(graph, &task, NULL, 0, NULL);
}

static int never_return(tern_graph *graph, void *arg)
{
    await_release(NULL);
    return submit(graph, &(tern_task){.core = TERN_CORE_NONE}, NULL, 0, NULL);
}

// `words`: what the sentences say of it.
static void check_stuck(tern_orchestration orchestration, int blocks, const char *words)
{
    // As long as it may take to come so far.
    tern_chip *chip = chip_within(0, 2, (SANITIZED ? 1000 : 100) * MS);
    tern_graph *other;
    tern_graph *graph;
    atomic_store(&release, 0);
    assert_true(fine(tern_graph_create(&other)));
    assert_true(add_task(other, "naps", nap, TERN_CORE_AIV, 0, 0) == 0);
    assert_true(fine(tern_graph_create_rings(NULL, &graph)));
    assert_true(fine(tern_chip_orchestrate(chip, graph, orchestration, &blocks, NULL)));
    assert_true(fine(tern_chip_launch(chip, other)));
    assert_true(says(tern_chip_synchronize(chip), TERN_ERR_TIMEOUT, words));
    assert_true(said("1 launch behind it did not start"));
    assert_int_equal(tern_chip_code(chip), 100);
    assert_true(says(tern_chip_launch(chip, other), TERN_ERR_STATE, words));
    assert_true(says(tern_chip_orchestrate(chip, graph, orchestration, &blocks, NULL),
                     TERN_ERR_STATE, words));
    assert_true(says(tern_chip_destroy(chip), TERN_ERR_TIMEOUT, words));
    assert_true(says(tern_graph_destroy(graph), TERN_ERR_STATE, ""));
    atomic_store(&release, 1);
    await_free(chip, other);
    assert_true(fine(tern_chip_destroy(chip)));
    chip = chip_of(0, 2); // the graph is free, too
    assert_true(fine(tern_chip_orchestrate(chip, graph, orchestration, &blocks, NULL)));
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_true(fine(tern_chip_destroy(chip)));
    assert_true(fine(tern_graph_destroy(graph)));
    assert_true(fine(tern_graph_destroy(other)));
}

static void a_kernel_that_does_not_return_is_named(void **state)
{
    check_stuck(submit_stuck, 1, "the kernel of task 'stuck'");
    check_stuck(submit_stuck, 5, "the kernel of task 'stuck'");
}

// Like a wait of its own with the chip's deadline, which began a little later than the run.
static void wait_in_vain(int64_t *args)
{
    sleep_ns(args[0]);
    tern_kernel_fail("nobody has come");
}

// On a busy machine the kernel may be later than the scheduler allows: then another time.
static void a_kernel_that_waited_in_vain_says_for_what(void **state)
{
    bool told = false;
    for (int i = 0; i < 20 && !told; i++) {
        tern_chip *chip = chip_within(0, 1, 200 * MS);
        tern_graph *graph;
        assert_true(fine(tern_graph_create(&graph)));
        assert_true(add_task(graph, "waits", wait_in_vain, TERN_CORE_AIV, 205 * MS, 0) == 0);
        assert_true(fine(tern_chip_launch(chip, graph)));
        assert_true(tern_chip_synchronize(chip) != TERN_OK);
        told = said("task 'waits' failed: nobody has come");
        assert_true(fine(tern_chip_destroy(chip)));
        assert_true(fine(tern_graph_destroy(graph)));
    }
    assert_true(told);
}

static void an_orchestration_that_does_not_return_is_named(void **state)
{
    check_stuck(never_return, 1, "the orchestration");
}

static int leave_unpublished(tern_graph *graph, void *arg)
{
    int first = add_task(graph, "first", count_on, TERN_CORE_AIV, 0, 0);
    int second = add_task(graph, "second", count_on, TERN_CORE_AIV, 0, 0);
    int third = add_task(graph, "third", count_on, TERN_CORE_AIV, 0, 0);
    TRY(tern_graph_add_edge(graph, first, second));
    TRY(tern_graph_add_edge(graph, second, third));
    TRY(tern_graph_publish(graph, third));
    return tern_graph_publish(graph, first);
}

static int return_error(tern_graph *graph, void *arg)
{
    TRY(leave_unpublished(graph, arg) == TERN_OK ? TERN_OK : TERN_ERR_STATE);
    return tern_graph_add_edge(graph, 0, 99);
}

static void what_is_never_published_fails_the_run(void **state)
{
    for (int i = 0; i < 4; i++) {
        tern_chip *chip = chip_of(0, 2);
        tern_graph *graph;
        atomic_store(&counter, 0);
        assert_true(fine(tern_graph_create(&graph)));
        assert_true(
            fine(tern_chip_orchestrate(chip, graph, i < 2 ? leave_unpublished : return_error, NULL,
                                       &(tern_orchestrate_options){i % 2 != 0})));
        assert_true(says(tern_chip_synchronize(chip), i < 2 ? TERN_ERR_STATE : TERN_ERR_ARG,
                         i < 2 ? "task 'second' was never published" : "there is no task 99"));
        assert_int_equal(tern_chip_code(chip), i < 2 ? 5 : 9);
        assert_int_equal(counter, 1); // the first
        assert_true(fine(tern_graph_destroy(graph)));
        assert_true(fine(tern_chip_destroy(chip)));
    }
}

static int build_waiting(tern_graph *graph, void *arg)
{
    tern_condition condition = {.window = arg, .cmp = TERN_CMP_GE, .value = 1};
    tern_submission waits = {.task = {.name = "waits", .core = TERN_CORE_AIV, .kernel = count_on},
                             .waits = &condition,
                             .waits_count = 1};
    return tern_graph_submit(graph, &waits, NULL);
}

// Rank 1 dies while the tasks of the others wait for it.
static int with_a_death(tern_comm *comm, void *arg)
{
    tern_window *window;
    tern_chip *chip;
    tern_graph *graph;
    CHECK(fine(tern_window_create(comm, 4096, NULL, &window)));
    tern_chip_options options = {.aiv_count = 2, .timeout_ns = 60000 * MS};
    CHECK(fine(tern_chip_create(comm, &options, &chip)));
    CHECK(fine(tern_graph_create_rings(NULL, &graph)));
    CHECK(fine(tern_chip_orchestrate(chip, graph, build_waiting, window, NULL)));
    if (tern_comm_rank(comm) == 1) {
        sleep_ns(100 * MS);
        raise(SIGKILL);
    }
    CHECK(says(tern_chip_synchronize(chip), TERN_ERR_PEER, "rank 1"));
    CHECK(atomic_load(&counter) == 0);
    CHECK(fine(tern_chip_destroy(chip)));
    CHECK(fine(tern_graph_destroy(graph)));
    CHECK(fine(tern_window_destroy(window)));
    return 0;
}

static int join_and_die(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    CHECK(fine(ranks_join(rank, ranks, 60000 * MS, &comm)));
    CHECK(with_a_death(comm, arg) == 0);
    return tern_comm_destroy(comm) == TERN_OK ? 0 : 1;
}

static void a_rank_that_dies_ends_the_run_of_an_orchestration(void **state)
{
    struct ranks ranks;
    atomic_store(&counter, 0);
    ranks_begin(&ranks, 3, join_and_die, NULL);
    assert_true(ranks_wait(&ranks, 60));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ranks.statuses[i], i == 1 ? SIGKILL : 0);
    }
    assert_true(ranks_end(&ranks));
}

static void add_into(int64_t *args)
{
    uint64_t *cell = tern_region_data(pointer(args[0]));
    *cell = *cell * 3 + (uint64_t)args[1];
}

static int submit_chain(tern_graph *graph, void *arg)
{
    tern_region cell = row_of(arg, 1, TERN_REGION_I64);
    tern_task task = {.core = TERN_CORE_AIV, .kernel = add_into};
    for (int i = 0; i < 500; i++) {
        tern_task_arg args[] = {region_arg(TERN_INOUT, &cell), scalar_arg(i)};
        TRY(submit(graph, &task, args, 2, NULL));
    }
    return TERN_OK;
}

static void two_chips_run_different_graphs_at_once(void **state)
{
    tern_chip *chips[2] = {chip_of(0, 2), chip_of(2, 3)};
    tern_graph *graphs[2];
    int64_t cells[2] = {0, 0};
    uint64_t wanted = 0;
    for (int i = 0; i < 2; i++) {
        assert_true(fine(tern_graph_create_rings(NULL, &graphs[i])));
    }
    for (int run = 0; run < 20; run++) {
        for (int i = 0; i < 2; i++) {
            assert_true(
                fine(tern_chip_orchestrate(chips[i], graphs[i], submit_chain, &cells[i], NULL)));
        }
    }
    for (int i = 0; i < 2; i++) {
        assert_true(fine(tern_chip_synchronize(chips[i])));
    }
    for (int i = 0; i < 500 * 20; i++) {
        wanted = wanted * 3 + (uint64_t)(i % 500);
    }
    assert_true((uint64_t)cells[0] == wanted && (uint64_t)cells[1] == wanted);
    for (int i = 0; i < 2; i++) {
        assert_true(fine(tern_chip_destroy(chips[i])));
        assert_true(fine(tern_graph_destroy(graphs[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_gives_way_to_a_task_of_blocks),
        cmocka_unit_test(what_waits_in_vain_does_not_run),
        cmocka_unit_test(tasks_wait_for_signals_of_their_job_only),
        cmocka_unit_test(a_task_ends_with_a_signal_of_another_rank),
        cmocka_unit_test(a_task_ends_with_words_that_the_host_sets),
        cmocka_unit_test(a_kernel_that_does_not_return_is_named),
        cmocka_unit_test(a_kernel_that_waited_in_vain_says_for_what),
        cmocka_unit_test(an_orchestration_that_does_not_return_is_named),
        cmocka_unit_test(what_is_never_published_fails_the_run),
        cmocka_unit_test(a_rank_that_dies_ends_the_run_of_an_orchestration),
        cmocka_unit_test(two_chips_run_different_graphs_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
