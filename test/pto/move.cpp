// SPDX-License-Identifier: Apache-2.0
// TPUT and TGET: the cases of the reference's matrix, in rings: rank r puts to rank r-1, and gets
// from rank r+1.

#include "pto/comm/pto_comm_inst.hpp"
#include "pto/pto-inst.hpp"

#include "common.hpp"

using namespace pto;

enum Way { Put, Get };

constexpr size_t RECEIVED = size_t{2} << 20; // behind what is sent

template <Way way, typename T, int D0, int D1, int D2, int D3, int D4, int ROWS, int COLUMNS,
          bool PING_PONG>
__global__ AICORE void MoveKernel(__gm__ T *dst, __gm__ T *src, __gm__ CommDeviceContext *ctx,
                                  int peer)
{
    using Global = DENSE(T, D0, D1, D2, D3, D4);
    constexpr bool dynamic = D3 % ROWS != 0 || D4 % COLUMNS != 0;
    using TileData = TILE_OF(T, ROWS, COLUMNS, dynamic);
    Global dstG(way == Put ? CommRemotePtr(ctx, dst, peer) : dst);
    Global srcG(way == Get ? CommRemotePtr(ctx, src, peer) : src);
    TileData ping = MakeTile<TileData>(ROWS, COLUMNS);
    TileData pong = MakeTile<TileData>(ROWS, COLUMNS);
    TASSIGN(ping, 0x0);
    TASSIGN(pong, 0x10000);
    Through<PING_PONG>(ping, pong, [&](auto &...tiles) {
        way == Put ? comm::TPUT(dstG, srcG, tiles...) : comm::TGET(dstG, srcG, tiles...);
    });
    pipe_barrier(PIPE_ALL);
}

template <typename T> __global__ AICORE void FillKernel(__gm__ T *data, int64_t count, int64_t add)
{
    for (int64_t i = 0; i < count; i++) {
        data[i] = static_cast<T>(i + add);
    }
    pipe_barrier(PIPE_ALL);
}

template <typename T> __global__ AICORE void CopyKernel(__gm__ T *dst, __gm__ T *src, int64_t count)
{
    dcci(src, cache_line_t::ENTIRE_DATA_CACHE);
    for (int64_t i = 0; i < count; i++) {
        dst[i] = src[i];
    }
}

template <Way way, typename T, int D0, int D1, int D2, int D3, int D4, int ROWS, int COLUMNS,
          bool PING_PONG = false>
void Ring()
{
    constexpr int64_t count = int64_t{D0} * D1 * D2 * D3 * D4;
    static_assert(count * sizeof(T) <= RECEIVED);
    job.used = RECEIVED + FREE_BYTES + count * sizeof(T);
    T *sent = Window<T>();
    T *received = Window<T>(RECEIVED);
    Device<T> out(count + 8, T(7));
    FillKernel<T><<<1, nullptr, job.stream>>>(sent, count, int64_t{10000} * job.me);
    SyncAll();
    int peer = way == Put ? (job.me + job.n - 1) % job.n : (job.me + 1) % job.n;
    MoveKernel<way, T, D0, D1, D2, D3, D4, ROWS, COLUMNS, PING_PONG>
        <<<1, nullptr, job.stream>>>(received, sent, job.ctx, peer);
    SyncAll();
    CopyKernel<T><<<1, nullptr, job.stream>>>(out.data(), received, count + 8);
    SyncAll();
    int64_t from = (job.me + 1) % job.n;
    ExpectAll("received", out.data(), count, [=](int64_t i) { return i + 10000 * from; });
    ExpectAll("behind", out.data() + count, 8, [](int64_t) { return 0; });
}

__global__ AICORE void AddKernel(__gm__ int32_t *sum, __gm__ int32_t *src,
                                 __gm__ CommDeviceContext *ctx, int root)
{
    using Global = DENSE(int32_t, 1, 1, 1, 1, 256);
    Global dstG(CommRemotePtr(ctx, sum, root));
    Global srcG(src);
    Tile<TileType::Vec, int32_t, 1, 256> tile;
    TASSIGN(tile, 0x0);
    comm::TPUT<AtomicType::AtomicAdd>(dstG, srcG, tile);
    pipe_barrier(PIPE_ALL);
}

void AddsToRank0()
{
    FillKernel<int32_t><<<1, nullptr, job.stream>>>(Window<int32_t>(), 256, 10000 * job.me);
    SyncAll();
    AddKernel<<<1, nullptr, job.stream>>>(Window<int32_t>(4096), Window<int32_t>(), job.ctx, 0);
    SyncAll();
    int64_t n = job.n;
    if (job.me == 0) {
        ExpectAll("sum", Window<int32_t>(4096), 256,
                  [n](int64_t i) { return n * i + 10000 * n * (n - 1) / 2; });
    }
}

