// SPDX-License-Identifier: Apache-2.0
// One rank's part of the layer, and the matrix products on it. Nothing here knows of other ranks'
// memory: what a rank contributes is a partial sum, and summing is the AllReduce's.
#ifndef TP_FFN_LAYER_H
#define TP_FFN_LAYER_H

#include "source.h"

// Weights are f32 holding numbers of the shape's dtype: OpenBLAS multiplies f32.
struct layer {
    struct shape shape;
    size_t hidden_part;       // hidden / ranks: columns of x and rows of w_linear that are here
    size_t intermediate_part; // intermediate / ranks: columns of gate and up, rows of down
    float *x;                 // [tokens, hidden_part]
    float *w_linear;          // [hidden_part, hidden]
    float *w_gate;            // [hidden, intermediate_part]
    float *w_up;              // [hidden, intermediate_part]
    float *w_down;            // [intermediate_part, hidden]
};

// What one product needs besides: for the rows of one chunk. One per core.
struct scratch {
    float *wide; // [rows, hidden]
    float *gate; // [rows, intermediate_part]
    float *up;   // [rows, intermediate_part]
};

// Reads or makes this rank's part. To be freed with layer_free, also after a failure.
int layer_load(struct layer *layer, const struct source *source, size_t rank, size_t nranks,
               struct failure *failure);
void layer_free(struct layer *layer);

int scratch_create(struct scratch *scratch, const struct layer *layer, struct failure *failure);
void scratch_free(struct scratch *scratch);

// partial[rows, hidden] = x[rows] w_linear, this rank's share of the sum, in the shape's dtype.
void layer_linear(const struct layer *layer, struct range rows, struct scratch *scratch,
                  void *partial);

// partial[count, hidden] = (silu(a w_gate) * (a w_up)) w_down, this rank's share of the sum, from
// a[count, hidden]; both in the shape's dtype. They may be the same memory.
void layer_ffn(const struct layer *layer, const void *a, size_t count, struct scratch *scratch,
               void *partial);

#endif
