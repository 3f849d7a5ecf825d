// SPDX-License-Identifier: Apache-2.0
// Building graphs: every refusal with its status and sentence, names, arguments, loaded kernels.
#include "support/cmocka.h"
#include <stdlib.h>

#include "kit.h"

#define BASIC TERN_TEST_KERNEL_DIR "/basic.so"
#define OTHER TERN_TEST_KERNEL_DIR "/other.so"

static int setup(void **state)
{
    tern_graph *graph = NULL;
    int status = tern_graph_create(&graph);
    *state = graph;
    return status;
}

static int teardown(void **state)
{
    return tern_graph_destroy(*state);
}

static int run_once(tern_graph *graph)
{
    tern_chip *chip;
    assert_true(fine(tern_chip_create(NULL, NULL, &chip)));
    int status = tern_chip_launch(chip, graph);
    if (status == TERN_OK) {
        status = tern_chip_synchronize(chip);
    }
    assert_true(fine(tern_chip_destroy(chip)));
    return status;
}

static void null_arguments_are_refused(void **state)
{
    tern_graph *graph = *state;
    tern_task task = {.kernel = do_nothing};
    tern_condition condition = {0};
    int task_id = add_task(graph, "a", do_nothing, TERN_CORE_AIC, 0, 0);
    assert_int_equal(task_id, 0);
    assert_true(says(tern_graph_create(NULL), TERN_ERR_ARG, "graph must not be NULL"));
    assert_true(says(tern_graph_load(NULL, BASIC), TERN_ERR_ARG, "tern_graph_load: graph"));
    assert_true(says(tern_graph_load(graph, NULL), TERN_ERR_ARG, "path must not be NULL"));
    assert_true(says(tern_graph_add_task(NULL, &task, NULL), TERN_ERR_ARG, "graph must not"));
    assert_true(says(tern_graph_add_task(graph, NULL, NULL), TERN_ERR_ARG, "task must not"));
    assert_true(says(tern_graph_add_edge(NULL, 0, 1), TERN_ERR_ARG, "tern_graph_add_edge: graph"));
    assert_true(says(tern_graph_add_wait(NULL, 0, &condition, 0), TERN_ERR_ARG, "graph must not"));
    assert_true(says(tern_graph_add_wait(graph, 0, NULL, 0), TERN_ERR_ARG, "condition must not"));
    assert_true(says(tern_graph_add_wait(graph, 0, &condition, 0), TERN_ERR_ARG, "window must"));
    assert_true(says(tern_graph_task_count(NULL), TERN_ERR_ARG, "graph must not be NULL"));
    assert_int_equal(tern_graph_destroy(NULL), TERN_OK);
    assert_int_equal(tern_graph_task_count(graph), 1);
}

static void unknown_tasks_are_refused(void **state)
{
    tern_graph *graph = *state;
    add_task(graph, "a", do_nothing, TERN_CORE_AIC, 0, 0);
    add_task(graph, "b", do_nothing, TERN_CORE_AIC, 0, 0);
    tern_condition condition = {0};
    assert_true(says(tern_graph_add_edge(graph, 0, 2), TERN_ERR_ARG, "no task 2; the graph has 2"));
    assert_true(says(tern_graph_add_edge(graph, -1, 1), TERN_ERR_ARG, "there is no task -1"));
    assert_true(says(tern_graph_add_edge(graph, INT32_MAX, 1), TERN_ERR_ARG, "task 2147483647"));
    assert_true(says(tern_graph_add_wait(graph, 7, &condition, 0), TERN_ERR_ARG, "no task 7"));
    assert_null(tern_graph_task_name(graph, 2));
    assert_null(tern_graph_task_name(graph, -1));
    assert_null(tern_graph_task_name(NULL, 0));
    assert_string_equal(tern_graph_task_name(graph, 1), "b");
}

static void a_task_cannot_wait_for_itself(void **state)
{
    tern_graph *graph = *state;
    int only = add_task(graph, "narcissus", do_nothing, TERN_CORE_AIC, 0, 0);
    assert_true(says(tern_graph_add_edge(graph, only, only), TERN_ERR_CYCLE, "'narcissus'"));
    assert_true(fine(run_once(graph))); // the refused edge has left no trace
}

