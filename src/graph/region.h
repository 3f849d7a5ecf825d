// SPDX-License-Identifier: Apache-2.0
// What the runtime asks of regions (tern/region.h).
#ifndef TERN_GRAPH_REGION_H
#define TERN_GRAPH_REGION_H

#include "tern/region.h"

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
int tern__region_check(const char *call, const tern_region *region);

#endif
