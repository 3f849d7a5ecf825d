// SPDX-License-Identifier: Apache-2.0
// Regions: parts of buffers as tasks see them (tern/submit.h). A region names a buffer, an element
// in it, up to five dimensions and how far apart the elements of each are. Its layout is the one
// that kernels of the chip runtime read ("Tensor", 128 bytes), with the strides behind it.
#ifndef TERN_REGION_H
#define TERN_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/api.h"

TERN_BEGIN_DECLS

#define TERN_REGION_DIMS_MAX 5
#define TERN_REGION_NO_OWNER UINT64_MAX

// Element types by the numbers of the chip runtime.
typedef enum tern_region_dtype {
    TERN_REGION_F32 = 0,
    TERN_REGION_F16 = 1,
    TERN_REGION_I32 = 2,
    TERN_REGION_I16 = 3,
    TERN_REGION_I8 = 4,
    TERN_REGION_U8 = 5,
    TERN_REGION_BF16 = 6,
    TERN_REGION_I64 = 7,
    TERN_REGION_U64 = 8,
    TERN_REGION_U16 = 9,
    TERN_REGION_U32 = 10,
} tern_region_dtype;

typedef struct tern_region {
    uint64_t address;      // of the buffer; 0: none yet
    uint64_t buffer_bytes; // its size
    uint64_t owner;        // the task that made the buffer; TERN_REGION_NO_OWNER: none did
    uint64_t start;        // of the first element, in elements from the buffer's beginning
    int32_t version;
    uint32_t ndims; // 1..TERN_REGION_DIMS_MAX
    uint8_t dtype;  // tern_region_dtype
    uint8_t all_offsets_zero;
    uint8_t whole;          // shape and raw shape are the same
    uint8_t no_dependences; // no task's order follows from it
    uint32_t shape[TERN_REGION_DIMS_MAX];
    uint32_t raw_shape[TERN_REGION_DIMS_MAX]; // of what it is a view of
    uint32_t offset[TERN_REGION_DIMS_MAX];    // in that
    uint32_t stride[TERN_REGION_DIMS_MAX];    // elements
    uint32_t unused;
} tern_region;

// Bytes of an element; 0 for what is no dtype.
TERN_API size_t tern_region_dtype_size(uint8_t dtype);

// A whole buffer, row-major: dimension ndims-1 has stride 1. address 0: for an output that the
// runtime allocates. TERN_ERR_ARG: dimensions, dtype, more than 2^32-1 elements.
TERN_CALL int tern_region_make(tern_region *region, void *address, const uint32_t *shape, int ndims,
                               tern_region_dtype dtype);

// *view = the part of `region` that begins at `offset` and has `shape` (ndims of `region`);
// may stick out nowhere.
TERN_CALL int tern_region_view(const tern_region *region, const uint32_t *shape,
                               const uint32_t *offset, tern_region *view);

// *result = the same elements in the same order in another shape; `region` is contiguous.
TERN_CALL int tern_region_reshape(const tern_region *region, const uint32_t *shape, int ndims,
                                  tern_region *result);

// *result = with two dimensions exchanged.
TERN_CALL int tern_region_transpose(const tern_region *region, int one, int other,
                                    tern_region *result);

TERN_API uint64_t tern_region_count(const tern_region *region); // elements
TERN_API bool tern_region_is_contiguous(const tern_region *region);

// Where its first element is in this process.
static inline void *tern_region_data(const tern_region *region)
{
    return (void *)(uintptr_t)(region->address +
                               region->start * tern_region_dtype_size(region->dtype));
}

TERN_END_DECLS

#endif
