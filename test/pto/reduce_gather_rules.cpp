// SPDX-License-Identifier: Apache-2.0
// TREDUCE, TGATHER, TSCATTER and TBROADCAST: the rules. The order of sums and how they round, whose
// strides count, how dimensions above rows are put together, groups, engines, masks and events.

#include "pto/pto-inst.hpp"
#include "pto/comm/pto_comm_inst.hpp"

#include "common.hpp"

using namespace pto;
using comm::ReduceOp;

// (((root + 0) + 1) + …), rounded to T in each step. Every rank is the root of a reduction of its
// own, through tiles that were never TASSIGNed.
template <typename T, int COUNT>
__global__ AICORE void OrderKernel(__gm__ T *dst, __gm__ T *src, __gm__ CommDeviceContext *ctx)
{
    using Global = DENSE(T, 1, 1, 1, 1, COUNT);
    Tile<TileType::Vec, T, 1, COUNT> acc, recv;
    Global tensors[MAX_RANKS];
    Global dstG(dst);
    int n = static_cast<int>(ctx->rankNum), me = static_cast<int>(ctx->rankId);
    for (int rank = 0; rank < n; rank++) {
        Global tensor(HcclRemotePtr(ctx, src, rank));
        tensors[rank] = tensor;
    }
    comm::ParallelGroup<Global> group(tensors, n, me);
    comm::TREDUCE(group, dstG, acc, recv, ReduceOp::Sum);
}

template <typename T> void SumsInOrder()
{
    constexpr int count = 1024;
    T *src = Window<T>();
    Device<T> dst(count);
    for (int i = 0; i < count; i++) { // magnitudes that lose digits, and ties
        src[i] =
            i == 0 ? T(2048) : T(float((i * 7919 + job.me * 104729) % 4099) / float(1 + i % 7));
    }
    src[1] = job.me == job.n - 1 ? T(2048) : T(1);
    Barrier();
    OrderKernel<T, count><<<1, nullptr, job.stream>>>(dst.data(), src, job.ctx);
    Sync();
    bool differs = job.n == 2;
    std::vector<T> wanted(count);
    for (int i = 0; i < count; i++) {
        T sum = src[i];
        float whole = float(src[i]);
        for (int rank = 0; rank < job.n; rank++) {
            T *other = CommRemotePtr(job.ctx, src, rank);
            sum = rank != job.me ? T(float(sum) + float(other[i])) : sum;
            whole = rank != job.me ? whole + float(other[i]) : whole;
        }
        wanted[i] = sum;
        differs = differs || sizeof(T) == 4 || float(sum) != float(T(whole));
    }
    CHECK(differs);
    ExpectAll("sum", dst.data(), count, [&](int64_t i) { return wanted[i]; });
    Barrier();
}

// All of a list of values, of which the greatest and least are negative, or above 127.
template <typename T>
__global__ AICORE void ExtremesKernel(__gm__ T *dst, __gm__ T *src, __gm__ CommDeviceContext *ctx,
                                      ReduceOp op)
{
    using Global = DENSE(T, 1, 1, 1, 1, 32);
    Tile<TileType::Vec, T, 1, 32> acc, ping, pong;
    Global tensors[MAX_RANKS];
    Global dstG(dst);
    for (int rank = 0; rank < int(ctx->rankNum); rank++) {
        tensors[rank] = Global(CommRemotePtr(ctx, src, rank));
    }
    auto group = comm::ParallelGroup<Global>::Create(tensors, int(ctx->rankNum), int(ctx->rankId));
    comm::TREDUCE<comm::CollEngine::AIV>(group, dstG, acc, ping, op);
    Global second(dst + 32);
    comm::TREDUCE<comm::CollEngine::AIV>(group, second, acc, ping, pong, op);
}

