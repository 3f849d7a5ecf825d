// SPDX-License-Identifier: Apache-2.0
// TPUT and TGET: the rules. Whose extent, whose strides, which form adds, that additions are
// atomic, what tiles keep, what is refused, and when events are waited for.

#include "pto/comm/pto_comm_inst.hpp"
#include "pto/pto-inst.hpp"

#include "common.hpp"

using namespace pto;

enum Way { Put, Get };

// The extent is that of src, the strides of each are its own. The source is 2 x 3 x 2 x 4 x 5 and
// no two of its strides follow from each other; dst claims to be smaller, or larger.
template <Way way, int CLAIMED, bool PING_PONG>
__global__ AICORE void StrideKernel(__gm__ float *dst, __gm__ float *src)
{
    using Any = Shape<DYNAMIC, DYNAMIC, DYNAMIC, DYNAMIC, DYNAMIC>;
    using AnyStride = Stride<DYNAMIC, DYNAMIC, DYNAMIC, DYNAMIC, DYNAMIC>;
    using Global = GlobalTensor<float, Any, AnyStride, Layout::ND>;
    Global srcG(src, Any(2, 3, 2, 4, 5), AnyStride(900, 250, 90, 21, 2));
    Global dstG(dst, Any(CLAIMED, CLAIMED, CLAIMED, CLAIMED, CLAIMED),
                AnyStride(1200, 300, 120, 23, 3));
    using TileData = Tile<TileType::Vec, float, 4, 8, BLayout::RowMajor, -1, -1>;
    TileData ping(3, 2);
    TileData pong(3, 2);
    TASSIGN(ping, 0);
    TASSIGN(pong, 1024);
    Through<PING_PONG>(ping, pong, [&](auto &...tiles) {
        way == Put ? comm::TPUT(dstG, srcG, tiles...) : comm::TGET(dstG, srcG, tiles...);
    });
}

template <Way way, int CLAIMED, bool PING_PONG> void ExtentAndStrides()
{
    Device<float> src(4000);
    Device<float> dst(4000, -1);
    std::vector<float> wanted(4000, -1);
    for (int i = 0; i < 4000; i++) {
        src[i] = static_cast<float>(i);
    }
    for (int at = 0; at < 2 * 3 * 2 * 4 * 5; at++) {
        int i[5] = {at / 120, at / 40 % 3, at / 20 % 2, at / 5 % 4, at % 5};
        wanted[i[0] * 1200 + i[1] * 300 + i[2] * 120 + i[3] * 23 + i[4] * 3] =
            static_cast<float>(i[0] * 900 + i[1] * 250 + i[2] * 90 + i[3] * 21 + i[4] * 2);
    }
    StrideKernel<way, CLAIMED, PING_PONG><<<1, nullptr, job.stream>>>(dst.data(), src.data());
    Sync();
    ExpectAll("dst", dst.data(), 4000, [&](int64_t i) { return wanted[i]; });
}

// Static extents of two types, 0 rows of which nothing is moved, and dst of one element.
__global__ AICORE void StaticExtentKernel(__gm__ int32_t *dst, __gm__ int32_t *src)
{
    DENSE(int32_t, 1, 1, 1, 4, 8) four(src);
    DENSE(int32_t, 1, 1, 1, 1, 8) one(dst);
    GlobalTensor<int32_t, Shape<1, 1, 1, 0, 8>, Stride<8, 8, 8, 8, 1>> none(src);
    GlobalTensor<int32_t, Shape<1, 1, 1, 4, DYNAMIC>, Stride<32, 32, 32, 8, 1>> thin(
        src, Shape<1, 1, 1, 4, DYNAMIC>(0));
    Tile<TileType::Vec, int32_t, 4, 8> tile, other;
    comm::TPUT(one, four, tile);
    one = decltype(one)(dst + 64);
    comm::TPUT(one, none, tile);
    comm::TGET(one, none, tile, other);
    comm::TPUT(one, thin, tile);
}

