// SPDX-License-Identifier: Apache-2.0
// Expert parallelism: each rank has some tokens and some experts (a matrix each), and each token
// goes to several experts, of any rank:
//
//     dispatch to d    stores the tokens for the experts of rank d in d's inbox, notifies d
//     compute from s   waits for the tokens of s; multiplies them by their experts' matrices
//     return to s      stores the products in s's outbox, notifies s
//     combine          waits for all ranks; adds up each token's products, weighted
//
// No core waits: tasks are held until their signals have come. A rank's run ends when all of its
// tokens are back, so nobody writes an inbox again before it has been read.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experts.h"
#include "kernels.h"

struct access {
    tern_access access;
    tern_region *region;
};

static int submit(tern_graph *graph, const struct experts *all, tern_task task, int rank,
                  const struct access accesses[2], const tern_condition *waits, int waits_count)
{
    tern_task_arg args[4] = {{.access = TERN_SCALAR, .scalar = (uint64_t)kernel_arg(all)},
                             {.access = TERN_SCALAR, .scalar = (uint64_t)rank}};
    int count = 2;
    for (int i = 0; i < 2 && accesses[i].region != NULL; i++, count++) {
        args[count] = (tern_task_arg){.access = accesses[i].access, .region = accesses[i].region};
    }
    return tern_graph_submit(graph,
                             &(tern_submission){.task = task,
                                                .args = args,
                                                .args_count = count,
                                                .waits = waits,
                                                .waits_count = waits_count},
                             NULL);
}

// The tokens of one rank, there and back.
static int serve(tern_graph *graph, const struct experts *all, int from)
{
    const tern_task task = {.name = "compute", .kernel = kernel_compute, .core = TERN_CORE_AIC};
    const tern_task back = {.name = "return", .kernel = kernel_return, .core = TERN_CORE_AIV};
    uint32_t rows = (uint32_t)(all->tokens * all->choices);
    tern_region inbox;
    tern_region products;
    tern_condition full = experts_came(all, INBOX, from);
    float *memory = job_at(all->job, all->job->rank, experts_rows_at(all, INBOX, from));
    kit_region(all->job, memory, rows, (uint32_t)all->width, &inbox);
    kit_region(all->job, NULL, rows, (uint32_t)all->width, &products);
    TRY(submit(graph, all, task, from, (struct access[]){{TERN_IN, &inbox}, {TERN_OUT, &products}},
               &full, 1));
    return submit(graph, all, back, from,
                  (struct access[]){{TERN_IN, &inbox}, {TERN_IN, &products}}, NULL, 0);
}

static int build(tern_graph *graph, void *arg)
{
    const struct experts *all = arg;
    const struct job *job = all->job;
    const tern_task send = {.name = "dispatch", .kernel = kernel_dispatch, .core = TERN_CORE_AIV};
    const tern_task last = {.name = "combine", .kernel = kernel_combine, .core = TERN_CORE_AIV};
    tern_region x;
    tern_region y;
    tern_condition back[RANKS_MAX];
    kit_region(job, all->x, (uint32_t)all->tokens, (uint32_t)all->width, &x);
    kit_region(job, all->y, (uint32_t)all->tokens, (uint32_t)all->width, &y);
    for (int i = 1; i <= job->nranks; i++) { // the next rank first, so that not all begin with one
        TRY(submit(graph, all, send, (job->rank + i) % job->nranks,
                   (struct access[]){{TERN_IN, &x}, {0}}, NULL, 0));
    }
    TRY(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO));
    for (int rank = 0; rank < job->nranks; rank++) {
        TRY(serve(graph, all, rank));
        back[rank] = experts_came(all, OUTBOX, rank);
    }
    TRY(tern_graph_scope_end(graph));
    return submit(graph, all, last, 0, (struct access[]){{TERN_OUT_EXISTING, &y}, {0}}, back,
                  job->nranks);
}

static float *weights_of(const struct experts *all, int expert)
{
    size_t width = (size_t)all->width;
    return kit_matrix(all->job, width * width, 100 + (uint64_t)expert, 0.1f);
}