static void an_edge_twice_is_the_same_as_once(void **state)
{
    tern_graph *graph = *state;
    _Atomic int calls = 0;
    int from = add_task(graph, "from", count_call, TERN_CORE_AIC, word(&calls), 0);
    int to = add_task(graph, "to", count_call, TERN_CORE_AIV, word(&calls), 0);
    for (int i = 0; i < 5; i++) {
        assert_true(fine(tern_graph_add_edge(graph, from, to)));
    }
    assert_true(fine(run_once(graph)));
    assert_int_equal(calls, 2);
}

static void a_task_without_a_kernel_is_refused(void **state)
{
    tern_task task = {.name = "empty"};
    assert_true(says(tern_graph_add_task(*state, &task, NULL), TERN_ERR_ARG,
                     "'empty' has neither a kernel nor a kernel_name"));
    task.name = NULL;
    assert_true(says(tern_graph_add_task(*state, &task, NULL), TERN_ERR_ARG, "(no name)"));
}

static void an_unknown_kernel_name_is_refused(void **state)
{
    tern_task task = {.name = "t", .kernel_name = "kernel_nowhere"};
    int id = 77;
    assert_true(says(tern_graph_add_task(*state, &task, &id), TERN_ERR_KERNEL,
                     "no kernel 'kernel_nowhere' in the 0 shared objects"));
    assert_true(fine(tern_graph_load(*state, BASIC)));
    assert_true(says(tern_graph_add_task(*state, &task, &id), TERN_ERR_KERNEL,
                     "no kernel 'kernel_nowhere' in the 1 shared objects"));
    assert_int_equal(id, 77); // written only on success
    assert_int_equal(tern_graph_task_count(*state), 0);
}

static void a_missing_shared_object_is_refused(void **state)
{
    assert_true(says(tern_graph_load(*state, "/nowhere/kernels.so"), TERN_ERR_KERNEL,
                     "/nowhere/kernels.so"));
}

static void a_file_that_is_no_shared_object_is_refused(void **state)
{
    char path[] = "/tmp/tern-test-bad-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    char text[4096];
    memset(text, 'x', sizeof text);
    assert_int_equal(write(fd, text, sizeof text), sizeof text);
    close(fd);
    int status = tern_graph_load(*state, path);
    unlink(path);
    assert_true(says(status, TERN_ERR_KERNEL, path));
}

static void arguments_are_limited_to_48(void **state)
{
    tern_graph *graph = *state;
    int64_t args[49] = {0};
    tern_task task = {.kernel = do_nothing, .args = args, .args_count = 48};
    assert_true(fine(tern_graph_add_task(graph, &task, NULL)));
    task.args_count = 49;
    assert_true(says(tern_graph_add_task(graph, &task, NULL), TERN_ERR_LIMIT, "49 arguments"));
    task.args_count = -1;
    assert_true(says(tern_graph_add_task(graph, &task, NULL), TERN_ERR_LIMIT, "-1 arguments"));
    task.args_count = 1;
    task.args = NULL;
    assert_true(says(tern_graph_add_task(graph, &task, NULL), TERN_ERR_ARG, "args is NULL"));
}

static void a_kind_of_core_that_does_not_exist_is_refused(void **state)
{
    tern_task task = {.kernel = do_nothing, .core = (tern_core)4};
    assert_true(says(tern_graph_add_task(*state, &task, NULL), TERN_ERR_ARG, "4 is no kind"));
}

static void names_are_copied_and_cut_at_35_characters(void **state)
{
    tern_graph *graph = *state;
    char name[] = "0123456789012345678901234567890123456789";
    add_task(graph, name, do_nothing, TERN_CORE_AIC, 0, 0);
    memset(name, 'x', sizeof name - 1);
    assert_string_equal(tern_graph_task_name(graph, 0), "01234567890123456789012345678901234");
}

static void a_task_without_a_name_has_its_kernels(void **state)
{
    tern_graph *graph = *state;
    tern_task task = {.kernel_name = "kernel_store"};
    int id;
    assert_true(fine(tern_graph_load(graph, BASIC)));
    assert_true(fine(tern_graph_add_task(graph, &task, &id)));
    assert_string_equal(tern_graph_task_name(graph, id), "kernel_store");
    assert_int_equal(add_task(graph, NULL, do_nothing, TERN_CORE_AIC, 0, 0), 1);
    assert_string_equal(tern_graph_task_name(graph, 1), "task 1");
}

static void ids_count_from_0(void **state)
{
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(add_task(*state, "t", do_nothing, TERN_CORE_AIV, 0, 0), i);
    }
    assert_int_equal(tern_graph_task_count(*state), 1000);
}

