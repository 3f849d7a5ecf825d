// SPDX-License-Identifier: Apache-2.0
// Grids (grid.h).

#include "graph/grid.h"

#include <string.h>

static inline void find_digits(const struct tern__grid *grid, uint64_t offset, uint64_t *digits)
{
    for (uint32_t i = 0; i + 1 < grid->count; i++) {
        digits[i] = tern__grid_divide(offset, grid->digit[i].stride, grid->digit[i].stride_inverse,
                                      &offset);
    }
    digits[grid->count - 1] = offset;
}

// --- making -----------------------------------------------------------------------------------

// Dimensions by their strides, the widest first; those of the same stride as one. Returns how many.
static uint32_t sort_dims(const tern_region *region, struct tern__grid_digit *dims)
{
    const uint64_t element = tern__region_dtype_bytes[region->dtype];
    uint32_t count = 1;
    dims[0] = (struct tern__grid_digit){.stride = 1, .size = element};
    for (uint32_t i = 0; i < region->ndims; i++) {
        const uint64_t stride = region->stride[i] * element, size = region->shape[i];
        if (region->stride[i] <= 1) {
            dims[count - 1].size *= region->stride[i] == 1 ? size : 1;
            continue;
        }
        uint32_t at = 0;
        while (dims[at].stride > stride) {
            at++;
        }
        if (dims[at].stride == stride) {
            dims[at].size *= size;
            continue;
        }
        memmove(&dims[at + 1], &dims[at], (count - at) * sizeof *dims);
        dims[at] = (struct tern__grid_digit){.stride = stride, .size = size};
        count++;
    }
    return count;
}

// A dimension that the region has all of is one with the next wider one.
static uint32_t merge_dims(struct tern__grid_digit *dims, uint32_t count)
{
    for (uint32_t i = count - 1; i > 0; i--) {
        if (dims[i].size * dims[i].stride == dims[i - 1].stride) {
            dims[i - 1].stride = dims[i].stride;
            dims[i - 1].size *= dims[i].size;
            memmove(&dims[i], &dims[i + 1], (count - i - 1) * sizeof *dims);
            count--;
        }
    }
    return count;
}

bool tern__grid_make(const tern_region *region, struct tern__grid *grid)
{
    uint64_t start[TERN__GRID_DIGITS];
    struct tern__grid_digit *digit = grid->digit;
    *grid = (struct tern__grid){0};
    grid->count = merge_dims(digit, sort_dims(region, digit));
    for (uint32_t i = 0; i < grid->count; i++) {
        digit[i].radix = i > 0 ? digit[i - 1].stride / digit[i].stride : UINT64_MAX;
        if (i > 0 && digit[i].radix * digit[i].stride != digit[i - 1].stride) {
            return false;
        }
        digit[i].stride_inverse = UINT64_MAX / digit[i].stride;
        digit[i].size_inverse = UINT64_MAX / digit[i].size;
    }
    find_digits(grid, region->start * tern__region_dtype_bytes[region->dtype], start);
    uint64_t weight = 1;
    for (uint32_t i = grid->count; i-- > 0;) {
        digit[i].shift = (digit[i].size - start[i] % digit[i].size) % digit[i].size;
        digit[i].weight = weight;
        weight *= i > 0 ? (digit[i].radix + digit[i].shift - 1) / digit[i].size + 1 : 1;
    }
    return true;
}

// --- finding ----------------------------------------------------------------------------------

// `high`, which is `low` so far, with a level of the box. A level that has all of a digit goes on
// in the next wider one.
static inline bool add_level(const struct tern__grid *grid, uint64_t stride, uint64_t count,
                             const uint64_t *low, uint64_t *high)
{
    uint32_t i = 0;
    while (grid->digit[i].stride > stride) {
        i++;
    }
    if (grid->digit[i].stride != stride) {
        return false;
    }
    for (; i > 0 && low[i] + count > grid->digit[i].radix; i--) {
        const uint64_t radix = grid->digit[i].radix;
        if (low[i] != 0 || high[i] != 0 || count % radix != 0) {
            return false;
        }
        high[i] = radix - 1;
        count /= radix;
    }
    if (high[i] != low[i]) {
        return false;
    }
    high[i] += count - 1;
    return true;
}

static inline bool add_levels(const struct tern__grid *grid, const struct tern__box *box,
                              const uint64_t *low, uint64_t *high)
{
    if (box->levels == TERN__BOX_VAGUE) {
        return false;
    }
    for (uint32_t i = 0; i < box->levels; i++) {
        if (!add_level(grid, (uint64_t)box->level[i].stride * box->element, box->level[i].count,
                       low, high)) {
            return false;
        }
    }
    return add_level(grid, 1, box->run, low, high);
}

// All bytes between the first and the last: from the first digit that differs, all that follow.
static void find_between(const struct tern__grid *grid, uint64_t last, uint64_t *low,
                         uint64_t *high)
{
    bool differs = false;
    find_digits(grid, last, high);
    for (uint32_t i = 0; i < grid->count; i++) {
        if (differs) {
            low[i] = 0;
            high[i] = grid->digit[i].radix - 1;
        }
        differs = differs || low[i] != high[i];
    }
}

void tern__grid_find_any(const struct tern__grid *grid, uint64_t base, const struct tern__box *box,
                         struct tern__grid_span *span)
{
    uint64_t low[TERN__GRID_DIGITS] = {0}, high[TERN__GRID_DIGITS] = {0};
    find_digits(grid, box->first - base, low);
    for (uint32_t i = 0; i < grid->count; i++) {
        high[i] = low[i];
    }
    if (!add_levels(grid, box, low, high)) {
        find_between(grid, box->end - 1 - base, low, high);
    }
    span->number = 0;
    span->cells = 1;
    for (uint32_t i = 0; i < grid->count; i++) {
        const struct tern__grid_digit *digit = &grid->digit[i];
        uint64_t inside, ignored;
        uint64_t first =
            tern__grid_divide(low[i] + digit->shift, digit->size, digit->size_inverse, &inside);
        uint64_t last = first;
        if (high[i] - low[i] >= digit->size - inside) {
            last = tern__grid_divide(high[i] + digit->shift, digit->size, digit->size_inverse,
                                     &ignored);
            const uint64_t width = last - first + 1;
            span->cells =
                width < UINT32_MAX / span->cells ? span->cells * (uint32_t)width : UINT32_MAX;
        }
        span->number += first * digit->weight;
        span->first[i] = first;
        span->last[i] = last;
    }
}

bool tern__grid_next(const struct tern__grid *grid, const struct tern__grid_span *span,
                     uint64_t at[TERN__GRID_DIGITS], uint64_t *number)
{
    for (uint32_t i = grid->count; i-- > 0;) {
        if (at[i] < span->last[i]) {
            at[i]++;
            *number += grid->digit[i].weight;
            return true;
        }
        *number -= (at[i] - span->first[i]) * grid->digit[i].weight;
        at[i] = span->first[i];
    }
    return false;
}