void StaticExtents()
{
    Device<int32_t> src(64, 5);
    Device<int32_t> dst(128, -1);
    StaticExtentKernel<<<1, nullptr, job.stream>>>(dst.data(), src.data());
    Sync();
    ExpectAll("dst", dst.data(), 128, [](int64_t i) { return i < 32 ? 5 : -1; });
}

// Every form of TPUT, and which of them add: each has 8 elements of dst, which begin as 100.
template <typename T> __global__ AICORE void FormsKernel(__gm__ T *dst, __gm__ T *src)
{
    using Global = GlobalTensor<T, Shape<1, 1, 1, 1, 8>, Stride<8, 8, 8, 8, 1>>;
    using TileData = Tile<TileType::Vec, T, 1, 64, BLayout::RowMajor, 1, 4>;
    constexpr AtomicType none = AtomicType::AtomicNone;
    constexpr AtomicType add = AtomicType::AtomicAdd;
    static_assert(uint8_t(none) == 0 && uint8_t(add) == 1);
    Global s(src);
    Global d[12];
    TileData ping, pong;
    TASSIGN(ping, 0);
    TASSIGN(pong, 4096);
    for (int i = 0; i < 12; i++) {
        d[i] = Global(dst + 8 * i);
    }
    AtomicType chosen = add;
    AtomicType other = static_cast<AtomicType>(2);
    comm::TPUT(d[0], s, ping);
    comm::TPUT<none>(d[1], s, ping);
    comm::TPUT<add>(d[2], s, ping);
    comm::TPUT(d[3], s, ping, AtomicType::AtomicNone);
    comm::TPUT(d[4], s, ping, AtomicType::AtomicAdd);
    comm::TPUT(d[5], s, ping, pong);
    comm::TPUT<add>(d[6], s, ping, pong);
    comm::TPUT<add, Global, Global, TileData>(d[7], s, ping, pong);
    comm::TPUT<none, Global, Global, TileData>(d[8], s, ping, pong);
    comm::TPUT(d[9], s, ping, static_cast<AtomicType>(chosen));
    comm::TPUT(d[10], s, ping, static_cast<AtomicType>(other));
    static_assert(std::is_same_v<decltype(comm::TPUT<add>(d[11], s, ping)), RecordEvent>);
    RecordEvent first = comm::TPUT(d[11], s, ping);
    comm::TPUT<add>(d[11], s, ping, first);
}

template <typename T> void Forms()
{
    Device<T> src(8, T(3));
    Device<T> dst(96, T(100));
    FormsKernel<T><<<1, nullptr, job.stream>>>(dst.data(), src.data());
    Sync();
    static const int wanted[12] = {3, 3, 103, 3, 103, 3, 103, 103, 3, 103, 3, 6};
    ExpectAll("dst", dst.data(), 96, [](int64_t i) { return wanted[i / 8]; });
}

// All ranks add to one row at once, by both forms and by TSTORE: no addition is lost.
template <typename T>
__global__ AICORE void HammerKernel(__gm__ T *cell, __gm__ T *ones, __gm__ CommDeviceContext *ctx,
                                    int rounds)
{
    using Global = GlobalTensor<T, Shape<1, 1, 1, 1, 5>, Stride<5, 5, 5, 5, 1>>;
    using TileData = Tile<TileType::Vec, T, 1, 32, BLayout::RowMajor, 1, 5>;
    Global all(CommRemotePtr(ctx, cell, 0));
    Global mine(ones);
    TileData ping, pong;
    for (int round = 0; round < rounds; round++) {
        comm::TPUT<AtomicType::AtomicAdd>(all, mine, ping);
        comm::TPUT<AtomicType::AtomicAdd>(all, mine, ping, pong);
        TLOAD(ping, mine);
        TSTORE<TileData, Global, AtomicType::AtomicAdd>(all, ping);
        TSTORE_IMPL<TileData, Global, AtomicType::AtomicAdd>(all, ping);
    }
}