static void loaded_kernels_run_and_the_first_object_wins(void **state)
{
    tern_graph *graph = *state;
    int64_t which = 0;
    int64_t stored = 0;
    int64_t only = 0;
    tern_task tasks[] = {
        {.kernel_name = "kernel_which", .args = &(int64_t){word(&which)}, .args_count = 1},
        {.kernel_name = "kernel_store", .args = (int64_t[]){word(&stored), 42}, .args_count = 2},
        {.kernel_name = "kernel_only_here", .args = &(int64_t){word(&only)}, .args_count = 1},
    };
    assert_true(fine(tern_graph_load(graph, BASIC)));
    assert_true(fine(tern_graph_load(graph, OTHER)));
    for (int i = 0; i < 3; i++) {
        assert_true(fine(tern_graph_add_task(graph, &tasks[i], NULL)));
    }
    assert_true(fine(run_once(graph)));
    assert_int_equal(which, 1);
    assert_int_equal(stored, 42);
    assert_int_equal(only, 3);
}

static void a_loaded_kernel_can_fail(void **state)
{
    tern_graph *graph = *state;
    tern_task task = {.kernel_name = "kernel_fails", .args = &(int64_t){7}, .args_count = 1};
    assert_true(fine(tern_graph_load(graph, BASIC)));
    assert_true(fine(tern_graph_add_task(graph, &task, NULL)));
    assert_true(says(run_once(graph), TERN_ERR_KERNEL, "the loaded kernel got 7 in run 0"));
}

static void a_launched_graph_cannot_be_changed(void **state)
{
    tern_graph *graph = *state;
    tern_task task = {.kernel = do_nothing};
    tern_condition condition = {0};
    add_task(graph, "a", do_nothing, TERN_CORE_AIC, 0, 0);
    add_task(graph, "b", do_nothing, TERN_CORE_AIC, 0, 0);
    assert_true(fine(run_once(graph)));
    const char *text = "has been launched and cannot be changed";
    assert_true(says(tern_graph_add_task(graph, &task, NULL), TERN_ERR_STATE, text));
    assert_true(says(tern_graph_add_edge(graph, 0, 1), TERN_ERR_STATE, text));
    assert_true(says(tern_graph_add_wait(graph, 0, &condition, 0), TERN_ERR_STATE, text));
    assert_true(says(tern_graph_load(graph, BASIC), TERN_ERR_STATE, text));
    assert_true(fine(run_once(graph)));
}

static void a_graph_that_was_refused_can_still_be_changed(void **state)
{
    tern_graph *graph = *state;
    tern_chip *chip;
    _Atomic int calls = 0;
    add_task(graph, "matrix", count_call, TERN_CORE_AIC, word(&calls), 0);
    assert_true(fine(tern_chip_create(NULL, &(tern_chip_options){.aiv_count = 1}, &chip)));
    assert_true(says(tern_chip_launch(chip, graph), TERN_ERR_KERNEL,
                     "task 'matrix' needs an AIC core and the chip has none"));
    assert_true(fine(tern_chip_destroy(chip)));
    assert_int_equal(calls, 0);
    assert_int_equal(add_task(graph, "more", count_call, TERN_CORE_AIV, word(&calls), 0), 1);
    assert_true(fine(run_once(graph)));
    assert_int_equal(calls, 2);
}

static void a_task_without_arguments_runs(void **state)
{
    tern_task task = {.kernel = do_nothing};
    assert_true(fine(tern_graph_add_task(*state, &task, NULL)));
    assert_true(fine(run_once(*state)));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(null_arguments_are_refused),
        TEST(unknown_tasks_are_refused),
        TEST(a_task_cannot_wait_for_itself),
        TEST(an_edge_twice_is_the_same_as_once),
        TEST(a_task_without_a_kernel_is_refused),
        TEST(an_unknown_kernel_name_is_refused),
        TEST(a_missing_shared_object_is_refused),
        TEST(a_file_that_is_no_shared_object_is_refused),
        TEST(arguments_are_limited_to_48),
        TEST(a_kind_of_core_that_does_not_exist_is_refused),
        TEST(names_are_copied_and_cut_at_35_characters),
        TEST(a_task_without_a_name_has_its_kernels),
        TEST(ids_count_from_0),
        TEST(loaded_kernels_run_and_the_first_object_wins),
        TEST(a_loaded_kernel_can_fail),
        TEST(a_launched_graph_cannot_be_changed),
        TEST(a_graph_that_was_refused_can_still_be_changed),
        TEST(a_task_without_arguments_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
