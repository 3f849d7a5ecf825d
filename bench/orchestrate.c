// SPDX-License-Identifier: Apache-2.0
// What a task costs in a graph that is built on the chip: the graphs of bench/tasks.c with edges
// ("chip") and from regions ("rings"), the orchestration alone ("submit"), and any number of tasks
// in bounded memory ("scale"). "name value unit" lines.

#include <sys/resource.h>

#include "graphs.h"
#include "job.h"
#include "tern/submit.h"

enum {
    WINDOW = 32768, // tasks in flight
    SCOPE = 1024,   // tasks of a scope, whose rows are used again when it has ended
    SUMS = 1000,    // regions that tasks add to, where the orchestration is alone
    BACK = 8,       // tasks between the one that writes and the one that reads, in "scale"
    TILE = 64,      // elements of a region
    PARTS = 10,     // of a run whose speed is compared from part to part
    RUN_S = 300,    // deadline
};

static tern_chip *chip;

static void kernel(int64_t *args)
{
    (void)args;
}

static const tern_task empty_task = {.name = "empty", .kernel = kernel, .core = TERN_CORE_AIV};

// From the call to the end of the run.
static double orchestrate(tern_graph *graph, tern_orchestration orchestration, void *arg,
                          bool build_first)
{
    tern_orchestrate_options options = {.build_first = build_first};
    double begin = cli_now_us();
    must(tern_chip_orchestrate(chip, graph, orchestration, arg, &options));
    must(tern_chip_synchronize(chip));
    return cli_now_us() - begin;
}

static int add_tasks(tern_graph *built, void *arg)
{
    const struct graph *graph = arg;
    for (int i = 0; i < graph->tasks; i++) {
        must(tern_graph_add_task(built, &empty_task, NULL));
        for (int edge = graph->first[i]; edge < graph->first[i + 1]; edge++) {
            must(tern_graph_add_edge(built, graph->before[edge], i));
        }
        must(tern_graph_publish(built, i));
    }
    return TERN_OK;
}

static double run_chip(const struct graph *graph)
{
    struct graph copy = *graph;
    tern_graph *built;
    must(tern_graph_create(&built));
    double took = orchestrate(built, add_tasks, &copy, false);
    must(tern_graph_destroy(built));
    return took;
}

// The region of an output that is yet to be made.
static tern_region fresh(uint32_t count)
{
    tern_region region;
    must(tern_region_make(&region, NULL, &count, 1, TERN_REGION_F32));
    return region;
}

static void submit(tern_graph *rings, const tern_task *task, const tern_task_arg *args, int count)
{
    must(tern_graph_submit(rings,
                           &(tern_submission){.task = *task, .args = args, .args_count = count},
                           NULL));
}

// Task i of a graph writes written[i], a region from a heap, and reads those of the tasks before
// it. Where these are the FAN of a layer, their regions are parts of one buffer, which a task
// without a kernel makes, and which is read as a whole. All tasks are in one scope.
struct named {
    const struct graph *graph;
    tern_region *written;
    bool fan_in;
    tern_region layer[2]; // what the producers of the last layer write, and what the consumers
};

static void make_layer(tern_graph *rings, tern_region *whole)
{
    static const tern_task maker = {.name = "buffer", .core = TERN_CORE_NONE};
    *whole = fresh(FAN);
    submit(rings, &maker, &(tern_task_arg){.access = TERN_OUT, .region = whole}, 1);
}

static int submit_graph(tern_graph *rings, void *arg)
{
    struct named *named = arg;
    const tern_region one = fresh(1);
    for (int i = 0; i < named->graph->tasks; i++) {
        const int *before = named->graph->before + named->graph->first[i];
        int edges = named->graph->first[i + 1] - named->graph->first[i];
        uint32_t place = (uint32_t)(i % LAYER);
        bool part = named->fan_in && place < 2 * FAN;
        if (part && place % FAN == 0) {
            make_layer(rings, &named->layer[place / FAN]);
        }
        if (part) {
            must(tern_region_view(&named->layer[place / FAN], (uint32_t[]){1},
                                  (uint32_t[]){place % FAN}, &named->written[i]));
        } else {
            named->written[i] = one;
        }
        tern_task_arg args[3] = {
            {.access = part ? TERN_OUT_EXISTING : TERN_OUT, .region = &named->written[i]}};
        int count = 1;
        if (edges == FAN) {
            tern_region *whole = &named->layer[place < 2 * FAN ? 0 : 1];
            args[count++] = (tern_task_arg){.access = TERN_IN, .region = whole};
        } else {
            for (int k = 0; k < edges; k++) {
                args[count++] =
                    (tern_task_arg){.access = TERN_IN, .region = &named->written[before[k]]};
            }
        }
        submit(rings, &empty_task, args, count);
    }
    return TERN_OK;
}

