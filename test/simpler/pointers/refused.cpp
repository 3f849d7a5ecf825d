// SPDX-License-Identifier: Apache-2.0
// A kernel with an instruction that is refused: a tile beyond the core's memory.
#include "../tiles.hpp"

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *)
{
    tiles::Vector tile;
    TASSIGN(tile, 0x7fffffff);
}
