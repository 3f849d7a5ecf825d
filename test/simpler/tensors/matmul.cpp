// SPDX-License-Identifier: Apache-2.0
// (a, b, out), of SIDE x SIDE.
#include "tensor.h"

#include "../tiles.hpp"
#include "at.hpp"

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    tiles::Matmul<SIDE>(At(args[0]), At(args[1]), At(args[2]));
}
