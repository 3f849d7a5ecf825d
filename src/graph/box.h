// SPDX-License-Identifier: Apache-2.0
// Regions as sets of bytes, and how two of them meet. A box is a region in a form that does not
// depend on how the region was made: levels with falling strides around a run of bytes. Dimensions
// of 1 are gone, neighbours that continue each other are one, and a transposed region is the same
// as the region. Data path: no allocation.
#ifndef TERN_GRAPH_BOX_H
#define TERN_GRAPH_BOX_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/region.h"

#define TERN__BOX_VAGUE UINT32_MAX

struct tern__box {
    uint64_t first, end; // all its bytes are in [first, end); first > end: it is empty
    uint64_t run;        // bytes of the innermost piece
    uint32_t levels;     // 0: all bytes of [first, end); TERN__BOX_VAGUE: unknown which
    uint32_t element;    // bytes
    struct tern__box_level {
        uint32_t stride, count;    // elements
    } level[TERN_REGION_DIMS_MAX]; // the widest first; no stride is smaller than what is inside
};

// The general way, for what is not contiguous.
void tern__box_sort(const tern_region *region, struct tern__box *box);

// For two boxes whose intervals meet; not for a later one without levels that covers the earlier.
enum tern__overlap tern__box_compare(const struct tern__box *later,
                                     const struct tern__box *earlier);

// Of one dimension, as most regions are, and not empty.
static inline bool tern__box_is_usual(const tern_region *region)
{
    return region->ndims == 1 && region->stride[0] == 1 && region->shape[0] > 0;
}

static inline void tern__box_make_usual(const tern_region *region, struct tern__box *box)
{
    const uint32_t element = tern__region_dtype_bytes[region->dtype];
    box->first = region->address + region->start * element;
    box->run = (uint64_t)region->shape[0] * element;
    box->end = box->first + box->run;
    box->levels = 0;
    box->element = element;
}

// Contiguous, or rows of one stride, as tiles of a matrix are; else the general way.
static inline void tern__box_make(const tern_region *region, struct tern__box *box)
{
    const uint32_t element = tern__region_dtype_bytes[region->dtype];
    if (tern__box_is_usual(region)) {
        tern__box_make_usual(region, box);
        return;
    }
    uint64_t expected = 1;
    for (uint32_t i = region->ndims; i-- > 0;) {
        const uint64_t stride = region->stride[i];
        const uint32_t count = region->shape[i];
        if (count == 1 || stride == expected) {
            expected *= count;
            continue;
        }
        bool is_widest = true;
        for (uint32_t j = 0; j < i; j++) {
            is_widest = is_widest && region->shape[j] == 1;
        }
        if (!is_widest || stride < expected || expected == 0 || count == 0) {
            tern__box_sort(region, box);
            return;
        }
        box->first = region->address + region->start * element;
        box->end = box->first + ((count - 1) * stride + expected) * element;
        box->run = expected * element;
        box->levels = 1;
        box->element = element;
        box->level[0].stride = region->stride[i];
        box->level[0].count = count;
        return;
    }
    box->first = expected != 0 ? region->address + region->start * element : UINT64_MAX;
    box->end = expected != 0 ? box->first + expected * element : 0;
    box->run = expected * element;
    box->levels = 0;
    box->element = element;
}

static inline void tern__box_copy(struct tern__box *to, const struct tern__box *from)
{
    to->first = from->first;
    to->end = from->end;
    to->run = from->run;
    to->levels = from->levels;
    to->element = from->element;
    for (uint32_t i = 0; i < from->levels && i < TERN_REGION_DIMS_MAX; i++) {
        to->level[i] = from->level[i];
    }
}

static inline enum tern__overlap tern__box_overlap(const struct tern__box *later,
                                                   const struct tern__box *earlier)
{
    if (later->first >= earlier->end || earlier->first >= later->end) {
        return TERN__APART;
    }
    if (later->levels == 0) {
        if (later->first <= earlier->first && later->end >= earlier->end) {
            return TERN__COVERS;
        }
        if (earlier->levels == 0) {
            return TERN__OVERLAPS;
        }
    }
    return tern__box_compare(later, earlier);
}

#endif
