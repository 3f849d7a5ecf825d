// SPDX-License-Identifier: Apache-2.0
// What views, reshapes and transposed tensors are, beside tern's own regions; and arguments that
// are refused, with their sentences.
#include "pto_orchestration_api.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                   \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

static bool same(const Tensor &tensor, const tern_region &region)
{
    return std::memcmp(&tensor, &region, sizeof region) == 0;
}

static tern_region make(const uint32_t *shape, int ndims, tern_region_dtype dtype)
{
    tern_region region;
    CHECK(tern_region_make(&region, reinterpret_cast<void *>(4096), shape, ndims, dtype) == 0);
    return region;
}

static void compare_views()
{
    const uint32_t shapes[] = {4, 6, 8};
    const uint32_t part[] = {2, 6, 4};
    const uint32_t offsets[] = {1, 0, 3};
    const uint32_t flat[] = {48, 4};
    tern_region region = make(shapes, 3, TERN_REGION_I16), view, turned, again, flattened;
    Tensor tensor =
        make_tensor_external(reinterpret_cast<void *>(4096), shapes, 3, DataType::INT16);
    CHECK(same(tensor, region));
    CHECK(tensor.numel() == 192 && tensor.buffer.size == 384 && tensor.is_contiguous());

    CHECK(tern_region_view(&region, part, offsets, &view) == 0);
    Tensor seen = tensor.view(part, offsets);
    CHECK(same(seen, view) && seen.start_offset == 51 && !seen.is_contiguous());
    CHECK(seen.is_same_memref(tensor) && seen.numel() == 48);

    CHECK(tern_region_transpose(&view, 0, 2, &turned) == 0);
    CHECK(same(seen.transpose(0, 2), turned));
    const uint32_t small[] = {1, 2, 2};
    const uint32_t from[] = {3, 4, 0};
    CHECK(tern_region_view(&turned, small, from, &again) == 0);
    CHECK(same(seen.transpose(0, 2).view(small, from), again));

    CHECK(tern_region_reshape(&region, flat, 2, &flattened) == 0);
    CHECK(same(tensor.reshape(flat, 2), flattened));
}

static void refuse_views()
{
    const uint32_t shapes[] = {4, 6};
    const uint32_t offsets[] = {1, 0};
    const uint32_t more[] = {5, 5};
    const uint32_t large[] = {1u << 16, 1u << 16};
    Tensor tensor = make_tensor_external(nullptr, shapes, 2);
    CHECK(tensor.view(shapes, offsets).ndims == 0);
    CHECK(tensor.reshape(more, 2).ndims == 0);
    CHECK(tensor.transpose(0, 1).reshape(shapes, 2).ndims == 0);
    CHECK(tensor.transpose(0, 2).ndims == 0);
    CHECK(make_tensor_external(nullptr, large, 2).ndims == 0);
    CHECK(make_tensor_external(nullptr, large, 6).ndims == 0);
}

static void refuse_arguments()
{
    const uint32_t shapes[] = {16};
    Tensor tensor = make_tensor_external(nullptr, shapes, 1);
    Arg late, many, scalars, deps, copied;
    late.add_scalar(-1, 2.0f, true);
    CHECK(!late.has_error && late.scalar_count() == 3);
    CHECK(late.scalars_[0] == 0xffffffff && late.scalars_[1] == 0x40000000 &&
          late.scalars_[2] == 1);
    late.add_input(tensor);
    CHECK(late.has_error && std::strcmp(late.error_msg, "a tensor was added behind a scalar") == 0);
    for (int i = 0; i < 17; i++) {
        CHECK(!many.has_error);
        many.add_inout(tensor);
    }
    CHECK(many.has_error && many.tensor_count() == 16);
    const int32_t values[33] = {-5};
    scalars.add_scalars_i32(values, 32);
    CHECK(!scalars.has_error && scalars.scalars_[0] == 0xfffffffb);
    scalars.add_scalar(1);
    CHECK(scalars.has_error);
    for (int i = 0; i < 17; i++) {
        CHECK(!deps.has_error);
        deps.add_dep(PTO2TaskId{1});
    }
    CHECK(deps.has_error);
    copied.copy_scalars_from(late, 1, 2);
    CHECK(!copied.has_error && copied.scalars_[0] == 0x40000000);
    copied.copy_scalars_from(late, 1, 3);
    CHECK(copied.has_error);
}

int main()
{
    compare_views();
    refuse_views();
    refuse_arguments();
    std::puts("rules: right");
}
