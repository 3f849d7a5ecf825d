// SPDX-License-Identifier: Apache-2.0
// Memory among a kernel's arguments. Where dependences follow from tensors, an argument is the
// address of a Tensor; else it is the memory's address. So one kernel serves all runtimes.
#pragma once

#include "pto/pto-inst.hpp"

#ifdef TERN_RUNTIME_tensormap_and_ringbuffer // by `tern kernel-cc --runtime`
#include "tensor.h"
#endif

namespace folders
{

template <typename T> AICORE __gm__ T *At(int64_t argument)
{
#ifdef TERN_RUNTIME_tensormap_and_ringbuffer
    auto *tensor = reinterpret_cast<__gm__ Tensor *>(argument);
    return reinterpret_cast<__gm__ T *>(tensor->buffer.addr) + tensor->start_offset;
#else
    return reinterpret_cast<__gm__ T *>(argument);
#endif
}

} // namespace folders
