// SPDX-License-Identifier: Apache-2.0
// out = alpha * x + shift. Arguments: x, out, their sizes in bytes, alpha (a float in the low 32
// bits), shift (an int32_t there), count.
#include <cstring>

#include "../../../common/kernels/pieces.hpp"

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    auto *x = reinterpret_cast<__gm__ float *>(args[0]);
    auto *out = reinterpret_cast<__gm__ float *>(args[1]);
    float alpha;
    std::memcpy(&alpha, &args[4], sizeof alpha);
    auto shift = static_cast<float>(static_cast<int32_t>(args[5]));
    folders::InPieces(out, x, nullptr, static_cast<uint64_t>(args[6]),
                      [=](auto &result, auto &piece, auto &) {
                          TMULS(result, piece, alpha);
                          TADDS(result, result, shift);
                      });
}
