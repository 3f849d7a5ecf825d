// SPDX-License-Identifier: Apache-2.0
// TREDUCE, TGATHER, TSCATTER and TBROADCAST: the cases of the reference's matrix. The root alone
// calls; the others keep their buffers as they are until the host's barrier.

#include "pto/pto-inst.hpp"
#include "pto/comm/pto_comm_inst.hpp"

#include "common.hpp"

using namespace pto;

constexpr size_t RECEIVED = size_t{2} << 20; // behind what is sent

// Of ROWS x COLUMNS on each rank, through tiles of TILE_ROWS rows; ROWS may be 0.
template <typename T, int ROWS, int COLUMNS>
using Part =
    GlobalTensor<T, Shape<1, 1, 1, ROWS, COLUMNS>,
                 Stride<ROWS * COLUMNS, ROWS * COLUMNS, ROWS * COLUMNS, COLUMNS, 1>, Layout::ND>;

// Of all ranks one after the other; how many there are is known at run time.
template <typename T, int COLUMNS>
using Whole = GlobalTensor<T, Shape<1, 1, 1, DYNAMIC, COLUMNS>,
                           Stride<DYNAMIC, DYNAMIC, DYNAMIC, COLUMNS, 1>, Layout::ND>;

template <typename Global>
comm::ParallelGroup<Global> MakeGroup(Global *tensors, __gm__ typename Global::RawDType *own,
                                      __gm__ CommDeviceContext *ctx, int root)
{
    int n = static_cast<int>(ctx->rankNum);
    for (int rank = 0; rank < n; rank++) {
        tensors[rank] = Global(CommRemotePtr(ctx, own, rank));
    }
    return comm::ParallelGroup<Global>(tensors, n, root);
}

template <typename T, int ROWS, int COLUMNS, int TILE_ROWS, comm::ReduceOp op, bool PING_PONG>
__global__ AICORE void ReduceKernel(__gm__ T *dst, __gm__ T *src, __gm__ CommDeviceContext *ctx,
                                    int root)
{
    using Global = Part<T, ROWS, COLUMNS>;
    Global tensors[MAX_RANKS];
    comm::ParallelGroup<Global> group = MakeGroup(tensors, src, ctx, root);
    Global dstG(dst);
    TILE_OF(T, TILE_ROWS, COLUMNS, ROWS % TILE_ROWS != 0) acc, ping, pong;
    TASSIGN(acc, 0x0);
    TASSIGN(ping, 0x10000);
    TASSIGN(pong, 0x20000);
    if constexpr (PING_PONG) {
        comm::TREDUCE(group, dstG, acc, ping, pong, op);
    } else {
        comm::TREDUCE(group, dstG, acc, ping, op);
    }
    pipe_barrier(PIPE_ALL);
}

template <typename T, int ROWS, int COLUMNS, int TILE_ROWS, comm::ReduceOp op, int ROOT = 0,
          bool PING_PONG = false>
void Reduce()
{
    constexpr int64_t count = int64_t{ROWS} * COLUMNS;
    constexpr int64_t shown = ROWS == 0 ? COLUMNS : count;
    T *sent = Window<T>();
    Device<T> out(shown, T(-1));
    for (int64_t i = 0; i < shown; i++) {
        sent[i] = static_cast<T>(i + 100 * job.me);
    }
    Barrier();
    if (job.me == ROOT) {
        ReduceKernel<T, ROWS, COLUMNS, TILE_ROWS, op, PING_PONG>
            <<<1, nullptr, job.stream>>>(out.data(), sent, job.ctx, ROOT);
        Sync();
    }
    int64_t n = job.me == ROOT ? job.n : 0;
    ExpectAll("reduced", out.data(), shown, [n](int64_t i) {
        return n == 0 || ROWS == 0         ? int64_t{-1}
               : op == comm::ReduceOp::Sum ? n * i + 100 * n * (n - 1) / 2
               : op == comm::ReduceOp::Max ? i + 100 * (n - 1)
                                           : i;
    });
    Barrier();
}

enum Share { Gather, Scatter };

template <Share share, typename T, int ROWS, int COLUMNS, int TILE_ROWS, bool PING_PONG>
__global__ AICORE void ShareKernel(__gm__ T *whole, __gm__ T *own, __gm__ CommDeviceContext *ctx,
                                   int root)
{
    using Global = Part<T, ROWS, COLUMNS>;
    using All = Whole<T, COLUMNS>;
    int64_t rows = int64_t{ROWS} * ctx->rankNum;
    Global tensors[MAX_RANKS];
    comm::ParallelGroup<Global> group = MakeGroup(tensors, own, ctx, root);
    All all(whole, Shape<1, 1, 1, DYNAMIC, COLUMNS>(rows),
            Stride<DYNAMIC, DYNAMIC, DYNAMIC, COLUMNS, 1>(rows * COLUMNS, rows * COLUMNS,
                                                          rows * COLUMNS));
    TILE_OF(T, TILE_ROWS, COLUMNS, ROWS % TILE_ROWS != 0) ping, pong;
    TASSIGN(ping, 0x0);
    TASSIGN(pong, 0x10000);
    Through<PING_PONG>(ping, pong, [&](auto &...tiles) {
        share == Gather ? comm::TGATHER(group, all, tiles...)
                        : comm::TSCATTER(group, all, tiles...);
    });
    pipe_barrier(PIPE_ALL);
}

