// SPDX-License-Identifier: Apache-2.0
// (out, line): each kernel of each block writes (block, blocks, which AIV) to a line of its own, of
// 16 numbers: SLOT says which kernel of a cluster it is.
#include "intrinsic.h"
#include "tensor.h"

#include "../tiles.hpp"
#include "at.hpp"

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    float *line = At(args[0]) + 16 * (args[1] + 3 * get_block_idx(args) + SLOT);
    line[0] = static_cast<float>(get_block_idx(args));
    line[1] = static_cast<float>(get_block_num(args));
    line[2] = static_cast<float>(get_sub_block_id(args));
}
