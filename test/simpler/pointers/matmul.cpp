// SPDX-License-Identifier: Apache-2.0
// (a, b, out), of 64 x 64.
#include "../tiles.hpp"

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    tiles::Matmul<64>(reinterpret_cast<__gm__ float *>(args[0]),
                      reinterpret_cast<__gm__ float *>(args[1]),
                      reinterpret_cast<__gm__ float *>(args[2]));
}
