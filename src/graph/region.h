// SPDX-License-Identifier: Apache-2.0
// What the runtime asks of regions (tern/region.h).
#ifndef TERN_GRAPH_REGION_H
#define TERN_GRAPH_REGION_H

#include "tern/region.h"
#include "tern/status.h"

#define TERN__REGION_DTYPES 11

// What tern_region_dtype_size() has, for dtypes that were checked.
extern const uint8_t tern__region_dtype_bytes[TERN__REGION_DTYPES];

enum tern__overlap {
    TERN__APART,    // no byte is in both
    TERN__OVERLAPS, // there may be one
    TERN__COVERS,   // all bytes of the earlier are in the later
};

// How the region of a later task meets that of an earlier one. Regions of the same buffer whose
// version the later has raised overlap wherever they are.
enum tern__overlap tern__region_overlap(const tern_region *later, const tern_region *earlier);

// TERN_ERR_ARG with a sentence that begins with `call`: dimensions, dtype, elements outside of the
// buffer. For regions that programs hand over.
int tern__region_check_any(const char *call, const tern_region *region);

// Most have one dimension. False: only tern__region_check_any() knows.
static inline bool tern__region_is_usual(const tern_region *region)
{
    if (region->ndims != 1 || region->dtype >= TERN__REGION_DTYPES) {
        return false;
    }
    const uint64_t bytes = tern__region_dtype_bytes[region->dtype];
    // Below these limits, sums and products do not wrap.
    return region->start <= UINT32_MAX && region->stride[0] == 1 &&
           (region->start + region->shape[0]) * bytes <= region->buffer_bytes;
}

static inline int tern__region_check(const char *call, const tern_region *region)
{
    if (region != NULL && tern__region_is_usual(region)) {
        return TERN_OK;
    }
    return tern__region_check_any(call, region);
}

#endif