// Wide ones, for what stays in flight as a whole.
static const tern_ring_options wide = {.window = {WINDOW},
                                       .heap = {64 << 20},
                                       .edges = {64 * WINDOW},
                                       .regions = {8 * WINDOW}};

static tern_graph *make_rings(const tern_ring_options *options)
{
    tern_graph *rings;
    must(tern_graph_create_rings(options, &rings));
    return rings;
}

static double run_rings(const struct graph *graph)
{
    struct named named = {.graph = graph,
                          .written = graph_memory((size_t)graph->tasks, sizeof(tern_region)),
                          .fan_in = graph->tasks > FAN &&
                                    graph->first[FAN + 1] - graph->first[FAN] == FAN};
    tern_graph *rings = make_rings(&wide);
    orchestrate(rings, submit_graph, &named, false); // its memory is there
    double took = orchestrate(rings, submit_graph, &named, false);
    must(tern_graph_destroy(rings));
    free(named.written);
    return took;
}

// The orchestration alone: all tasks are submitted before the first starts, so all of their
// regions are live. Each reads what two of the last REACH tasks wrote, writes a region from a heap,
// and adds to one of SUMS. Which two is drawn before.
struct alone {
    const struct graph *graph;
    tern_region *written, *sums;
    double ends[PARTS + 1]; // when the parts were submitted
};

static int submit_alone(tern_graph *rings, void *arg)
{
    struct alone *alone = arg;
    const struct graph *graph = alone->graph;
    const tern_region tile = fresh(TILE);
    tern_task_arg args[4] = {{.access = TERN_OUT},
                             {.access = TERN_INOUT},
                             {.access = TERN_IN},
                             {.access = TERN_IN}};
    int part = 0;
    for (int i = 0; i < graph->tasks; i++) {
        if (i == (int)((int64_t)graph->tasks * part / PARTS)) {
            alone->ends[part++] = cli_now_us();
        }
        const int *before = graph->before + graph->first[i];
        const int reads = graph->first[i + 1] - graph->first[i];
        alone->written[i] = tile;
        args[0].region = &alone->written[i];
        args[1].region = &alone->sums[i % SUMS];
        for (int k = 0; k < reads; k++) {
            args[2 + k].region = &alone->written[before[k]];
        }
        submit(rings, &empty_task, args, 2 + reads);
    }
    alone->ends[PARTS] = cli_now_us();
    return TERN_OK;
}

static double part_ns(const double *ends, int tasks, int first, int count)
{
    return (ends[first + count] - ends[first]) * 1e3 / ((double)tasks * count / PARTS);
}

static int bench_submit(int tasks)
{
    double all[BATCHES];
    double growth[BATCHES];
    static float sums[SUMS][TILE];
    struct graph graph = graph_make(graph_random, tasks);
    struct alone alone = {.graph = &graph,
                          .written = graph_memory((size_t)tasks, sizeof(tern_region)),
                          .sums = graph_memory(SUMS, sizeof(tern_region))};
    for (int i = 0; i < SUMS; i++) {
        must(tern_region_make(&alone.sums[i], sums[i], (uint32_t[]){TILE}, 1, TERN_REGION_F32));
    }
    tern_graph *rings = make_rings(&wide);
    for (int batch = -1; batch < BATCHES; batch++) { // -1: once for nothing
        orchestrate(rings, submit_alone, &alone, true);
        if (batch >= 0) {
            all[batch] = part_ns(alone.ends, tasks, 0, PARTS);
            growth[batch] = part_ns(alone.ends, tasks, PARTS - 1, 1) /
                            part_ns(alone.ends, tasks, 1, 1); // the very first have less to read
        }
    }
    report("submit", cli_median(all, BATCHES), "ns");
    report("submit_last_to_first", cli_median(growth, BATCHES), "x");
    must(tern_graph_destroy(rings));
    free(alone.written);
    free(alone.sums);
    graph_free(&graph);
    return 0;
}

