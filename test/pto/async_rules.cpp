// SPDX-License-Identifier: Apache-2.0
// TPUT_ASYNC and TGET_ASYNC: the rules. What is not flat has an event with handle 0, waiting for
// the last event is waiting for all, how a session shifts, both forms of the call, and events.

#define __CPU_SIM
#include "pto/comm/pto_comm_inst.hpp"
#include "pto/pto-inst.hpp"

#include "common.hpp"

using namespace pto;
using comm::AsyncEvent;
using comm::AsyncSession;
using comm::DmaEngine;

using Scratch = Tile<TileType::Vec, uint8_t, 1, comm::sdma::UB_ALIGN_SIZE>;
using Row = DENSE(int32_t, 1, 1, 1, 1, 64);

AICORE AsyncSession MakeSession()
{
    Scratch scratch;
    AsyncSession session;
    CHECK(!session.valid && comm::BuildAsyncSession(scratch, nullptr, session) && session.valid);
    return session;
}

// An event of nothing: both say at once that it has happened.
AICORE void ExpectNothing(const AsyncEvent &event, const AsyncSession &session)
{
    CHECK(event.handle == 0 && !event.valid() && event.Wait(session) && event.Test(session));
}

__global__ AICORE void FlatKernel(__gm__ int32_t *dst, __gm__ int32_t *src)
{
    AsyncSession session = MakeSession(), unbuilt;
    Row to(dst), from(src);
    DENSE(int32_t, 1, 1, 1, 2, 32) rows(src), rows_to(dst);
    DENSE(int32_t, 2, 1, 1, 1, 32) planes(src), planes_to(dst);
    DENSE(int32_t, 1, 1, 1, 1, 63) shorter(dst);
    GlobalTensor<int32_t, Shape<1, 1, 1, 1, 64>, Stride<128, 128, 128, 128, 2>> thin(src);
    ExpectNothing(comm::TPUT_ASYNC(rows_to, rows, session), session);
    ExpectNothing(comm::TGET_ASYNC(rows_to, rows, session), session);
    ExpectNothing(comm::TPUT_ASYNC(to, rows, session), session);
    ExpectNothing(comm::TGET_ASYNC(planes_to, from, session), session);
    ExpectNothing(comm::TPUT_ASYNC(to, planes, session), session);
    ExpectNothing(comm::TGET_ASYNC(to, thin, session), session);
    ExpectNothing(comm::TPUT_ASYNC(shorter, from, session), session);
    ExpectNothing(comm::TGET_ASYNC(to, from, unbuilt), unbuilt);
    ExpectNothing(AsyncEvent(), session);
    CHECK(dst[0] == -1 && dst[63] == -1);
    AsyncEvent event = comm::TPUT_ASYNC(to, from, session);
    CHECK(event.handle != 0 && event.valid() && event.Wait(session) && event.Test(session));
}

void OnlyFlat()
{
    Device<int32_t> dst(65, -1), src(128, 4);
    FlatKernel<<<1, nullptr, job.stream>>>(dst.data(), src.data());
    Sync();
    ExpectAll("dst", dst.data(), 65, [](int64_t i) { return i < 64 ? 4 : -1; });
}

// More than may be under way at a time; the wait for the last drains them all.
template <bool PUTS>
__global__ AICORE void QuietKernel(__gm__ int32_t *area, __gm__ int32_t *src,
                                   __gm__ CommDeviceContext *ctx, int count, int length)
{
    using Long = GlobalTensor<int32_t, Shape<1, 1, 1, 1, DYNAMIC>, Stride<1, 1, 1, 1, 1>>;
    AsyncSession session = MakeSession();
    AsyncEvent last;
    uint64_t before = 0;
    int peer = (int(ctx->rankId) + 1) % int(ctx->rankNum);
    for (int i = 0; i < count; i++) {
        __gm__ int32_t *to = area + i * length;
        Long dst(PUTS ? CommRemotePtr(ctx, to, peer) : to, Shape<1, 1, 1, 1, DYNAMIC>(length));
        Long from(src + i, Shape<1, 1, 1, 1, DYNAMIC>(length));
        last = PUTS ? comm::TPUT_ASYNC(dst, from, session) : comm::TGET_ASYNC(dst, from, session);
        CHECK(last.handle != before);
        before = last.handle;
    }
    CHECK(last.Wait(session));
    for (int i = 0; i < count * length; i++) {
        __gm__ int32_t *to = PUTS ? CommRemotePtr(ctx, area, peer) : area;
        CHECK(to[i] == src[i / length + i % length]);
    }
}

