// SPDX-License-Identifier: Apache-2.0
// How the layer is cut (shape.h).
#include "shape.h"

#include <unistd.h>

struct range range_part(size_t total, size_t parts, size_t index, size_t unit)
{
    size_t units = (total + unit - 1) / unit;
    size_t begin = units * index / parts * unit;
    size_t end = units * (index + 1) / parts * unit;
    begin = begin < total ? begin : total;
    end = end < total ? end : total;
    return (struct range){.begin = begin, .count = end - begin};
}

struct range shape_chunk(const struct shape *shape, size_t chunk)
{
    return range_part(shape->tokens, shape->chunks, chunk, 1);
}

size_t shape_chunk_rows_max(const struct shape *shape)
{
    return (shape->tokens + shape->chunks - 1) / shape->chunks;
}

double shape_flops(const struct shape *shape)
{
    return 2.0 * (double)shape->tokens * (double)shape->hidden *
           ((double)shape->hidden + 3.0 * (double)shape->intermediate);
}

// What all ranks and the reference need together, nearly; in doubles, which do not overflow.
static double job_bytes(const struct shape *shape, size_t nranks)
{
    double tokens = (double)shape->tokens;
    double hidden = (double)shape->hidden;
    double intermediate = (double)shape->intermediate;
    double weights = hidden * (hidden + 3 * intermediate);
    double shards = sizeof(float) * (tokens * hidden + weights);
    double windows = (double)nranks * (double)tern_dtype_size(shape->dtype) * tokens * hidden;
    double largest = hidden * (hidden > intermediate ? hidden : intermediate);
    double reference = largest * (sizeof(float) + sizeof(double)) +
                       sizeof(double) * tokens * (6 * hidden + 5 * intermediate);
    return shards + windows + reference;
}

int shape_check(const struct shape *shape, size_t nranks, struct failure *failure)
{
    if (shape->hidden % nranks != 0 || shape->intermediate % nranks != 0) {
        return fail(failure, EXIT_USAGE,
                    "%zu ranks do not divide hidden %zu and intermediate %zu into equal parts",
                    nranks, shape->hidden, shape->intermediate);
    }
    if (shape->chunks > shape->tokens) {
        return fail(failure, EXIT_USAGE, "--chunks %zu is more than one per token (%zu)",
                    shape->chunks, shape->tokens);
    }
    double there = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double wanted = job_bytes(shape, nranks);
    if (wanted > there) {
        return fail(failure, EXIT_USAGE,
                    "these shapes need about %.1f GiB of memory, this machine has %.1f GiB",
                    wanted / 0x1p30, there / 0x1p30);
    }
    return 0;
}
