// SPDX-License-Identifier: Apache-2.0
// Tensors among a kernel's arguments.
#pragma once

#ifndef FIRST
#define FIRST 0
#endif

#ifdef TERN_RUNTIME_august_tensormap_and_ringbuffer
using ArgumentTensor = TaskTensor;
#else
using ArgumentTensor = Tensor;
#endif

AICORE inline const ArgumentTensor &TensorOf(int64_t argument)
{
    return *reinterpret_cast<__gm__ ArgumentTensor *>(argument);
}

AICORE inline __gm__ float *At(int64_t argument)
{
    const ArgumentTensor &tensor = TensorOf(argument);
    return reinterpret_cast<__gm__ float *>(tensor.buffer.addr) + tensor.start_offset;
}
