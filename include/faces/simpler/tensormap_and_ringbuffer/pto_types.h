// SPDX-License-Identifier: Apache-2.0
// Parameters of tasks, March 2026. C++ only.
#ifndef TERN_FACES_SIMPLER_TENSORMAP_PTO_TYPES_H
#define TERN_FACES_SIMPLER_TENSORMAP_PTO_TYPES_H

#include "simpler/tensormap_and_ringbuffer/tensor.h"

// They keep the tensor's address: it must live until the submit, which may write to it.
inline PTOParam make_input_param(Tensor &tensor)
{
    return {PTOParamType::INPUT, &tensor, 0};
}
inline PTOParam make_output_param(Tensor &tensor)
{
    return {PTOParamType::OUTPUT, &tensor, 0};
}
inline PTOParam make_inout_param(Tensor &tensor)
{
    return {PTOParamType::INOUT, &tensor, 0};
}
inline PTOParam make_scalar_param(uint64_t value)
{
    return {PTOParamType::SCALAR, nullptr, value};
}

#endif