template <typename T, int FROM> void Extremes()
{
    T *src = Window<T>();
    for (ReduceOp op : {ReduceOp::Max, ReduceOp::Min, ReduceOp::Sum}) {
        Device<T> dst(64);
        for (int i = 0; i < 32; i++) {
            src[i] = static_cast<T>(FROM + (i + job.me * 3) % 5);
        }
        Barrier();
        ExtremesKernel<T><<<1, nullptr, job.stream>>>(dst.data(), src, job.ctx, op);
        Sync();
        ExpectAll("reduced", dst.data(), 64, [op](int64_t i) {
            T result = static_cast<T>(FROM + i % 32 % 5);
            for (int rank = 1; rank < job.n; rank++) {
                T other = static_cast<T>(FROM + (i % 32 + rank * 3) % 5);
                result = op == ReduceOp::Sum   ? static_cast<T>(result + other)
                         : op == ReduceOp::Max ? (other > result ? other : result)
                                               : (other < result ? other : result);
            }
            return result;
        });
        Barrier();
    }
}

// 2 x 1 x 2 x 3 x 5 of each rank with its own strides, put together per (i0, i1, i2): row
// r * 3 + i3; the whole has more rows than that, and other strides.
using Any = Shape<DYNAMIC, DYNAMIC, DYNAMIC, DYNAMIC, DYNAMIC>;
using AnyStride = Stride<DYNAMIC, DYNAMIC, DYNAMIC, DYNAMIC, DYNAMIC>;
using Anything = GlobalTensor<int32_t, Any, AnyStride>;
using Sliding = Tile<TileType::Vec, int32_t, 8, 8, BLayout::RowMajor, -1, -1>;

__global__ AICORE void DimensionsKernel(__gm__ int32_t *whole, __gm__ int32_t *own,
                                        __gm__ CommDeviceContext *ctx, bool gathers, bool two)
{
    int n = static_cast<int>(ctx->rankNum);
    Anything tensors[MAX_RANKS];
    for (int rank = 0; rank < n; rank++) {
        tensors[rank] = Anything(CommRemotePtr(ctx, own, rank), Any(2, 1, 2, 3, 5),
                                 AnyStride(200, 200, 90, 21, 2));
    }
    comm::ParallelGroup<Anything> group(tensors, n, 0);
    Anything all(whole, Any(2, 1, 2, 3 * n + 2, 5), AnyStride(2000, 1000, 500, 17, 3));
    Sliding ping(2, 2), pong(2, 2);
    if (gathers && two) {
        comm::TGATHER(group, all, ping, pong);
    } else if (gathers) {
        comm::TGATHER(group, all, ping);
    } else if (two) {
        comm::TSCATTER<comm::CollEngine::AIV>(group, all, ping, pong);
    } else {
        comm::TSCATTER<comm::CollEngine::AIV>(group, all, ping);
    }
    // Of 24 pieces per rank the last, of 1 x 1, is pong's, and the one before is of 1 x 2.
    CHECK(ping.RowMaskInternal == 1 && ping.ColMaskInternal == (two ? 2 : 1));
    CHECK(pong.RowMaskInternal == (two ? 1 : 2) && pong.ColMaskInternal == (two ? 1 : 2));
}

int64_t OwnAt(const int i[5])
{
    return i[0] * 200 + i[1] * 200 + i[2] * 90 + i[3] * 21 + i[4] * 2;
}

int64_t WholeAt(const int i[5], int rank)
{
    return i[0] * 2000 + i[1] * 1000 + i[2] * 500 + (rank * 3 + i[3]) * 17 + i[4] * 3;
}

template <bool GATHERS, bool TWO> void Dimensions()
{
    Device<int32_t> whole(4000, -1);
    int32_t *own = Window<int32_t>();
    for (int i = 0; i < 500; i++) {
        own[i] = GATHERS ? i + 1000 * job.me : -1;
    }
    for (int i = 0; i < 4000 && !GATHERS; i++) {
        whole[i] = i;
    }
    Barrier();
    if (job.me == 0) {
        DimensionsKernel<<<1, nullptr, job.stream>>>(whole.data(), own, job.ctx, GATHERS, TWO);
    }
    SyncAll();
    std::vector<int32_t> wanted(GATHERS ? 4000 : 500, -1);
    for (int at = 0; at < 60 * job.n; at++) {
        int i[5] = {at / 30 % 2, 0, at / 15 % 2, at / 5 % 3, at % 5};
        int rank = at / 60;
        if (GATHERS && job.me == 0) {
            wanted[WholeAt(i, rank)] = int32_t(OwnAt(i)) + 1000 * rank;
        } else if (!GATHERS && rank == job.me) {
            wanted[OwnAt(i)] = int32_t(WholeAt(i, rank));
        }
    }
    ExpectAll("placed", GATHERS ? whole.data() : own, wanted.size(),
              [&](int64_t i) { return wanted[i]; });
}

