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

// To the next rank: a row, and two signals behind it.
__global__ AICORE void PutAndNotifyKernel(__gm__ int32_t *window, __gm__ int32_t *src,
                                          __gm__ CommDeviceContext *ctx, uint32_t next)
{
    AsyncSession session = MakeSession(), unbuilt;
    __gm__ int32_t *there = CommRemotePtr(ctx, window, int(next));
    comm::Signal sum(there + 128), last(there + 144);
    DENSE(int32_t, 1, 1, 1, 1, 128) to(there);
    DENSE(int32_t, 1, 1, 1, 2, 32) rows(src);
    GlobalTensor<int32_t, Shape<1, 1, 1, 1, DYNAMIC>, Stride<1, 1, 1, 1, 1>> none(src, 0);
    Row from(src);
    constexpr auto add = comm::NotifyOp::AtomicAdd;
    LateEvent late{[&] { src[63]++; }};
    ExpectNothing(comm::TPUT_ASYNC_NOTIFY(to, rows, sum, 100, add, session), session);
    ExpectNothing(comm::TPUT_ASYNC_NOTIFY(to, from, sum, 100, add, unbuilt), unbuilt);
    ExpectNothing(comm::TPUT_ASYNC_NOTIFY(to, none, sum, 100, add, session, next), session);
    ExpectNothing(comm::TPUT_ASYNC_NOTIFY<DmaEngine::RDMA>(to, from, sum, 100, add, session),
                  session);
    AsyncEvent event = comm::TPUT_ASYNC_NOTIFY(to, from, sum, 3, add, session, late);
    CHECK(event.valid() && event.Wait(session) && event.Test(session));
    event = comm::TPUT_ASYNC_NOTIFY<DmaEngine::URMA>(to, from, sum, -1, add, session, 0u);
    CHECK(event.valid() && event.engine == DmaEngine::URMA && event.Test(session));
    event = comm::TPUT_ASYNC_NOTIFY(to, from, last, 7, comm::NotifyOp::Set, session, next, late);
    CHECK(event.valid() && event.Wait(session) && late.waits == 2);
}

__global__ AICORE void AwaitKernel(__gm__ int32_t *window, int32_t value)
{
    comm::Signal sum(window + 128), last(window + 144);
    comm::TWAIT(last, 7, comm::WaitCmp::EQ);
    CHECK(comm::TTEST(sum, 2, comm::WaitCmp::EQ));
    Tile<TileType::Vec, int32_t, 1, 64> row;
    Row own(window);
    TLOAD(row, own);
    CHECK(row.GetValue(0) == value && row.GetValue(62) == value && row.GetValue(63) == value + 2);
}

void PutsAndNotifies()
{
    Device<int32_t> src(64, job.me + 10);
    int next = (job.me + 1) % job.n, before = (job.me + job.n - 1) % job.n;
    PutAndNotifyKernel<<<1, nullptr, job.stream>>>(Window<int32_t>(), src.data(), job.ctx,
                                                   uint32_t(next));
    AwaitKernel<<<1, nullptr, job.stream>>>(Window<int32_t>(), before + 10);
    SyncAll();
}

// Every rank adds to a word of rank 0, which waits for it and reads it past the caches.
__global__ AICORE void AddKernel(__gm__ int32_t *word, __gm__ CommDeviceContext *ctx, int me, int n)
{
    set_st_atomic_cfg(ATOMIC_S32, ATOMIC_SUM);
    dcci(static_cast<__gm__ void *>(word), SINGLE_CACHE_LINE);
    st_atomic<int32_t>(me + 1, CommRemotePtr(ctx, word, 0));
    if (me == 0) {
        comm::Signal own(word);
        comm::TWAIT(own, n * (n + 1) / 2, comm::WaitCmp::EQ);
        CHECK(ld_dev(reinterpret_cast<__gm__ uint32_t *>(word), 0) == uint32_t(n * (n + 1) / 2));
    }
}

void AddsWords()
{
    AddKernel<<<1, nullptr, job.stream>>>(Window<int32_t>(), job.ctx, job.me, job.n);
    SyncAll();
}

static const Case cases[] = {
    {"only flat tensors of one size", 0, OnlyFlat},
    {"puts: the last is all", 0, LastIsAll<true>},
    {"gets: the last is all", 0, LastIsAll<false>},
    {"shifts", 0, Shifts},
    {"forms and events", 0, Forms},
    {"puts and notifies", 0, PutsAndNotifies},
    {"adds to words", 0, AddsWords},
};

int main(int argc, char **argv)
{
    return RUN_CASES("async_rules", cases, argc, argv);
}
