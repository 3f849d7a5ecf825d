// SPDX-License-Identifier: Apache-2.0
// Tasks of every shape, on matrices of 128 x 128 elements. In each iteration:
//
//     a whole cluster          C = A B    F = D + E    I = G * H
//     one core                 J = A B    K = D + E
//     both AIV of a cluster               L = D + E    M = G * H
//     the AIC and one AIV      N = A B    O = D + E
//
// All cores of a MIX task get the same arguments: the n-th three are for its n-th slot (kernels.h).
#include <stdio.h>

#include "kernels.h"
#include "kit.h"

enum { SIDE = 128, ELEMENTS = SIDE * SIDE, KINDS = 3, SLOTS = 3 };

// What a slot computes: AIC a product, the first AIV a sum, the second a product by elements.
static const tern_kernel kernels[KINDS] = {kernel_multiply, kernel_add, kernel_times};

// The rows of the picture: which slots work. A task with one runs on one core.
static const struct shape {
    const char *name;
    bool has[SLOTS];
} shapes[] = {
    {"cluster", {true, true, true}},      {"product", {true, false, false}},
    {"sum", {false, true, false}},        {"two AIV", {false, true, true}},
    {"AIC and AIV", {true, true, false}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

struct mixed {
    const struct job *job;
    int iterations;
    float *inputs[2 * KINDS]; // A, B, D, E, G, H
    float *outputs;           // [iterations][SHAPES][SLOTS][ELEMENTS]
};

static float *output_of(const struct mixed *mixed, int iteration, int shape, int slot)
{
    size_t which = ((size_t)iteration * SHAPES + (size_t)shape) * SLOTS + (size_t)slot;
    return mixed->outputs + which * ELEMENTS;
}

static int submit(const struct mixed *mixed, tern_graph *graph, int iteration, int which)
{
    const struct shape *shape = &shapes[which];
    tern_task task = {.name = shape->name, .core = TERN_CORE_MIX};
    tern_region regions[SLOTS * 3];
    tern_task_arg args[SLOTS * 3] = {0};
    int working = 0;
    int last = 0;
    for (int slot = 0; slot < SLOTS; slot++) {
        float *memory[] = {mixed->inputs[2 * slot], mixed->inputs[2 * slot + 1],
                           output_of(mixed, iteration, which, slot)};
        for (int i = 3 * slot; i < 3 * slot + 3; i++) {
            args[i] = (tern_task_arg){.access = TERN_SCALAR};
            if (shape->has[slot]) {
                kit_region(mixed->job, memory[i % 3], SIDE, SIDE, &regions[i]);
                args[i] = (tern_task_arg){.access = i % 3 == 2 ? TERN_OUT_EXISTING : TERN_IN,
                                          .region = &regions[i]};
            }
        }
        if (shape->has[slot]) {
            task.mix[slot] = kernels[slot];
            last = slot;
            working++;
        }
    }
    tern_submission submission = {.task = task, .args = args, .args_count = SLOTS * 3};
    if (working == 1) { // one core, whose kernel has slot 0
        submission.task = (tern_task){.name = shape->name,
                                      .kernel = kernels[last],
                                      .core = last == 0 ? TERN_CORE_AIC : TERN_CORE_AIV};
        submission.args += (ptrdiff_t)3 * last;
        submission.args_count = 3;
    }
    return tern_graph_submit(graph, &submission, NULL);
}

static int build(tern_graph *graph, void *arg)
{
    const struct mixed *mixed = arg;
    for (int iteration = 0; iteration < mixed->iterations; iteration++) {
        TRY(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO));
        for (int which = 0; which < SHAPES; which++) {
            TRY(submit(mixed, graph, iteration, which));
        }
        TRY(tern_graph_scope_end(graph));
    }
    return TERN_OK;
}

static void verify(const struct mixed *mixed)
{
    static double wanted[KINDS][ELEMENTS];
    float *const *in = mixed->inputs;
    const struct kit_product product = {SIDE, SIDE, SIDE, SIDE, SIDE, SIDE};
    kit_multiply(&product, in[0], in[1], wanted[0]);
    for (size_t i = 0; i < ELEMENTS; i++) {
        wanted[1][i] = (double)in[2][i] + (double)in[3][i];
        wanted[2][i] = (double)in[4][i] * (double)in[5][i];
    }
    for (int iteration = 0; iteration < mixed->iterations; iteration++) {
        for (int which = 0; which < SHAPES; which++) {
            for (int slot = 0; slot < SLOTS; slot++) {
                if (shapes[which].has[slot]) {
                    kit_compare(mixed->job, shapes[which].name,
                                output_of(mixed, iteration, which, slot), wanted[slot], ELEMENTS,
                                1e-3);
                }
            }
        }
    }
}

int main(int argc, char **argv)
{
    struct job job;
    job_begin(&job, "graph_mixed");
    struct mixed mixed = {.job = &job, .iterations = 4};
    int clusters = 2;
    const struct kit_option options[] = {
        {"iterations", &mixed.iterations, 1, 1000, "how often each task (4)", NULL},
        {"clusters", &clusters, 1, 64, "of one AIC and two AIV (2)", NULL},
    };
    kit_options(&job, argc, argv, "Tasks for whole clusters, parts of them, and single cores.",
                options, sizeof options / sizeof *options);
    for (int i = 0; i < 2 * KINDS; i++) {
        mixed.inputs[i] = kit_matrix(&job, ELEMENTS, (uint64_t)i + 1, 1);
    }
    size_t outputs = (size_t)mixed.iterations * SHAPES * SLOTS;
    mixed.outputs = job_memory(&job, outputs * ELEMENTS * sizeof(float));
    double seconds = kit_run_once(&job, clusters, 2 * clusters, build, &mixed, NULL);
    verify(&mixed);
    if (job.rank == 0) {
        printf("%d iterations of %d tasks on %d clusters: %.3f ms\n", mixed.iterations, SHAPES,
               clusters, seconds * 1e3);
    }
    job_end(&job, "mixed tasks");
    return 0;
}
