// SPDX-License-Identifier: Apache-2.0
// Batched matrix products, by each of the three builders. Every product of two tiles is a task, and
// every addition to the sum is one:
//
//     part = a b  ->  sum += part     the additions of one sum one after another
//
// Case grid: C = A B, matrices of 4 x 4 tiles of which the tasks have views. Case benchmark: 500
// products, each of 4 pairs of tiles; two of them make a sum.
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"
#include "kit.h"

enum { HOST, CHIP, TENSORS };
enum { GRID, BENCHMARK };
enum { GRID_SIDE = 4, BENCHMARK_LOOP = 4, BENCHMARK_DEPTH = 2, PARTS = 4 };

struct bgemm {
    const struct job *job;
    int which;           // GRID or BENCHMARK
    uint32_t tile;       // rows and columns of one
    uint32_t sums;       // how many there are
    uint32_t depth;      // products of each
    tern_region a, b, c; // all of them
    size_t elements;     // of c
    size_t part_bytes;
    tern_region *regions; // [sums][depth][PARTS], of graphs with explicit edges: a, b, part, sum
};

static void region_of(const struct bgemm *bgemm, float *memory, const uint32_t *shape, int ndims,
                      tern_region *region)
{
    job_check(bgemm->job, "tern_region_make",
              tern_region_make(region, memory, shape, ndims, TERN_REGION_F32));
}

static void make_grid(struct bgemm *bgemm)
{
    uint32_t side = GRID_SIDE * bgemm->tile;
    const uint32_t shape[] = {side, side};
    size_t count = (size_t)side * side;
    bgemm->sums = GRID_SIDE * GRID_SIDE;
    bgemm->depth = GRID_SIDE;
    bgemm->elements = count;
    bgemm->part_bytes = (size_t)bgemm->tile * bgemm->tile * sizeof(float);
    region_of(bgemm, kit_matrix(bgemm->job, count, 1, 0.01f), shape, 2, &bgemm->a);
    region_of(bgemm, kit_matrix(bgemm->job, count, 2, 0.01f), shape, 2, &bgemm->b);
    region_of(bgemm, job_memory(bgemm->job, count * sizeof(float)), shape, 2, &bgemm->c);
}

static void make_benchmark(struct bgemm *bgemm, uint32_t tasks)
{
    uint32_t sums = tasks / BENCHMARK_DEPTH;
    const uint32_t shape[] = {sums, BENCHMARK_DEPTH, BENCHMARK_LOOP, bgemm->tile, bgemm->tile};
    const uint32_t c_shape[] = {sums, BENCHMARK_LOOP, bgemm->tile, bgemm->tile};
    size_t one = (size_t)BENCHMARK_LOOP * bgemm->tile * bgemm->tile;
    size_t count = sums * one * BENCHMARK_DEPTH;
    bgemm->sums = sums;
    bgemm->depth = BENCHMARK_DEPTH;
    bgemm->elements = sums * one;
    bgemm->part_bytes = one * sizeof(float);
    region_of(bgemm, kit_matrix(bgemm->job, count, 1, 0.01f), shape, 5, &bgemm->a);
    region_of(bgemm, kit_matrix(bgemm->job, count, 2, 0.01f), shape, 5, &bgemm->b);
    region_of(bgemm, job_memory(bgemm->job, bgemm->elements * sizeof(float)), c_shape, 4,
              &bgemm->c);
}

// a, b and sum of product k of a sum; of `part` all but the memory.
static int look(const struct bgemm *bgemm, uint32_t sum, uint32_t k, tern_region parts[PARTS])
{
    uint32_t tile = bgemm->tile;
    if (bgemm->which == GRID) {
        const uint32_t shape[] = {tile, tile};
        uint32_t row = sum / GRID_SIDE * tile;
        uint32_t column = sum % GRID_SIDE * tile;
        TRY(tern_region_view(&bgemm->a, shape, (uint32_t[]){row, k * tile}, &parts[0]));
        TRY(tern_region_view(&bgemm->b, shape, (uint32_t[]){k * tile, column}, &parts[1]));
        TRY(tern_region_view(&bgemm->c, shape, (uint32_t[]){row, column}, &parts[3]));
        return tern_region_make(&parts[2], NULL, shape, 2, TERN_REGION_F32);
    }
    const uint32_t shape[] = {1, 1, BENCHMARK_LOOP, tile, tile};
    const uint32_t offset[] = {sum, k, 0, 0, 0};
    TRY(tern_region_view(&bgemm->a, shape, offset, &parts[0]));
    TRY(tern_region_view(&bgemm->b, shape, offset, &parts[1]));
    TRY(tern_region_view(&bgemm->c, shape + 1, (uint32_t[]){sum, 0, 0, 0}, &parts[3]));
    return tern_region_make(&parts[2], NULL, shape + 1, 4, TERN_REGION_F32);
}

