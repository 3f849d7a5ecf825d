// SPDX-License-Identifier: Apache-2.0
// Options, numbers, chips, comparison (kit.h).
#include "kit.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OPTIONS_MAX = 16, FIRST_CODE = 256 };

void kit_refuse(const struct job *job, const char *what, const char *sentence)
{
    if (job->rank == 0) {
        fprintf(stderr, "%s: '%s' %s (see --help)\n", job->program, what, sentence);
    }
    exit(2);
}

static _Noreturn void help(const struct job *job, const char *purpose,
                           const struct kit_option *options, int count)
{
    if (job->rank == 0) {
        printf("usage: %s [options]\n\n%s\n\n", job->program, purpose);
        for (int i = 0; i < count; i++) {
            printf("  --%-14s %s\n", options[i].name, options[i].help);
        }
        puts("\nExit status: 0 verified, 1 failed or wrong result, 2 wrong usage.");
    }
    exit(tern_comm_destroy(job->world) == TERN_OK ? 0 : 1);
}

static void set_word(const struct job *job, const struct kit_option *option, const char *text)
{
    char sentence[160] = "must be one of:";
    for (int i = 0; option->words[i] != NULL; i++) {
        if (strcmp(option->words[i], text) == 0) {
            *option->value = i;
            return;
        }
        size_t used = strlen(sentence);
        snprintf(sentence + used, sizeof sentence - used, " %s", option->words[i]);
    }
    size_t used = strlen(sentence);
    snprintf(sentence + used, sizeof sentence - used, ", not '%.20s'", text);
    kit_refuse(job, option->name, sentence);
}

static void set_number(const struct job *job, const struct kit_option *option, const char *text)
{
    char *end = NULL;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || number < option->min ||
        number > option->max) {
        char sentence[96];
        snprintf(sentence, sizeof sentence, "needs a number from %d to %d, not '%.20s'",
                 option->min, option->max, text);
        kit_refuse(job, option->name, sentence);
    }
    *option->value = (int)number;
}

void kit_options(const struct job *job, int argc, char **argv, const char *purpose,
                 const struct kit_option *options, int count)
{
    struct option known[OPTIONS_MAX + 2] = {0};
    for (int i = 0; i < count; i++) {
        known[i] = (struct option){options[i].name, required_argument, NULL, FIRST_CODE + i};
    }
    known[count] = (struct option){"help", no_argument, NULL, 'h'};
    int code;
    while ((code = getopt_long(argc, argv, ":h", known, NULL)) != -1) {
        if (code == 'h') {
            help(job, purpose, options, count);
        } else if (code == ':') {
            kit_refuse(job, argv[optind - 1], "needs a value");
        } else if (code < FIRST_CODE) {
            kit_refuse(job, argv[optind - 1], "is no option");
        }
        const struct kit_option *option = &options[code - FIRST_CODE];
        (option->words != NULL ? set_word : set_number)(job, option, optarg);
    }
    if (optind < argc) {
        kit_refuse(job, argv[optind], "is no option");
    }
}

// The finalizer of splitmix64.
double kit_uniform(uint64_t seed, uint64_t index)
{
    uint64_t bits = (seed << 40) + index + UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    bits ^= bits >> 31;
    return (double)(bits >> 11) * 0x1p-53;
}

double kit_normal(uint64_t seed, uint64_t index)
{
    const double turn = 6.283185307179586;
    double radius = sqrt(-2 * log(1 - kit_uniform(seed, 2 * index)));
    return radius * cos(turn * kit_uniform(seed, 2 * index + 1));
}

float *kit_matrix(const struct job *job, size_t count, uint64_t seed, float scale)
{
    float *matrix = job_memory(job, count * sizeof *matrix);
    for (size_t i = 0; i < count; i++) {
        matrix[i] = scale * (float)kit_normal(seed, i);
    }
    return matrix;
}

void kit_multiply(const struct kit_product *product, const float *a, const float *b, double *sum)
{
    for (size_t row = 0; row < product->rows; row++) {
        double *to = sum + row * product->sum_stride;
        for (size_t k = 0; k < product->depth; k++) {
            double factor = (double)a[row * product->a_stride + k];
            const float *from = b + k * product->b_stride;
            for (size_t column = 0; column < product->columns; column++) {
                to[column] += factor * (double)from[column];
            }
        }
    }
}

double kit_compare(const struct job *job, const char *what, const float *got, const double *wanted,
                   size_t count, double tolerance)
{
    double squares = 0;
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        squares += wanted[i] * wanted[i];
    }
    double size = sqrt(squares / (double)count);
    for (size_t i = 0; i < count; i++) {
        double error = fabs((double)got[i] - wanted[i]);
        if (!(error <= tolerance * size)) {
            job_fail(job, "%s: element %zu is %.9g, expected %.9g within %.3g", what, i,
                     (double)got[i], wanted[i], tolerance * size);
        }
        worst = error > worst ? error : worst;
    }
    return size > 0 ? worst / size : 0;
}

tern_chip *kit_chip(const struct job *job, int aic_count, int aiv_count)
{
    tern_chip *chip = NULL;
    job_check(job, "tern_chip_create",
              tern_chip_create(job->world,
                               &(tern_chip_options){.aic_count = aic_count, .aiv_count = aiv_count},
                               &chip));
    return chip;
}

double kit_orchestrate(const struct job *job, tern_chip *chip, tern_graph *graph,
                       tern_orchestration orchestration, void *arg)
{
    double begin = kit_seconds();
    job_check(job, "tern_chip_orchestrate",
              tern_chip_orchestrate(chip, graph, orchestration, arg, NULL));
    job_check(job, "the run", tern_chip_synchronize(chip));
    return kit_seconds() - begin;
}

double kit_run_once(const struct job *job, int aic_count, int aiv_count,
                    tern_orchestration orchestration, void *arg, tern_ring_marks *marks)
{
    tern_chip *chip = kit_chip(job, aic_count, aiv_count);
    tern_graph *graph = NULL;
    job_check(job, "tern_graph_create_rings", tern_graph_create_rings(NULL, &graph));
    double seconds = kit_orchestrate(job, chip, graph, orchestration, arg);
    if (marks != NULL) {
        job_check(job, "tern_graph_marks", tern_graph_marks(graph, marks));
    }
    job_check(job, "tern_graph_destroy", tern_graph_destroy(graph));
    job_check(job, "tern_chip_destroy", tern_chip_destroy(chip));
    return seconds;
}

double kit_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void kit_region(const struct job *job, void *memory, uint32_t rows, uint32_t columns,
                tern_region *region)
{
    const uint32_t shape[] = {rows, columns};
    job_check(job, "tern_region_make", tern_region_make(region, memory, shape, 2, TERN_REGION_F32));
}
