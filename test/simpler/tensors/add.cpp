// SPDX-License-Identifier: Apache-2.0
// (src0, src1, out), from argument FIRST on.
#include "tensor.h"

#include "../tiles.hpp"
#include "at.hpp"

extern "C" __aicore__ __attribute__((always_inline)) void kernel_entry(__gm__ int64_t *args)
{
    args += FIRST;
    tiles::Combine<tiles::Op::Add>(At(args[0]), At(args[1]), At(args[2]),
                                   TensorOf(args[2]).numel());
}
