// SPDX-License-Identifier: Apache-2.0
// Memory among a kernel's arguments. Where dependences follow from tensors, an argument is the
// address of a Tensor; else it is the memory's address. So one kernel serves all runtimes.
#pragma once

#include "pto/pto-inst.hpp"

#if __has_include("tensor.h") // of the runtime that `tern kernel-cc --runtime` names
#include "tensor.h"
#endif

namespace folders
{

template <typename T> AICORE __gm__ T *At(int64_t argument)
{
#if __has_include("tensor.h")
    auto *tensor = reinterpret_cast<__gm__ Tensor *>(argument);
    return reinterpret_cast<__gm__ T *>(tensor->buffer.addr) + tensor->start_offset;
#else
    return reinterpret_cast<__gm__ T *>(argument);
#endif
}

} // namespace folders
