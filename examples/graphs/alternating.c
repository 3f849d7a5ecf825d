// SPDX-License-Identifier: Apache-2.0
// Tasks for both kinds of cores in turn: each batch has matrix products, C = A B, and additions,
// Z = X + Y, that do not depend on one another. All are of 128 x 128 elements.
#include <stdio.h>

#include "kernels.h"
#include "kit.h"

enum { SIDE = 128, ELEMENTS = SIDE * SIDE };

// `count` tasks with two inputs and an output each.
struct work {
    tern_task task;
    size_t count;
    float *first, *second, *result;
};

struct alternating {
    const struct job *job;
    int batch;
    int per_batch[2]; // products, additions
    struct work work[2];
};

static int submit(const struct alternating *all, tern_graph *graph, const struct work *work,
                  size_t which)
{
    tern_region first;
    tern_region second;
    tern_region result;
    kit_region(all->job, work->first + which * ELEMENTS, SIDE, SIDE, &first);
    kit_region(all->job, work->second + which * ELEMENTS, SIDE, SIDE, &second);
    kit_region(all->job, work->result + which * ELEMENTS, SIDE, SIDE, &result);
    tern_task_arg args[] = {{.access = TERN_IN, .region = &first},
                            {.access = TERN_IN, .region = &second},
                            {.access = TERN_OUT_EXISTING, .region = &result}};
    tern_submission submission = {.task = work->task, .args = args, .args_count = 3};
    return tern_graph_submit(graph, &submission, NULL);
}

// A batch is a scope: its tasks retire while later ones are submitted.
static int build(tern_graph *graph, void *arg)
{
    const struct alternating *all = arg;
    const int *per_batch = all->per_batch;
    int most = per_batch[0] > per_batch[1] ? per_batch[0] : per_batch[1];
    for (int batch = 0; batch < all->batch; batch++) {
        TRY(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO));
        for (int i = 0; i < most; i++) {
            for (int kind = 0; kind < 2; kind++) {
                if (i < per_batch[kind]) {
                    TRY(submit(all, graph, &all->work[kind],
                               (size_t)(batch * per_batch[kind] + i)));
                }
            }
        }
        TRY(tern_graph_scope_end(graph));
    }
    return TERN_OK;
}

static void make(struct alternating *all, int kind, tern_task task)
{
    struct work *work = &all->work[kind];
    uint64_t seed = 10 * (uint64_t)kind;
    work->task = task;
    work->count = (size_t)all->batch * (size_t)all->per_batch[kind];
    work->first = kit_matrix(all->job, work->count * ELEMENTS, seed + 1, 1);
    work->second = kit_matrix(all->job, work->count * ELEMENTS, seed + 2, 1);
    work->result = job_memory(all->job, work->count * ELEMENTS * sizeof(float));
}

static void verify(const struct alternating *all)
{
    static double wanted[ELEMENTS];
    const struct kit_product product = {SIDE, SIDE, SIDE, SIDE, SIDE, SIDE};
    for (int kind = 0; kind < 2; kind++) {
        const struct work *work = &all->work[kind];
        for (size_t i = 0; i < work->count; i++) {
            const float *first = work->first + i * ELEMENTS;
            const float *second = work->second + i * ELEMENTS;
            for (size_t e = 0; e < ELEMENTS; e++) {
                wanted[e] = kind == 0 ? 0 : (double)first[e] + (double)second[e];
            }
            if (kind == 0) {
                kit_multiply(&product, first, second, wanted);
            }
            kit_compare(all->job, work->task.name, work->result + i * ELEMENTS, wanted, ELEMENTS,
                        1e-3);
        }
    }
}

int main(int argc, char **argv)
{
    struct job job;
    job_begin(&job, "graph_alternating");
    struct alternating all = {.job = &job, .batch = 1, .per_batch = {1, 1}};
    int aic = 1;
    int aiv = 1;
    const struct kit_option options[] = {
        {"batch", &all.batch, 1, 1024, "batches (1)", NULL},
        {"matmul-tasks", &all.per_batch[0], 0, 16, "products of a batch (1)", NULL},
        {"add-tasks", &all.per_batch[1], 0, 16, "additions of a batch (1)", NULL},
        {"aic", &aic, 1, 64, "matrix cores (1)", NULL},
        {"aiv", &aiv, 1, 64, "vector cores (1)", NULL},
    };
    kit_options(&job, argc, argv, "Products and sums of 128 x 128 matrices by turns.", options,
                sizeof options / sizeof *options);
    make(&all, 0, (tern_task){.name = "matmul", .kernel = kernel_multiply, .core = TERN_CORE_AIC});
    make(&all, 1, (tern_task){.name = "add", .kernel = kernel_add, .core = TERN_CORE_AIV});
    double seconds = kit_run_once(&job, aic, aiv, build, &all, NULL);
    verify(&all);
    if (job.rank == 0) {
        printf("%zu products and %zu sums: %.3f ms\n", all.work[0].count, all.work[1].count,
               seconds * 1e3);
    }
    job_end(&job, "alternating tasks");
    return 0;
}
