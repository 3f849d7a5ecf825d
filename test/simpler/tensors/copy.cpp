// SPDX-License-Identifier: Apache-2.0
// (in, out): out[0] = in[0].
#include "tensor.h"

#include "at.hpp"

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    At(args[1])[0] = At(args[0])[0];
}