template <typename T> void Hammer(int rounds)
{
    Device<T> ones(8, T(1));
    HammerKernel<T><<<2, nullptr, job.stream>>>(Window<T>(), ones.data(), job.ctx, rounds);
    SyncAll();
    if (job.me == 0) {
        ExpectAll("sum", Window<T>(), 8, [=](int64_t i) { return i < 5 ? 8 * job.n * rounds : 0; });
    }
    Barrier();
    memset(Window<T>(), 0, 64);
    Barrier();
}

void HammersOneRow()
{
    Hammer<int8_t>(1);
    Hammer<uint8_t>(40); // wraps around, the same way on both sides
    Hammer<int16_t>(200);
    Hammer<uint16_t>(200);
    Hammer<int32_t>(400);
    Hammer<uint32_t>(400);
    Hammer<half>(16); // 1024 with 8 ranks: all steps are exact
    Hammer<bfloat16_t>(4);
    Hammer<float>(400);
}

// What dynamic tiles hold after the last piece; a tile that holds all keeps what it had.
__global__ AICORE void MaskKernel(__gm__ float *dst, __gm__ float *src, __gm__ int32_t *masks)
{
    using TileData = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    using RowsOnly = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, 16>;
    DENSE(float, 1, 1, 2, 7, 10) from(src);
    DENSE(float, 1, 1, 2, 7, 10) to(dst);
    DENSE(float, 1, 1, 1, 7, 16) wide(src), wide_to(dst);
    TileData one(5, 7), ping(5, 7), pong(5, 7), whole(8, 16);
    RowsOnly rows(4);
    comm::TPUT(to, from, one);
    comm::TGET(to, from, ping, pong);
    DENSE(float, 1, 1, 1, 7, 10) small(src), small_to(dst);
    comm::TPUT(small_to, small, whole);
    comm::TGET(wide_to, wide, rows);
    TileData first(5, 7), second(5, 7);
    comm::TPUT(to, from, first, second);
    int32_t got[] = {one.RowMaskInternal,    one.ColMaskInternal,   ping.RowMaskInternal,
                     ping.ColMaskInternal,   pong.RowMaskInternal,  pong.ColMaskInternal,
                     whole.GetValidRow(),    whole.GetValidCol(),   rows.RowMaskInternal,
                     rows.GetValidCol(),     first.RowMaskInternal, first.ColMaskInternal,
                     second.RowMaskInternal, second.ColMaskInternal};
    for (int i = 0; i < 14; i++) {
        masks[i] = got[i];
    }
}

void KeepsMasks()
{
    Device<float> src(140, 1);
    Device<float> dst(140);
    Device<int32_t> masks(14, -1);
    MaskKernel<<<1, nullptr, job.stream>>>(dst.data(), src.data(), masks.data());
    Sync();
    // Pieces of 5 x 7: 5x7 5x3 2x7 2x3, twice; ping has those before the last ones.
    static const int32_t wanted[] = {2, 3, 2, 7, 2, 3, 8, 16, 3, 16, 2, 7, 2, 3};
    ExpectAll("masks", masks.data(), 14, [](int64_t i) { return wanted[i]; });
}

// A tile that is not dynamic must divide the extents: refused, and nothing is written.
__global__ AICORE void IndivisibleKernel(__gm__ float *dst, __gm__ float *src)
{
    DENSE(float, 1, 1, 1, 7, 16) from(src), to(dst);
    Tile<TileType::Vec, float, 4, 16> tile;
    comm::TPUT(to, from, tile);
}

void RefusesWhatDoesNotDivide()
{
    Device<float> src(112, 1);
    Device<float> dst(112, -1);
    IndivisibleKernel<<<1, nullptr, job.stream>>>(dst.data(), src.data());
    ExpectRefusal("TPUT: ");
    ExpectAll("dst", dst.data(), 112, [](int64_t) { return -1; });
}

