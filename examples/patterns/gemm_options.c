// SPDX-License-Identifier: Apache-2.0
// The command line of gemm_all_reduce: one table has every option, its bounds and its help.
#include "gemm_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(name) offsetof(struct gemm_options, name)
#define SIDE_MAX 32768

static const struct option {
    const char *name;
    size_t offset;
    long min, max;
    const char *help;
} table[] = {
    {"--m", FIELD(shape.m), 1, SIDE_MAX, "rows of the product (1000)"},
    {"--k", FIELD(shape.k), 1, SIDE_MAX, "what is summed up on each rank (1024)"},
    {"--n", FIELD(shape.n), 1, SIDE_MAX, "columns of the product (900)"},
    {"--blocks-compute", FIELD(shape.compute_blocks), 1, GEMM_COMPUTE_BLOCKS, "matrix cores (4)"},
    {"--blocks-comm", FIELD(shape.comm_blocks), 1, GEMM_COMM_BLOCKS_MAX, "vector cores (4)"},
    {"--runs", FIELD(runs), 1, 1000, "measured runs of each kind, after one that is not (5)"},
    {"--patience", FIELD(patience), 0, 1000000000,
     "sweeps without a tile before a block waits instead of polling (0: it polls)"},
};

#define OPTION_COUNT (sizeof table / sizeof table[0])

static void print_help(void)
{
    puts("usage: tern run -n RANKS pattern_gemm_all_reduce [options]\n\n"
         "The sum over 2 to 8 ranks of the product of each rank's m x k and k x n matrices (f16),\n"
         "on every rank: one kernel computes tiles, another one reduces and gathers them. Prints\n"
         "medians of computation alone, of both after another, and of both at a time.\n");
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        printf("  %-16s N   %s\n", table[i].name, table[i].help);
    }
    puts("  --published          5416 x 6144 x 1408, 24 + 24 blocks\n"
         "  --compute-first      launch the computation first, then what polls for it");
}

static void refuse(const struct job *job, const char *sentence, const char *what)
{
    if (job->rank == 0) {
        fprintf(stderr, "%s: '%s' %s (see --help)\n", job->program, what, sentence);
    }
    exit(2);
}

static void set(const struct job *job, const struct option *option, const char *text,
                struct gemm_options *options)
{
    char *end = NULL;
    char sentence[96];
    errno = 0;
    long number = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || number < option->min ||
        number > option->max) {
        snprintf(sentence, sizeof sentence, "needs a number from %ld to %ld, not '%.20s'",
                 option->min, option->max, text);
        refuse(job, sentence, option->name);
    }
    *(int *)(void *)((char *)options + option->offset) = (int)number;
}

void gemm_options_parse(int argc, char **argv, const struct job *job, struct gemm_options *options)
{
    *options = (struct gemm_options){.shape = {1000, 1024, 900, job->nranks, 4, 4}, .runs = 5};
    for (int i = 1; i < argc; i++) {
        size_t o = 0;
        while (o < OPTION_COUNT && strcmp(argv[i], table[o].name) != 0) {
            o++;
        }
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            if (job->rank == 0) {
                print_help();
            }
            exit(tern_comm_destroy(job->world) == TERN_OK ? 0 : 1);
        } else if (strcmp(argv[i], "--published") == 0) {
            options->shape = (struct gemm_shape){5416, 6144, 1408, job->nranks, 24, 24};
        } else if (strcmp(argv[i], "--compute-first") == 0) {
            options->compute_first = true;
        } else if (o == OPTION_COUNT) {
            refuse(job, "is no option", argv[i]);
        } else if (i + 1 == argc) {
            refuse(job, "needs a value", argv[i]);
        } else {
            set(job, &table[o], argv[++i], options);
        }
    }
    if (job->nranks > GEMM_RANKS_MAX) {
        job_fail(job, "there are signals for %d ranks, not for %d", GEMM_RANKS_MAX, job->nranks);
    }
}
