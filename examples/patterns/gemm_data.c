// SPDX-License-Identifier: Apache-2.0
// The matrices of gemm_all_reduce, and what the result must be (gemm_data.h).
#include "gemm_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tern/tile.h"

enum { SAMPLES_MAX = 2000, EXACT_MAX = 2048 };

// Multiplications for all samples of a rank.
#define SAMPLE_STEPS 30e6

// A word of 64 random bits for each index (the finalizer of splitmix64).
static uint64_t mixed(uint64_t index)
{
    index += UINT64_C(0x9e3779b97f4a7c15);
    index = (index ^ index >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    index = (index ^ index >> 27) * UINT64_C(0x94d049bb133111eb);
    return index ^ index >> 31;
}

// -1, 0 or 1. which: 0 for a, 1 for b.
static int value_of(int rank, int which, size_t index)
{
    uint64_t matrix = (uint64_t)(2 * rank + which + 1) << 40;
    return (int)(mixed(matrix + index) >> 33) % 3 - 1;
}

static void *make_matrix(const struct job *job, int which, size_t count)
{
    static const uint16_t halves[] = {0xbc00, 0, 0x3c00};
    uint16_t *matrix = job_memory(job, count * sizeof *matrix);
    for (size_t i = 0; i < count; i++) {
        matrix[i] = halves[value_of(job->rank, which, i) + 1];
    }
    return matrix;
}

void *gemm_matrix_a(const struct job *job, struct gemm_shape shape)
{
    return make_matrix(job, 0, (size_t)shape.m * (size_t)shape.k);
}

void *gemm_matrix_b(const struct job *job, struct gemm_shape shape)
{
    return make_matrix(job, 1, (size_t)shape.k * (size_t)shape.n);
}

static struct gemm_sample expect_at(struct gemm_shape shape, size_t index)
{
    size_t row = index / (size_t)shape.n;
    size_t column = index % (size_t)shape.n;
    struct gemm_sample sample = {.index = index};
    double most = 0; // of any sum on the way
    for (int rank = 0; rank < shape.nranks; rank++) {
        double sum = 0;
        for (size_t k = 0; k < (size_t)shape.k; k++) {
            sum += (double)(value_of(rank, 0, row * (size_t)shape.k + k) *
                            value_of(rank, 1, k * (size_t)shape.n + column));
        }
        sample.wanted += sum;
        most += fabs(sum);
    }
    sample.allowed = most <= EXACT_MAX ? 0 : 1 + 0.01 * fabs(sample.wanted);
    return sample;
}

struct gemm_expected gemm_expect(const struct job *job, struct gemm_shape shape)
{
    size_t elements = (size_t)shape.m * (size_t)shape.n;
    double affordable = SAMPLE_STEPS / ((double)shape.k * shape.nranks);
    struct gemm_expected expected = {.count = SAMPLES_MAX};
    if (affordable < SAMPLES_MAX) {
        expected.count = (size_t)affordable + 1;
    }
    expected.samples = job_memory(job, expected.count * sizeof *expected.samples);
    for (size_t i = 0; i < expected.count; i++) {
        uint64_t any = mixed((uint64_t)job->rank << 32 | i) % elements;
        size_t index = i == 0 ? 0 : i == 1 ? elements - 1 : (size_t)any;
        expected.samples[i] = expect_at(shape, index);
    }
    return expected;
}

// An element of f16 as a number.
static double number_at(const struct job *job, const void *output, size_t index)
{
    uint16_t half;
    float number;
    memcpy(&half, (const char *)output + index * sizeof half, sizeof half);
    tern_tile from = tern_tile_2d(&half, TERN_F16, 1, 1);
    tern_tile to = tern_tile_2d(&number, TERN_F32, 1, 1);
    job_check(job, "tern_tile_convert", tern_tile_convert(&to, &from));
    return (double)number;
}

void gemm_verify(const struct job *job, struct gemm_shape shape,
                 const struct gemm_expected *expected, const void *output, const void *output0,
                 const char *how)
{
    for (size_t i = 0; i < expected->count; i++) {
        const struct gemm_sample *sample = &expected->samples[i];
        double got = number_at(job, output, sample->index);
        if (!(fabs(got - sample->wanted) <= sample->allowed)) {
            job_fail(job, "%s: element (%zu, %zu) is %g, expected %g within %g", how,
                     sample->index / (size_t)shape.n, sample->index % (size_t)shape.n, got,
                     sample->wanted, sample->allowed);
        }
    }
    if (memcmp(output, output0, (size_t)shape.m * (size_t)shape.n * sizeof(uint16_t)) != 0) {
        job_fail(job, "%s: the sum is not the same as rank 0's", how);
    }
}