// STEP: what the values of two ranks differ by.
template <Share share, typename T, int ROWS, int COLUMNS, int TILE_ROWS, int STEP, int ROOT = 0,
          bool PING_PONG = false>
void ShareOut()
{
    constexpr int64_t count = int64_t{ROWS} * COLUMNS;
    constexpr int64_t shown = ROWS == 0 ? COLUMNS : count;
    T *own = Window<T>();
    Device<T> all(shown * job.n, T(-1));
    bool root = job.me == ROOT;
    for (int64_t i = 0; i < shown; i++) {
        own[i] = static_cast<T>(share == Gather ? i + STEP * job.me : -1);
    }
    for (int64_t i = 0; i < shown * job.n && root && share == Scatter; i++) {
        all[i] = static_cast<T>(i % shown + STEP * (i / shown));
    }
    Barrier();
    if (root) {
        ShareKernel<share, T, ROWS, COLUMNS, TILE_ROWS, PING_PONG>
            <<<1, nullptr, job.stream>>>(all.data(), own, job.ctx, ROOT);
        Sync();
    }
    Barrier();
    if (share == Gather) {
        ExpectAll("gathered", all.data(), shown * job.n, [=](int64_t i) {
            return !root || ROWS == 0 ? -1 : i % shown + STEP * (i / shown);
        });
    } else {
        int64_t me = job.me;
        ExpectAll("own", own, shown, [=](int64_t i) { return ROWS == 0 ? -1 : i + STEP * me; });
    }
}

template <typename T, int ROWS, int COLUMNS, int TILE_ROWS, bool PING_PONG>
__global__ AICORE void BroadcastKernel(__gm__ T *received, __gm__ T *src,
                                       __gm__ CommDeviceContext *ctx, int root)
{
    using Global = Part<T, ROWS, COLUMNS>;
    Global tensors[MAX_RANKS];
    comm::ParallelGroup<Global> group = MakeGroup(tensors, received, ctx, root);
    Global srcG(src);
    TILE_OF(T, TILE_ROWS, COLUMNS, false) ping, pong;
    TASSIGN(ping, 0x0);
    TASSIGN(pong, 0x10000);
    if constexpr (PING_PONG) {
        comm::TBROADCAST(group, srcG, ping, pong);
    } else {
        comm::TBROADCAST(group, srcG, ping);
    }
    pipe_barrier(PIPE_ALL);
}

template <typename T, int ROWS, int COLUMNS, int TILE_ROWS, int ROOT, bool PING_PONG = false>
void Broadcast()
{
    constexpr size_t count = size_t{ROWS} * COLUMNS;
    T *received = Window<T>(RECEIVED);
    job.used = RECEIVED + FREE_BYTES + count * sizeof(T);
    if (job.me == ROOT) {
        for (size_t i = 0; i < count; i++) {
            Window<T>()[i] = static_cast<T>(int(i) + 100 * ROOT);
        }
        BroadcastKernel<T, ROWS, COLUMNS, TILE_ROWS, PING_PONG>
            <<<1, nullptr, job.stream>>>(received, Window<T>(), job.ctx, ROOT);
    }
    SyncAll();
    ExpectAll("received", received, count, [](int64_t i) { return i + 100 * ROOT; });
}

#define SUM comm::ReduceOp::Sum
#define MAX comm::ReduceOp::Max
#define MIN comm::ReduceOp::Min

