// SPDX-License-Identifier: Apache-2.0
// What the programs of task graphs share: options, numbers that are the same everywhere, the chip,
// and the comparison with what is expected. Failures end the program as those of job.h do.
#ifndef GRAPHS_KIT_H
#define GRAPHS_KIT_H

#include <stddef.h>
#include <stdint.h>

#include "job.h"
#include "tern/submit.h"

// Returns from the calling function what the expression returns when that is an error.
#define TRY(expression)                                                                            \
    do {                                                                                           \
        int status_ = (expression);                                                                \
        if (status_ < 0) {                                                                         \
            return status_;                                                                        \
        }                                                                                          \
    } while (0)

// One option. With words (NULL behind the last) its value is the number of the word, else a number
// from min to max.
struct kit_option {
    const char *name;
    int *value; // holds the default
    int min, max;
    const char *help;
    const char *const *words;
};

// Reads the command line. A wrong one: a sentence by rank 0, and exit status 2; --help: 0.
void kit_options(const struct job *job, int argc, char **argv, const char *purpose,
                 const struct kit_option *options, int count);

// Ends every rank: what the command line says does not fit together. `what` is quoted.
void kit_refuse(const struct job *job, const char *what, const char *sentence)
    __attribute__((noreturn));

// A number from [0, 1), of which each seed and index have one; and one of the normal distribution.
double kit_uniform(uint64_t seed, uint64_t index);
double kit_normal(uint64_t seed, uint64_t index);

// Memory for `count` elements of f32, each `scale` times a normal number.
float *kit_matrix(const struct job *job, size_t count, uint64_t seed, float scale);

// sum[rows, columns] += a[rows, depth] b[depth, columns], which are whole matrices. The first
// elements of two rows lie a stride apart.
struct kit_product {
    size_t rows, depth, columns;
    size_t a_stride, b_stride, sum_stride;
};
void kit_multiply(const struct kit_product *product, const float *a, const float *b, double *sum);

// Ends the program unless each element is what is wanted, within `tolerance` of the size (root mean
// square) of what is wanted. Returns the largest error as a part of that size.
double kit_compare(const struct job *job, const char *what, const float *got, const double *wanted,
                   size_t count, double tolerance);

tern_chip *kit_chip(const struct job *job, int aic_count, int aiv_count);

// Runs an orchestration to its end, and returns the seconds that took.
double kit_orchestrate(const struct job *job, tern_chip *chip, tern_graph *graph,
                       tern_orchestration orchestration, void *arg);

// The same on a chip and in rings that are made for it. marks may be NULL.
double kit_run_once(const struct job *job, int aic_count, int aiv_count,
                    tern_orchestration orchestration, void *arg, tern_ring_marks *marks);

double kit_seconds(void);

// A region of two dimensions that is a whole buffer of f32; of one that exists, or (memory is NULL)
// that is to be made.
void kit_region(const struct job *job, void *memory, uint32_t rows, uint32_t columns,
                tern_region *region);

#endif
