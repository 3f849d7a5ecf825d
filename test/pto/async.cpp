// SPDX-License-Identifier: Apache-2.0
// TPUT_ASYNC and TGET_ASYNC: the cases of the reference's matrix. A window holds what is sent, then
// what is received, then what was made of it; rank r's element i is i + 10000 * r.

#include "pto/comm/async/sdma/sdma_types.hpp"
#include "pto/comm/async/sdma/sdma_workspace_manager.hpp"
#include "pto/comm/pto_comm_inst.hpp"
#include "pto/pto-inst.hpp"

#include "common.hpp"

using namespace pto;
using comm::sdma::SdmaBaseConfig;

enum Way { Put, Get };

constexpr size_t RECEIVED = size_t{2} << 20;
constexpr size_t CONSUMED = RECEIVED + (size_t{2} << 20);
constexpr size_t SEQUENCE = CONSUMED + (size_t{2} << 20);

using Scratch = Tile<TileType::Vec, uint8_t, 1, comm::sdma::UB_ALIGN_SIZE>;

template <typename T>
using Flat = GlobalTensor<T, Shape<1, 1, 1, 1, DYNAMIC>,
                          Stride<DYNAMIC, DYNAMIC, DYNAMIC, DYNAMIC, 1>, Layout::ND>;

template <typename T> AICORE Flat<T> MakeFlat(__gm__ T *data, int64_t count)
{
    return Flat<T>(data, Shape<1, 1, 1, 1, DYNAMIC>(count),
                   Stride<DYNAMIC, DYNAMIC, DYNAMIC, DYNAMIC, 1>(count, count, count, count));
}

template <Way way, typename T>
AICORE comm::AsyncEvent Move(__gm__ T *dst, __gm__ T *src, int64_t count,
                             const comm::AsyncSession &session)
{
    Flat<T> dstG = MakeFlat(dst, count);
    Flat<T> srcG = MakeFlat(src, count);
    if constexpr (way == Put) {
        return comm::TPUT_ASYNC<comm::DmaEngine::SDMA>(dstG, srcG, session);
    } else {
        return comm::TGET_ASYNC<comm::DmaEngine::SDMA>(dstG, srcG, session);
    }
}

comm::sdma::SdmaWorkspaceManager manager;

// ---- from rank 0 to all others, or to rank 0 from them ----

template <Way way, typename T>
__global__ AICORE void RootKernel(__gm__ T *received, __gm__ T *sent, __gm__ CommDeviceContext *ctx,
                                  __gm__ void *workspace, int64_t count, SdmaBaseConfig config)
{
    Scratch scratch;
    TASSIGN(scratch, 0x0);
    comm::AsyncSession session;
    CHECK(comm::BuildAsyncSession<comm::DmaEngine::SDMA>(scratch, workspace, session, 0, config));
    comm::AsyncEvent last;
    for (int rank = 1; rank < int(ctx->rankNum); rank++) {
        last = way == Put ? Move<way>(CommRemotePtr(ctx, received, rank), sent, count, session)
                          : Move<way>(received + rank * count, CommRemotePtr(ctx, sent, rank),
                                      count, session);
        CHECK(last.valid() && last.engine == comm::DmaEngine::SDMA);
    }
    CHECK(last.Wait(session) && last.Test(session));
    pipe_barrier(PIPE_ALL);
}

template <typename T> void FillSent(int64_t count)
{
    job.used = WINDOW_BYTES - FREE_BYTES;
    for (int64_t i = 0; i < count; i++) {
        Window<T>()[i] = static_cast<T>(i + 10000 * job.me);
    }
    Barrier();
}

// FROM: elements that the session shifts by; these stay as they were.
template <Way way, typename T, int COUNT, uint64_t BLOCK, uint32_t QUEUES, int FROM = 0>
void FromRoot()
{
    constexpr int moved = COUNT - FROM;
    FillSent<T>(COUNT);
    if (job.me == 0) {
        RootKernel<way, T>
            <<<1, nullptr, job.stream>>>(Window<T>(RECEIVED), Window<T>(), job.ctx,
                                         manager.GetWorkspaceAddr(), moved,
                                         SdmaBaseConfig{BLOCK, FROM * sizeof(T), QUEUES});
    }
    SyncAll();
    for (int slot = 0; slot < MAX_RANKS; slot++) {
        int from = way == Put ? 0 : slot;
        bool comes =
            way == Put ? job.me != 0 && slot == 0 : job.me == 0 && slot != 0 && slot < job.n;
        ExpectAll("received", Window<T>(RECEIVED) + FROM + slot * moved, moved,
                  [=](int64_t i) { return comes ? i + FROM + 10000 * from : 0; });
    }
    ExpectAll("before", Window<T>(RECEIVED), FROM, [](int64_t) { return 0; });
}

