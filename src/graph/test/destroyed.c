// SPDX-License-Identifier: Apache-2.0
// Destroyed chips, graphs and executors: every call that takes one refuses it with a sentence.
#include "support/cmocka.h"
#include <string.h>
#include <unistd.h>

#include "support/look.h"
#include "support/ranks.h"
#include "tern/algo.h"
#include "tern/exec.h"
#include "tern/graph.h"

#define REFUSED(call, sentence) CHECK(says(call, TERN_ERR_ARG, sentence))

static void nothing(int64_t *args)
{
}

static int use_chip_and_graph(tern_window *window)
{
    static const char no_chip[] = "this chip has been destroyed";
    static const char no_graph[] = "this graph has been destroyed";
    tern_chip *chip;
    tern_graph *graph;
    tern_graph *dead;
    tern_task task = {.kernel = nothing, .core = TERN_CORE_AIV};
    tern_condition condition = {.window = window};
    CHECK(tern_chip_create(NULL, NULL, &chip) == TERN_OK);
    CHECK(tern_graph_create(&graph) == TERN_OK);
    CHECK(tern_graph_create(&dead) == TERN_OK);
    CHECK(tern_graph_destroy(dead) == TERN_OK);
    REFUSED(tern_graph_destroy(dead), no_graph);
    REFUSED(tern_graph_load(dead, "no.so"), no_graph);
    REFUSED(tern_graph_add_task(dead, &task, NULL), no_graph);
    REFUSED(tern_graph_add_edge(dead, 0, 1), no_graph);
    REFUSED(tern_graph_add_wait(dead, 0, &condition, 0), no_graph);
    REFUSED(tern_graph_task_count(dead), no_graph);
    REFUSED(tern_chip_launch(chip, dead), no_graph);
    CHECK(tern_graph_task_name(dead, 0) == NULL);
    CHECK(tern_chip_destroy(chip) == TERN_OK);
    REFUSED(tern_chip_launch(chip, graph), no_chip);
    REFUSED(tern_chip_synchronize(chip), no_chip);
    REFUSED(tern_chip_destroy(chip), no_chip);
    CHECK(tern_graph_destroy(graph) == TERN_OK);
    return 0;
}

// A graph that waits on a window which has gone since.
static int launch_without_window(tern_comm *comm)
{
    tern_chip *chip;
    tern_graph *graph;
    tern_window *window;
    tern_task task = {.kernel = nothing, .core = TERN_CORE_AIV};
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    tern_condition condition = {.window = window};
    CHECK(tern_chip_create(comm, NULL, &chip) == TERN_OK);
    CHECK(tern_graph_create(&graph) == TERN_OK);
    CHECK(tern_graph_add_task(graph, &task, NULL) == TERN_OK);
    CHECK(tern_graph_add_wait(graph, 0, &condition, 0) == TERN_OK);
    CHECK(tern_window_destroy(window) == TERN_OK);
    REFUSED(tern_chip_launch(chip, graph), "tern_chip_launch: this window has been destroyed");
    CHECK(tern_chip_destroy(chip) == TERN_OK);
    CHECK(tern_graph_destroy(graph) == TERN_OK);
    return 0;
}

static int use_exec(tern_comm *comm)
{
    static const char sentence[] = "this executor has been destroyed";
    char word[32];
    snprintf(word, sizeof word, "mesh:%d", tern_comm_size(comm));
    tern_topo *topo;
    tern_plan *plan;
    tern_exec *exec;
    tern_window *window;
    CHECK(tern_topo_create(word, &topo) == TERN_OK);
    tern_algo_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                 .topo = topo,
                                 .bytes = 1024,
                                 .unit = 4};
    CHECK(tern_algo_plan(&request, &plan) == TERN_OK);
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    tern_exec_options options = {.in = window,
                                 .out = window,
                                 .out_offset = 2048,
                                 .dtype = TERN_F32};
    CHECK(tern_exec_create(comm, plan, &options, &exec) == TERN_OK);
    CHECK(tern_exec_run(exec) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_window_destroy(window) == TERN_OK);
    REFUSED(tern_exec_run(exec), "tern_exec_start: this window has been destroyed");
    CHECK(tern_exec_destroy(exec) == TERN_OK);
    REFUSED(tern_exec_start(exec), sentence);
    REFUSED(tern_exec_test(exec), sentence);
    REFUSED(tern_exec_wait(exec), sentence);
    REFUSED(tern_exec_destroy(exec), sentence);
    CHECK(tern_exec_link_bytes(exec, 0, 0) == 0);
    CHECK(tern_plan_destroy(plan) == TERN_OK);
    CHECK(tern_topo_destroy(topo) == TERN_OK);
    return 0;
}

static int use_all(tern_comm *comm, void *arg)
{
    tern_window *window;
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    CHECK(use_chip_and_graph(window) == 0);
    CHECK(tern_window_destroy(window) == TERN_OK);
    CHECK(launch_without_window(comm) == 0);
    return use_exec(comm);
}

static void destroyed_chips_graphs_and_executors_are_refused(void **state)
{
    assert_true(ranks_run_comm(1, use_all, NULL, 30));
    assert_true(ranks_run_comm(3, use_all, NULL, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(destroyed_chips_graphs_and_executors_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
