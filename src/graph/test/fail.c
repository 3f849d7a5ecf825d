// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 120, ctest-machines: 2
// Runs that fail: kernels that say so, deadlines, kernels that block or never return. Each ends
// with a status and a sentence on every rank, in time.
#include "support/cmocka.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "comm/window.h"
#include "kit.h"
#include "sync/doing.h"

#define RUN_ON(count, body) assert_true(ranks_run_comm(count, body, NULL, 30))

static int make(tern_comm *comm, int cores, int64_t timeout_ns, tern_chip **chip,
                tern_graph **graph)
{
    tern_chip_options options = {.aic_count = 1, .aiv_count = cores, .timeout_ns = timeout_ns};
    *chip = NULL;
    *graph = NULL;
    CHECK(fine(tern_chip_create(comm, &options, chip)));
    CHECK(fine(tern_graph_create(graph)));
    return 0;
}

static int end(tern_chip *chip, tern_graph *graph)
{
    CHECK(fine(tern_chip_destroy(chip)));
    CHECK(fine(tern_graph_destroy(graph)));
    return 0;
}

static void fail_with(int64_t *args)
{
    tern_kernel_fail("value %d is wrong", (int)args[0]);
    tern_kernel_fail("a second sentence");
}

static void sleep_ms(int64_t *args)
{
    sleep_ns(args[0] * MS);
}

static void wait_for_flag(int64_t *args)
{
    while (atomic_load((_Atomic int *)pointer(args[0])) == 0) {
        sleep_ns(MS);
    }
}

static void a_kernel_that_fails_is_named_and_nothing_more_starts(void **state)
{
    tern_chip *chip;
    tern_graph *graph;
    _Atomic int calls = 0;
    assert_int_equal(make(NULL, 1, 0, &chip, &graph), 0);
    int first = add_task(graph, "first", count_call, TERN_CORE_AIV, word(&calls), 0);
    int boom = add_task(graph, "boom", fail_with, TERN_CORE_AIV, 42, 0);
    int after = add_task(graph, "after", count_call, TERN_CORE_AIV, word(&calls), 0);
    assert_true(fine(tern_graph_add_edge(graph, first, boom)));
    assert_true(fine(tern_graph_add_edge(graph, boom, after)));
    assert_true(fine(tern_chip_launch(chip, graph)));
    assert_true(says(tern_chip_synchronize(chip), TERN_ERR_KERNEL,
                     "task 'boom' failed: value 42 is wrong"));
    assert_true(said("1 of 3 tasks finished"));
    assert_null(strstr(tern_last_error(), "a second sentence"));
    assert_int_equal(calls, 1);
    assert_true(says(tern_chip_synchronize(chip), TERN_ERR_STATE, "nothing was launched"));
    assert_int_equal(end(chip, graph), 0);
}

// A chip without peers goes on after a failed run.
static void a_chip_without_a_communicator_works_after_a_failure(void **state)
{
    tern_chip *chip;
    tern_graph *bad;
    tern_graph *good;
    _Atomic int calls = 0;
    assert_int_equal(make(NULL, 2, 0, &chip, &bad), 0);
    assert_true(fine(tern_graph_create(&good)));
    add_task(bad, "boom", fail_with, TERN_CORE_AIV, 1, 0);
    add_task(good, "fine", count_call, TERN_CORE_AIV, word(&calls), 0);
    for (int i = 1; i <= 3; i++) {
        assert_true(fine(tern_chip_launch(chip, bad)));
        assert_true(says(tern_chip_synchronize(chip), TERN_ERR_KERNEL, "'boom' failed"));
        assert_true(fine(tern_chip_launch(chip, good)));
        assert_true(fine(tern_chip_synchronize(chip)));
        assert_int_equal(calls, i);
    }
    tern_graph_destroy(good);
    assert_int_equal(end(chip, bad), 0);
}