// Builder 3: what follows from the regions.
static int build_tensors(tern_graph *graph, void *arg)
{
    const struct bgemm *bgemm = arg;
    const tern_task multiply = {.name = "multiply",
                                .kernel = kernel_multiply,
                                .core = TERN_CORE_AIC};
    const tern_task add = {.name = "add", .kernel = kernel_accumulate, .core = TERN_CORE_AIV};
    for (uint32_t sum = 0; sum < bgemm->sums; sum++) {
        TRY(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO));
        for (uint32_t k = 0; k < bgemm->depth; k++) {
            tern_region parts[PARTS];
            TRY(look(bgemm, sum, k, parts));
            tern_task_arg of_multiply[] = {{.access = TERN_IN, .region = &parts[0]},
                                           {.access = TERN_IN, .region = &parts[1]},
                                           {.access = TERN_OUT, .region = &parts[2]}};
            tern_task_arg of_add[] = {{.access = TERN_IN, .region = &parts[2]},
                                      {.access = TERN_INOUT, .region = &parts[3]}};
            tern_submission product = {.task = multiply, .args = of_multiply, .args_count = 3};
            tern_submission addition = {.task = add, .args = of_add, .args_count = 2};
            TRY(tern_graph_submit(graph, &product, NULL));
            TRY(tern_graph_submit(graph, &addition, NULL));
        }
        TRY(tern_graph_scope_end(graph));
    }
    return TERN_OK;
}

static int add_task(tern_graph *graph, const char *name, tern_kernel kernel, tern_core core,
                    const tern_region *const *regions, int count, int *id)
{
    int64_t args[3];
    for (int i = 0; i < count; i++) {
        args[i] = kernel_arg(regions[i]);
    }
    return tern_graph_add_task(graph,
                               &(tern_task){.name = name,
                                            .kernel = kernel,
                                            .core = core,
                                            .args = args,
                                            .args_count = count},
                               id);
}

// Builders 1 and 2: each edge is said. On the host publishing means nothing.
static int build_edges(tern_graph *graph, void *arg)
{
    const struct bgemm *bgemm = arg;
    for (uint32_t sum = 0; sum < bgemm->sums; sum++) {
        int before = -1;
        for (uint32_t k = 0; k < bgemm->depth; k++) {
            const tern_region *part = &bgemm->regions[(size_t)(sum * bgemm->depth + k) * PARTS];
            int multiply;
            int add;
            TRY(add_task(graph, "multiply", kernel_multiply, TERN_CORE_AIC,
                         (const tern_region *const[]){&part[0], &part[1], &part[2]}, 3, &multiply));
            TRY(tern_graph_publish(graph, multiply));
            TRY(add_task(graph, "add", kernel_accumulate, TERN_CORE_AIV,
                         (const tern_region *const[]){&part[2], &part[3]}, 2, &add));
            TRY(tern_graph_add_edge(graph, multiply, add));
            if (before >= 0) {
                TRY(tern_graph_add_edge(graph, before, add));
            }
            TRY(tern_graph_publish(graph, add));
            before = add;
        }
    }
    return TERN_OK;
}

// Graphs with explicit edges keep what their tasks look at, and the memory of the parts.
static void make_regions(struct bgemm *bgemm)
{
    size_t count = (size_t)bgemm->sums * bgemm->depth;
    char *memory = job_memory(bgemm->job, count * bgemm->part_bytes);
    bgemm->regions = job_memory(bgemm->job, count * PARTS * sizeof *bgemm->regions);
    for (size_t i = 0; i < count; i++) {
        tern_region *parts = &bgemm->regions[i * PARTS];
        job_check(bgemm->job, "tern_region_view",
                  look(bgemm, (uint32_t)(i / bgemm->depth), (uint32_t)(i % bgemm->depth), parts));
        parts[2].address = (uint64_t)(uintptr_t)(memory + i * bgemm->part_bytes);
    }
}

