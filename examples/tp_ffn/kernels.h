// SPDX-License-Identifier: Apache-2.0
// The kernels of the layer: what a task on a core does. All take the same arguments.
#ifndef TP_FFN_KERNELS_H
#define TP_FFN_KERNELS_H

#include <stdint.h>

#include <tern/window.h>

#include "layer.h"
#include "layout.h"

// What the kernels of a rank share. Lives longer than the graphs.
struct device {
    tern_window *window;
    size_t rank;
    struct layout layout;
    struct layer layer;
    size_t cores;            // AIC cores
    struct scratch *scratch; // [cores]
};

// args[0]: the address of the device; args[1]: the chunk; args[2]: enum stage; args[3]: enum
// signal_set. The last two mean nothing to kernel_linear and kernel_ffn. Behind them: the chunk's
// rows that the task reads, and those that it writes, as regions of this rank's window.
enum { KERNEL_ARGS = 4 };

void kernel_linear(int64_t *args);   // AIC: the chunk's rows of the first partial sum
void kernel_ffn(int64_t *args);      // AIC: of the second, from the chunk's rows of a
void kernel_announce(int64_t *args); // AIV: tells every rank that the partial sum is ready
void kernel_reduce(int64_t *args);   // AIV: sums this rank's slice and stores it on every rank
void kernel_complete(int64_t *args); // AIV: nothing; what it waits for is the point

#endif
