// SPDX-License-Identifier: Apache-2.0
// Tensors of March 2026. C++ only.
#ifndef TERN_FACES_SIMPLER_TENSORMAP_TENSOR_H
#define TERN_FACES_SIMPLER_TENSORMAP_TENSOR_H

#include "simpler/tern/tensor.hpp"

// Memory of the runtime: allocated when a task first has it as an output, and the tensor then knows
// its address.
inline Tensor make_tensor(const uint32_t shapes[], uint32_t ndims,
                          DataType dtype = DataType::FLOAT32, int32_t version = 0)
{
    return Tensor::tern_make(nullptr, shapes, ndims, dtype, version, false);
}

// Memory that exists.
inline Tensor make_tensor_external(void *addr, const uint32_t shapes[], uint32_t ndims,
                                   DataType dtype = DataType::FLOAT32, int32_t version = 0)
{
    return Tensor::tern_make(addr, shapes, ndims, dtype, version, false);
}

#endif