template <bool PUTS> void LastIsAll()
{
    constexpr int count = 150, length = 5000;
    job.used = WINDOW_BYTES - FREE_BYTES;
    Device<int32_t> src(count + length);
    for (size_t i = 0; i < src.count(); i++) {
        src[i] = int32_t(i) * 3 + job.me;
    }
    QuietKernel<PUTS>
        <<<1, nullptr, job.stream>>>(Window<int32_t>(), src.data(), job.ctx, count, length);
    SyncAll();
}

// Source and destination are shifted by bytes; a session that is built again is not.
__global__ AICORE void ShiftKernel(__gm__ int32_t *dst, __gm__ int32_t *src)
{
    Scratch scratch;
    AsyncSession session;
    Row to(dst), from(src);
    comm::sdma::SdmaBaseConfig config{comm::sdma::kDefaultSdmaBlockBytes, 64, 1};
    CHECK(comm::BuildAsyncSession<DmaEngine::SDMA>(scratch, nullptr, session, 3, config, 1));
    CHECK(session.commBlockOffset == 64 && comm::TPUT_ASYNC(to, from, session).Wait(session));
    session.commBlockOffset = 1024;
    CHECK(comm::TGET_ASYNC(to, from, session).Wait(session));
    CHECK(comm::BuildAsyncSession(scratch, nullptr, session) && session.commBlockOffset == 0);
    static_assert(comm::sdma::SDMA_FLAG_LENGTH == 128 && comm::sdma::UB_ALIGN_SIZE == 256);
    static_assert(comm::sdma::kSdmaContextWorkspaceBytes == 16384);
    static_assert(uint8_t(DmaEngine::SDMA) == 0 && uint8_t(DmaEngine::URMA) == 1);
    static_assert(uint8_t(DmaEngine::RDMA) == 2);
}

void Shifts()
{
    Device<int32_t> dst(400, -1), src(400);
    for (int i = 0; i < 400; i++) {
        src[i] = i;
    }
    ShiftKernel<<<1, nullptr, job.stream>>>(dst.data(), src.data());
    Sync();
    ExpectAll("dst", dst.data(), 400,
              [](int64_t i) { return (i >= 16 && i < 80) || (i >= 256 && i < 320) ? i : -1; });
}

// The form with a peer, the other engine, and events that are waited for first.
__global__ AICORE void FormsKernel(__gm__ int32_t *dst, __gm__ int32_t *src)
{
    AsyncSession session;
    CHECK(comm::BuildAsyncSession<DmaEngine::URMA>(nullptr, session) && session.valid);
    CHECK(comm::BuildAsyncSession<DmaEngine::URMA>(nullptr, uint32_t{0}, session));
    Scratch scratch;
    CHECK(comm::BuildAsyncSession<DmaEngine::RDMA>(scratch, nullptr, 0u, session, 1u));
    CHECK(comm::BuildAsyncSession<DmaEngine::RDMA>(scratch, nullptr, 0u, 0u, session, 1u) &&
          session.engine == DmaEngine::RDMA);
    Row to(dst), from(src);
    LateEvent late{[&] { src[0]++; }};
    auto expect = [&](const AsyncEvent &event, int value, DmaEngine engine) {
        CHECK(event.valid() && event.engine == engine && event.Wait(session));
        EXPECT(dst[0], value);
    };
    expect(comm::TPUT_ASYNC<DmaEngine::URMA>(to, from, session, late), 1, DmaEngine::URMA);
    expect(comm::TGET_ASYNC<DmaEngine::URMA>(to, from, session, late, late), 3, DmaEngine::URMA);
    expect(comm::TPUT_ASYNC(to, from, session, uint32_t{0}, late), 4, DmaEngine::SDMA);
    expect(comm::TGET_ASYNC<DmaEngine::SDMA>(to, from, session, 0u), 4, DmaEngine::SDMA);
    expect(comm::TGET_ASYNC(to, from, session, 0u, late, late), 6, DmaEngine::SDMA);
    CHECK(late.waits == 6);
}

void Forms()
{
    Device<int32_t> dst(64), src(64);
    FormsKernel<<<1, nullptr, job.stream>>>(dst.data(), src.data());
    Sync();
}

static const Case cases[] = {
    {"only flat tensors of one size", 0, OnlyFlat},
    {"puts: the last is all", 0, LastIsAll<true>},
    {"gets: the last is all", 0, LastIsAll<false>},
    {"shifts", 0, Shifts},
    {"forms and events", 0, Forms},
};

int main(int argc, char **argv)
{
    return RUN_CASES("async_rules", cases, argc, argv);
}
