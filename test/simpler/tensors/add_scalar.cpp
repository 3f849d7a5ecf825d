// SPDX-License-Identifier: Apache-2.0
// (src, out, scalar); of March with SCALAR_BETWEEN (src, scalar, out).
#include <cstring>

#include "tensor.h"

#include "../tiles.hpp"
#include "at.hpp"

#ifdef SCALAR_BETWEEN
enum { SCALAR = 1, OUT = 2 };
#else
enum { SCALAR = 2, OUT = 1 };
#endif

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    float scalar;
    std::memcpy(&scalar, &args[SCALAR], sizeof scalar);
    tiles::AddScalar(At(args[0]), scalar, At(args[OUT]), TensorOf(args[OUT]).numel());
}