// The list that puts and gets share; float 256 and uint8 512 have more ranks in the one for puts.
#define LIST_P(W, FOUR, EIGHT)                                                                     \
    {#W " Vec float 256", FOUR, Ring<W, float, 1, 1, 1, 1, 256, 1, 256>},                          \
        {#W " Vec int32 4096", 2, Ring<W, int32_t, 1, 1, 1, 1, 4096, 1, 4096>},                    \
        {#W " Vec uint8 512", EIGHT, Ring<W, uint8_t, 1, 1, 1, 1, 512, 1, 512>},                   \
        {#W " Shape2D float 16x16", 2, Ring<W, float, 1, 1, 1, 16, 16, 16, 16>},                   \
        {#W " Shape2D float 8x32", 2, Ring<W, float, 1, 1, 1, 8, 32, 8, 32>},                      \
        {#W " Shape2D int32 4x64", 2, Ring<W, int32_t, 1, 1, 1, 4, 64, 4, 64>},                    \
        {#W " Large float 128x64", 2, Ring<W, float, 1, 1, 1, 128, 64, 16, 64>},                   \
        {#W " Large int32 256x32", 2, Ring<W, int32_t, 1, 1, 1, 256, 32, 32, 32>},                 \
        {#W " Large float 512x32", 2, Ring<W, float, 1, 1, 1, 512, 32, 64, 32>},                   \
        {#W " Large float 2048x32", 2, Ring<W, float, 1, 1, 1, 2048, 32, 64, 32>},                 \
        {#W " Large float 4096x32", 2, Ring<W, float, 1, 1, 1, 4096, 32, 64, 32>},                 \
        {#W " Large float 2048x64", 2, Ring<W, float, 1, 1, 1, 2048, 64, 128, 64>},                \
        {#W " Large int32 4096x64", 2, Ring<W, int32_t, 1, 1, 1, 4096, 64, 128, 64>},              \
        {#W " MultiDim float 2x2x1x32x32", 2, Ring<W, float, 2, 2, 1, 32, 32, 16, 32>},            \
        {#W " MultiDim int32 4x1x1x32x64", 2, Ring<W, int32_t, 4, 1, 1, 32, 64, 16, 64>},          \
        {#W " Irregular float 2047x32", 2, Ring<W, float, 1, 1, 1, 2047, 32, 64, 32>},             \
        {#W " Irregular int32 1025x32", 2, Ring<W, int32_t, 1, 1, 1, 1025, 32, 64, 32>},           \
        {#W " Irregular float 4095x32", 2, Ring<W, float, 1, 1, 1, 4095, 32, 128, 32>},            \
        {#W " Sliding2D float 64x128", 2, Ring<W, float, 1, 1, 1, 64, 128, 16, 32>},               \
        {#W " Sliding2D int32 128x256", 2, Ring<W, int32_t, 1, 1, 1, 128, 256, 32, 64>},           \
        {#W " Sliding2D float 256x512", 2, Ring<W, float, 1, 1, 1, 256, 512, 64, 128>},            \
        {#W " Sliding2D float 65x64", 2, Ring<W, float, 1, 1, 1, 65, 64, 16, 32>},                 \
        {#W " Sliding2D float 64x104", 2, Ring<W, float, 1, 1, 1, 64, 104, 16, 32>},               \
        {#W " Sliding2D float 65x104", 2, Ring<W, float, 1, 1, 1, 65, 104, 16, 32>},               \
        {#W " PingPong float 128x128", 2, Ring<W, float, 1, 1, 1, 128, 128, 16, 32, true>},        \
        {#W " PingPong int32 256x256", 2, Ring<W, int32_t, 1, 1, 1, 256, 256, 32, 64, true>},      \
        {#W " PingPong float 65x104", 2, Ring<W, float, 1, 1, 1, 65, 104, 16, 32, true>},          \
    {                                                                                              \
#W " PingPong float 7x10", 2, Ring < W, float, 1, 1, 1, 7, 10, 5, 7, true>                 \
    }

static const Case cases[] = {
    LIST_P(Put, 4, 8),
    {"Put AtomicAdd int32 256", 4, AddsToRank0},
    LIST_P(Get, 2, 2),
};

int main(int argc, char **argv)
{
    return RUN_CASES("move", cases, argc, argv);
}
