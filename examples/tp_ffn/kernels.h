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
// rows in this rank's window, as a region.
enum { KERNEL_ARGS = 4 };

void kernel_linear(int64_t *args);   // AIC: what this rank adds to the chunk's a
void kernel_ffn(int64_t *args);      // AIC: the same of y, from the chunk's a
void kernel_announce(int64_t *args); // AIV: tells every rank that it lies in the window
void kernel_reduce(int64_t *args);   // AIV: sums this rank's slice and stores it on every rank
void kernel_complete(int64_t *args); // AIV: nothing; what it waits for is the point

#endif
