// SPDX-License-Identifier: Apache-2.0
// The form of the buffers: 128 x 128, handled in quarters that fit into tiles.
#pragma once

#include "pto/comm/pto_comm_inst.hpp"
#include "pto/pto-inst.hpp"

#include "comm_context.h"

namespace form
{

constexpr int columns = 128, rows = 32, count = 128 * 128, quarter = rows * columns;
using Quarter = pto::GlobalTensor<float, pto::TileShape2D<float, rows, columns>,
                                  pto::BaseShape2D<float, rows, columns>>;
using QuarterTile = pto::Tile<pto::TileType::Vec, float, rows, columns>;

// to = change(from); `change` gets a tile.
template <typename Change>
AICORE void InQuarters(__gm__ float *to, __gm__ float *from, Change change)
{
    for (int begin = 0; begin < count; begin += quarter) {
        Quarter source(from + begin), target(to + begin);
        QuarterTile tile;
        TASSIGN(tile, 0x0);
        TLOAD(tile, source);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        change(tile);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TSTORE(target, tile);
        pipe_barrier(PIPE_ALL);
    }
}

} // namespace form
