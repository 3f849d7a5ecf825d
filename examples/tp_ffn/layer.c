// SPDX-License-Identifier: Apache-2.0
// One rank's part of the layer (layer.h). With f32 the products read and write the caller's buffers
// in place; with bf16 they go through f32 scratch, and h is rounded to bf16 as a chip would store
// it.
#include "layer.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

#include "element.h"

// Loads a block of a matrix into new memory at *part.
static int load_part(const struct source *source, enum matrix matrix, const struct npy_block *block,
                     float **part, struct failure *failure)
{
    *part = allocate(block->rows * block->cols, sizeof(float), failure);
    return *part == NULL ? failure->exit_status
                         : source_read(source, matrix, block, *part, failure);
}

int layer_load(struct layer *layer, const struct source *source, size_t rank, size_t nranks,
               struct failure *failure)
{
    const struct shape *shape = &source->shape;
    size_t hidden = shape->hidden / nranks;
    size_t intermediate = shape->intermediate / nranks;
    *layer =
        (struct layer){.shape = *shape, .hidden_part = hidden, .intermediate_part = intermediate};
    struct {
        enum matrix matrix;
        struct npy_block block;
        float **part;
    } parts[MATRIX_COUNT] = {
        {MATRIX_X, {0, shape->tokens, rank * hidden, hidden}, &layer->x},
        {MATRIX_W_LINEAR, {rank * hidden, hidden, 0, shape->hidden}, &layer->w_linear},
        {MATRIX_W_GATE, {0, shape->hidden, rank * intermediate, intermediate}, &layer->w_gate},
        {MATRIX_W_UP, {0, shape->hidden, rank * intermediate, intermediate}, &layer->w_up},
        {MATRIX_W_DOWN, {rank * intermediate, intermediate, 0, shape->hidden}, &layer->w_down},
    };
    int status = 0;
    for (int i = 0; i < MATRIX_COUNT && status == 0; i++) {
        status = load_part(source, parts[i].matrix, &parts[i].block, parts[i].part, failure);
    }
    return status;
}

void layer_free(struct layer *layer)
{
    free(layer->x);
    free(layer->w_linear);
    free(layer->w_gate);
    free(layer->w_up);
    free(layer->w_down);
}

int scratch_create(struct scratch *scratch, const struct layer *layer, struct failure *failure)
{
    size_t rows = shape_chunk_rows_max(&layer->shape);
    scratch->wide = allocate(rows * layer->shape.hidden, sizeof(float), failure);
    scratch->gate = allocate(rows * layer->intermediate_part, sizeof(float), failure);
    scratch->up = allocate(rows * layer->intermediate_part, sizeof(float), failure);
    bool complete = scratch->wide != NULL && scratch->gate != NULL && scratch->up != NULL;
    return complete ? 0 : failure->exit_status;
}

void scratch_free(struct scratch *scratch)
{
    free(scratch->wide);
    free(scratch->gate);
    free(scratch->up);
}

// c[rows, cols] = a[rows, inner] b[inner, cols], all without gaps between rows.
static void multiply(const float *a, const float *b, float *c, size_t rows, size_t inner,
                     size_t cols)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)rows, (blasint)cols,
                (blasint)inner, 1.0F, a, (blasint)inner, b, (blasint)cols, 0.0F, c, (blasint)cols);
}

// The same, into a buffer of the layer's dtype.
static void multiply_to(const struct layer *layer, const float *a, const float *b, void *c,
                        size_t rows, size_t inner, float *wide)
{
    size_t cols = layer->shape.hidden;
    bool in_place = layer->shape.dtype == TERN_F32;
    float *to = in_place ? c : wide;
    multiply(a, b, to, rows, inner, cols);
    if (!in_place) {
        elements_pack(layer->shape.dtype, to, c, rows * cols);
    }
}

void layer_linear(const struct layer *layer, struct range rows, struct scratch *scratch,
                  void *partial)
{
    multiply_to(layer, layer->x + rows.begin * layer->hidden_part, layer->w_linear, partial,
                rows.count, layer->hidden_part, scratch->wide);
}

// gate = silu(gate) * up, where silu(v) = v / (1 + exp(-v)). For very negative v, exp is infinite
// and the quotient -0, which is right.
static void swiglu(float *gate, const float *up, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gate[i] = gate[i] / (1.0F + expf(-gate[i])) * up[i];
    }
}

void layer_ffn(const struct layer *layer, const void *a, size_t count, struct scratch *scratch,
               void *partial)
{
    const struct shape *shape = &layer->shape;
    size_t width = layer->intermediate_part;
    const float *wide = a;
    if (shape->dtype != TERN_F32) {
        elements_unpack(shape->dtype, a, scratch->wide, count * shape->hidden);
        wide = scratch->wide;
    }
    multiply(wide, layer->w_gate, scratch->gate, count, shape->hidden, width);
    multiply(wide, layer->w_up, scratch->up, count, shape->hidden, width);
    swiglu(scratch->gate, scratch->up, count * width);
    elements_round(shape->dtype, scratch->gate, count * width);
    multiply_to(layer, scratch->gate, layer->w_down, partial, count, width, scratch->wide);
}