// A failing run waits for the kernels that are still running.
static void running_kernels_have_returned_after_a_failure(void **state)
{
    tern_chip *chip;
    tern_graph *graph;
    assert_int_equal(make(NULL, 2, 0, &chip, &graph), 0);
    add_task(graph, "slow", sleep_ms, TERN_CORE_AIV, 200, 0);
    add_task(graph, "boom", fail_with, TERN_CORE_AIV, 1, 0);
    int64_t begin = clock_ns();
    assert_true(fine(tern_chip_launch(chip, graph)));
    assert_true(says(tern_chip_synchronize(chip), TERN_ERR_KERNEL, "task 'slow' is running"));
    assert_true(clock_ns() - begin >= 200 * MS);
    assert_int_equal(end(chip, graph), 0);
}

// Rank 1's kernel fails while the others wait: half in a graph, half in a barrier.
static int failing_rank(tern_comm *comm, void *arg)
{
    tern_chip *chip;
    tern_graph *graph;
    tern_window *window;
    int rank = tern_comm_rank(comm);
    CHECK(fine(tern_window_create(comm, 64, NULL, &window)));
    CHECK(make(comm, 1, 0, &chip, &graph) == 0);
    if (rank == 1) {
        add_task(graph, "boom", fail_with, TERN_CORE_AIV, 7, 0);
    } else {
        int task = add_task(graph, "waits", do_nothing, TERN_CORE_AIV, 0, 0);
        CHECK(fine(add_wait(graph, task, window, 0, 1, 0)));
    }
    CHECK(fine(tern_comm_barrier(comm)));
    int64_t begin = clock_ns();
    if (rank % 2 == 1 || rank == 2) {
        int status = tern_chip_launch(chip, graph); // may come after rank 1's failure already
        CHECK((status == TERN_OK ? tern_chip_synchronize(chip) : status) == TERN_ERR_KERNEL);
    } else {
        CHECK(tern_comm_barrier(comm) == TERN_ERR_KERNEL);
    }
    CHECK(said("task 'boom' failed: value 7 is wrong"));
    CHECK(rank == 1 || said("rank 1"));
    CHECK(clock_ns() - begin < RANKS_SOON_NS);
    CHECK(tern_comm_health(comm) == TERN_ERR_KERNEL);
    CHECK(says(tern_chip_launch(chip, graph), TERN_ERR_KERNEL, "'boom' failed"));
    CHECK(end(chip, graph) == 0);
    CHECK(fine(tern_window_destroy(window)));
    return 0;
}

static void peers_of_a_failed_run_learn_why(void **state)
{
    RUN_ON(2, failing_rank);
    RUN_ON(5, failing_rank);
}

static int deadline(tern_comm *comm, void *arg)
{
    tern_chip *chip;
    tern_graph *graph;
    tern_window *window;
    CHECK(fine(tern_window_create(comm, 64, NULL, &window)));
    CHECK(make(comm, 1, 150 * MS, &chip, &graph) == 0);
    int quick = add_task(graph, "quick", do_nothing, TERN_CORE_AIC, 0, 0);
    int waits = add_task(graph, "waits", do_nothing, TERN_CORE_AIV, 0, 0);
    int never = add_task(graph, "never", do_nothing, TERN_CORE_AIV, 0, 0);
    add_task(graph, "slow", sleep_ms, TERN_CORE_AIV, 400, 0);
    CHECK(fine(tern_graph_add_edge(graph, quick, waits)));
    CHECK(fine(tern_graph_add_edge(graph, waits, never)));
    CHECK(fine(add_wait(graph, waits, window, 8, 5, 0)));
    CHECK(fine(tern_signal_notify(window, 0, 8, 3, TERN_NOTIFY_SET)));
    int64_t begin = clock_ns();
    CHECK(fine(tern_chip_launch(chip, graph)));
    CHECK(says(tern_chip_synchronize(chip), TERN_ERR_TIMEOUT, "it did not end within 0.15 s"));
    CHECK(said("run 0 of the graph") && said("1 of 4 tasks finished"));
    CHECK(said("task 'slow' is running on AIV 0"));
    CHECK(said("task 'waits' waits for the signal at byte 8 of window 0: seen 3, wanted >= 5"));
    CHECK(strstr(tern_last_error(), "never") == NULL);
    CHECK(strstr(tern_last_error(), "has not returned") == NULL);
    CHECK(clock_ns() - begin >= 400 * MS && clock_ns() - begin < RANKS_SOON_NS);
    CHECK(tern_comm_health(comm) == TERN_ERR_TIMEOUT);
    CHECK(end(chip, graph) == 0);
    CHECK(fine(tern_window_destroy(window)));
    return 0;
}

