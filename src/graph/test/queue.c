// SPDX-License-Identifier: Apache-2.0
// Launches that queue on a chip: their order, what the waits of each run want, what a failure does
// to those behind it, and what cannot be destroyed meanwhile.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kit.h"
#include "tern/signal.h"

enum { GRAPHS = 3, ROUNDS = 20, RUNS = 4 };

static char order[GRAPHS * ROUNDS + 1];
static int runs[GRAPHS * ROUNDS];
static size_t length;

// Two tasks a graph: nothing of the next run starts before the second has returned.
static void note_begin(int64_t *args)
{
    runs[length] = tern_kernel_run();
    order[length] = (char)args[0];
}

static void note_end(int64_t *args)
{
    length += order[length] == (char)args[0]; // still the same
}

static void launches_run_in_their_order(void **state)
{
    tern_chip *chip;
    tern_graph *graphs[GRAPHS];
    assert_true(fine(tern_chip_create(NULL, &(tern_chip_options){.aiv_count = 3}, &chip)));
    for (int i = 0; i < GRAPHS; i++) {
        assert_true(fine(tern_graph_create(&graphs[i])));
        add_task(graphs[i], "begin", note_begin, TERN_CORE_AIV, 'a' + i, 0);
        add_task(graphs[i], "end", note_end, TERN_CORE_AIV, 'a' + i, 0);
        assert_true(fine(tern_graph_add_edge(graphs[i], 0, 1)));
    }
    for (int i = 0; i < GRAPHS * ROUNDS; i++) {
        assert_true(fine(tern_chip_launch(chip, graphs[i % GRAPHS])));
    }
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_int_equal(length, GRAPHS * ROUNDS);
    for (int i = 0; i < GRAPHS * ROUNDS; i++) {
        assert_int_equal(order[i], 'a' + i % GRAPHS);
        assert_int_equal(runs[i], i / GRAPHS);
    }
    assert_true(fine(tern_chip_destroy(chip)));
    for (int i = 0; i < GRAPHS; i++) {
        assert_true(fine(tern_graph_destroy(graphs[i])));
    }
}

// A core that tells of its tasks may be so late that the next run has begun.
static void runs_follow_one_another_at_once(void **state)
{
    enum { TASKS = 8, LAUNCHES = 200 };
    tern_chip *chip;
    tern_graph *graph;
    _Atomic int calls = 0;
    assert_true(fine(tern_chip_create(NULL, &(tern_chip_options){.aiv_count = 4}, &chip)));
    assert_true(fine(tern_graph_create(&graph)));
    for (int i = 0; i < TASKS; i++) {
        assert_int_equal(add_task(graph, "count", count_call, TERN_CORE_AIV, word(&calls), 0), i);
    }
    for (int i = 0; i < LAUNCHES; i++) {
        assert_true(fine(tern_chip_launch(chip, graph)));
    }
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_int_equal(calls, TASKS * LAUNCHES);
    assert_true(fine(tern_chip_destroy(chip)));
    assert_true(fine(tern_graph_destroy(graph)));
}

static int each_run_waits_for_its_own(tern_comm *comm, void *arg)
{
    tern_chip *chip;
    tern_graph *graph;
    tern_window *window;
    _Atomic int calls = 0;
    CHECK(fine(tern_window_create(comm, 4096, NULL, &window)));
    CHECK(fine(tern_chip_create(comm, &(tern_chip_options){.aiv_count = 1}, &chip)));
    CHECK(fine(tern_graph_create(&graph)));
    CHECK(add_task(graph, "count", count_call, TERN_CORE_AIV, word(&calls), 0) == 0);
    CHECK(add_task(graph, "last", do_nothing, TERN_CORE_AIV, 0, 0) == 1);
    CHECK(fine(add_wait(graph, 0, window, 0, 5, 2)));
    CHECK(fine(tern_graph_add_edge(graph, 0, 1)));
    for (int run = 0; run < RUNS; run++) {
        CHECK(fine(tern_chip_launch(chip, graph)));
    }
    for (int run = 0; run < RUNS; run++) {
        CHECK(fine(tern_signal_notify(window, 0, 0, 4 + 2 * run, TERN_NOTIFY_SET)));
        sleep_ns(MS);
        CHECK(calls == run); // one below what this run wants
        CHECK(fine(tern_signal_notify(window, 0, 0, 5 + 2 * run, TERN_NOTIFY_SET)));
        while (calls == run) {
            sleep_ns(MS / 10);
        }
    }
    CHECK(fine(tern_chip_synchronize(chip)));
    CHECK(calls == RUNS);
    CHECK(fine(tern_chip_destroy(chip)));
    CHECK(fine(tern_graph_destroy(graph)));
    return tern_window_destroy(window);
}

static void the_waits_of_a_queued_run_are_those_of_its_number(void **state)
{
    assert_true(ranks_run_comm(1, each_run_waits_for_its_own, NULL, 30));
}