// What this core has stored is what it puts; a row's first word comes last, so it may be the flag.
__global__ AICORE void FlagKernel(__gm__ int32_t *inbox, __gm__ int32_t *staging,
                                  __gm__ CommDeviceContext *ctx, int rounds)
{
    int me = static_cast<int>(ctx->rankId), n = static_cast<int>(ctx->rankNum);
    using Row = DENSE(int32_t, 1, 1, 1, 1, 1024);
    Tile<TileType::Vec, int32_t, 1, 1024> row, staged;
    Row local(staging);
    for (int round = 1; round <= rounds; round++) {
        TEXPANDS(row, round);
        TSTORE(local, row);
        Row remote(CommRemotePtr(ctx, inbox + (round - 1) * 1024, (me + 1) % n));
        comm::TPUT(remote, local, staged);
    }
    for (int round = 1; round <= rounds; round++) {
        __gm__ int32_t *got = inbox + (round - 1) * 1024;
        comm::Signal flag(got);
        comm::TWAIT(flag, 0, comm::WaitCmp::NE);
        for (int i = 0; i < 1024; i++) {
            staging[1024 + i] += got[i] == round ? 1 : -1000000;
        }
    }
}

void DataIsTheFlag()
{
    Device<int32_t> staging(2048);
    FlagKernel<<<1, nullptr, job.stream>>>(Window<int32_t>(), staging.data(), job.ctx, 100);
    SyncAll();
    ExpectAll("rows seen", staging.data() + 1024, 1024, [](int64_t) { return 100; });
}

// Each event is waited for, and before anything is read.
__global__ AICORE void EventKernel(__gm__ int32_t *dst, __gm__ int32_t *src)
{
    using Global = DENSE(int32_t, 1, 1, 1, 1, 8);
    Tile<TileType::Vec, int32_t, 1, 8> ping, pong;
    Global s(src), d(dst);
    LateEvent late{[&] { src[0]++; }};
    LateEvent more{[&] { src[7]--; }};
    comm::TPUT(d, s, ping, late, more);
    CHECK(dst[0] == 1 && dst[7] == -1);
    comm::TPUT(d, s, ping, AtomicType::AtomicAdd, late, more);
    CHECK(dst[0] == 3 && dst[7] == -3);
    comm::TPUT(d, s, ping, pong, late);
    CHECK(dst[0] == 3 && dst[7] == -2);
    comm::TPUT<AtomicType::AtomicAdd>(d, s, ping, pong, late, more, late);
    CHECK(dst[0] == 8 && dst[7] == -5);
    comm::TGET(d, s, ping, more);
    CHECK(dst[0] == 5 && dst[7] == -4);
    comm::TGET(d, s, ping, pong, late, more);
    CHECK(dst[0] == 6 && dst[7] == -5 && late.waits == 6 && more.waits == 5);
}

void WaitsForEvents()
{
    Device<int32_t> src(8);
    Device<int32_t> dst(8);
    EventKernel<<<1, nullptr, job.stream>>>(dst.data(), src.data());
    Sync();
}

static const Case cases[] = {
    {"put: extent of src, dst is smaller", 0, ExtentAndStrides<Put, 1, false>},
    {"put: extent of src, dst is larger", 0, ExtentAndStrides<Put, 6, false>},
    {"put: ping and pong, dst is smaller", 0, ExtentAndStrides<Put, 1, true>},
    {"get: extent of src, dst is smaller", 0, ExtentAndStrides<Get, 1, false>},
    {"get: extent of src, dst is larger", 0, ExtentAndStrides<Get, 6, false>},
    {"get: ping and pong, dst is smaller", 0, ExtentAndStrides<Get, 1, true>},
    {"static extents", 0, StaticExtents},
    {"forms of put, int32", 0, Forms<int32_t>},
    {"forms of put, half", 0, Forms<half>},
    {"forms of put, bfloat16", 0, Forms<bfloat16_t>},
    {"hammers one row", 0, HammersOneRow},
    {"keeps masks", 0, KeepsMasks},
    {"refuses what does not divide", 0, RefusesWhatDoesNotDivide},
    {"data is the flag", 0, DataIsTheFlag},
    {"waits for events", 0, WaitsForEvents},
};

int main(int argc, char **argv)
{
    return RUN_CASES("move_rules", cases, argc, argv);
}
