// SPDX-License-Identifier: Apache-2.0
// (src, scalar, out, n); the scalar's bits are the low 32.
#include <cstring>

#include "../tiles.hpp"

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    float scalar;
    std::memcpy(&scalar, &args[1], sizeof scalar);
    tiles::AddScalar(reinterpret_cast<__gm__ float *>(args[0]), scalar,
                     reinterpret_cast<__gm__ float *>(args[2]), static_cast<uint64_t>(args[3]));
}
