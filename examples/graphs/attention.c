// SPDX-License-Identifier: Apache-2.0
// Paged attention: each request has a query for all its heads, and keys and values for one head, in
// pages that lie anywhere. For each page of a request:
//
//     scores = q k^T  ->  softmax of the page  ->  values = weights v  ->  merge into the request's
//
// and after the last page a division. q, k and v are bf16. Each request is a scope: what its tasks
// make lies in a heap until they have finished, and the pages of different requests, and those of
// one up to the merge, run side by side.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention.h"
#include "kernels.h"
#include "kit.h"

struct attention {
    const struct job *job;
    int batch, heads, width, block, context;
    int pages;           // of a request
    int *table;          // [batch][pages]: where in k and v
    uint16_t *q, *k, *v; // [batch][heads][width], [batch * pages][block][width]
    float *out;          // [batch][heads][width]
};

// Rows and columns of bf16 or f32; memory NULL: to be made.
static int matrix(void *memory, int rows, int columns, tern_region_dtype dtype, tern_region *region)
{
    const uint32_t shape[] = {(uint32_t)rows, (uint32_t)columns};
    return tern_region_make(region, memory, shape, 2, dtype);
}

static int submit(tern_graph *graph, const char *name, tern_kernel kernel, tern_core core,
                  tern_task_arg *args, int count)
{
    tern_submission submission = {.task = {.name = name, .kernel = kernel, .core = core},
                                  .args = args,
                                  .args_count = count};
    return tern_graph_submit(graph, &submission, NULL);
}

// What a request adds up: maxima, sums and values of its heads.
struct total {
    tern_region most, sum, values;
};

static uint64_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// A task without a kernel: only memory, filled.
static int make_total(tern_graph *graph, const struct attention *all, struct total *total)
{
    TRY(matrix(NULL, all->heads, 1, TERN_REGION_F32, &total->most));
    TRY(matrix(NULL, all->heads, 1, TERN_REGION_F32, &total->sum));
    TRY(matrix(NULL, all->heads, all->width, TERN_REGION_F32, &total->values));
    tern_task_arg args[] = {
        {.access = TERN_OUT, .region = &total->most, .filled = true, .fill = bits_of(-INFINITY)},
        {.access = TERN_OUT, .region = &total->sum, .filled = true},
        {.access = TERN_OUT, .region = &total->values, .filled = true},
    };
    return submit(graph, "total", NULL, TERN_CORE_NONE, args, 3);
}

static int attend_page(tern_graph *graph, const struct attention *all, int request, int page,
                       struct total *total)
{
    tern_region q, k, k_transposed, v, scores, weights, most, sum, values;
    size_t at = (size_t)all->table[request * all->pages + page] * (size_t)(all->block * all->width);
    int left = all->context - page * all->block;
    int columns = left < all->block ? left : all->block;
    double scale = 1 / sqrt(all->width);
    uint64_t scale_bits;
    memcpy(&scale_bits, &scale, sizeof scale_bits);
    TRY(matrix(all->q + (size_t)request * (size_t)(all->heads * all->width), all->heads, all->width,
               TERN_REGION_BF16, &q));
    TRY(matrix(all->k + at, all->block, all->width, TERN_REGION_BF16, &k));
    TRY(matrix(all->v + at, all->block, all->width, TERN_REGION_BF16, &v));
    TRY(tern_region_transpose(&k, 0, 1, &k_transposed));
    TRY(matrix(NULL, all->heads, all->block, TERN_REGION_F32, &scores));
    weights = scores;
    TRY(matrix(NULL, all->heads, 1, TERN_REGION_F32, &most));
    sum = most;
    TRY(matrix(NULL, all->heads, all->width, TERN_REGION_F32, &values));
    tern_task_arg of_scores[] = {{.access = TERN_IN, .region = &q},
                                 {.access = TERN_IN, .region = &k_transposed},
                                 {.access = TERN_OUT, .region = &scores}};
    tern_task_arg of_softmax[] = {{.access = TERN_IN, .region = &scores},
                                  {.access = TERN_OUT, .region = &weights},
                                  {.access = TERN_OUT, .region = &most},
                                  {.access = TERN_OUT, .region = &sum},
                                  {.access = TERN_SCALAR, .scalar = (uint64_t)columns},
                                  {.access = TERN_SCALAR, .scalar = scale_bits}};
    tern_task_arg of_values[] = {{.access = TERN_IN, .region = &weights},
                                 {.access = TERN_IN, .region = &v},
                                 {.access = TERN_OUT, .region = &values}};
    tern_task_arg of_merge[] = {{.access = TERN_IN, .region = &most},
                                {.access = TERN_IN, .region = &sum},
                                {.access = TERN_IN, .region = &values},
                                {.access = TERN_INOUT, .region = &total->most},
                                {.access = TERN_INOUT, .region = &total->sum},
                                {.access = TERN_INOUT, .region = &total->values}};
    TRY(submit(graph, "scores", kernel_multiply, TERN_CORE_AIC, of_scores, 3));
    TRY(submit(graph, "softmax", kernel_softmax, TERN_CORE_AIV, of_softmax, 6));
    TRY(submit(graph, "values", kernel_multiply, TERN_CORE_AIC, of_values, 3));
    return submit(graph, "merge", kernel_merge, TERN_CORE_AIV, of_merge, 6);
}

