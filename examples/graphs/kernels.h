// SPDX-License-Identifier: Apache-2.0
// Kernels on regions, of which the last two dimensions are matrices; those before count matrices,
// each of which is treated alike. The arguments are addresses of regions, also in graphs with
// explicit edges, so that each builder runs the same kernels.
//
// All kernels of a MIX task get the same arguments: three of these are for each of its slots.
#ifndef GRAPHS_KERNELS_H
#define GRAPHS_KERNELS_H

#include <stdint.h>

#include "tern/region.h"

// AIC: (a, b, out) of f32 or bf16: out = a b, in f32. When one of a and b is bf16 and the other
// f32, both are multiplied as f32. Matrices of at most 64 KiB.
void kernel_multiply(int64_t *args);

// AIV, f32: (a, b, out): out = a + b, and out = a * b, by elements; (part, sum): sum += part.
void kernel_add(int64_t *args);
void kernel_times(int64_t *args);
void kernel_accumulate(int64_t *args);

static inline const tern_region *kernel_region(int64_t arg)
{
    return (const tern_region *)(intptr_t)arg;
}

static inline int64_t kernel_arg(const void *address)
{
    return (int64_t)(intptr_t)address;
}

#endif
