// SPDX-License-Identifier: Apache-2.0
// Grids: a buffer cut into cells of equal shape, as programs do that work on tiles of a matrix or
// on slices of a vector. The place of a byte in its buffer is a number with digits: the strides of
// the tiles, each a multiple of the next, and the byte in the innermost piece; so no byte has two
// places. A cell is a range of each digit. Boxes of any form have their cells, also those of other
// views of the same buffer. Data path: no allocation, and no division for boxes of the grid's form.
#ifndef TERN_GRAPH_GRID_H
#define TERN_GRAPH_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/box.h"

#define TERN__GRID_DIGITS (TERN_REGION_DIMS_MAX + 1)

struct tern__grid {
    uint32_t count;           // of digits
    uint32_t cells;           // that are known (map_buffers.h)
    uint32_t first;           // of these
    uint32_t next_free;       // while it is none's
    uint64_t fitting, others; // entries that went into cells; and what did not, with its cost
    struct tern__grid_digit {
        uint64_t stride, size, shift; // bytes; of a cell; from a cell's beginning to the digit 0
        uint64_t stride_inverse, size_inverse;
        uint64_t radix;         // the widest has no end
        uint64_t weight;        // in the number of a cell
    } digit[TERN__GRID_DIGITS]; // the widest first
};

// Cells that a box may have bytes in.
struct tern__grid_span {
    uint64_t number; // of the first
    uint32_t cells;  // how many; UINT32_MAX: that or more
    uint64_t first[TERN__GRID_DIGITS], last[TERN__GRID_DIGITS];
};

// A grid of which the region, which is not empty, is one cell. False: its strides are no digits.
bool tern__grid_make(const tern_region *region, struct tern__grid *grid);

// For a box that begins at `base`, where the buffer does, or behind it. The general way.
void tern__grid_find_any(const struct tern__grid *grid, uint64_t base, const struct tern__box *box,
                         struct tern__grid_span *span);

// From the cell `number`, whose digits `at` has (at first a copy of `first`), to the next of the
// span. False: it was the last one.
bool tern__grid_next(const struct tern__grid *grid, const struct tern__grid_span *span,
                     uint64_t at[TERN__GRID_DIGITS], uint64_t *number);

// By the inverse, floor((2^64-1) / by), which says one too few at most.
static inline uint64_t tern__grid_divide(uint64_t value, uint64_t by, uint64_t inverse,
                                         uint64_t *rest)
{
    uint64_t result = (uint64_t)((unsigned __int128)value * inverse >> 64);
    *rest = value - result * by;
    if (*rest >= by) {
        *rest -= by;
        result++;
    }
    return result;
}

// Whether `count` of the digit, from `first`, are in one cell; adds that to the number.
static inline bool tern__grid_is_inside(const struct tern__grid_digit *digit, uint64_t first,
                                        uint64_t count, uint64_t *number)
{
    uint64_t inside;
    *number += digit->weight *
               tern__grid_divide(first + digit->shift, digit->size, digit->size_inverse, &inside);
    return count <= digit->size - inside && count <= digit->radix - first;
}

// What is usual: a slice of a vector, or a tile of a matrix, in one cell.
static inline bool tern__grid_find_one(const struct tern__grid *grid, uint64_t base,
                                       const struct tern__box *box, uint64_t *number)
{
    const struct tern__grid_digit *digit = grid->digit;
    uint64_t offset = box->first - base;
    *number = 0;
    if (grid->count > 2 || box->levels >= grid->count) {
        return false;
    }
    if (grid->count == 2) {
        const uint64_t row =
            tern__grid_divide(offset, digit->stride, digit->stride_inverse, &offset);
        if ((box->levels == 1 && box->level[0].stride * (uint64_t)box->element != digit->stride) ||
            !tern__grid_is_inside(digit, row, box->levels == 1 ? box->level[0].count : 1, number)) {
            return false;
        }
        digit++;
    }
    return tern__grid_is_inside(digit, offset, box->run, number);
}

static inline void tern__grid_find(const struct tern__grid *grid, uint64_t base,
                                   const struct tern__box *box, struct tern__grid_span *span)
{
    span->cells = 1;
    if (!tern__grid_find_one(grid, base, box, &span->number)) {
        tern__grid_find_any(grid, base, box, span);
    }
}

#endif
