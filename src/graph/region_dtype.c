// SPDX-License-Identifier: Apache-2.0
// The types of elements of a region.

#include "graph/region.h"

const uint8_t tern__region_dtype_bytes[TERN__REGION_DTYPES] = {
    [TERN_REGION_F32] = 4, [TERN_REGION_F16] = 2, [TERN_REGION_I32] = 4,  [TERN_REGION_I16] = 2,
    [TERN_REGION_I8] = 1,  [TERN_REGION_U8] = 1,  [TERN_REGION_BF16] = 2, [TERN_REGION_I64] = 8,
    [TERN_REGION_U64] = 8, [TERN_REGION_U16] = 2, [TERN_REGION_U32] = 4,
};

size_t tern_region_dtype_size(uint8_t dtype)
{
    return dtype < TERN__REGION_DTYPES ? tern__region_dtype_bytes[dtype] : 0;
}