static void a_missed_deadline_names_what_runs_and_what_waits(void **state)
{
    RUN_ON(1, deadline);
}

// Rank 0 waits for a signal; the others do something else.
static int others_stay_away(tern_comm *comm, void *arg)
{
    tern_chip *chip;
    tern_graph *graph;
    tern_window *window;
    CHECK(fine(tern_window_create(comm, 64, NULL, &window)));
    if (tern_comm_rank(comm) == 0) {
        CHECK(make(comm, 1, 150 * MS, &chip, &graph) == 0);
        int waits = add_task(graph, "waits", do_nothing, TERN_CORE_AIV, 0, 0);
        CHECK(fine(add_wait(graph, waits, window, 8, 5, 0)));
        CHECK(fine(tern_chip_launch(chip, graph)));
        CHECK(says(tern_chip_synchronize(chip), TERN_ERR_TIMEOUT, "task 'waits' waits for"));
        CHECK(said("; rank 1 waits for the signal at byte 16 (process "));
        CHECK(said("; rank 2 is not waiting in tern (its process "));
        CHECK(strstr(tern_last_error(), "each other") == NULL);
        CHECK(end(chip, graph) == 0);
    } else if (tern_comm_rank(comm) == 1) {
        int status = tern_signal_wait(window, 16, TERN_CMP_EQ, 1, TERN_TIMEOUT_DEFAULT);
        CHECK(says(status, TERN_ERR_TIMEOUT, "run 0 of a graph on rank 0"));
        CHECK(said("; rank 2 is not waiting in tern (its process "));
    } else {
        while (tern_comm_health(comm) == TERN_OK) {
            sleep_ns(MS);
        }
    }
    CHECK(fine(tern_window_destroy(window)));
    return 0;
}

static void a_missed_deadline_says_what_the_other_ranks_do(void **state)
{
    RUN_ON(3, others_stay_away);
}

static void await_waiting(tern_comm *comm, int rank, const char *text)
{
    struct tern__doing doing = {.life = TERN__LIFE_ABSENT};
    while (!doing.for_signals || strstr(doing.text, text) == NULL) {
        sleep_ns(MS);
        tern__doing_look(comm->group.job->ctl, rank, &doing);
    }
}

// Ranks 0 and 1 wait in graphs and rank 2 beside one, each for a signal of the rank before it.
static int wait_in_a_ring(tern_comm *comm, void *arg)
{
    tern_chip *chip;
    tern_graph *graph;
    tern_window *window;
    const int rank = tern_comm_rank(comm);
    const size_t byte = 8 * (size_t)rank;
    int status;
    CHECK(fine(tern_window_create(comm, 64, NULL, &window)));
    CHECK(make(comm, 1, rank == 0 ? 150 * MS : 60000 * MS, &chip, &graph) == 0);
    int waits = add_task(graph, rank == 0 ? "head" : "next", do_nothing, TERN_CORE_AIV, 0, 0);
    CHECK(fine(add_wait(graph, waits, window, byte, 1, 0)));
    if (rank == 0) {
        await_waiting(comm, 1, "in run 0 of a graph, task 'next' for byte 8 of window 0");
        await_waiting(comm, 2, "for the signal at byte 16");
    }
    if (rank == 2) {
        status = tern_signal_wait(window, byte, TERN_CMP_GE, 1, TERN_TIMEOUT_DEFAULT);
    } else {
        CHECK(fine(tern_chip_launch(chip, graph)));
        status = tern_chip_synchronize(chip);
    }
    CHECK(says(status, TERN_ERR_TIMEOUT, "task 'head' waits for the signal at byte 0 of window 0"));
    CHECK(said("; ranks 0..2 wait for each other, as none of them runs a task that could notify; "
               "rank 1 waits in run 0 of a graph, task 'next' for byte 8 of window 0 (process "));
    CHECK(said("; rank 2 waits for the signal at byte 16 (process "));
    CHECK(end(chip, graph) == 0);
    CHECK(fine(tern_window_destroy(window)));
    return 0;
}

