// SPDX-License-Identifier: Apache-2.0
// out = a * b. Arguments: a, b, out, count.
#include "../../../common/kernels/arguments.hpp"
#include "../../../common/kernels/pieces.hpp"

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    using folders::At;
    folders::InPieces(At<float>(args[2]), At<float>(args[0]), At<float>(args[1]),
                      static_cast<uint64_t>(args[3]),
                      [](auto &result, auto &a, auto &b) { TMUL(result, a, b); });
}
