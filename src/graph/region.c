// SPDX-License-Identifier: Apache-2.0
// Regions: made, and made from each other. Everything here is arithmetic on the struct itself; none
// of it touches the memory that a region names.

#include "graph/region.h"

#include <assert.h>
#include <stddef.h>

#include "base/error.h"
#include "base/public.h"
#include "graph/box.h"

static const uint8_t shift_of_bytes[9] = {[1] = 0, [2] = 1, [4] = 2, [8] = 3};

static_assert(sizeof(tern_region) == 128, "kernels read this layout");
static_assert(offsetof(tern_region, shape) == 44 && offsetof(tern_region, raw_shape) == 64 &&
                  offsetof(tern_region, offset) == 84 && offsetof(tern_region, stride) == 104,
              "kernels read this layout");

static int check_header(const char *call, const tern_region *region)
{
    if (region == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: region must not be NULL", call);
    }
    if (region->ndims < 1 || region->ndims > TERN_REGION_DIMS_MAX) {
        return tern__fail(TERN_ERR_ARG, "%s: the region has %u dimensions; it must have 1..%d",
                          call, region->ndims, TERN_REGION_DIMS_MAX);
    }
    if (region->dtype >= TERN__REGION_DTYPES) {
        return tern__fail(TERN_ERR_ARG, "%s: the region has dtype %u, which there is not", call,
                          region->dtype);
    }
    return TERN_OK;
}

int tern__region_check_any(const char *call, const tern_region *region)
{
    TERN_TRY(check_header(call, region));
    const uint64_t room =
        region->buffer_bytes >> shift_of_bytes[tern__region_dtype_bytes[region->dtype]];
    uint64_t end = region->start; // of the last element
    bool fits = end < room;
    for (uint32_t i = 0; i < region->ndims; i++) {
        if (region->shape[i] == 0) {
            return TERN_OK;
        }
        const uint64_t extent = (uint64_t)(region->shape[i] - 1) * region->stride[i];
        end += extent;
        fits = fits && extent < room && end < room && end >= extent;
    }
    if (__builtin_expect(!fits, 0)) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: the region ends with element %llu of a buffer that has room for "
                          "%llu (%llu bytes)",
                          call, (unsigned long long)end, (unsigned long long)room,
                          (unsigned long long)region->buffer_bytes);
    }
    return TERN_OK;
}

static int check_shape(const char *call, const uint32_t *shape, int ndims, uint64_t *count)
{
    if (shape == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: shape must not be NULL", call);
    }
    if (ndims < 1 || ndims > TERN_REGION_DIMS_MAX) {
        return tern__fail(TERN_ERR_ARG, "%s: %d dimensions; a region has 1..%d", call, ndims,
                          TERN_REGION_DIMS_MAX);
    }
    uint64_t product = 1; // of those that are not 0: strides have room for it, too
    *count = 1;
    for (int i = 0; i < ndims; i++) {
        product *= shape[i] != 0 ? shape[i] : 1;
        *count *= shape[i];
        if (product > UINT32_MAX) {
            return tern__fail(TERN_ERR_ARG, "%s: the shape has more than 2^32-1 elements", call);
        }
    }
    return TERN_OK;
}

// Row-major, and all of what it is a view of.
static void set_shape(tern_region *region, const uint32_t *shape, int ndims)
{
    uint32_t stride = 1;
    region->ndims = (uint32_t)ndims;
    for (int i = TERN_REGION_DIMS_MAX - 1; i >= 0; i--) {
        region->shape[i] = i < ndims ? shape[i] : 0;
        region->raw_shape[i] = region->shape[i];
        region->offset[i] = 0;
        region->stride[i] = i < ndims ? stride : 0;
        stride *= region->shape[i] != 0 ? region->shape[i] : 1;
    }
    region->all_offsets_zero = 1;
    region->whole = 1;
}

static int region_make(tern_region *region, void *address, const uint32_t *shape, int ndims,
                       tern_region_dtype dtype)
{
    uint64_t count;
    if (region == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_region_make: region must not be NULL");
    }
    TERN_TRY(check_shape("tern_region_make", shape, ndims, &count));
    if ((unsigned)dtype >= TERN__REGION_DTYPES) {
        return tern__fail(TERN_ERR_ARG, "tern_region_make: there is no dtype %d", (int)dtype);
    }
    tern_region made = {.address = (uintptr_t)address,
                        .buffer_bytes = count * tern__region_dtype_bytes[dtype],
                        .owner = TERN_REGION_NO_OWNER,
                        .dtype = (uint8_t)dtype};
    set_shape(&made, shape, ndims);
    *region = made;
    return TERN_OK;
}

int tern_region_make(tern_region *region, void *address, const uint32_t *shape, int ndims,
                     tern_region_dtype dtype)
{
    return TERN__CALL(region_make(region, address, shape, ndims, dtype));
}

