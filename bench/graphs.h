// SPDX-License-Identifier: Apache-2.0
// The graphs in which empty tasks are measured, the same for tern and its peers, and the command
// line of the programs that do: TASKS REPEATS SHAPE... Nothing of tern or of a peer is included
// here.
#ifndef TERN_BENCH_GRAPHS_H
#define TERN_BENCH_GRAPHS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "support/random.h"

struct graph {
    int tasks;
    int *first;  // tasks + 1 of them: where in `before` those of a task begin
    int *before; // tasks with lower numbers, which must have finished before this one starts
};

enum { FAN = 64, LAYER = 2 * FAN + 1, REACH = 1000, GRAPH_REPEATS_MAX = 100 };

// Writes the tasks before `task` and returns how many there are: FAN at most.
typedef int (*graph_shape)(int task, int *before, uint64_t *seed);

static inline int graph_independent(int task, int *before, uint64_t *seed)
{
    (void)task, (void)before, (void)seed;
    return 0;
}

static inline int graph_chain(int task, int *before, uint64_t *seed)
{
    (void)seed;
    before[0] = task - 1;
    return task > 0 ? 1 : 0;
}

// Two of the last REACH; one where both are the same.
static inline int graph_random(int task, int *before, uint64_t *seed)
{
    if (task == 0) {
        return 0;
    }
    uint64_t reach = task < REACH ? (uint64_t)task : REACH;
    before[0] = task - 1 - (int)random_below(seed, reach);
    before[1] = task - 1 - (int)random_below(seed, reach);
    return before[0] == before[1] ? 1 : 2;
}

// Layers of FAN producers, FAN consumers each after all producers, and one task after all
// consumers, which the producers of the next layer come after.
static inline int graph_fan_in(int task, int *before, uint64_t *seed)
{
    (void)seed;
    int layer = task / LAYER * LAYER;
    int place = task - layer;
    if (place < FAN) {
        before[0] = layer - 1;
        return layer > 0 ? 1 : 0;
    }
    for (int i = 0; i < FAN; i++) {
        before[i] = layer + (place < 2 * FAN ? 0 : FAN) + i;
    }
    return FAN;
}

static inline void *graph_memory(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) {
        fprintf(stderr, "no memory for %zu elements of %zu bytes\n", count, size);
        exit(1);
    }
    return memory;
}

static inline struct graph graph_make(graph_shape shape, int tasks)
{
    int before[FAN];
    struct graph graph = {.tasks = tasks, .first = graph_memory((size_t)tasks + 1, sizeof(int))};
    for (int pass = 0; pass < 2; pass++) { // counts the edges, and then writes them
        uint64_t seed = 11;
        int edges = 0;
        for (int task = 0; task < tasks; task++) {
            int count = shape(task, before, &seed);
            if (pass == 1) {
                memcpy(graph.before + edges, before, (size_t)count * sizeof *before);
            }
            edges += count;
            graph.first[task + 1] = edges;
        }
        if (pass == 0) {
            graph.before = graph_memory((size_t)edges + 1, sizeof(int));
        }
    }
    return graph;
}

static inline void graph_free(struct graph *graph)
{
    free(graph->first);
    free(graph->before);
}

// One way to run a graph: the time that counts, in microseconds.
struct graph_way {
    const char *name; // what is printed is made from it and the shape's name, in place of %s
    double (*run)(const struct graph *graph);
};

// Measures the shapes named in the arguments in all ways: the medians of nanoseconds a task.
// Returns the exit status.
static inline int graph_measure(int argc, char **argv, const struct graph_way *ways, int count)
{
    static const struct {
        const char *name;
        graph_shape shape;
    } shapes[] = {{"independent", graph_independent},
                  {"fan_in", graph_fan_in},
                  {"random", graph_random},
                  {"chain", graph_chain}};
    int tasks = argc >= 1 ? atoi(argv[0]) : 0;
    int repeats = argc >= 2 ? atoi(argv[1]) : 0;
    double times[GRAPH_REPEATS_MAX];
    if (tasks < 1 || repeats < 1 || repeats > GRAPH_REPEATS_MAX) {
        fprintf(stderr, "arguments: TASKS REPEATS independent|fan_in|random|chain...\n");
        return 2;
    }
    int measured = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        bool named = false;
        for (int k = 2; k < argc; k++) {
            named = named || strcmp(argv[k], shapes[i].name) == 0;
        }
        if (!named) {
            continue;
        }
        struct graph graph = graph_make(shapes[i].shape, tasks);
        for (int way = 0; way < count; way++) {
            for (int repeat = 0; repeat < repeats; repeat++) {
                times[repeat] = ways[way].run(&graph) * 1e3 / tasks;
            }
            printf(ways[way].name, shapes[i].name);
            printf(" %.6g ns\n", cli_median(times, repeats));
        }
        graph_free(&graph);
        measured++;
    }
    if (measured != argc - 2) {
        fprintf(stderr, "one of the shapes is none of independent, fan_in, random, chain\n");
    }
    return measured == argc - 2 ? 0 : 2;
}

#endif