static void ranks_that_wait_for_each_other_are_named(void **state)
{
    RUN_ON(3, wait_in_a_ring);
}

static void wait_for_ever(int64_t *args)
{
    int status = tern_signal_wait(pointer(args[0]), 8, TERN_CMP_EQ, 5, TERN_TIMEOUT_DEFAULT);
    if (status != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

// As a kernel that never returns, until the communicator has failed.
static void go_on_long(int64_t *args)
{
    while (tern_comm_health(pointer(args[0])) == TERN_OK) {
        sleep_ns(MS);
    }
}

// Kernels of ranks 0 and 2 wait for a signal, that of rank 1 just runs: it is the one to look at.
static int one_kernel_runs_on(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    tern_chip *chip;
    tern_graph *graph;
    tern_window *window;
    CHECK(fine(ranks_join(rank, ranks, 2000 * MS, &comm)));
    CHECK(fine(tern_window_create(comm, 64, NULL, &window)));
    CHECK(make(comm, 1, 60000 * MS, &chip, &graph) == 0);
    add_task(graph, rank == 1 ? "goes on" : "waits", rank == 1 ? go_on_long : wait_for_ever,
             TERN_CORE_AIV, rank == 1 ? word(comm) : word(window), 0);
    CHECK(fine(tern_comm_barrier(comm)));
    CHECK(fine(tern_chip_launch(chip, graph)));
    int status = tern_chip_synchronize(chip);
    CHECK(rank == 1 || says(status, TERN_ERR_TIMEOUT, "waited 2 s for the signal"));
    CHECK(rank == 1 || said("rank 1 is running task 'goes on' on AIV 0 (process "));
    CHECK(rank == 1 || strstr(tern_last_error(), "running task 'waits'") == NULL);
    CHECK(rank == 1 || strstr(tern_last_error(), "each other") == NULL);
    CHECK(end(chip, graph) == 0);
    CHECK(fine(tern_window_destroy(window)));
    CHECK(fine(tern_comm_destroy(comm)));
    return 0;
}

static void a_kernel_that_runs_on_is_named_to_the_other_ranks(void **state)
{
    assert_true(ranks_run(3, one_kernel_runs_on, NULL, 60));
}

// All ranks wait in a graph and miss the deadline at once: none of them is taken for one that does
// not wait.
static int give_up_together(tern_comm *comm, void *arg)
{
    tern_chip *chip;
    tern_graph *graph;
    tern_window *window;
    CHECK(fine(tern_window_create(comm, 64, NULL, &window)));
    CHECK(make(comm, 1, 3000 * MS, &chip, &graph) == 0);
    int waits = add_task(graph, "waits", do_nothing, TERN_CORE_AIV, 0, 0);
    CHECK(fine(add_wait(graph, waits, window, 8, 5, 0)));
    CHECK(fine(tern_comm_barrier(comm)));
    CHECK(fine(tern_chip_launch(chip, graph)));
    CHECK(says(tern_chip_synchronize(chip), TERN_ERR_TIMEOUT, "task 'waits' waits for"));
    CHECK(!said("not waiting"));
    CHECK(end(chip, graph) == 0);
    CHECK(fine(tern_window_destroy(window)));
    return 0;
}

static void ranks_that_give_up_together_still_wait(void **state)
{
    RUN_ON(16, give_up_together);
}

static void count_slowly(int64_t *args)
{
    int64_t begin = clock_ns();
    while (clock_ns() - begin < 10000) {
    }
    count_call(args);
}

// Also when the cores always have something to do.
static void the_deadline_holds_for_a_busy_graph(void **state)
{
    enum { TASKS = 20000 };
    tern_chip *chip;
    tern_graph *graph;
    _Atomic int calls = 0;
    assert_int_equal(make(NULL, 2, 5 * MS, &chip, &graph), 0);
    for (int i = 0; i < TASKS; i++) {
        add_task(graph, "tiny", count_slowly, TERN_CORE_AIV, word(&calls), 0);
    }
    assert_true(fine(tern_chip_launch(chip, graph)));
    assert_true(says(tern_chip_synchronize(chip), TERN_ERR_TIMEOUT, "within 0.005 s"));
    assert_true(calls < TASKS);
    assert_int_equal(end(chip, graph), 0);
}

// Rank 0 misses its deadline; rank 1, whose own is far away, must not say that it missed one.
static int others_deadline(tern_comm *comm, void *arg)
{
    tern_chip *chip;
    tern_graph *graph;
    tern_window *window;
    int rank = tern_comm_rank(comm);
    CHECK(fine(tern_window_create(comm, 64, NULL, &window)));
    CHECK(make(comm, 1, rank == 0 ? 100 * MS : 60000 * MS, &chip, &graph) == 0);
    int task = add_task(graph, rank == 0 ? "short" : "long", do_nothing, TERN_CORE_AIV, 0, 0);
    CHECK(fine(add_wait(graph, task, window, 0, 1, 0)));
    CHECK(fine(tern_comm_barrier(comm)));
    int64_t begin = clock_ns();
    int status = tern_chip_launch(chip, graph); // may come after rank 0's failure already
    status = status == TERN_OK ? tern_chip_synchronize(chip) : status;
    CHECK(says(status, TERN_ERR_TIMEOUT, "did not end within 0.1 s"));
    CHECK(said("task 'short' waits") && strstr(tern_last_error(), "within 60 s") == NULL);
    CHECK(rank == 0 || (said("the communicator has failed") && said("on rank 0")));
    CHECK(clock_ns() - begin < RANKS_SOON_NS);
    CHECK(end(chip, graph) == 0);
    CHECK(fine(tern_window_destroy(window)));
    return 0;
}

static void a_deadline_missed_by_a_peer_is_told_as_that(void **state)
{
    RUN_ON(2, others_deadline);
}

static void block_in_wait(int64_t *args)
{
    if (tern_signal_wait(pointer(args[0]), 0, TERN_CMP_GE, 1, TERN_TIMEOUT_DEFAULT) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

// The kernel's own deadline is 60 s; the run's ends it.
static int blocked(tern_comm *comm, void *arg)
{
    tern_chip *chip;
    tern_graph *graph;
    tern_window *window;
    CHECK(fine(tern_window_create(comm, 64, NULL, &window)));
    CHECK(make(comm, 1, 150 * MS, &chip, &graph) == 0);
    add_task(graph, "blocked", block_in_wait, TERN_CORE_AIV, word(window), 0);
    int64_t begin = clock_ns();
    CHECK(fine(tern_chip_launch(chip, graph)));
    CHECK(says(tern_chip_synchronize(chip), TERN_ERR_TIMEOUT, "task 'blocked' is running"));
    CHECK(strstr(tern_last_error(), "has not returned") == NULL);
    CHECK(clock_ns() - begin < RANKS_SOON_NS);
    CHECK(end(chip, graph) == 0);
    CHECK(fine(tern_window_destroy(window)));
    return 0;
}

static void a_kernel_blocked_in_a_wait_is_freed_by_the_deadline(void **state)
{
    RUN_ON(1, blocked);
}

static void a_kernel_that_never_returns_is_named_and_left(void **state)
{
    tern_chip *chip;
    tern_graph *graph;
    _Atomic int go = 0;
    assert_int_equal(make(NULL, 1, 100 * MS, &chip, &graph), 0);
    add_task(graph, "endless", wait_for_flag, TERN_CORE_AIV, word(&go), 0);
    int64_t begin = clock_ns();
    assert_true(fine(tern_chip_launch(chip, graph)));
    assert_true(says(tern_chip_synchronize(chip), TERN_ERR_TIMEOUT,
                     "the kernel of task 'endless' has not returned"));
    assert_true(says(tern_chip_launch(chip, graph), TERN_ERR_STATE, "has not returned"));
    assert_true(says(tern_chip_destroy(chip), TERN_ERR_TIMEOUT, "'endless' has not returned"));
    assert_true(says(tern_graph_destroy(graph), TERN_ERR_STATE, "running"));
    assert_true(clock_ns() - begin < RANKS_SOON_NS);
    go = 1; // now it ends, and all can be freed
    int status;
    while ((status = tern_chip_destroy(chip)) == TERN_ERR_TIMEOUT) {
        assert_true(clock_ns() - begin < 2 * RANKS_SOON_NS);
        sleep_ns(MS);
    }
    assert_true(fine(status));
    assert_true(fine(tern_graph_destroy(graph)));
}

// After a late return the chip takes a new run.
static void a_chip_works_again_when_a_late_kernel_has_returned(void **state)
{
    tern_chip *chip;
    tern_graph *graph;
    _Atomic int go = 0;
    assert_int_equal(make(NULL, 1, 100 * MS, &chip, &graph), 0);
    add_task(graph, "late", wait_for_flag, TERN_CORE_AIV, word(&go), 0);
    assert_true(fine(tern_chip_launch(chip, graph)));
    assert_int_equal(tern_chip_synchronize(chip), TERN_ERR_TIMEOUT);
    go = 1;
    sleep_ns(200 * MS);
    assert_true(fine(tern_chip_launch(chip, graph)));
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_int_equal(end(chip, graph), 0);
}

static void leave_by_name(int number)
{
    const char *name = tern_kernel_name();
    _exit(name != NULL && strcmp(name, "breaks") == 0 ? 7 : number);
}

static void break_down(int64_t *args)
{
    *(volatile int *)pointer(args[0]) = 1;
}

// Threads of a chip block the signals of the program, but not the errors of its kernels.
static void a_handler_of_the_program_hears_of_a_bad_address_in_a_kernel(void **state)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        tern_chip *chip;
        tern_graph *graph;
        signal(SIGSEGV, leave_by_name);
        if (make(NULL, 1, 0, &chip, &graph) == 0) {
            add_task(graph, "breaks", break_down, TERN_CORE_AIV, 16, 0);
            fine(tern_chip_launch(chip, graph));
            fine(tern_chip_synchronize(chip));
        }
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_null(tern_kernel_name());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_fails_is_named_and_nothing_more_starts),
        cmocka_unit_test(a_chip_without_a_communicator_works_after_a_failure),
        cmocka_unit_test(running_kernels_have_returned_after_a_failure),
        cmocka_unit_test(peers_of_a_failed_run_learn_why),
        cmocka_unit_test(a_missed_deadline_names_what_runs_and_what_waits),
        cmocka_unit_test(a_missed_deadline_says_what_the_other_ranks_do),
        cmocka_unit_test(ranks_that_wait_for_each_other_are_named),
        cmocka_unit_test(a_kernel_that_runs_on_is_named_to_the_other_ranks),
        cmocka_unit_test(ranks_that_give_up_together_still_wait),
        cmocka_unit_test(the_deadline_holds_for_a_busy_graph),
        cmocka_unit_test(a_deadline_missed_by_a_peer_is_told_as_that),
        cmocka_unit_test(a_kernel_blocked_in_a_wait_is_freed_by_the_deadline),
        cmocka_unit_test(a_kernel_that_never_returns_is_named_and_left),
        cmocka_unit_test(a_chip_works_again_when_a_late_kernel_has_returned),
        cmocka_unit_test(a_handler_of_the_program_hears_of_a_bad_address_in_a_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
