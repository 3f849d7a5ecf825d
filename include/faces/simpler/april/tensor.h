// SPDX-License-Identifier: Apache-2.0
// Tensors of April 2026. C++ only.
#ifndef TERN_FACES_SIMPLER_APRIL_TENSOR_H
#define TERN_FACES_SIMPLER_APRIL_TENSOR_H

#include "simpler/tern/tensor.hpp"

// Memory that exists. manual_dep: no order of tasks follows from it.
inline Tensor make_tensor_external(void *addr, const uint32_t shapes[], uint32_t ndims,
                                   DataType dtype = DataType::FLOAT32, bool manual_dep = false,
                                   int32_t version = 0)
{
    return Tensor::tern_make(addr, shapes, ndims, dtype, version, manual_dep);
}

// An argument of the orchestration.
inline Tensor from_tensor_arg(const ContinuousTensor &argument, bool manual_dep = false,
                              int32_t version = 0)
{
    return Tensor::tern_make(argument.data_as<void>(), argument.shapes, argument.ndims,
                             argument.dtype, version, manual_dep);
}

#endif
