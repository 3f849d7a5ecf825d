// SPDX-License-Identifier: Apache-2.0
// The sizes of the layer and how they are cut: hidden and intermediate over ranks, tokens into
// chunks, and a chunk into slices, one for each rank to sum.
#ifndef TP_FFN_SHAPE_H
#define TP_FFN_SHAPE_H

#include <stddef.h>

#include <tern/dtype.h>

#include "support.h"

struct shape {
    size_t tokens;
    size_t hidden;
    size_t intermediate;
    size_t chunks;
    tern_dtype dtype;
};

// A part of something: rows of a matrix or elements of a buffer.
struct range {
    size_t begin;
    size_t count;
};

// Part `index` of `parts` nearly equal parts of `total`, whose bounds are multiples of `unit`.
struct range range_part(size_t total, size_t parts, size_t index, size_t unit);

// The rows of a chunk; never empty.
struct range shape_chunk(const struct shape *shape, size_t chunk);

// The most rows that a chunk has.
size_t shape_chunk_rows_max(const struct shape *shape);

// Whether that many ranks can share the layer, and this machine can hold it. EXIT_USAGE if not.
int shape_check(const struct shape *shape, size_t nranks, struct failure *failure);

// Floating point operations of one run, by all ranks together (a multiply-add is two).
double shape_flops(const struct shape *shape);

#endif
