// SPDX-License-Identifier: Apache-2.0
// What the kernels of this folder share: the words of a rank, and the form of a letter.
#pragma once

#include "pto/comm/pto_comm_inst.hpp"
#include "pto/pto-inst.hpp"

#include "comm_context.h"

namespace mail
{

enum { FILLED, EMPTIED, SENT };

constexpr int side = 64;
using Letter = pto::GlobalTensor<float, pto::TileShape2D<float, side, side>,
                                 pto::BaseShape2D<float, side, side>>;
using LetterTile = pto::Tile<pto::TileType::Vec, float, side, side>;

struct Place {
    __gm__ CommDeviceContext *context;

    Place(int64_t words, int64_t ranks, int64_t device_context)
        : context(reinterpret_cast<__gm__ CommDeviceContext *>(device_context)),
          words_(reinterpret_cast<__gm__ int32_t *>(words)), ranks_(static_cast<int>(ranks))
    {
    }
    AICORE __gm__ int32_t *Word(int word) const
    {
        return words_ + 16 * word;
    }
    AICORE int Next(int distance) const
    {
        return (static_cast<int>(context->rankId) + distance + ranks_) % ranks_;
    }

  private:
    __gm__ int32_t *words_;
    int ranks_;
};

} // namespace mail
