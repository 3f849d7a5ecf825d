// SPDX-License-Identifier: Apache-2.0
// The matrices of gemm_all_reduce, and what the result must be.
#ifndef PATTERNS_GEMM_DATA_H
#define PATTERNS_GEMM_DATA_H

#include "gemm_layout.h"
#include "job.h"

struct gemm_sample {
    size_t index;  // of the product's elements
    double wanted; // in double precision
    double allowed;
};

struct gemm_expected {
    struct gemm_sample *samples;
    size_t count;
};

// A rank's matrices in f16: -1, 0 and 1, the same for the same rank.
void *gemm_matrix_a(const struct job *job, struct gemm_shape shape);
void *gemm_matrix_b(const struct job *job, struct gemm_shape shape);

// Of a sample of elements, each rank another one. Sums up to 2048 are exact in f16, in any order;
// where a sum may be greater on the way, 1 + 1 % is allowed.
struct gemm_expected gemm_expect(const struct job *job, struct gemm_shape shape);

// Ends the program unless the caller's output is as expected, and the same as rank 0's.
void gemm_verify(const struct job *job, struct gemm_shape shape,
                 const struct gemm_expected *expected, const void *output, const void *output0,
                 const char *how);

#endif