// Broadcast and reduce between different strides; the extent is that of src, or of the group.
__global__ AICORE void StridesKernel(__gm__ int32_t *reduced, __gm__ int32_t *sent,
                                     __gm__ int32_t *received, __gm__ CommDeviceContext *ctx)
{
    int n = static_cast<int>(ctx->rankNum);
    Anything tensors[MAX_RANKS];
    for (int rank = 0; rank < n; rank++) {
        tensors[rank] = Anything(CommRemotePtr(ctx, received, rank), Any(1, 2, 1, 4, 6),
                                 AnyStride(300, 150, 150, 20, 3));
    }
    comm::ParallelGroup<Anything> group(tensors, n, 0);
    Anything src(sent, Any(1, 2, 1, 3, 5), AnyStride(100, 64, 64, 11, 2));
    Sliding ping(2, 4), pong(2, 4), acc(2, 4);
    comm::TBROADCAST(group, src, ping);
    Anything src2(sent + 200, Any(1, 2, 1, 3, 5), AnyStride(100, 64, 64, 11, 2));
    for (int rank = 0; rank < n; rank++) {
        tensors[rank] =
            Anything(tensors[rank].data() + 1, Any(1, 2, 1, 3, 5), AnyStride(300, 150, 150, 20, 3));
    }
    Sliding third(2, 4);
    comm::TBROADCAST<comm::CollEngine::AIV>(group, src2, third, pong);
    Anything dst(reduced, Any(1, 2, 1, 3, 5), AnyStride(90, 50, 50, 9, 1));
    Sliding fourth(2, 4);
    comm::TREDUCE(group, dst, acc, fourth, ReduceOp::Sum);
    CHECK(acc.RowMaskInternal == 1 && acc.ColMaskInternal == 1);
    CHECK(fourth.RowMaskInternal == 1 && fourth.ColMaskInternal == 1);
}

void Strides()
{
    Device<int32_t> sent(400), reduced(200, -1);
    int32_t *received = Window<int32_t>();
    for (int i = 0; i < 400; i++) {
        sent[i] = i;
        received[i] = -1;
    }
    Barrier();
    if (job.me == 0) {
        StridesKernel<<<1, nullptr, job.stream>>>(reduced.data(), sent.data(), received, job.ctx);
    }
    SyncAll();
    std::vector<int32_t> wanted(400, -1), sums(200, -1);
    for (int at = 0; at < 30; at++) {
        int i1 = at / 15, i3 = at / 5 % 3, i4 = at % 5;
        int from = i1 * 64 + i3 * 11 + i4 * 2;
        wanted[i1 * 150 + i3 * 20 + i4 * 3] = from;
        wanted[i1 * 150 + i3 * 20 + i4 * 3 + 1] = from + 200;
        sums[i1 * 50 + i3 * 9 + i4] = job.n * (from + 200);
    }
    ExpectAll("received", received, 400, [&](int64_t i) { return wanted[i]; });
    if (job.me == 0) {
        ExpectAll("reduced", reduced.data(), 200, [&](int64_t i) { return sums[i]; });
    }
}

