// SPDX-License-Identifier: Apache-2.0
// What hosts, orchestrations and kernels of the chip runtime all know: kinds of cores, element
// types, and the arguments that a host hands to an orchestration of April. One text for C (libtern)
// and C++.
#ifndef TERN_FACES_SIMPLER_TERN_TYPES_H
#define TERN_FACES_SIMPLER_TERN_TYPES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/region.h"

#ifdef __cplusplus
enum CoreType : int32_t { AIC = 0, AIV = 1 };
enum class DataType : uint8_t {
    FLOAT32 = TERN_REGION_F32,
    FLOAT16 = TERN_REGION_F16,
    INT32 = TERN_REGION_I32,
    INT16 = TERN_REGION_I16,
    INT8 = TERN_REGION_I8,
    UINT8 = TERN_REGION_U8,
    BFLOAT16 = TERN_REGION_BF16,
    INT64 = TERN_REGION_I64,
    UINT64 = TERN_REGION_U64,
    UINT16 = TERN_REGION_U16,
    UINT32 = TERN_REGION_U32,
};

// Bytes of an element; 0 for what is no type.
constexpr uint64_t get_element_size(DataType type)
{
    switch (type) {
    case DataType::INT64:
    case DataType::UINT64:
        return 8;
    case DataType::FLOAT32:
    case DataType::INT32:
    case DataType::UINT32:
        return 4;
    case DataType::FLOAT16:
    case DataType::BFLOAT16:
    case DataType::INT16:
    case DataType::UINT16:
        return 2;
    case DataType::INT8:
    case DataType::UINT8:
        return 1;
    }
    return 0;
}
#else
typedef int32_t CoreType;
typedef uint8_t DataType;
#endif

// An argument: memory whose elements lie one after the other.
typedef struct ContinuousTensor {
    uint64_t data;
    uint32_t shapes[TERN_REGION_DIMS_MAX];
    uint32_t ndims;
    DataType dtype;
    uint8_t child_memory; // 1: `data` is memory of the device already; it is not copied
#ifdef __cplusplus
    uint64_t nbytes() const
    {
        uint64_t count = get_element_size(dtype);
        for (uint32_t d = 0; d < ndims; d++) {
            count *= shapes[d];
        }
        return count;
    }
    template <typename T> T *data_as() const
    {
        return reinterpret_cast<T *>(static_cast<uintptr_t>(data));
    }
    bool is_child_memory() const
    {
        return child_memory != 0;
    }
#endif
} ContinuousTensor;

static_assert(sizeof(ContinuousTensor) == 40 && offsetof(ContinuousTensor, shapes) == 8 &&
                  offsetof(ContinuousTensor, ndims) == 28 &&
                  offsetof(ContinuousTensor, dtype) == 32 &&
                  offsetof(ContinuousTensor, child_memory) == 33,
              "the layout of April 2026");

#define TERN_SIMPLER_ARG_TENSORS 64
#define TERN_SIMPLER_ARG_SCALARS 128

typedef struct ChipStorageTaskArgs {
    ContinuousTensor tensors_[TERN_SIMPLER_ARG_TENSORS];
    uint64_t scalars_[TERN_SIMPLER_ARG_SCALARS];
    int32_t tensor_count_;
    int32_t scalar_count_;
#ifdef __cplusplus
    const ContinuousTensor &tensor(int32_t i) const
    {
        return tensors_[i];
    }
    ContinuousTensor &tensor(int32_t i)
    {
        return tensors_[i];
    }
    uint64_t scalar(int32_t i) const
    {
        return scalars_[i];
    }
    int32_t tensor_count() const
    {
        return tensor_count_;
    }
    int32_t scalar_count() const
    {
        return scalar_count_;
    }
    void add_tensor(const ContinuousTensor &tensor)
    {
        tensors_[tensor_count_++] = tensor;
    }
    void add_scalar(uint64_t scalar)
    {
        scalars_[scalar_count_++] = scalar;
    }
#endif
} ChipStorageTaskArgs;

static_assert(offsetof(ChipStorageTaskArgs, scalars_) == 2560 &&
                  sizeof(ChipStorageTaskArgs) == 2560 + 1024 + 8,
              "the layout of April 2026");

#endif
