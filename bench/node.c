// SPDX-License-Identifier: Apache-2.0
// What a task of a node costs: empty kernels on chips, which are the ranks but rank 0. A run is
// from the launch to its end. "name value unit" lines; medians of many runs.
//
//     tern run -n 5 bench_node TASKS RUNS

#include "job.h"
#include "tern/node.h"

enum { RUNS_MOST = 1000, LINE = 64 };

struct shape {
    const char *name;
    int buffers; // that tasks read and write in turn; 0: each one of its own
    int group;   // chips of a task
    bool host;   // tasks for the host
    int tasks;   // 0: as many as were asked for
    const char *unit;
};

static const struct shape shapes[] = {
    {.name = "node_independent", .group = 1, .unit = "us/task"},
    {.name = "node_chains", .buffers = 4, .group = 1, .unit = "us/task"},
    {.name = "node_chain", .buffers = 1, .group = 1, .unit = "us/task"},
    {.name = "node_any", .unit = "us/task"},
    {.name = "node_groups", .group = 4, .unit = "us/task"},
    {.name = "node_host", .host = true, .unit = "us/task"},
    {.name = "node_one", .group = 1, .tasks = 1, .unit = "us/run"},
};

static tern_node *node;
static tern_domain *domain;
static int tasks, chips;

static void nothing(int64_t *args)
{
    (void)args;
}

// (region): the processor time of this chip's process so far.
static void tell_time(int64_t *args)
{
    *(float *)tern_region_data((const tern_region *)(intptr_t)args[0]) = (float)cpu_ms();
}

static int submit(tern_graph *graph, const struct shape *shape, int i)
{
    const uint32_t count = 1;
    const int buffer = shape->buffers != 0 ? i % shape->buffers : i;
    int where[TERN_NODE_CHIPS_MAX];
    tern_region region;
    tern_task_arg args[TERN_NODE_CHIPS_MAX];
    must(tern_region_make(&region,
                          (char *)tern_domain_address(domain, TERN_NODE_HOST) + LINE * buffer,
                          &count, 1, TERN_REGION_F32));
    for (int member = 0; member < chips; member++) {
        where[member] = (i + member) % chips;
        args[member] = (tern_task_arg){.access = TERN_INOUT, .region = &region};
    }
    if (shape->host) {
        tern_submission task = {.task = {.name = "nothing",
                                         .kernel = nothing,
                                         .core = TERN_CORE_AIV},
                                .args = args,
                                .args_count = 1};
        return tern_graph_submit(graph, &task, NULL);
    }
    tern_node_task task = {.function = "nothing",
                           .chips = where,
                           .chips_count = shape->group < chips ? shape->group : chips,
                           .args = args,
                           .args_count = 1};
    return tern_node_submit(graph, &task, NULL);
}

static int submit_all(tern_graph *graph, void *arg)
{
    const struct shape *shape = arg;
    for (int i = 0; i < (shape->tasks != 0 ? shape->tasks : tasks); i++) {
        must(submit(graph, shape, i));
    }
    return TERN_OK;
}

static void measure(const struct shape *given, int runs)
{
    static double took[RUNS_MOST];
    struct shape shape = *given;
    const int count = shape.tasks != 0 ? shape.tasks : tasks;
    for (int run = -1; run < runs; run++) { // the first one makes threads
        const double begin = cli_now_us();
        must(tern_node_run(node, submit_all, &shape));
        if (run >= 0) {
            took[run] = (cli_now_us() - begin) / count;
        }
    }
    report(shape.name, cli_median(took, runs), shape.unit);
}

static void measure_domain(int runs)
{
    static double took[RUNS_MOST];
    for (int run = 0; run < runs; run++) {
        tern_domain *made;
        const int both[] = {0, chips - 1};
        const double begin = cli_now_us();
        must(tern_domain_create(node, both, chips > 1 ? 2 : 1, 65536, &made));
        must(tern_domain_destroy(made));
        took[run] = cli_now_us() - begin;
    }
    report("node_domain", cli_median(took, runs), "us");
}

static int submit_time(tern_graph *graph, void *arg)
{
    const uint32_t count = 1;
    tern_region told;
    tern_task_arg args[] = {{.access = TERN_OUT_EXISTING, .region = &told}};
    must(tern_region_make(&told, tern_domain_address(domain, TERN_NODE_HOST), &count, 1,
                          TERN_REGION_F32));
    (void)arg;
    return tern_node_submit(graph,
                            &(tern_node_task){.function = "tell_time",
                                              .chips = (int[]){0},
                                              .chips_count = 1,
                                              .args = args,
                                              .args_count = 1},
                            NULL);
}

// What a chip uses while it has nothing to do.
static void measure_idle(void)
{
    float before, after;
    must(tern_node_run(node, submit_time, NULL));
    must(tern_domain_read(domain, TERN_NODE_HOST, 0, &before, sizeof before));
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    must(tern_node_run(node, submit_time, NULL));
    must(tern_domain_read(domain, TERN_NODE_HOST, 0, &after, sizeof after));
    report("node_idle", (double)(after - before), "ms");
}

int main(int argc, char **argv)
{
    const tern_node_function functions[] = {{.name = "nothing", .kernel = nothing},
                                            {.name = "tell_time", .kernel = tell_time}};
    int runs = argc > 2 ? atoi(argv[2]) : 51;
    tasks = argc > 1 ? atoi(argv[1]) : 1000;
    if (tasks < 1 || tasks > 100000 || runs < 1 || runs > RUNS_MOST) {
        fprintf(stderr, "usage: tern run -n RANKS bench_node TASKS RUNS\n");
        return 2;
    }
    must(tern_init(NULL, &world));
    rank = tern_comm_rank(world);
    nranks = tern_comm_size(world);
    if (rank != 0) {
        must(tern_node_serve(world,
                             &(tern_serve_options){.functions = functions, .functions_count = 2}));
    } else {
        must(tern_node_create(world, NULL, &node));
        chips = tern_node_chips(node);
        must(tern_domain_create(node, NULL, 0, (size_t)LINE * (size_t)tasks, &domain));
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            measure(&shapes[s], runs);
        }
        measure_domain(runs);
        measure_idle();
        must(tern_node_destroy(node));
    }
    must(tern_comm_destroy(world));
    return 0;
}
