// SPDX-License-Identifier: Apache-2.0
// Kernels on regions (kernels.h): load into the core's memory, compute there, store.
#include "kernels.h"

#include "kit.h"
#include "tern/block.h"
#include "tern/graph.h"
#include "tern/tile.h"

enum { SLOT_ARGS = 3, PART = 64 << 10 };

static void report(int status)
{
    if (status < 0) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

// Matrices in a region.
static uint32_t matrices(const tern_region *region)
{
    uint32_t count = 1;
    for (uint32_t d = 0; d + 2 < region->ndims; d++) {
        count *= region->shape[d];
    }
    return count;
}

// One of them.
static tern_tensor matrix(const tern_region *region, uint32_t which)
{
    uint32_t rows = region->ndims - 2;
    uint32_t columns = region->ndims - 1;
    uint64_t skipped = 0;
    for (uint32_t d = rows; d-- > 0;) {
        skipped += (uint64_t)(which % region->shape[d]) * region->stride[d];
        which /= region->shape[d];
    }
    char *data = (char *)tern_region_data(region) + skipped * tern_region_dtype_size(region->dtype);
    tern_dtype dtype = region->dtype == TERN_REGION_BF16 ? TERN_BF16 : TERN_F32;
    tern_tensor tensor = tern_tensor_2d(data, dtype, region->shape[rows], region->shape[columns],
                                        region->stride[rows]);
    tensor.stride[4] = region->stride[columns];
    return tensor;
}

static int make_tile(const tern_tensor *tensor, tern_dtype dtype, tern_buffer buffer, size_t at,
                     tern_tile *tile)
{
    int32_t rows = (int32_t)tensor->shape[3];
    int32_t columns = (int32_t)tensor->shape[4];
    *tile = tern_tile_2d(NULL, dtype, rows, columns);
    return tern_buffer_address(buffer, at, (size_t)rows * (size_t)columns * tern_dtype_size(dtype),
                               &tile->data);
}

static int load(const tern_tensor *tensor, tern_buffer buffer, size_t at, tern_tile *tile)
{
    TRY(make_tile(tensor, tensor->dtype, buffer, at, tile));
    return tern_tile_load(tile, tensor);
}

// An operand of a product, as `dtype`; by way of L1 when it is another one.
static int load_as(const tern_tensor *tensor, tern_dtype dtype, tern_buffer buffer, tern_tile *tile)
{
    if (tensor->dtype == dtype) {
        return load(tensor, buffer, 0, tile);
    }
    tern_tile stored;
    TRY(load(tensor, TERN_BUFFER_L1, 0, &stored));
    TRY(make_tile(tensor, dtype, buffer, 0, tile));
    return tern_tile_convert(tile, &stored);
}

static int multiply(const tern_tensor *a, const tern_tensor *b, const tern_tensor *out)
{
    tern_tile left;
    tern_tile right;
    tern_tile product;
    tern_dtype dtype = a->dtype == b->dtype ? a->dtype : TERN_F32;
    TRY(load_as(a, dtype, TERN_BUFFER_L0A, &left));
    TRY(load_as(b, dtype, TERN_BUFFER_L0B, &right));
    TRY(make_tile(out, TERN_F32, TERN_BUFFER_L0C, 0, &product));
    TRY(tern_tile_matmul(&product, &left, &right, 0));
    return tern_tile_store(out, &product, TERN_ATOMIC_NONE);
}

static int combine(const tern_tensor *a, const tern_tensor *b, const tern_tensor *out,
                   tern_tile_op op)
{
    tern_tile left;
    tern_tile right;
    TRY(load(a, TERN_BUFFER_UB, 0, &left));
    TRY(load(b, TERN_BUFFER_UB, PART, &right));
    TRY(tern_tile_combine(&left, &left, &right, op));
    return tern_tile_store(out, &left, TERN_ATOMIC_NONE);
}

static int combine_all(const tern_region *a, const tern_region *b, const tern_region *out,
                       tern_tile_op op)
{
    for (uint32_t i = 0; i < matrices(out); i++) {
        tern_tensor left = matrix(a, i);
        tern_tensor right = matrix(b, i);
        tern_tensor to = matrix(out, i);
        TRY(combine(&left, &right, &to, op));
    }
    return TERN_OK;
}

static int multiply_all(const tern_region *a, const tern_region *b, const tern_region *out)
{
    for (uint32_t i = 0; i < matrices(out); i++) {
        tern_tensor left = matrix(a, i);
        tern_tensor right = matrix(b, i);
        tern_tensor to = matrix(out, i);
        TRY(multiply(&left, &right, &to));
    }
    return TERN_OK;
}

// Those of the slot.
static const int64_t *own(const int64_t *args)
{
    return args + (ptrdiff_t)SLOT_ARGS * tern_kernel_slot();
}

void kernel_multiply(int64_t *args)
{
    const int64_t *at = own(args);
    report(multiply_all(kernel_region(at[0]), kernel_region(at[1]), kernel_region(at[2])));
}

void kernel_add(int64_t *args)
{
    const int64_t *at = own(args);
    report(combine_all(kernel_region(at[0]), kernel_region(at[1]), kernel_region(at[2]),
                       TERN_TILE_ADD));
}

void kernel_times(int64_t *args)
{
    const int64_t *at = own(args);
    report(combine_all(kernel_region(at[0]), kernel_region(at[1]), kernel_region(at[2]),
                       TERN_TILE_MUL));
}

void kernel_accumulate(int64_t *args)
{
    const tern_region *sum = kernel_region(args[1]);
    report(combine_all(sum, kernel_region(args[0]), sum, TERN_TILE_ADD));
}