static int build(tern_graph *graph, void *arg)
{
    const struct attention *all = arg;
    for (int request = 0; request < all->batch; request++) {
        struct total total;
        tern_region out;
        float *memory = all->out + (size_t)request * (size_t)(all->heads * all->width);
        TRY(matrix(memory, all->heads, all->width, TERN_REGION_F32, &out));
        TRY(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO));
        TRY(make_total(graph, all, &total));
        for (int page = 0; page < all->pages; page++) {
            TRY(attend_page(graph, all, request, page, &total));
        }
        tern_task_arg args[] = {{.access = TERN_IN, .region = &total.sum},
                                {.access = TERN_IN, .region = &total.values},
                                {.access = TERN_OUT_EXISTING, .region = &out}};
        TRY(submit(graph, "divide", kernel_divide, TERN_CORE_AIV, args, 3));
        TRY(tern_graph_scope_end(graph));
    }
    return TERN_OK;
}

static double number_of(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float number;
    memcpy(&number, &bits, sizeof number);
    return (double)number;
}

// Normal numbers, cut off to bf16.
static uint16_t *make_halves(const struct job *job, size_t count, uint64_t seed)
{
    uint16_t *halves = job_memory(job, count * sizeof *halves);
    for (size_t i = 0; i < count; i++) {
        halves[i] = (uint16_t)(bits_of((float)kit_normal(seed, i)) >> 16);
    }
    return halves;
}

static void make(struct attention *all)
{
    size_t queries = (size_t)(all->batch * all->heads) * (size_t)all->width;
    int count = all->batch * all->pages;
    size_t keys = (size_t)count * (size_t)(all->block * all->width);
    all->q = make_halves(all->job, queries, 1);
    all->k = make_halves(all->job, keys, 2);
    all->v = make_halves(all->job, keys, 3);
    all->out = job_memory(all->job, queries * sizeof *all->out);
    all->table = job_memory(all->job, (size_t)count * sizeof *all->table);
    for (int i = 0; i < count; i++) { // shuffled
        int other = (int)(kit_uniform(4, (uint64_t)i) * (i + 1));
        all->table[i] = all->table[other];
        all->table[other] = i;
    }
}

// One head of one request, in doubles and in one go.
static void expect(const struct attention *all, int request, int head, double *wanted)
{
    double *weights = job_memory(all->job, (size_t)all->context * sizeof *weights);
    double total = 0;
    size_t width = (size_t)all->width;
    const uint16_t *q = all->q + (size_t)(request * all->heads + head) * width;
    memset(wanted, 0, width * sizeof *wanted);
    for (int i = 0; i < all->context; i++) {
        int page = all->table[request * all->pages + i / all->block];
        size_t at = (size_t)(page * all->block + i % all->block) * width;
        double score = 0;
        for (size_t d = 0; d < width; d++) {
            score += number_of(q[d]) * number_of(all->k[at + d]);
        }
        weights[i] = exp(score / sqrt(all->width));
        total += weights[i];
        for (size_t d = 0; d < width; d++) {
            wanted[d] += weights[i] * number_of(all->v[at + d]);
        }
    }
    for (size_t d = 0; d < width; d++) {
        wanted[d] /= total;
    }
    free(weights);
}

static double verify(const struct attention *all)
{
    size_t width = (size_t)all->width;
    int rows = all->batch * all->heads;
    double *wanted = job_memory(all->job, (size_t)rows * width * sizeof *wanted);
    for (int row = 0; row < rows; row++) {
        expect(all, row / all->heads, row % all->heads, wanted + (size_t)row * width);
    }
    double error = kit_compare(all->job, "attention", all->out, wanted, (size_t)rows * width, 1e-3);
    free(wanted);
    return error;
}

int main(int argc, char **argv)
{
    struct job job;
    job_begin(&job, "graph_attention");
    struct attention all = {
        .job = &job, .batch = 4, .heads = 16, .width = 64, .block = 16, .context = 64};
    int aic = 1;
    int aiv = 2;
    const struct kit_option options[] = {
        {"batch", &all.batch, 1, 256, "requests (4)", NULL},
        {"heads", &all.heads, 1, 128, "of queries; keys and values have one (16)", NULL},
        {"head-dim", &all.width, 1, 128, "numbers of a head (64)", NULL},
        {"block", &all.block, 1, 128, "tokens of a page (16)", NULL},
        {"context", &all.context, 1, 8192, "tokens of a request (64)", NULL},
        {"aic", &aic, 1, 64, "matrix cores (1)", NULL},
        {"aiv", &aiv, 1, 64, "vector cores (2)", NULL},
    };
    kit_options(&job, argc, argv, "Attention over pages of keys and values.", options,
                sizeof options / sizeof *options);
    all.pages = (all.context + all.block - 1) / all.block;
    make(&all);
    tern_ring_marks marks;
    double seconds = kit_run_once(&job, aic, aiv, build, &all, &marks);
    double error = verify(&all);
    if (job.rank == 0) {
        printf("%d requests of %d pages, %llu tasks, at most %llu KiB of heap: %.3f ms, largest "
               "error %.1e of the size\n",
               all.batch, all.pages, (unsigned long long)marks.tasks,
               (unsigned long long)(marks.heap[1] >> 10), seconds * 1e3, error);
    }
    job_end(&job, "paged attention");
    return 0;
}