static double verify(const struct experts *all)
{
    const struct job *job = all->job;
    size_t width = (size_t)all->width;
    size_t count = (size_t)all->tokens * width;
    double *wanted = job_memory(job, count * sizeof *wanted);
    double *one = job_memory(job, width * sizeof *one);
    const struct kit_product product = {1, width, width, width, width, width};
    for (int expert = 0; expert < job->nranks * all->per_rank; expert++) {
        float *weights = weights_of(all, expert);
        for (int i = 0; i < all->tokens * all->choices; i++) {
            int token = i / all->choices;
            int choice = i % all->choices;
            if (experts_chosen(all, job->rank, token, choice) == expert) {
                memset(one, 0, width * sizeof *one);
                kit_multiply(&product, all->x + (size_t)token * width, weights, one);
                for (size_t d = 0; d < width; d++) {
                    wanted[(size_t)token * width + d] +=
                        (double)experts_share(token, choice) * one[d];
                }
            }
        }
        free(weights);
    }
    double error = kit_compare(job, "y", all->y, wanted, count, 1e-3);
    free(wanted);
    free(one);
    return error;
}

static void make(struct job *job, struct experts *all)
{
    size_t width = (size_t)all->width;
    size_t rows = (size_t)all->tokens * (size_t)all->choices;
    all->box_bytes = EXPERTS_MAX * sizeof(int32_t) + rows * width * sizeof(float);
    all->box_bytes = (all->box_bytes + LINE - 1) / LINE * LINE;
    job_window(job, JOB_SIGNAL_BYTES + 2 * (size_t)all->job->nranks * all->box_bytes);
    all->x = kit_matrix(all->job, (size_t)all->tokens * width, 50 + (uint64_t)all->job->rank, 1);
    all->y = job_memory(all->job, (size_t)all->tokens * width * sizeof(float));
    all->weights = job_memory(all->job, (size_t)all->per_rank * width * width * sizeof(float));
    for (int i = 0; i < all->per_rank; i++) {
        float *weights = weights_of(all, all->job->rank * all->per_rank + i);
        memcpy(all->weights + (size_t)i * width * width, weights, width * width * sizeof(float));
        free(weights);
    }
}

int main(int argc, char **argv)
{
    struct job job;
    job_begin(&job, "graph_experts");
    struct experts all = {.job = &job, .tokens = 16, .width = 128, .per_rank = 2, .choices = 2};
    int rounds = 3;
    const struct kit_option options[] = {
        {"tokens", &all.tokens, 1, 4096, "of a rank (16)", NULL},
        {"hidden", &all.width, 1, 1024, "numbers of a token (128)", NULL},
        {"experts", &all.per_rank, 1, EXPERTS_MAX, "of a rank (2)", NULL},
        {"choices", &all.choices, 1, 8, "experts of a token, at most as many as there are (2)",
         NULL},
        {"rounds", &rounds, 1, 1000, "how often, each with other choices (3)", NULL},
    };
    kit_options(&job, argc, argv, "Tokens go to experts on other ranks, and come back.", options,
                sizeof options / sizeof *options);
    if (job.nranks > RANKS_MAX) {
        job_fail(&job, "there are signals for %d ranks, not for %d", RANKS_MAX, job.nranks);
    }
    if (all.choices > job.nranks * all.per_rank) {
        char sentence[64];
        snprintf(sentence, sizeof sentence, "must not be more than the %d experts",
                 job.nranks * all.per_rank);
        kit_refuse(&job, "choices", sentence);
    }
    make(&job, &all);
    tern_chip *chip = kit_chip(&job, 1, 1);
    tern_graph *graph = NULL;
    double error = 0;
    double seconds = 0;
    job_check(&job, "tern_graph_create_rings", tern_graph_create_rings(NULL, &graph));
    for (all.round = 0; all.round < rounds; all.round++) {
        seconds = kit_orchestrate(&job, chip, graph, build, &all);
        error = verify(&all);
    }
    job_check(&job, "tern_graph_destroy", tern_graph_destroy(graph));
    job_check(&job, "tern_chip_destroy", tern_chip_destroy(chip));
    if (job.rank == 0) {
        printf("%d tokens of %d to %d of %d experts each: last round %.3f ms, largest error %.1e "
               "of the size\n",
               all.tokens, all.width, all.choices, job.nranks * all.per_rank, seconds * 1e3, error);
    }
    job_end(&job, "experts, %d rounds", rounds);
    return 0;
}
