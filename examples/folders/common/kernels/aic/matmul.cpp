// SPDX-License-Identifier: Apache-2.0
// out = a @ b, all of 64 x 64, on a matrix core: global memory to L1, to L0A and L0B, and from the
// accumulator back. Arguments: a, b, out.
#include "../arguments.hpp"

using namespace pto;

constexpr int side = 64;
using Matrix = GlobalTensor<float, TileShape2D<float, side, side>, BaseShape2D<float, side, side>>;
using Loaded =
    Tile<TileType::Mat, float, side, side, BLayout::ColMajor, side, side, SLayout::RowMajor, 512>;

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    Matrix a(folders::At<float>(args[0]));
    Matrix b(folders::At<float>(args[1]));
    Matrix out(folders::At<float>(args[2]));
    Loaded a1, b1;
    TileLeft<float, side, side> left;
    TileRight<float, side, side> right;
    TileAcc<float, side, side> sum;
    TASSIGN(a1, 0x0);
    TASSIGN(b1, 0x4000);
    TASSIGN(left, 0x0);
    TASSIGN(right, 0x0);
    TASSIGN(sum, 0x0);

    TLOAD(a1, a);
    TLOAD(b1, b);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TMOV(left, a1);
    TMOV(right, b1);
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    TMATMUL(sum, left, right);
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    TSTORE(out, sum);
    pipe_barrier(PIPE_ALL);
}
