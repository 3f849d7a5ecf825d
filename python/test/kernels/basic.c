// SPDX-License-Identifier: Apache-2.0
// Kernels for the tests of graphs from Python, which compile them: on pointers, regions, windows.
#include <stdint.h>
#include <string.h>

#include <tern/graph.h>
#include <tern/region.h>
#include <tern/signal.h>

// a, b, c, count
void add(int64_t *args)
{
    const float *a = (const float *)args[0], *b = (const float *)args[1];
    float *c = (float *)args[2];
    for (int64_t i = 0; i < args[3]; i++) {
        c[i] = a[i] + b[i];
    }
}

// values, a factor as the bits of a float: the block's element
void scale_block(int64_t *args)
{
    float factor;
    memcpy(&factor, &args[1], sizeof factor);
    ((float *)args[0])[tern_kernel_block()] *= factor;
}

// A region, and one that gets its elements plus a number, row after row.
void add_to_all(int64_t *args)
{
    const tern_region *from = (const tern_region *)args[0], *to = (const tern_region *)args[1];
    const float *a = tern_region_data(from);
    float *c = tern_region_data(to);
    uint32_t rows = from->ndims == 2 ? from->shape[0] : 1, last = from->ndims - 1;
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t j = 0; j < from->shape[last]; j++) {
            uint32_t at = from->ndims == 2 ? i * from->stride[0] : 0;
            uint32_t to_at = to->ndims == 2 ? i * to->stride[0] : 0;
            c[to_at + j * to->stride[last]] = a[at + j * from->stride[last]] + (float)args[2];
        }
    }
}

// window, rank, offset
void notify(int64_t *args)
{
    tern_window *window = (tern_window *)args[0];
    if (tern_signal_notify(window, (int)args[1], (size_t)args[2], 1, TERN_NOTIFY_ADD) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

void refuse(int64_t *args)
{
    tern_kernel_fail("%d is too many in run %d", (int)args[0], tern_kernel_run());
}
