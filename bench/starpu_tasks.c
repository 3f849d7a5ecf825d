// SPDX-License-Identifier: Apache-2.0
// The peer of bench/tasks.c: the same graphs as tasks of StarPU with explicit dependencies, on one
// CPU worker beside the thread that submits. Compiled by bench/run.py.

#include <starpu.h>

#include "graphs.h"

static void kernel(void *buffers[], void *arg)
{
    (void)buffers, (void)arg;
}

static struct starpu_codelet codelet = {.cpu_funcs = {kernel}};

// Tasks live until all have finished, since others name them.
static double run(const struct graph *graph)
{
    struct starpu_task **tasks = graph_memory((size_t)graph->tasks, sizeof *tasks);
    struct starpu_task *before[FAN];
    double begin = cli_now_us();
    for (int task = 0; task < graph->tasks; task++) {
        int count = graph->first[task + 1] - graph->first[task];
        for (int i = 0; i < count; i++) {
            before[i] = tasks[graph->before[graph->first[task] + i]];
        }
        tasks[task] = starpu_task_create();
        tasks[task]->cl = &codelet;
        tasks[task]->destroy = 0;
        if (count > 0) {
            starpu_task_declare_deps_array(tasks[task], (unsigned)count, before);
        }
        if (starpu_task_submit(tasks[task]) != 0) {
            fprintf(stderr, "StarPU refused a task\n");
            exit(1);
        }
    }
    starpu_task_wait_for_all();
    double took = cli_now_us() - begin;
    for (int task = 0; task < graph->tasks; task++) {
        starpu_task_destroy(tasks[task]);
    }
    free(tasks);
    return took;
}

int main(int argc, char **argv)
{
    const struct graph_way way = {"%s", run};
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.ncuda = 0;
    conf.nopencl = 0;
    conf.sched_policy_name = "eager";
    conf.calibrate = 0;
    if (starpu_init(&conf) != 0) {
        fprintf(stderr, "StarPU does not start\n");
        return 1;
    }
    int status = graph_measure(argc - 1, argv + 1, &way, 1);
    starpu_shutdown();
    return status;
}