// ---- two blocks, each with a session ----

template <Way way, bool SPLIT>
__global__ AICORE void BlocksKernel(__gm__ float *received, __gm__ float *sent,
                                    __gm__ CommDeviceContext *ctx, __gm__ void *workspace)
{
    int64_t block = get_block_idx();
    int peer = (int(ctx->rankId) + 1) % int(ctx->rankNum);
    Scratch scratch;
    TASSIGN<0x100>(scratch);
    SdmaBaseConfig config;
    config.comm_block_offset = SPLIT ? uint64_t(block) * 1024 * sizeof(float) : 0;
    comm::AsyncSession session;
    CHECK(comm::BuildAsyncSession(scratch, workspace, session, 0, config));
    __gm__ float *dst = SPLIT ? received : received + block * 256;
    comm::AsyncEvent event =
        Move<way>(way == Put ? CommRemotePtr(ctx, dst, peer) : dst,
                  way == Get ? CommRemotePtr(ctx, sent, peer) : sent, SPLIT ? 1024 : 256, session);
    CHECK(event.valid() && event.Wait(session));
}

template <Way way, bool SPLIT> void Blocks()
{
    FillSent<float>(2048);
    BlocksKernel<way, SPLIT><<<2, nullptr, job.stream>>>(Window<float>(RECEIVED), Window<float>(),
                                                         job.ctx, manager.GetWorkspaceAddr());
    SyncAll();
    int from = way == Put ? (job.me + job.n - 1) % job.n : (job.me + 1) % job.n;
    ExpectAll("received", Window<float>(RECEIVED), SPLIT ? 2048 : 512,
              [=](int64_t i) { return (SPLIT ? i : i % 256) + 10000 * from; });
}

// ---- a block for each rank, all at once ----

template <Way way, typename T, int CHUNKS, bool FRESH>
__global__ AICORE void EachRankKernel(__gm__ T *received, __gm__ T *sent,
                                      __gm__ CommDeviceContext *ctx, __gm__ void *workspace)
{
    constexpr int64_t count = 8192 / CHUNKS;
    int peer = int(get_block_idx()), me = int(ctx->rankId);
    __gm__ T *slot = received + (way == Put ? me : peer) * 8192;
    __gm__ T *dst = way == Put ? CommRemotePtr(ctx, slot, peer) : slot;
    __gm__ T *src = way == Get ? CommRemotePtr(ctx, sent, peer) : sent;
    Scratch scratch;
    TASSIGN(scratch, 0x0);
    comm::AsyncSession session;
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        if (chunk == 0 || FRESH) {
            CHECK(comm::BuildAsyncSession(scratch, workspace, session));
        }
        auto event = Move<way>(dst + chunk * count, src + chunk * count, count, session);
        CHECK(event.valid() && event.Wait(session));
    }
}

template <Way way, typename T, int CHUNKS = 1, bool FRESH = false> void EachRank()
{
    FillSent<T>(8192);
    EachRankKernel<way, T, CHUNKS, FRESH>
        <<<job.n, nullptr, job.stream>>>(Window<T>(RECEIVED), Window<T>(), job.ctx,
                                         manager.GetWorkspaceAddr());
    SyncAll();
    ExpectAll("received", Window<T>(RECEIVED), 8192 * size_t(job.n),
              [](int64_t i) { return i % 8192 + 10000 * (i / 8192); });
}

// ---- posts of 1024 numbers, which are consumed: 100 is added to each ----

constexpr int64_t POST = 1024;
constexpr int32_t NOT_RECEIVED = -777777, NOT_CONSUMED = -888888;

__global__ AICORE void ConsumePost(__gm__ int32_t *consumed, __gm__ int32_t *received)
{
    using Part = DENSE(int32_t, 1, 1, 1, 1, 256);
    Tile<TileType::Vec, int32_t, 1, 256> tile;
    TASSIGN(tile, 0x1000);
    for (int64_t at = 0; at < POST; at += 256) {
        Part from(received + at), to(consumed + at);
        TLOAD(tile, from);
        pipe_barrier(PIPE_ALL);
        TADDS(tile, tile, 100);
        pipe_barrier(PIPE_ALL);
        TSTORE(to, tile);
        pipe_barrier(PIPE_ALL);
    }
}

