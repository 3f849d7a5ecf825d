// SPDX-License-Identifier: Apache-2.0
// y = relu(x @ w1) @ w2, a tile of 64 rows after the other; the hidden layer in two parts. The cube
// core multiplies and pushes a part of the hidden layer; each of the two vector cores pops half of
// its rows and pushes what relu makes of them; the cube core pops that and multiplies again. It
// pushes both parts before it pops the first, so the vector cores work meanwhile.
//
// Arguments: x, w1, w2, y. Compiled for cube cores with __DAV_CUBE__, for vector cores with
// __DAV_VEC__.
#include "intrinsic.h"
#include "pto/pto-inst.hpp"
#include "tensor.h"

using namespace pto;

constexpr int side = 64, parts = 2, hidden = parts * side;
constexpr TileSplitAxis split = TileSplitAxis::TILE_UP_DOWN;

// Both directions, two slots each, in memory of the block. TPOP puts tiles at 0x0 of UB, and behind
// what is loaded into L1.
using Pipe = TPipe<0, Direction::DIR_BOTH, side * side * sizeof(float), 2>;
constexpr uint32_t popped = 0x10000;

struct Layer {
    __gm__ float *x, *w1, *w2, *y;
    int64_t tiles;
};

#ifdef __DAV_CUBE__

template <int Columns>
using Matrix =
    GlobalTensor<float, TileShape2D<float, side, side>, BaseShape2D<float, side, Columns>>;
using Loaded =
    Tile<TileType::Mat, float, side, side, BLayout::ColMajor, side, side, SLayout::RowMajor, 512>;
using Sum = TileAcc<float, side, side>;

static void Order(pipe_t from, pipe_t to)
{
    set_flag(from, to, EVENT_ID0);
    wait_flag(from, to, EVENT_ID0);
}

// sum = left @ weights, or that more.
template <typename Weights> static void Multiply(Sum &sum, Loaded &left, Weights weights, bool more)
{
    Loaded right;
    TileLeft<float, side, side> l0;
    TileRight<float, side, side> r0;
    TASSIGN(right, 0x8000);
    TASSIGN(l0, 0x0);
    TASSIGN(r0, 0x0);
    TLOAD(right, weights);
    Order(PIPE_MTE2, PIPE_MTE1);
    TMOV(l0, left);
    TMOV(r0, right);
    Order(PIPE_MTE1, PIPE_M);
    if (more) {
        TMATMUL_ACC(sum, sum, l0, r0);
    } else {
        TMATMUL(sum, l0, r0);
    }
    Order(PIPE_M, PIPE_FIX);
}

static void Run(const Layer &layer, int64_t begin, int64_t step)
{
    Pipe pipe(nullptr, 0x0, popped);
    Loaded x, part;
    Sum hiddens, y;
    TASSIGN(x, 0x0);
    TASSIGN(hiddens, 0x0);
    TASSIGN(y, 0x4000);
    for (int64_t tile = begin; tile < layer.tiles; tile += step) {
        Matrix<side> from(layer.x + tile * side * side);
        TLOAD(x, from);
        for (int i = 0; i < parts; i++) {
            Multiply(hiddens, x, Matrix<hidden>(layer.w1 + i * side), false);
            TPUSH<Pipe, Sum, split>(pipe, hiddens);
        }
        for (int i = 0; i < parts; i++) {
            TPOP<Pipe, Loaded, split>(pipe, part);
            Multiply(y, part, Matrix<side>(layer.w2 + i * side * side), i > 0);
        }
        Matrix<side> to(layer.y + tile * side * side);
        TSTORE(to, y);
        pipe_barrier(PIPE_ALL);
    }
}

#else

static void Run(const Layer &layer, int64_t begin, int64_t step)
{
    using Half = Tile<TileType::Vec, float, side / 2, side>;
    Pipe pipe(nullptr, 0x0, popped);
    Half half, positive;
    TASSIGN(positive, 0x8000);
    for (int64_t tile = begin; tile < layer.tiles; tile += step) {
        for (int i = 0; i < parts; i++) {
            TPOP<Pipe, Half, split>(pipe, half);
            TRELU(positive, half);
            TPUSH<Pipe, Half, split>(pipe, positive);
        }
    }
}

#endif

static __gm__ float *At(int64_t argument)
{
    auto *tensor = reinterpret_cast<__gm__ Tensor *>(argument);
    return reinterpret_cast<__gm__ float *>(tensor->buffer.addr) + tensor->start_offset;
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    const auto *x = reinterpret_cast<__gm__ Tensor *>(args[0]);
    Layer layer = {At(args[0]), At(args[1]), At(args[2]), At(args[3]), x->shapes[0] / side};
    Run(layer, get_block_idx(args), get_block_num(args));
}
