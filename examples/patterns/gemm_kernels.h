// SPDX-License-Identifier: Apache-2.0
// The two kernels of gemm_all_reduce, of which there are two texts: gemm_kernels.c and
// gemm_kernels.cpp.
//
// Compute: the product of a rank's own m x k and k x n matrices, tile by tile, into `partial`; each
// tile that is stored is enqueued. Communicate: takes tiles from the queues, adds each to its
// owner's `output`, tells the owner; passes the barrier of all ranks; gives what this rank owns to
// all. They may run at the same time, started in any order.
#ifndef PATTERNS_GEMM_KERNELS_H
#define PATTERNS_GEMM_KERNELS_H

#include "gemm_layout.h"
#include "tern/context.h"
#include "tern/stream.h"

TERN_BEGIN_DECLS

// Elements are f16. `output` and `signals` are in the caller's window and 0 before; the queues are
// as gemm_all_reduce.c makes them.
struct gemm_args {
    struct gemm_shape shape;
    int32_t patience; // sweeps over the queues without a tile before a block waits; 0: it polls
    const tern_context *context;
    void *a, *b;
    void *partial;
    void *output;
    int32_t *signals;
    struct MultiBlockQueueSet *queues;
};

// Append a kernel to a stream; TERN_OK, or a status with its sentence.
int gemm_compute(tern_stream *stream, const struct gemm_args *args);
int gemm_communicate(tern_stream *stream, const struct gemm_args *args);

TERN_END_DECLS

#endif