static double run(struct bgemm *bgemm, tern_chip *chip, int builder)
{
    const struct job *job = bgemm->job;
    tern_graph *graph = NULL;
    double seconds;
    if (builder == TENSORS) {
        job_check(job, "tern_graph_create_rings", tern_graph_create_rings(NULL, &graph));
        seconds = kit_orchestrate(job, chip, graph, build_tensors, bgemm);
    } else {
        make_regions(bgemm);
        job_check(job, "tern_graph_create", tern_graph_create(&graph));
        if (builder == CHIP) {
            seconds = kit_orchestrate(job, chip, graph, build_edges, bgemm);
        } else {
            job_check(job, "building", build_edges(graph, bgemm));
            seconds = -kit_seconds();
            job_check(job, "tern_chip_launch", tern_chip_launch(chip, graph));
            job_check(job, "the run", tern_chip_synchronize(chip));
            seconds += kit_seconds();
        }
    }
    job_check(job, "tern_graph_destroy", tern_graph_destroy(graph));
    return seconds;
}

static double verify(const struct bgemm *bgemm)
{
    const float *a = tern_region_data(&bgemm->a);
    const float *b = tern_region_data(&bgemm->b);
    double *wanted = job_memory(bgemm->job, bgemm->elements * sizeof *wanted);
    size_t side = bgemm->which == GRID ? (size_t)GRID_SIDE * bgemm->tile : bgemm->tile;
    struct kit_product product = {side, side, side, side, side, side};
    size_t one = side * side;
    size_t count = bgemm->elements / one; // of c's matrices
    size_t depth = bgemm->which == GRID ? 1 : BENCHMARK_DEPTH;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < depth; k++) {
            size_t from = bgemm->which == GRID ? 0
                                               : (i / BENCHMARK_LOOP * depth + k) * BENCHMARK_LOOP +
                                                     i % BENCHMARK_LOOP;
            kit_multiply(&product, a + from * one, b + from * one, wanted + i * one);
        }
    }
    double error =
        kit_compare(bgemm->job, "c", tern_region_data(&bgemm->c), wanted, bgemm->elements, 1e-3);
    free(wanted);
    return error;
}

int main(int argc, char **argv)
{
    static const char *const builders[] = {"host", "chip", "tensors", NULL};
    static const char *const cases[] = {"grid", "benchmark", NULL};
    struct job job;
    job_begin(&job, "graph_bgemm");
    int builder = TENSORS;
    int which = GRID;
    int tile = 0;
    int tasks = 500;
    int aic = 2;
    int aiv = 2;
    const struct kit_option options[] = {
        {"builder", &builder, 0, 0, "host, chip or tensors (tensors)", builders},
        {"case", &which, 0, 0, "grid or benchmark (grid)", cases},
        {"tile", &tile, 1, 128, "rows and columns of a tile (64; of the benchmark 32)", NULL},
        {"tasks", &tasks, 2, 100000, "products of the benchmark, an even number (500)", NULL},
        {"aic", &aic, 1, 64, "matrix cores (2)", NULL},
        {"aiv", &aiv, 1, 64, "vector cores (2)", NULL},
    };
    kit_options(&job, argc, argv, "Batched matrix products in f32, by each of the three builders.",
                options, sizeof options / sizeof *options);
    if (tasks % BENCHMARK_DEPTH != 0) {
        kit_refuse(&job, "tasks", "must be an even number");
    }
    struct bgemm bgemm = {.job = &job,
                          .which = which,
                          .tile = tile != 0       ? (uint32_t)tile
                                  : which == GRID ? 64
                                                  : 32};
    if (which == GRID) {
        make_grid(&bgemm);
    } else {
        make_benchmark(&bgemm, (uint32_t)tasks);
    }
    tern_chip *chip = kit_chip(&job, aic, aiv);
    double seconds = run(&bgemm, chip, builder);
    job_check(&job, "tern_chip_destroy", tern_chip_destroy(chip));
    double error = verify(&bgemm);
    if (job.rank == 0) {
        printf("%s, %u sums of %u products, tiles of %u: %.3f ms, largest error %.1e of the size\n",
               cases[which], bgemm.sums, bgemm.depth, bgemm.tile, seconds * 1e3, error);
    }
    job_end(&job, "batched products, builder %s", builders[builder]);
    return 0;
}
