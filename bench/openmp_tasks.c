// SPDX-License-Identifier: Apache-2.0
// The peer of bench/tasks.c: the same graphs as tasks of OpenMP that depend on each other. Compiled
// by bench/run.py with gcc -fopenmp.

#include "graphs.h"

static __attribute__((noinline)) void kernel(void)
{
    __asm__ __volatile__("");
}

// `done` has a byte for each task, which stands for its end. One construct for each number of
// inputs that programs write out, and one for any number.
static void submit(const struct graph *graph, int task, char *done)
{
    const int *before = graph->before + graph->first[task];
    int count = graph->first[task + 1] - graph->first[task];
    char *own = done + task;
    if (count == 0) {
#pragma omp task depend(out : own[0])
        kernel();
    } else if (count == 1) {
#pragma omp task depend(in : done[before[0]]) depend(out : own[0])
        kernel();
    } else if (count == 2) {
#pragma omp task depend(in : done[before[0]], done[before[1]]) depend(out : own[0])
        kernel();
    } else {
#pragma omp task depend(iterator(i = 0 : count), in : done[before[i]]) depend(out : own[0])
        kernel();
    }
}

static double run(const struct graph *graph)
{
    char *done = graph_memory((size_t)graph->tasks, 1);
    double begin = cli_now_us();
#pragma omp parallel
#pragma omp single
    for (int task = 0; task < graph->tasks; task++) {
        submit(graph, task, done);
    }
    double took = cli_now_us() - begin;
    free(done);
    return took;
}

int main(int argc, char **argv)
{
    const struct graph_way way = {"%s", run};
#pragma omp parallel
    kernel(); // its threads are there
    return graph_measure(argc - 1, argv + 1, &way, 1);
}