static int region_view(const tern_region *region, const uint32_t *shape, const uint32_t *offset,
                       tern_region *view)
{
    TERN_TRY(check_header("tern_region_view", region));
    if (shape == NULL || offset == NULL || view == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_region_view: %s must not be NULL",
                          shape == NULL    ? "shape"
                          : offset == NULL ? "offset"
                                           : "view");
    }
    const uint32_t ndims = region->ndims;
    uint32_t shapes[TERN_REGION_DIMS_MAX], offsets[TERN_REGION_DIMS_MAX]; // may be those of `view`
    for (uint32_t i = 0; i < ndims; i++) {
        if ((uint64_t)offset[i] + shape[i] > region->shape[i]) {
            return tern__fail(TERN_ERR_ARG,
                              "tern_region_view: dimension %u ends at %llu; the region has only %u",
                              i, (unsigned long long)offset[i] + shape[i], region->shape[i]);
        }
        shapes[i] = shape[i];
        offsets[i] = offset[i];
    }
    // In place: a copy that is changed and copied again waits for its own stores.
    *view = *region;
    bool all_offsets_zero = true, whole = true;
    uint64_t start = view->start;
    for (uint32_t i = 0; i < ndims; i++) {
        start += (uint64_t)offsets[i] * view->stride[i];
        view->shape[i] = shapes[i];
        view->offset[i] += offsets[i];
        all_offsets_zero = all_offsets_zero && view->offset[i] == 0;
        whole = whole && view->shape[i] == view->raw_shape[i];
    }
    view->start = start;
    view->all_offsets_zero = all_offsets_zero;
    view->whole = whole;
    return TERN_OK;
}

int tern_region_view(const tern_region *region, const uint32_t *shape, const uint32_t *offset,
                     tern_region *view)
{
    return TERN__CALL(region_view(region, shape, offset, view));
}

static int region_reshape(const tern_region *region, const uint32_t *shape, int ndims,
                          tern_region *result)
{
    uint64_t count;
    TERN_TRY(check_header("tern_region_reshape", region));
    TERN_TRY(check_shape("tern_region_reshape", shape, ndims, &count));
    if (result == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_region_reshape: result must not be NULL");
    }
    if (count != tern_region_count(region)) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_region_reshape: the shape has %llu elements, the region %llu",
                          (unsigned long long)count, (unsigned long long)tern_region_count(region));
    }
    if (!tern_region_is_contiguous(region)) {
        return tern__fail(TERN_ERR_ARG, "tern_region_reshape: the region is not contiguous; only a "
                                        "contiguous one has other shapes");
    }
    tern_region made = *region;
    set_shape(&made, shape, ndims);
    *result = made;
    return TERN_OK;
}

int tern_region_reshape(const tern_region *region, const uint32_t *shape, int ndims,
                        tern_region *result)
{
    return TERN__CALL(region_reshape(region, shape, ndims, result));
}

static void exchange(uint32_t *of_dims, int one, int other)
{
    uint32_t kept = of_dims[one];
    of_dims[one] = of_dims[other];
    of_dims[other] = kept;
}

static int region_transpose(const tern_region *region, int one, int other, tern_region *result)
{
    TERN_TRY(check_header("tern_region_transpose", region));
    const int ndims = (int)region->ndims;
    if (one < 0 || one >= ndims || other < 0 || other >= ndims) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_region_transpose: dimensions %d and %d; the region has 0..%d", one,
                          other, ndims - 1);
    }
    if (result == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_region_transpose: result must not be NULL");
    }
    tern_region made = *region;
    exchange(made.shape, one, other);
    exchange(made.raw_shape, one, other);
    exchange(made.offset, one, other);
    exchange(made.stride, one, other);
    *result = made;
    return TERN_OK;
}

int tern_region_transpose(const tern_region *region, int one, int other, tern_region *result)
{
    return TERN__CALL(region_transpose(region, one, other, result));
}

uint64_t tern_region_count(const tern_region *region)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < region->ndims && i < TERN_REGION_DIMS_MAX; i++) {
        count *= region->shape[i];
    }
    return count;
}

bool tern_region_is_contiguous(const tern_region *region)
{
    uint64_t expected = 1;
    bool follows = true;
    for (uint32_t i = region->ndims; i-- > 0;) {
        follows = follows && (region->shape[i] == 1 || region->stride[i] == expected);
        expected *= region->shape[i];
    }
    return follows || expected == 0;
}

enum tern__overlap tern__region_overlap(const tern_region *later, const tern_region *earlier)
{
    struct tern__box boxes[2];
    tern__box_make(later, &boxes[0]);
    tern__box_make(earlier, &boxes[1]);
    bool is_empty = boxes[0].end == 0 || boxes[1].end == 0;
    if (later->address == earlier->address && later->version > earlier->version && !is_empty) {
        return TERN__OVERLAPS;
    }
    return tern__box_overlap(&boxes[0], &boxes[1]);
}