// A group of one is a copy; and what a group knows of itself.
__global__ AICORE void AloneKernel(__gm__ float *dst, __gm__ float *src)
{
    using Global = DENSE(float, 1, 1, 1, 2, 8);
    using Group = comm::ParallelGroup<Global>;
    static_assert(uint8_t(ReduceOp::Sum) == 0 && uint8_t(ReduceOp::Max) == 1);
    static_assert(uint8_t(ReduceOp::Min) == 2 && uint8_t(comm::CollEngine::AIV) == 0);
    static_assert(uint8_t(comm::CollEngine::CCU) == 1);
    static_assert(std::is_same_v<Group::value_type, Global>);
    static_assert(std::is_same_v<comm::ParallelGroupTraits<Group>::GlobalDataType, Global>);
    Global tensors[1] = {Global(src)};
    Group group(tensors, 1, 0), unknown(tensors, 1), none;
    CHECK(group.GetRootIdx() == 0 && group.GetSize() == 1 && !group.empty());
    CHECK(group[0].data() == src && &group[0] == tensors && unknown.GetRootIdx() == -1);
    CHECK(none.empty() && none.rootIdx == -1 && group.nranks == 1 && group.tensors == tensors);
    Tile<TileType::Vec, float, 2, 8> acc, tile;
    Global d0(dst), d1(dst + 16), d2(dst + 32), d3(dst + 48);
    comm::TREDUCE(group, d0, acc, tile, ReduceOp::Max);
    comm::TGATHER(group, d1, tile);
    tensors[0] = d2;
    comm::TSCATTER(group, d1, tile);
    tensors[0] = d3;
    comm::TBROADCAST(group, d2, tile);
}

void Alone()
{
    Device<float> src(16), dst(64, -1);
    for (int i = 0; i < 16; i++) {
        src[i] = float(i);
    }
    AloneKernel<<<1, nullptr, job.stream>>>(dst.data(), src.data());
    Sync();
    ExpectAll("copies", dst.data(), 64, [](int64_t i) { return i % 16; });
}

// Events are waited for before anything is read.
__global__ AICORE void EventKernel(__gm__ int32_t *data)
{
    using Global = DENSE(int32_t, 1, 1, 1, 1, 8);
    Global tensors[1] = {Global(data)}, dst(data + 8);
    comm::ParallelGroup<Global> group(tensors, 1, 0);
    Tile<TileType::Vec, int32_t, 1, 8> acc, ping, pong;
    LateEvent late{[&] { tensors[0].data()[0]++; }};
    LateEvent other{[&] { dst.data()[0] += 10; }};
    comm::TREDUCE(group, dst, acc, ping, ReduceOp::Sum, late, late);
    CHECK(dst.data()[0] == 2);
    comm::TREDUCE(group, dst, acc, ping, pong, ReduceOp::Sum, late);
    CHECK(dst.data()[0] == 3);
    comm::TGATHER(group, dst, ping, late, late);
    CHECK(dst.data()[0] == 5);
    comm::TGATHER(group, dst, ping, pong, late);
    CHECK(dst.data()[0] == 6);
    comm::TSCATTER(group, dst, ping, other);
    CHECK(data[0] == 16);
    comm::TSCATTER(group, dst, ping, pong, other, other);
    CHECK(data[0] == 36);
    comm::TBROADCAST(group, dst, ping, other);
    CHECK(data[0] == 46);
    comm::TBROADCAST(group, dst, ping, pong, other);
    CHECK(data[0] == 56 && late.waits == 6 && other.waits == 5);
}

void WaitsForEvents()
{
    Device<int32_t> data(16);
    EventKernel<<<1, nullptr, job.stream>>>(data.data());
    Sync();
}

static const Case cases[] = {
    {"sums in order, half", 0, SumsInOrder<half>},
    {"sums in order, bfloat16", 0, SumsInOrder<bfloat16_t>},
    {"sums in order, float", 0, SumsInOrder<float>},
    {"extremes, int8", 0, Extremes<int8_t, -3>},
    {"extremes, uint8", 0, Extremes<uint8_t, 126>},
    {"extremes, int32", 0, Extremes<int32_t, -70000>},
    {"extremes, half", 0, Extremes<half, -3>},
    {"gathers dimensions", 0, Dimensions<true, false>},
    {"gathers dimensions, two tiles", 0, Dimensions<true, true>},
    {"scatters dimensions", 0, Dimensions<false, false>},
    {"scatters dimensions, two tiles", 0, Dimensions<false, true>},
    {"strides of broadcast and reduce", 0, Strides},
    {"a group of one", 0, Alone},
    {"waits for events", 0, WaitsForEvents},
};

int main(int argc, char **argv)
{
    return RUN_CASES("reduce_gather_rules", cases, argc, argv);
}
