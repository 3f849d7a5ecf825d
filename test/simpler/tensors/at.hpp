// SPDX-License-Identifier: Apache-2.0
// Tensors among a kernel's arguments.
#pragma once

#ifndef FIRST
#define FIRST 0
#endif

AICORE inline const Tensor &TensorOf(int64_t argument)
{
    return *reinterpret_cast<__gm__ Tensor *>(argument);
}

AICORE inline __gm__ float *At(int64_t argument)
{
    const Tensor &tensor = TensorOf(argument);
    return reinterpret_cast<__gm__ float *>(tensor.buffer.addr) + tensor.start_offset;
}
