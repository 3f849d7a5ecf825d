// SPDX-License-Identifier: Apache-2.0
// Copies of regions for the time of a task (stage.h).

#include "node/stage.h"

#include <stdlib.h>

#include "base/error.h"
#include "tern/put.h"

bool tern__stage_all;

// From its first element to its last.
static uint64_t extent_bytes(const tern_region *region)
{
    uint64_t elements = 1;
    for (uint32_t i = 0; i < region->ndims; i++) {
        if (region->shape[i] == 0) {
            return 0;
        }
        elements += (uint64_t)(region->shape[i] - 1) * region->stride[i];
    }
    return elements * tern_region_dtype_size(region->dtype);
}

// Dimensions `dim` to the last, from element `at` of the extent on: rows, as far as that is one
// block, else one index after the other.
static int transfer(tern_window *window, const struct tern__staged *staged, uint32_t dim,
                    uint64_t at, bool puts)
{
    const tern_region *region = &staged->region;
    const uint64_t size = tern_region_dtype_size(region->dtype);
    const uint32_t last = region->ndims - 1;
    const bool in_rows = region->stride[last] == 1 || region->shape[last] == 1;
    const uint64_t row = in_rows ? region->shape[last] : 1;
    const uint64_t stride = region->stride[dim];
    const bool is_block = dim == last || (dim + 1 == last && in_rows && stride >= row);
    if (!is_block) {
        for (uint32_t i = 0; i < region->shape[dim]; i++) {
            TERN_TRY(transfer(window, staged, dim + 1, at + i * stride, puts));
        }
        return TERN_OK;
    }
    const bool one = (dim == last && in_rows) || stride == 0;
    const tern_block block = {.rows = one ? 1 : region->shape[dim],
                              .row_bytes = row * size,
                              .window_stride_bytes = stride * size,
                              .local_stride_bytes = stride * size};
    const int rank = (int)(region->address / window->size_bytes);
    const size_t offset = region->address % window->size_bytes + (region->start + at) * size;
    char *local = staged->memory + at * size;
    return puts ? tern_put_block(window, rank, offset, local, &block)
                : tern_get_block(window, rank, offset, local, &block);
}

int tern__stage_begin(tern_window *window, tern_region *region, tern_access access,
                      struct tern__staged *staged)
{
    const int rank = (int)(region->address / window->size_bytes);
    *staged = (struct tern__staged){.region = *region};
    // Nobody loads from what no order follows from: it is a name, for put and notify.
    if (rank == window->rank || access == TERN_NO_DEP ||
        (tern__window_is_mapped(window, rank) && !tern__stage_all)) {
        region->address += (uint64_t)(uintptr_t)window->base;
        return TERN_OK;
    }
    const uint64_t bytes = extent_bytes(region);
    staged->memory = calloc(1, bytes > 0 ? bytes : 1);
    if (staged->memory == NULL) {
        return tern__fail(TERN_ERR_MEMORY,
                          "no memory for a copy of %llu bytes of rank %d, which is on another "
                          "machine",
                          (unsigned long long)bytes, rank);
    }
    staged->is_written = access != TERN_IN;
    region->address =
        (uint64_t)(uintptr_t)staged->memory - region->start * tern_region_dtype_size(region->dtype);
    return bytes > 0 && (access == TERN_IN || access == TERN_INOUT)
               ? transfer(window, staged, 0, 0, false)
               : TERN_OK;
}

int tern__stage_put(tern_window *window, const struct tern__staged *staged)
{
    return staged->memory != NULL && staged->is_written && extent_bytes(&staged->region) > 0
               ? transfer(window, staged, 0, 0, true)
               : TERN_OK;
}

void tern__stage_end(struct tern__staged *staged)
{
    free(staged->memory);
    staged->memory = NULL;
}
