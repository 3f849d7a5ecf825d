// SPDX-License-Identifier: Apache-2.0
// What a task costs in a graph that is built on the host: empty tasks on one core, from a signal of
// another rank to a waiting task's kernel (under `tern run -n 2`), and what a trace adds (-n 1).
// "name value unit" lines; bench/openmp_tasks.c and bench/starpu_tasks.c print the names of the
// graphs.

#include "graphs.h"
#include "job.h"
#include "tern/graph.h"
#include "tern/trace.h"
#include "tern/window.h"

static tern_chip *chip;

static void open_chip(void)
{
    must(tern_chip_create(world, &(tern_chip_options){.aiv_count = 1}, &chip));
}

static void kernel(int64_t *args)
{
    (void)args;
}

static tern_graph *build(const struct graph *graph)
{
    const tern_task task = {.name = "empty", .kernel = kernel, .core = TERN_CORE_AIV};
    tern_graph *built;
    must(tern_graph_create(&built));
    for (int i = 0; i < graph->tasks; i++) {
        must(tern_graph_add_task(built, &task, NULL));
        for (int edge = graph->first[i]; edge < graph->first[i + 1]; edge++) {
            must(tern_graph_add_edge(built, graph->before[edge], i));
        }
    }
    return built;
}

static double launch(tern_graph *built)
{
    double begin = cli_now_us();
    must(tern_chip_launch(chip, built));
    must(tern_chip_synchronize(chip));
    return cli_now_us() - begin;
}

// The second launch of a graph; building one; and both building and its first launch.

static double run_again(const struct graph *graph)
{
    tern_graph *built = build(graph);
    launch(built);
    double took = launch(built);
    must(tern_graph_destroy(built));
    return took;
}

static double run_build(const struct graph *graph)
{
    double begin = cli_now_us();
    tern_graph *built = build(graph);
    double took = cli_now_us() - begin;
    must(tern_graph_destroy(built));
    return took;
}

static double run_once(const struct graph *graph)
{
    double begin = cli_now_us();
    tern_graph *built = build(graph);
    launch(built);
    double took = cli_now_us() - begin;
    must(tern_graph_destroy(built));
    return took;
}

static int bench_graphs(int argc, char **argv)
{
    static const struct graph_way ways[] = {{"host_%s", run_again},
                                            {"host_%s_build", run_build},
                                            {"host_%s_once", run_once}};
    open_chip();
    return graph_measure(argc, argv, ways, sizeof ways / sizeof ways[0]);
}

static void notify(int64_t *args)
{
    tern_window *window = (tern_window *)(intptr_t)args[0];
    if (tern_signal_notify(window, (int)args[1], 0, 1, TERN_NOTIFY_ADD) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

// Both ranks run a chain. Task i of rank 1 waits for the signal of task i of rank 0, which waits
// for that of task i - 1 of rank 1: each hop is a notify, a wait, and the start of a kernel.
static tern_graph *build_ping_pong(tern_window *window, int rounds)
{
    const int64_t args[] = {(int64_t)(intptr_t)window, 1 - rank};
    tern_graph *built;
    must(tern_graph_create(&built));
    for (int i = 0; i < rounds + 1 - rank; i++) {
        tern_task task = {.kernel = i < rounds ? notify : kernel,
                          .name = i < rounds ? "notify" : "last",
                          .core = TERN_CORE_AIV,
                          .args = args,
                          .args_count = 2};
        tern_condition condition = {.window = window, .cmp = TERN_CMP_GE, .value = i + rank};
        must(tern_graph_add_task(built, &task, NULL));
        if (i > 0) {
            must(tern_graph_add_edge(built, i - 1, i));
        }
        must(tern_graph_add_wait(built, i, &condition, rounds));
    }
    return built;
}

static int bench_wait(int argc, char **argv)
{
    int rounds = argc >= 1 ? atoi(argv[0]) : 0;
    double times[BATCHES];
    tern_window *window;
    if (rounds < 1 || nranks != 2) {
        fprintf(stderr, "bench_tasks wait ROUNDS [NAME] needs 2 ranks\n");
        return 2;
    }
    must(tern_window_create(world, 4096, NULL, &window));
    tern_graph *built = build_ping_pong(window, rounds);
    for (int batch = -1; batch < BATCHES; batch++) { // -1: once for nothing
        must(tern_comm_barrier(world));
        double took = launch(built);
        if (batch >= 0) {
            times[batch] = took / rounds / 2;
        }
    }
    report(argc >= 2 ? argv[1] : "wait", cli_median(times, BATCHES), "us");
    must(tern_comm_barrier(world));
    must(tern_graph_destroy(built));
    must(tern_window_destroy(window));
    return 0;
}

// A run of independent tasks without and with a trace, in turn.
static int bench_trace(int argc, char **argv)
{
    int tasks = argc >= 1 ? atoi(argv[0]) : 0;
    double extra[BATCHES];
    if (tasks < 1) {
        fprintf(stderr, "bench_tasks trace TASKS\n");
        return 2;
    }
    struct graph graph = graph_make(graph_independent, tasks);
    tern_graph *built = build(&graph);
    launch(built);
    for (int batch = 0; batch < BATCHES; batch++) {
        double off = launch(built);
        must(tern_trace_begin(2 * (size_t)tasks)); // none is lost
        double on = launch(built);
        must(tern_trace_end(world, "/dev/null"));
        extra[batch] = (on - off) * 1e3 / tasks;
    }
    report("trace", cli_median(extra, BATCHES), "ns");
    must(tern_graph_destroy(built));
    graph_free(&graph);
    return 0;
}

// The benches that belong to a job.
static int in_a_job(int (*bench)(int argc, char **argv), int argc, char **argv)
{
    must(tern_init(NULL, &world));
    rank = tern_comm_rank(world);
    nranks = tern_comm_size(world);
    open_chip();
    return bench(argc, argv);
}

int main(int argc, char **argv)
{
    const char *name = argc >= 2 ? argv[1] : "";
    int status = 2;
    if (strcmp(name, "host") == 0) {
        status = bench_graphs(argc - 2, argv + 2);
    } else if (strcmp(name, "wait") == 0) {
        status = in_a_job(bench_wait, argc - 2, argv + 2);
    } else if (strcmp(name, "trace") == 0) {
        status = in_a_job(bench_trace, argc - 2, argv + 2);
    } else {
        fprintf(stderr, "usage: bench_tasks host TASKS REPEATS SHAPE... | wait ROUNDS [NAME] | "
                        "trace TASKS\n");
    }
    if (chip != NULL) {
        must(tern_chip_destroy(chip));
    }
    if (world != NULL) {
        must(tern_comm_destroy(world));
    }
    return status;
}