static void fail_when_told(int64_t *args)
{
    while (*(_Atomic int *)pointer(args[0]) == 0) {
        sleep_ns(MS / 10);
    }
    tern_kernel_fail("tile 3 is empty");
}

static void a_failure_keeps_those_behind_it_from_starting(void **state)
{
    _Atomic int go = 0;
    _Atomic int calls = 0;
    tern_chip *chip;
    tern_graph *bad;
    tern_graph *good;
    assert_true(fine(tern_chip_create(NULL, &(tern_chip_options){.aiv_count = 1}, &chip)));
    assert_true(fine(tern_graph_create(&bad)));
    assert_true(fine(tern_graph_create(&good)));
    add_task(bad, "bad", fail_when_told, TERN_CORE_AIV, word(&go), 0);
    add_task(good, "good", count_call, TERN_CORE_AIV, word(&calls), 0);
    for (int behind = 2; behind >= 1; behind--) {
        go = 0;
        assert_true(fine(tern_chip_launch(chip, good)));
        assert_true(fine(tern_chip_launch(chip, bad)));
        for (int i = 0; i < behind; i++) {
            assert_true(fine(tern_chip_launch(chip, good)));
        }
        go = 1;
        assert_true(says(tern_chip_synchronize(chip), TERN_ERR_KERNEL, "tile 3 is empty"));
        assert_true(said(behind == 2 ? "; 2 launches behind it did not start"
                                     : "; 1 launch behind it did not start"));
        assert_int_equal(calls, 1);
        assert_true(says(tern_chip_synchronize(chip), TERN_ERR_STATE, "nothing was launched"));
        assert_true(fine(tern_chip_launch(chip, good))); // the chip takes launches again
        assert_true(fine(tern_chip_synchronize(chip)));
        assert_int_equal(calls, 2);
        calls = 0;
    }
    assert_true(fine(tern_chip_destroy(chip)));
    assert_true(fine(tern_graph_destroy(bad)));
    assert_true(fine(tern_graph_destroy(good)));
}

static void wait_for_flag(int64_t *args)
{
    while (*(_Atomic int *)pointer(args[0]) == 0) {
        sleep_ns(MS / 10);
    }
}

static void what_is_queued_is_not_destroyed(void **state)
{
    _Atomic int go = 0;
    _Atomic int calls = 0;
    tern_chip *chip;
    tern_chip *other;
    tern_graph *first;
    tern_graph *queued;
    tern_graph *refused;
    assert_true(fine(tern_chip_create(NULL, &(tern_chip_options){.aiv_count = 1}, &chip)));
    assert_true(fine(tern_chip_create(NULL, &(tern_chip_options){.aiv_count = 1}, &other)));
    assert_true(fine(tern_graph_create(&first)));
    assert_true(fine(tern_graph_create(&queued)));
    add_task(first, "held", wait_for_flag, TERN_CORE_AIV, word(&go), 0);
    add_task(queued, "count", count_call, TERN_CORE_AIV, word(&calls), 0);
    assert_true(fine(tern_chip_launch(chip, first)));
    for (int i = 1; i < TERN_CHIP_LAUNCHES_MAX; i++) {
        assert_true(fine(tern_chip_launch(chip, queued)));
    }
    assert_true(
        says(tern_chip_launch(chip, queued), TERN_ERR_LIMIT, "256 launches have not ended"));
    assert_true(fine(tern_graph_create(&refused)));
    assert_true(
        says(tern_chip_launch(chip, refused), TERN_ERR_LIMIT, "256 launches have not ended"));
    assert_int_equal(add_task(refused, "more", do_nothing, TERN_CORE_AIV, 0, 0), 0);
    assert_true(fine(tern_graph_destroy(refused)));
    assert_true(says(tern_graph_destroy(queued), TERN_ERR_STATE, "its turn has not come"));
    assert_true(says(tern_graph_destroy(first), TERN_ERR_STATE, "the graph is running"));
    assert_true(says(tern_chip_launch(other, queued), TERN_ERR_STATE, "runs on another chip"));
    assert_int_equal(calls, 0);
    go = 1;
    assert_true(fine(tern_chip_destroy(chip))); // finishes what is queued first
    assert_int_equal(calls, TERN_CHIP_LAUNCHES_MAX - 1);
    assert_true(fine(tern_chip_launch(other, queued)));
    assert_true(fine(tern_chip_synchronize(other)));
    assert_true(fine(tern_chip_destroy(other)));
    assert_true(fine(tern_graph_destroy(first)));
    assert_true(fine(tern_graph_destroy(queued)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_run_in_their_order),
        cmocka_unit_test(runs_follow_one_another_at_once),
        cmocka_unit_test(the_waits_of_a_queued_run_are_those_of_its_number),
        cmocka_unit_test(a_failure_keeps_those_behind_it_from_starting),
        cmocka_unit_test(what_is_queued_is_not_destroyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
