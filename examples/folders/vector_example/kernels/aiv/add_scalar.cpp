// SPDX-License-Identifier: Apache-2.0
// out = a + scalar, whose bits are the low 32 of its argument. Arguments: a, scalar, out, count.
#include <cstring>

#include "../../../common/kernels/arguments.hpp"
#include "../../../common/kernels/pieces.hpp"

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    using folders::At;
    float scalar;
    std::memcpy(&scalar, &args[1], sizeof scalar);
    folders::InPieces(At<float>(args[2]), At<float>(args[0]), nullptr,
                      static_cast<uint64_t>(args[3]),
                      [scalar](auto &result, auto &a, auto &) { TADDS(result, a, scalar); });
}
