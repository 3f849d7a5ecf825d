// SPDX-License-Identifier: Apache-2.0
// What lies where in the window (layout.h).
#include "layout.h"

#define FREE_BYTES 256
#define LINE_BYTES 64
#define SLICE_ELEMENTS 32 // a cache line or more of either dtype: no two ranks store into one line

void layout_create(struct layout *layout, const struct shape *shape, size_t nranks)
{
    size_t signals = SIGNAL_SET_COUNT * STAGE_COUNT * SIGNAL_COUNT * shape->chunks;
    layout->shape = *shape;
    layout->nranks = nranks;
    layout->row_bytes = shape->hidden * tern_dtype_size(shape->dtype);
    layout->data = FREE_BYTES + signals * LINE_BYTES;
    layout->data_bytes = shape->tokens * layout->row_bytes;
    layout->window_bytes = layout->data + layout->data_bytes;
}

size_t layout_signal(const struct layout *layout, enum signal_set set, enum stage stage,
                     enum signal signal, size_t chunk)
{
    size_t group = ((size_t)set * STAGE_COUNT + (size_t)stage) * SIGNAL_COUNT + (size_t)signal;
    return FREE_BYTES + (group * layout->shape.chunks + chunk) * LINE_BYTES;
}

struct range layout_slice(const struct layout *layout, size_t chunk, size_t rank)
{
    struct range rows = shape_chunk(&layout->shape, chunk);
    size_t hidden = layout->shape.hidden;
    struct range slice = range_part(rows.count * hidden, layout->nranks, rank, SLICE_ELEMENTS);
    slice.begin += rows.begin * hidden;
    return slice;
}
