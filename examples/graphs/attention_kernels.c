// SPDX-License-Identifier: Apache-2.0
// The vector kernels of attention.c (attention.h), as plain loops.
#include "attention.h"

#include <math.h>
#include <string.h>

#include "kernels.h"

// A region of two dimensions, its rows whole.
struct rows {
    float *data;
    size_t count, width;
};

static struct rows rows_of(int64_t arg)
{
    const tern_region *region = kernel_region(arg);
    return (struct rows){tern_region_data(region), region->shape[0], region->shape[1]};
}

void kernel_softmax(int64_t *args)
{
    struct rows scores = rows_of(args[0]);
    struct rows weights = rows_of(args[1]);
    struct rows most = rows_of(args[2]);
    struct rows sum = rows_of(args[3]);
    size_t columns = (size_t)args[4];
    double scale;
    memcpy(&scale, &args[5], sizeof scale);
    for (size_t row = 0; row < scores.count; row++) {
        const float *from = scores.data + row * scores.width;
        float *to = weights.data + row * weights.width;
        float largest = from[0];
        for (size_t i = 1; i < columns; i++) {
            largest = fmaxf(largest, from[i]);
        }
        largest *= (float)scale;
        float total = 0;
        for (size_t i = 0; i < weights.width; i++) {
            to[i] = i < columns ? expf(from[i] * (float)scale - largest) : 0;
            total += to[i];
        }
        most.data[row] = largest;
        sum.data[row] = total;
    }
}

void kernel_merge(int64_t *args)
{
    struct rows most = rows_of(args[0]);
    struct rows sum = rows_of(args[1]);
    struct rows values = rows_of(args[2]);
    struct rows all_most = rows_of(args[3]);
    struct rows all_sum = rows_of(args[4]);
    struct rows all_values = rows_of(args[5]);
    for (size_t row = 0; row < values.count; row++) {
        float larger = fmaxf(most.data[row], all_most.data[row]);
        float old = expf(all_most.data[row] - larger);
        float new = expf(most.data[row] - larger);
        const float *from = values.data + row * values.width;
        float *to = all_values.data + row * values.width;
        for (size_t i = 0; i < values.width; i++) {
            to[i] = to[i] * old + from[i] * new;
        }
        all_sum.data[row] = all_sum.data[row] * old + sum.data[row] * new;
        all_most.data[row] = larger;
    }
}

void kernel_divide(int64_t *args)
{
    struct rows sum = rows_of(args[0]);
    struct rows values = rows_of(args[1]);
    struct rows out = rows_of(args[2]);
    for (size_t row = 0; row < values.count; row++) {
        for (size_t i = 0; i < values.width; i++) {
            out.data[row * values.width + i] = values.data[row * values.width + i] / sum.data[row];
        }
    }
}