// Rank 0 moves; status: 1 all events valid, 2 all waits passed, 4 consumed. Peer p has its posts
// from (p - 1) * posts on, there as here.
template <Way way, bool DEFERRED>
__global__ AICORE void PostKernel(__gm__ int32_t *received, __gm__ int32_t *sent,
                                  __gm__ int32_t *sequence, __gm__ CommDeviceContext *ctx,
                                  __gm__ void *workspace, __gm__ int32_t *status, int posts,
                                  int peers, uint32_t queues)
{
    Scratch scratch;
    TASSIGN(scratch, 0x0);
    comm::AsyncSession session;
    SdmaBaseConfig config{POST * sizeof(int32_t), 0, queues};
    CHECK(comm::BuildAsyncSession(scratch, workspace, session, 0, config));
    std::vector<comm::AsyncEvent> events(size_t(posts) * peers);
    bool valid = true, waited = true;
    auto finish = [&](int at) {
        int peer = 1 + at / posts;
        waited = waited && events[at].Wait(session);
        if (way == Put) {
            comm::Signal signal(CommRemotePtr(ctx, sequence, peer));
            comm::TNOTIFY(signal, at % posts + 1, comm::NotifyOp::Set);
        } else {
            ConsumePost(received + (CONSUMED - RECEIVED) / 4 + at * POST, received + at * POST);
        }
    };
    for (int at = 0; at < posts * peers; at++) {
        int peer = 1 + at / posts;
        __gm__ int32_t *from = sent + (way == Put ? at : at % posts) * POST;
        __gm__ int32_t *to = received + (way == Put ? at % posts : at) * POST;
        events[at] = Move<way>(way == Put ? CommRemotePtr(ctx, to, peer) : to,
                               way == Get ? CommRemotePtr(ctx, from, peer) : from, POST, session);
        valid = valid && events[at].valid();
        if (!DEFERRED) {
            finish(at);
        }
    }
    for (int at = 0; at < posts * peers && DEFERRED; at++) {
        finish(at);
    }
    *status = (valid ? 1 : 0) + (waited ? 2 : 0) + 4;
}

// On the other ranks, of puts. The reference polls 1 000 000 times at most.
__global__ AICORE void ReceiveKernel(__gm__ int32_t *consumed, __gm__ int32_t *received,
                                     __gm__ int32_t *sequence, __gm__ int32_t *status, int posts)
{
    comm::Signal own(sequence);
    for (int at = 0; at < posts; at++) {
        for (int64_t polls = 0; !comm::TTEST(own, at + 1, comm::WaitCmp::GE); polls++) {
            CHECK(polls < 1000000000);
        }
        ConsumePost(consumed + at * POST, received + at * POST);
    }
    *status = 4;
}

template <Way way, bool DEFERRED, int POSTS, uint32_t QUEUES> void Posts()
{
    int peers = job.n - 1;
    size_t room = size_t(POSTS) * POST * (job.n > 2 && POSTS <= 64 ? peers : 1);
    peers = job.n > 2 && POSTS > 64 ? 1 : peers; // no room for the large case twice
    FillSent<int32_t>(0);
    for (size_t i = 0; i < room; i++) {
        Window<int32_t>()[i] = int32_t(1000000 * job.me + int(i) + 7);
        Window<int32_t>(RECEIVED)[i] = NOT_RECEIVED;
        Window<int32_t>(CONSUMED)[i] = NOT_CONSUMED;
    }
    Barrier();
    Device<int32_t> status(1);
    bool posts = job.me == 0, receives = way == Put && job.me >= 1 && job.me <= peers;
    if (posts) {
        PostKernel<way, DEFERRED><<<1, nullptr, job.stream>>>(Window<int32_t>(RECEIVED),
                                                              Window<int32_t>(),
                                                              Window<int32_t>(SEQUENCE), job.ctx,
                                                              manager.GetWorkspaceAddr(),
                                                              status.data(), POSTS, peers, QUEUES);
    } else if (receives) {
        ReceiveKernel<<<1, nullptr, job.stream>>>(Window<int32_t>(CONSUMED),
                                                  Window<int32_t>(RECEIVED),
                                                  Window<int32_t>(SEQUENCE), status.data(), POSTS);
    }
    SyncAll();
    EXPECT(status[0], posts ? 7 : receives ? 4 : 0);
    int64_t count = int64_t{POSTS} * POST;
    int64_t comes = receives ? count : way == Get && posts ? count * peers : 0;
    auto value = [=](int64_t i) { // put: part me-1 of rank 0's; get: the first part of each
        return way == Put ? (job.me - 1) * count + i + 7
                          : 1000000 * (1 + i / count) + i % count + 7;
    };
    ExpectAll("received", Window<int32_t>(RECEIVED), room,
              [=](int64_t i) { return i < comes ? value(i) : NOT_RECEIVED; });
    ExpectAll("consumed", Window<int32_t>(CONSUMED), room,
              [=](int64_t i) { return i < comes ? value(i) + 100 : NOT_CONSUMED; });
}

