// SPDX-License-Identifier: Apache-2.0
// Cycles: found by the launch, named in the sentence, before any kernel runs.
#include "support/cmocka.h"

#include "kit.h"

static _Atomic int calls;

// A graph of `count` tasks t0, t1, … without edges.
static tern_graph *tasks(int count)
{
    tern_graph *graph;
    assert_true(fine(tern_graph_create(&graph)));
    calls = 0;
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        assert_int_equal(add_task(graph, name, count_call, i % 2 ? TERN_CORE_AIV : TERN_CORE_AIC,
                                  word(&calls), 0),
                         i);
    }
    return graph;
}

static void edge(tern_graph *graph, int from, int to)
{
    assert_true(fine(tern_graph_add_edge(graph, from, to)));
}

// Launches and expects the refusal, twice: the graph is as it was. Leaves the sentence in
// tern_last_error().
static void refuse(tern_graph *graph)
{
    tern_chip *chip;
    char first[1024];
    assert_true(fine(tern_chip_create(NULL, NULL, &chip)));
    assert_true(says(tern_chip_launch(chip, graph), TERN_ERR_CYCLE, "the graph has a cycle: "));
    snprintf(first, sizeof first, "%s", tern_last_error());
    assert_true(says(tern_chip_synchronize(chip), TERN_ERR_STATE, "nothing was launched"));
    assert_int_equal(tern_chip_launch(chip, graph), TERN_ERR_CYCLE);
    assert_string_equal(tern_last_error(), first);
    assert_true(fine(tern_chip_destroy(chip)));
    assert_int_equal(calls, 0);
}

static void two_tasks_in_a_cycle_are_named(void **state)
{
    tern_graph *graph = tasks(2);
    edge(graph, 0, 1);
    edge(graph, 1, 0);
    refuse(graph);
    assert_true(said("'t0'") && said("'t1'"));
    tern_graph_destroy(graph);
}

static void three_tasks_in_a_cycle_are_named_in_their_order(void **state)
{
    tern_graph *graph = tasks(3);
    edge(graph, 0, 1);
    edge(graph, 1, 2);
    edge(graph, 2, 0);
    refuse(graph);
    bool right = strstr(tern_last_error(), "'t0' after 't2' after 't1' after 't0'") != NULL ||
                 strstr(tern_last_error(), "'t1' after 't0' after 't2' after 't1'") != NULL ||
                 strstr(tern_last_error(), "'t2' after 't1' after 't0' after 't2'") != NULL;
    assert_true(right || said("the three tasks in order"));
    tern_graph_destroy(graph);
}

// As many as fit are named, and the sentence says how many are not.
static void a_cycle_of_1000_tasks_is_named_in_part(void **state)
{
    tern_graph *graph = tasks(1000);
    for (int i = 0; i < 1000; i++) {
        edge(graph, i, (i + 1) % 1000);
    }
    refuse(graph);
    int named = 0;
    for (const char *at = tern_last_error(); (at = strstr(at, " after '")) != NULL; at++) {
        named++;
    }
    assert_true(named >= 10);
    char rest[64];
    snprintf(rest, sizeof rest, "and %d more", 1000 - named);
    assert_true(said(rest));
    tern_graph_destroy(graph);
}

// Good parts before, beside and behind the cycle, none of which is named or run.
static void a_cycle_next_to_good_parts_is_refused_before_any_kernel_runs(void **state)
{
    tern_graph *graph = tasks(100);
    for (int i = 0; i < 40; i++) {
        edge(graph, i, i + 1); // leads into the cycle 40 -> 41 -> 42 -> 40
    }
    edge(graph, 40, 41);
    edge(graph, 41, 42);
    edge(graph, 42, 40);
    edge(graph, 80, 41); // a second way into it
    for (int i = 42; i < 70; i++) {
        edge(graph, i, i + 1); // behind it
    }
    refuse(graph);
    int named = 0;
    for (int i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "'t%d'", i);
        if (strstr(tern_last_error(), name) != NULL) {
            assert_in_range(i, 40, 42);
            named++;
        }
    }
    assert_int_equal(named, 3);
    tern_graph_destroy(graph);
}

// Dense acyclic graphs are not mistaken for cycles.
static void a_graph_with_all_forward_edges_has_no_cycle(void **state)
{
    tern_graph *graph = tasks(60);
    for (int from = 0; from < 60; from++) {
        for (int to = from + 1; to < 60; to++) {
            edge(graph, 59 - from, 59 - to); // against the order of ids
        }
    }
    tern_chip *chip;
    assert_true(fine(tern_chip_create(NULL, NULL, &chip)));
    assert_true(fine(tern_chip_launch(chip, graph)));
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_true(fine(tern_chip_destroy(chip)));
    assert_int_equal(calls, 60);
    tern_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_tasks_in_a_cycle_are_named),
        cmocka_unit_test(three_tasks_in_a_cycle_are_named_in_their_order),
        cmocka_unit_test(a_cycle_of_1000_tasks_is_named_in_part),
        cmocka_unit_test(a_cycle_next_to_good_parts_is_refused_before_any_kernel_runs),
        cmocka_unit_test(a_graph_with_all_forward_edges_has_no_cycle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