// Each task writes memory from a heap and reads what one of the last BACK of its scope wrote.
struct scale {
    int tasks;
    double ends[PARTS + 1];
    double resident_mib; // after the first part
};

static double resident_mib(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)used.ru_maxrss / 1024;
}

// Begins the next scope where one is due.
static void next_scope(tern_graph *rings, int task)
{
    if (task % SCOPE == 0) {
        if (task > 0) {
            must(tern_graph_scope_end(rings));
        }
        must(tern_graph_scope_begin(rings, TERN_SCOPE_AUTO));
    }
}

static int submit_scale(tern_graph *rings, void *arg)
{
    struct scale *scale = arg;
    static float memory[TILE];
    const tern_region tile = fresh(TILE);
    tern_region first;
    tern_region written[BACK];
    int part = 0;
    must(tern_region_make(&first, memory, (uint32_t[]){TILE}, 1, TERN_REGION_F32));
    for (int i = 0; i < scale->tasks; i++) {
        if (i == (int)((int64_t)scale->tasks * part / PARTS)) {
            scale->resident_mib = part == 1 ? resident_mib() : scale->resident_mib;
            scale->ends[part++] = cli_now_us();
        }
        next_scope(rings, i);
        tern_region *own = &written[i % BACK];
        tern_region reads = i % SCOPE < BACK ? first : *own;
        *own = tile;
        tern_task_arg args[] = {{.access = TERN_IN, .region = &reads},
                                {.access = TERN_OUT, .region = own}};
        submit(rings, &empty_task, args, 2);
    }
    must(tern_graph_scope_end(rings));
    scale->ends[PARTS] = cli_now_us();
    return TERN_OK;
}

static int bench_scale(int tasks)
{
    struct scale scale = {.tasks = tasks};
    tern_graph *rings = make_rings(&(tern_ring_options){.heap = {16 << 20}}); // all soon used again
    double took = orchestrate(rings, submit_scale, &scale, false);
    report("scale", took * 1e3 / tasks, "ns");
    report("scale_first", part_ns(scale.ends, tasks, 0, 1), "ns");
    report("scale_last", part_ns(scale.ends, tasks, PARTS - 1, 1), "ns");
    report("scale_resident", resident_mib(), "MiB");
    report("scale_growth", resident_mib() - scale.resident_mib, "MiB");
    must(tern_graph_destroy(rings));
    return 0;
}

static int bench_graphs(const char *name, int argc, char **argv)
{
    const struct graph_way chip_way = {"chip_%s", run_chip};
    const struct graph_way rings_way = {"rings_%s", run_rings};
    return graph_measure(argc, argv, strcmp(name, "chip") == 0 ? &chip_way : &rings_way, 1);
}

int main(int argc, char **argv)
{
    const char *name = argc >= 3 ? argv[1] : "";
    int tasks = argc >= 3 ? atoi(argv[2]) : 0;
    int status = 2;
    tern_chip_options options = {.aiv_count = 1, .timeout_ns = RUN_S * INT64_C(1000000000)};
    must(tern_chip_create(world, &options, &chip));
    if (strcmp(name, "chip") == 0 || strcmp(name, "rings") == 0) {
        status = bench_graphs(name, argc - 2, argv + 2);
    } else if (strcmp(name, "submit") == 0 && tasks >= PARTS && tasks < WINDOW) {
        status = bench_submit(tasks);
    } else if (strcmp(name, "scale") == 0 && tasks >= PARTS) {
        status = bench_scale(tasks);
    } else {
        fprintf(stderr,
                "usage: bench_orchestrate chip|rings TASKS REPEATS SHAPE... | "
                "submit TASKS (fewer than %d) | scale TASKS\n",
                WINDOW);
    }
    must(tern_chip_destroy(chip));
    return status;
}
