// SPDX-License-Identifier: Apache-2.0
// (a, b, d, out, workspace, way): out = (2 * (a @ b)) @ d, tile after tile. One source for both
// kinds of cores: a cube core multiplies, two vector cores double what it has, in halves, and it
// takes that back. The cube core is two tiles ahead, and the vector cores one. `way` is how they go
// there and back.
#include "intrinsic.h"
#include "kernel_operator.h"
#include "tensor.h"

#include "../tiles.hpp"
#include "at.hpp"

namespace
{

using namespace pto;

constexpr int side = 64, steps = 5, tile_bytes = side * side * 4;

using Square = tiles::Matrix<side, side>;
using Loaded =
    Tile<TileType::Mat, float, side, side, BLayout::ColMajor, side, side, SLayout::RowMajor, 512>;
using Upper = Tile<TileType::Vec, float, side / 2, side>;
using Left = Tile<TileType::Vec, float, side, side / 2>;
using Whole = Tile<TileType::Vec, float, side, side>;
using HalfRows = GlobalTensor<float, Shape<1, 1, 1, side / 2, side>,
                              pto::Stride<side * side, side * side, side * side, side, 1>>;

struct Job {
    __gm__ float *a, *b, *d, *out, *workspace;
};

#ifdef __DAV_CUBE__

// c = left @ b.
void Multiply(Loaded &left, __gm__ float *b, TileAcc<float, side, side> &c)
{
    Loaded right;
    TileLeft<float, side, side> l0;
    TileRight<float, side, side> r0;
    TASSIGN(right, 0x20000);
    TASSIGN(l0, 0x0);
    TASSIGN(r0, 0x0);
    TASSIGN(c, 0x0);
    Square from(b);
    TLOAD(right, from);
    TMOV(l0, left);
    TMOV(r0, right);
    TMATMUL(c, l0, r0);
}

template <typename Push, typename Pop> void Run(const Job &job, Push push, Pop pop)
{
    Loaded first, doubled;
    TileAcc<float, side, side> c;
    auto send = [&](int step) {
        TASSIGN(first, 0x10000);
        Square from(job.a + step * side * side);
        TLOAD(first, from);
        Multiply(first, job.b, c);
        push(c, step);
    };
    send(0);
    send(1);
    for (int step = 0; step < steps; step++) {
        if (step + 2 < steps) {
            send(step + 2);
        }
        TASSIGN(doubled, 0x0);
        pop(doubled, step);
        Multiply(doubled, job.d, c);
        Square to(job.out + step * side * side);
        TSTORE(to, c);
        pipe_barrier(PIPE_ALL);
    }
}
template <typename Half, typename Push, typename Pop> void Double(const Job &, Push, Pop)
{
}

#else

template <typename Push, typename Pop> void Run(const Job &, Push, Pop)
{
}
template <typename Half, typename Push, typename Pop> void Double(const Job &, Push push, Pop pop)
{
    Half half[2], twice;
    TASSIGN(twice, 0x10000);
    TASSIGN(half[0], 0x18000);
    TASSIGN(half[1], 0x20000);
    pop(half[0], 0);
    for (int step = 0; step < steps; step++) {
        if (step + 1 < steps) {
            pop(half[(step + 1) % 2], step + 1);
        }
        TMULS(twice, half[step % 2], 2.0f);
        push(twice, step);
    }
}

#endif

template <TileSplitAxis Split, typename Half, typename There, typename Back>
void ByTiles(const Job &job, There &there, Back &back)
{
    Run(
        job,
        [&](auto &tile, int) { TPUSH<There, std::decay_t<decltype(tile)>, Split>(there, tile); },
        [&](auto &tile, int) { TPOP<Back, std::decay_t<decltype(tile)>, Split>(back, tile); });
    Double<Half>(
        job, [&](auto &tile, int) { TPUSH<Back, std::decay_t<decltype(tile)>, Split>(back, tile); },
        [&](auto &tile, int) { TPOP<There, std::decay_t<decltype(tile)>, Split>(there, tile); });
}

// Both directions by one pipe, in slots that are the block's own.
void OnePipe(const Job &job)
{
    using Pipe = TPipe<0, Direction::DIR_BOTH, tile_bytes, 2>;
    Pipe pipe(nullptr, 0x0, 0x40000);
    ByTiles<TileSplitAxis::TILE_UP_DOWN, Upper>(job, pipe, pipe);
    TFREE<Pipe, TileSplitAxis::TILE_UP_DOWN>(pipe); // nothing: TPOP has given the slots back
    TFREE(pipe);
}

// A pipe each way, in the two halves of the same slots of global memory; and the vector cores have
// columns.
void TwoPipes(const Job &job)
{
    using There = TPipe<0, Direction::DIR_C2V, 2 * tile_bytes, 2>;
    using Back = TPipe<2, Direction::DIR_V2C, 2 * tile_bytes, 1, 3>;
    There there(job.workspace, 0x0, 0x0);
    Back back(job.workspace, 0x0, 0x40000);
    back.prod.setEntryOffset(tile_bytes);
    back.cons.setEntryOffset(tile_bytes);
    ByTiles<TileSplitAxis::TILE_LEFT_RIGHT, Left>(job, there, back);
}

// Each vector core has all.
void NoSplit(const Job &job)
{
    using Pipe = TPipe<4, Direction::DIR_BOTH, tile_bytes, 2>;
    Pipe pipe(job.workspace, 0x0, 0x40000);
    auto push = [&](auto &tile, int) { TPUSH(tile, pipe); };
    auto pop = [&](auto &tile, int) { TPOP(tile, pipe); };
    Run(job, push, pop);
    Double<Whole>(job, push, pop);
}

// Slots as tensors: the kernels write and read them.
void ByTensors(const Job &job)
{
    constexpr TileSplitAxis split = TileSplitAxis::TILE_UP_DOWN;
    using Pipe = TPipe<1, Direction::DIR_BOTH, tile_bytes, 2>;
    Pipe pipe(job.workspace, 0x0, 0x0);
    Run(
        job,
        [&](auto &tile, int) {
            Square slot;
            TALLOC<Pipe, Square, split>(pipe, slot);
            TSTORE(slot, tile);
            TPUSH<Pipe, Square, split>(pipe, slot);
        },
        [&](auto &tile, int) {
            Square slot;
            TPOP<Pipe, Square, split>(pipe, slot);
            TLOAD(tile, slot);
            TFREE<Pipe, Square, split>(pipe, slot);
        });
    Double<Upper>(
        job,
        [&](auto &tile, int) {
            HalfRows slot;
            TALLOC<Pipe, HalfRows, split>(pipe, slot);
            TSTORE(slot, tile);
            TPUSH<Pipe, HalfRows, split>(pipe, slot);
        },
        [&](auto &tile, int) {
            HalfRows slot;
            TPOP<Pipe, HalfRows, split>(pipe, slot);
            TLOAD(tile, slot);
            TFREE<Pipe, HalfRows, split>(pipe, slot);
        });
}

// Each vector core says that it has the half of the other one. A slot for each step, so nobody
// waits for a free one. There the cube core writes itself, and the vector cores pop tiles.
void ById(const Job &job)
{
    constexpr TileSplitAxis split = TileSplitAxis::TILE_UP_DOWN;
    using Pipe = TPipe<8, Direction::DIR_BOTH, tile_bytes, steps>;
    const int32_t id = 1 - static_cast<int32_t>(get_subblockid());
    Pipe pipe(nullptr, 0x0, 0x40000);
    pipe.prod.setAllocateStatus(false);
    pipe.cons.setFreeStatus(false);
    Run(
        job,
        [&](auto &tile, int) {
            Square slot;
            TALLOC<Pipe, Square, split>(pipe, slot);
            TSTORE(slot, tile);
            TPUSH<Pipe, Square, split>(pipe, slot);
        },
        [&](auto &tile, int) { TPOP<Pipe, std::decay_t<decltype(tile)>, split>(pipe, tile); });
    Double<Upper>(
        job,
        [&](auto &tile, int) { TPUSH<Pipe, std::decay_t<decltype(tile)>, split>(pipe, tile, id); },
        [&](auto &tile, int) { TPOP<Pipe, std::decay_t<decltype(tile)>, split>(pipe, tile, id); });
}

// Flags between the cores, and a place in global memory for each step.
struct Ffts {
    template <uint8_t mode, uint16_t flag> static void Set()
    {
        ffts_cross_core_sync(PIPE_MTE3, 1 | uint64_t{mode} << 4 | uint64_t{flag} << 8);
    }
    static void Wait(uint16_t flag)
    {
        wait_flag_dev(flag);
    }
};
struct CrossCore {
    template <uint8_t mode, uint16_t flag> static void Set()
    {
        AscendC::CrossCoreSetFlag<mode, PIPE_MTE3>(flag);
    }
    static void Wait(uint16_t flag)
    {
        AscendC::CrossCoreWaitFlag(flag);
    }
};
template <typename Flag> void ByFlags(const Job &job)
{
    constexpr uint16_t there = 5, back = 6, met = 7;
    auto place = [&](int step, bool doubled) {
        return job.workspace + (2 * step + doubled) * side * side;
    };
    const int64_t half = get_subblockid() * (side / 2) * side;
    set_ffts_base_addr(0);
    Run(
        job,
        [&](auto &tile, int step) {
            Square to(place(step, false));
            TSTORE(to, tile);
            Flag::template Set<2, there>();
        },
        [&](auto &tile, int step) {
            Flag::Wait(back);
            Square from(place(step, true));
            TLOAD(tile, from);
        });
    Double<Upper>(
        job,
        [&](auto &tile, int step) {
            HalfRows to(place(step, true) + half);
            TSTORE(to, tile);
            Flag::template Set<1, met>(); // the two vector cores
            Flag::Wait(met);
            Flag::template Set<2, back>();
        },
        [&](auto &tile, int step) {
            Flag::Wait(there);
            HalfRows from(place(step, false) + half);
            TLOAD(tile, from);
        });
}

} // namespace

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    constexpr int64_t tile = side * side;
    const int64_t block = get_block_idx(args), way = args[5];
    const Job job = {At(args[0]) + block * steps * tile, At(args[1]), At(args[2]),
                     At(args[3]) + (way * get_block_num(args) + block) * steps * tile,
                     At(args[4]) + block * 2 * steps * tile};
    void (*const ways[])(const Job &) = {OnePipe,       TwoPipes,           NoSplit, ByTensors,
                                         ByFlags<Ffts>, ByFlags<CrossCore>, ById};
    ways[way](job);
}