// ---- two posts by different queues; the last is waited for ----

template <Way way>
__global__ AICORE void LastKernel(__gm__ int32_t *received, __gm__ int32_t *sent,
                                  __gm__ CommDeviceContext *ctx, __gm__ void *workspace)
{
    Scratch scratch;
    comm::AsyncSession session;
    CHECK(comm::BuildAsyncSession(scratch, workspace, session, 0, {1024, 0, 4}));
    __gm__ int32_t *dst = way == Put ? CommRemotePtr(ctx, received, 1) : received;
    __gm__ int32_t *src = way == Get ? CommRemotePtr(ctx, sent, 1) : sent;
    comm::AsyncEvent first = Move<way>(dst, src, 1024, session);
    comm::AsyncEvent second = Move<way>(dst + 1024, src + 1024, 256, session);
    CHECK(first.valid() && second.valid() && second.Wait(session) && first.Test(session));
    if (way == Get) {
        for (int i = 0; i < 1280; i++) {
            CHECK(received[i] == 10000 + i);
        }
    }
}

template <Way way> void LastOnly()
{
    FillSent<int32_t>(2048);
    for (int i = 0; i < 2048; i++) {
        Window<int32_t>(RECEIVED)[i] = NOT_RECEIVED;
    }
    Barrier();
    if (job.me == 0) {
        LastKernel<way><<<1, nullptr, job.stream>>>(Window<int32_t>(RECEIVED), Window<int32_t>(),
                                                    job.ctx, manager.GetWorkspaceAddr());
    }
    SyncAll();
    bool comes = job.me == (way == Put ? 1 : 0);
    ExpectAll("received", Window<int32_t>(RECEIVED), 2048, [=](int64_t i) {
        return comes && i < 1280 ? i + (way == Put ? 0 : 10000) : NOT_RECEIVED;
    });
}

constexpr uint64_t MIB = 1 << 20;

#define LIST_ASYNC(W)                                                                              \
    {#W " Vec float 256", 4, FromRoot<W, float, 256, MIB, 1>},                                     \
        {#W " Vec int32 4096", 2, FromRoot<W, int32_t, 4096, MIB, 1>},                             \
        {#W " Vec uint8 512", 8, FromRoot<W, uint8_t, 512, MIB, 1>},                               \
        {#W " QueueNum2", 2, FromRoot<W, int32_t, 4096, 4096, 2>},                                 \
        {#W " SmallBlockBytes", 2, FromRoot<W, float, 4096, 4096, 1>},                             \
        {#W " LargeBlockBytes", 2, FromRoot<W, float, 4096, 2 * MIB, 1>},                          \
        {#W " CommOffset", 2, FromRoot<W, float, 2048, MIB, 1, 1024>},                             \
        {#W " MultiCoreSplit", 2, Blocks<W, true>}, {#W " MultiCoreIndep", 2, Blocks<W, false>},   \
        {#W " ConcurrentRank Float", 8, EachRank<W, float>},                                       \
        {#W " ConcurrentRank Int32", 8, EachRank<W, int32_t>},                                     \
        {#W " ConcurrentRank FloatIter16Reuse", 8, EachRank<W, float, 16, false>},                 \
        {#W " ConcurrentRank FloatIter16Fresh", 8, EachRank<W, float, 16, true>},                  \
        {#W " Immediate P4 Q1", 2, Posts<W, false, 4, 1>},                                         \
        {#W " Immediate 512Posts Q4", 2, Posts<W, false, 512, 4>},                                 \
        {#W " Deferred P16 Q4", 2, Posts<W, true, 16, 4>},                                         \
        {#W " Deferred P8 Q4", 3, Posts<W, true, 8, 4>},                                           \
    {                                                                                              \
#W " UsedQueueCount Q4ThenQ1 LastWaitOnly", 2, LastOnly < W>                               \
    }

static const Case cases[] = {LIST_ASYNC(Put), LIST_ASYNC(Get)};

int main(int argc, char **argv)
{
    CHECK(manager.Init(1) && manager.GetWorkspaceAddr() != nullptr);
    int status = RUN_CASES("async", cases, argc, argv);
    manager.Finalize();
    return status;
}
