// SPDX-License-Identifier: Apache-2.0
// result = out + counter. Arguments: out, arrived, result (tensors), counter.
#include "tensor.h"

#include "../form.hpp"

using namespace pto;

AICORE static __gm__ float *At(int64_t argument)
{
    return reinterpret_cast<__gm__ float *>(
        reinterpret_cast<__gm__ Tensor *>(argument)->buffer.addr);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    auto *counter = reinterpret_cast<__gm__ int32_t *>(args[3]);
    dcci(counter, cache_line_t::SINGLE_CACHE_LINE);
    auto counted = static_cast<float>(*counter);
    form::InQuarters(At(args[2]), At(args[0]),
                     [counted](form::QuarterTile &tile) { TADDS(tile, tile, counted); });
}