#define LIST_SHARE(S)                                                                              \
    {#S " float 256", 4, ShareOut<S, float, 1, 256, 1, 10000>},                                    \
        {#S " int32 4096", 2, ShareOut<S, int32_t, 1, 4096, 1, 10000>},                            \
        {#S " uint8 512", 2, ShareOut<S, uint8_t, 1, 512, 1, 10000>},                              \
        {#S " Root1 float 256", 2, ShareOut<S, float, 1, 256, 1, 10000, 1>},                       \
        {#S " EmptyRows float 256", 2, ShareOut<S, float, 0, 256, 1, 10000>},                      \
        {#S " Large int32 128x32", 2, ShareOut<S, int32_t, 128, 32, 16, 100>},                     \
        {#S " Large int32 128x32, 4", 4, ShareOut<S, int32_t, 128, 32, 16, 100>},                  \
        {#S " Large float 256x64", 2, ShareOut<S, float, 256, 64, 32, 100>},                       \
        {#S " Large int32 512x32", 2, ShareOut<S, int32_t, 512, 32, 64, 100>},                     \
        {#S " PingPong int32 128x32", 2, ShareOut<S, int32_t, 128, 32, 16, 100, 0, true>},         \
        {#S " PingPong int32 128x32, 4", 4, ShareOut<S, int32_t, 128, 32, 16, 100, 0, true>},      \
    {                                                                                              \
#S " PingPong float 256x64", 2, ShareOut < S, float, 256, 64, 32, 100, 0, true>            \
    }

static const Case cases[] = {
    {"Reduce Sum float 256, 4", 4, Reduce<float, 1, 256, 1, SUM>},
    {"Reduce Sum float 256, 8", 8, Reduce<float, 1, 256, 1, SUM>},
    {"Reduce Sum int32 4096", 2, Reduce<int32_t, 1, 4096, 1, SUM>},
    {"Reduce Sum int32 4096, 8", 8, Reduce<int32_t, 1, 4096, 1, SUM>},
    {"Reduce Sum int32 512", 2, Reduce<int32_t, 1, 512, 1, SUM>},
    {"Reduce Sum int32 512, 8", 8, Reduce<int32_t, 1, 512, 1, SUM>},
    {"Reduce Max int32 256", 2, Reduce<int32_t, 1, 256, 1, MAX>},
    {"Reduce Max int32 256, 8", 8, Reduce<int32_t, 1, 256, 1, MAX>},
    {"Reduce Min int32 256", 2, Reduce<int32_t, 1, 256, 1, MIN>},
    {"Reduce Min int32 256, 8", 8, Reduce<int32_t, 1, 256, 1, MIN>},
    {"Reduce Root1 float 256", 2, Reduce<float, 1, 256, 1, SUM, 1>},
    {"Reduce EmptyRows float 256", 2, Reduce<float, 0, 256, 1, SUM>},
    {"Reduce Large Sum int32 128x32", 2, Reduce<int32_t, 128, 32, 16, SUM>},
    {"Reduce Large Sum int32 128x32, 4", 4, Reduce<int32_t, 128, 32, 16, SUM>},
    {"Reduce Large Max int32 128x32", 2, Reduce<int32_t, 128, 32, 16, MAX>},
    {"Reduce Large Sum float 256x64", 2, Reduce<float, 256, 64, 32, SUM>},
    {"Reduce Large Sum int32 512x32", 2, Reduce<int32_t, 512, 32, 64, SUM>},
    {"Reduce Large Sum int32 512x32, 8", 8, Reduce<int32_t, 512, 32, 64, SUM>},
    {"Reduce PingPong Sum int32 128x32", 2, Reduce<int32_t, 128, 32, 16, SUM, 0, true>},
    {"Reduce PingPong Sum int32 128x32, 4", 4, Reduce<int32_t, 128, 32, 16, SUM, 0, true>},
    {"Reduce PingPong Max int32 128x32", 2, Reduce<int32_t, 128, 32, 16, MAX, 0, true>},
    {"Reduce PingPong Sum float 256x64", 2, Reduce<float, 256, 64, 32, SUM, 0, true>},
    {"Reduce PingPong Sum float 256x64, 8", 8, Reduce<float, 256, 64, 32, SUM, 0, true>},
    LIST_SHARE(Gather),
    LIST_SHARE(Scatter),
    {"Broadcast float 256", 4, Broadcast<float, 1, 256, 1, 0>},
    {"Broadcast int32 4096 Root1", 2, Broadcast<int32_t, 1, 4096, 1, 1>},
    {"Broadcast Large int32 128x32", 2, Broadcast<int32_t, 128, 32, 16, 0>},
    {"Broadcast Large int32 128x32, 4", 4, Broadcast<int32_t, 128, 32, 16, 0>},
    {"Broadcast Large int32 128x32 Root1", 2, Broadcast<int32_t, 128, 32, 16, 1>},
    {"Broadcast Large float 256x64", 2, Broadcast<float, 256, 64, 32, 0>},
    {"Broadcast Large int32 512x32", 2, Broadcast<int32_t, 512, 32, 64, 0>},
    {"Broadcast Large int32 512x32, 8", 8, Broadcast<int32_t, 512, 32, 64, 0>},
    {"Broadcast PingPong int32 128x32", 2, Broadcast<int32_t, 128, 32, 16, 0, true>},
    {"Broadcast PingPong int32 128x32, 4", 4, Broadcast<int32_t, 128, 32, 16, 0, true>},
    {"Broadcast PingPong int32 128x32 Root1", 2, Broadcast<int32_t, 128, 32, 16, 1, true>},
    {"Broadcast PingPong float 256x64", 2, Broadcast<float, 256, 64, 32, 0, true>},
    {"Broadcast PingPong float 256x64, 8", 8, Broadcast<float, 256, 64, 32, 0, true>},
};

int main(int argc, char **argv)
{
    return RUN_CASES("reduce_gather", cases, argc, argv);
}
