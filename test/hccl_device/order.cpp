// SPDX-License-Identifier: Apache-2.0
// What runs when: tasks whose turns are committed in turns, a kernel that does something else than
// wait, a second communicator, barriers of the queue, one-sided writes, and blocks as they arrive.

#include "kernel_operator.h"
#include "lib/hccl/hccl.h"

#include "tern/signal.h"

#include "common.hpp"

using namespace AscendC;

constexpr HcclDataType I32 = HCCL_DATA_TYPE_INT32;

static int32_t *Ints(GM_ADDR address)
{
    return reinterpret_cast<int32_t *>(address);
}

// Turns of two tasks, one of each at a time: x = sum of in, then y = max of x.
extern "C" __global__ __aicore__ void alternate(GM_ADDR in, GM_ADDR x, GM_ADDR y, int32_t *told)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    HcclHandle sums = hccl.AllReduce(in, x, 16, I32, HCCL_REDUCE_SUM, 4);
    HcclHandle tops = hccl.AllReduce(x, y, 16, I32, HCCL_REDUCE_MAX, 4);
    for (int i = 0; i < 4; i++) {
        hccl.Commit(sums);
        told[0] += hccl.Wait(sums) != 0;
        Ints(x)[16 * i] += static_cast<int32_t>(hccl.GetRankId());
        hccl.Commit(tops);
        told[0] += hccl.Wait(tops) != 0;
    }
    hccl.Finalize();
}

static void Alternate()
{
    Begin("turns of two tasks");
    Device<int32_t> in(64), x(64), y(64), told(1);
    for (int i = 0; i < 64; i++) {
        in[static_cast<size_t>(i)] = i;
    }
    told[0] = 0;
    alternate<<<1, nullptr, job.stream>>>(in.gm(), x.gm(), y.gm(), told.data());
    Sync();
    int32_t n = static_cast<int32_t>(job.n);
    for (int i = 0; i < 64; i++) {
        CHECK(y[static_cast<size_t>(i)] == i * n + (i % 16 == 0 ? n - 1 : 0));
    }
    CHECK(told[0] == 0);
}

// Rank 0 does not wait for its task before it has seen that the last rank has: its server runs it.
// The flag is in rank 0's window.
extern "C" __global__ __aicore__ void busy(GM_ADDR in, GM_ADDR out, int32_t *told)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    volatile int32_t *flag = Ints(hccl.GetWindowsInAddr(0));
    HcclHandle handle = hccl.AllGather<true>(in, out, 16, I32, 0);
    if (hccl.GetRankId() == 0 && hccl.GetRankDim() > 1) {
        while (*flag == 0) {
        }
    }
    *told = hccl.Wait(handle);
    if (hccl.GetRankId() == hccl.GetRankDim() - 1) {
        tern_window *window = nullptr;
        int owner = -1;
        size_t offset = 0;
        *told |= tern_window_find(const_cast<const int32_t *>(flag), &window, &owner, &offset);
        *told |= tern_signal_notify(window, owner, offset, 1, TERN_NOTIFY_SET);
    }
    hccl.Finalize();
}

static void Busy()
{
    Begin("a kernel that does not wait");
    Device<int32_t> in(16), out(16 * job.n), told(1);
    CommContext *context = static_cast<CommContext *>(job.ctx);
    for (int round = 0; round < 20; round++) {
        if (job.me == 0) {
            memset(reinterpret_cast<void *>(context->windowsIn[0]), 0, 64);
        }
        CHECK(HcclBarrier(job.comm, nullptr) == HCCL_SUCCESS);
        memset(in.data(), static_cast<int>(job.me + 1), 64);
        busy<<<1, nullptr, job.stream>>>(in.gm(), out.gm(), told.data());
        Sync();
        CHECK(told[0] == 0);
        for (uint32_t i = 0; i < 64 * job.n; i++) {
            CHECK(out.gm()[i] == i / 64 + 1);
        }
        CHECK(HcclBarrier(job.comm, nullptr) == HCCL_SUCCESS);
    }
}

extern "C" __global__ __aicore__ void two_groups(GM_ADDR in, GM_ADDR mid, GM_ADDR out,
                                                 int32_t *told)
{
    Hccl first, second;
    first.Init(GetHcclContext<0>());
    second.Init(GetHcclContext<1>());
    if (GetBlockIdx() == 0) {
        HcclHandle sums = first.AllReduce(in, mid, 1000, I32, HCCL_REDUCE_SUM);
        second.InterHcclGroupSync(0, sums);
        HcclHandle tops = second.AllGather<true>(mid, out, 1000, I32, 0);
        first.Commit(sums);
        told[0] = second.Wait(tops);
        told[1] = first.Wait(sums);
    }
    SyncAll();
    second.Finalize();
    first.Finalize();
}

// It waits for a task that this block cannot commit any more.
extern "C" __global__ __aicore__ void stuck(GM_ADDR in, GM_ADDR out, int32_t *told)
{
    Hccl first, second;
    first.Init(GetHcclContext<0>());
    second.Init(GetHcclContext<1>());
    HcclHandle sums = first.AllReduce(in, out, 16, I32, HCCL_REDUCE_SUM);
    second.InterHcclGroupSync(0, sums);
    second.InterHcclGroupSync(1, 0);
    second.InterHcclGroupSync(7, 0);
    told[0] = second.Wait(second.AllGather<true>(in, out, 16, I32, 0));
    second.Finalize();
    first.Commit(sums);
    told[1] = first.Wait(sums);
    first.Finalize();
}

static void Groups()
{
    Begin("two communicators");
    HcclComm comm = nullptr;
    void *context = nullptr;
    CHECK(HcclCommInitRootInfo(job.n, &job.second, job.me, &comm) == HCCL_SUCCESS);
    CHECK(HcclAllocComResourceByTiling(comm, nullptr, nullptr, &context) == HCCL_SUCCESS);
    Device<int32_t> in(1000), mid(1000), out(1000 * job.n), told(2);
    for (int i = 0; i < 1000; i++) {
        in[static_cast<size_t>(i)] = i;
    }
    two_groups<<<2, nullptr, job.stream>>>(in.gm(), mid.gm(), out.gm(), told.data());
    Sync();
    CHECK(told[0] == 0 && told[1] == 0);
    for (size_t i = 0; i < out.size(); i++) {
        CHECK(out[i] == static_cast<int32_t>(i % 1000 * job.n));
    }
    {
        Said said;
        stuck<<<1, nullptr, job.stream>>>(in.gm(), out.gm(), told.data());
        SyncFails("");
        std::string text = said.Text();
        CHECK(text.find("group 1 is the object's own") != std::string::npos);
        CHECK(text.find("group 7 is of no communicator") != std::string::npos);
    }
    CHECK(told[0] == 0 && told[1] == 0);
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
}

// To the next rank's window at byte 4096 by one form, at 8192 by the other.
extern "C" __global__ __aicore__ void batch(GM_ADDR in, GM_ADDR items, int32_t *told)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    uint32_t next = (hccl.GetRankId() + 1) % hccl.GetRankDim();
    GM_ADDR to = hccl.GetWindowsInAddr(next);
    BatchWriteItem *a2 = reinterpret_cast<BatchWriteItem *>(items);
    for (uint64_t i = 0; i < 2; i++) {
        a2[i] = {reinterpret_cast<uint64_t>(in + 128 * i),
                 reinterpret_cast<uint64_t>(to + 4096 + 128 * i), 32, HCCL_DATA_TYPE_INT32, next};
    }
    HcclHandle first = hccl.BatchWrite<true>(items, 2);
    BatchWriteItemA3 *a3 = reinterpret_cast<BatchWriteItemA3 *>(items + 128);
    uint64_t from = reinterpret_cast<uint64_t>(in), target = reinterpret_cast<uint64_t>(to + 8192);
    *a3 = {};
    a3->length = 256;
    a3->srcAddrLow = static_cast<uint32_t>(from);
    a3->srcAddrHigh = static_cast<uint32_t>(from >> 32);
    a3->dstAddrLow = static_cast<uint32_t>(target);
    a3->dstAddrHigh = static_cast<uint32_t>(target >> 32);
    HcclHandle second = hccl.BatchWrite<true>(items + 128, 1, 3);
    told[0] = hccl.Wait(first);
    told[1] = hccl.Wait(second);
    told[2] = hccl.QueueBarrier<ScopeType::ALL>(0);
    a2[0].remoteBuf += hccl.GetRankDim() * uint64_t{1} << 40;
    told[3] = hccl.BatchWrite<true>(items, 2);
    hccl.Finalize();
}

static void Write()
{
    Begin("BatchWrite");
    Device<uint8_t> in(256), items(256);
    Device<int32_t> told(4);
    memset(in.data(), static_cast<int>(job.me + 1), 256);
    {
        Said said;
        batch<<<1, nullptr, job.stream>>>(in.data(), items.data(), told.data());
        SyncFails("its destination is not in the window of its rank");
    }
    CHECK(told[0] == 0 && told[1] == 0 && told[2] == 2 && told[3] == -1);
    const uint8_t *window =
        reinterpret_cast<uint8_t *>(static_cast<CommContext *>(job.ctx)->windowsIn[job.me]);
    for (int i = 0; i < 256; i++) {
        CHECK(window[4096 + i] == (job.me + job.n - 1) % job.n + 1);
        CHECK(window[8192 + i] == (job.me + job.n - 1) % job.n + 1);
    }
}

// The last 32 bytes of the list: an item behind them, a rank that there is not, an item that
// becomes wrong before it is committed; then it is right.
extern "C" __global__ __aicore__ void batch_wrong(GM_ADDR in, GM_ADDR items, int32_t *told)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    const uint32_t me = hccl.GetRankId();
    const uint64_t to = reinterpret_cast<uint64_t>(hccl.GetWindowsInAddr(me)) + 12288;
    GM_ADDR list = items + 224;
    BatchWriteItem *item = reinterpret_cast<BatchWriteItem *>(list);
    *item = {reinterpret_cast<uint64_t>(in), to, 8, HCCL_DATA_TYPE_INT32, me};
    told[0] = hccl.BatchWrite<true>(list, 2);
    item->remoteRankId = uint32_t{1} << 31;
    told[1] = hccl.BatchWrite<true>(list, 1);
    item->remoteRankId = me;
    HcclHandle changes = hccl.BatchWrite(list, 1);
    item->remoteBuf = 8;
    hccl.Commit(changes);
    told[2] = hccl.Wait(changes);
    item->remoteBuf = to;
    told[3] = hccl.Wait(hccl.BatchWrite<true>(list, 1));
    hccl.Finalize();
}

static void WriteWrongly()
{
    Begin("BatchWrite of what cannot be");
    Device<uint8_t> in(256), items(256);
    Device<int32_t> told(4);
    memset(in.data(), static_cast<int>(job.me + 1), 256);
    {
        Said said;
        batch_wrong<<<1, nullptr, job.stream>>>(in.data(), items.data(), told.data());
        SyncFails("BatchWrite: ");
        std::string text = said.Text();
        CHECK(text.find("64 bytes of the list of items are 32 bytes past the end") < text.size());
        CHECK(text.find("item 0 is for rank 2147483648 of") < text.size());
    }
    CHECK(told[0] == -1 && told[1] == -1 && told[2] == -1 && told[3] == 0);
    const uint8_t *window =
        reinterpret_cast<uint8_t *>(static_cast<CommContext *>(job.ctx)->windowsIn[job.me]);
    CHECK(window[12288] == job.me + 1 && window[12288 + 31] == job.me + 1);
}

// Rank r sends 3 + r + j bytes to rank j, in two parts that do not lie together, to byte
// 4096 + 64 r of its window. Then one byte too many for the window, by the last rank.
extern "C" __global__ __aicore__ void write_all(GM_ADDR in, GM_ADDR lists, int32_t *told)
{
    Hccl<HcclServerType::HCCL_SERVER_TYPE_CCU> hccl;
    hccl.InitV2(GetHcclContext<HCCL_GROUP_ID_0>(), nullptr);
    uint64_t n = hccl.GetRankDim(), me = hccl.GetRankId();
    uint64_t *sizes = reinterpret_cast<uint64_t *>(lists), *offsets = sizes + 2 * n;
    for (uint64_t j = 0; j < n; j++) {
        sizes[j] = 2;
        sizes[n + j] = 1 + me + j;
        offsets[j] = 2 * j;
        offsets[n + j] = 64 + 16 * j;
    }
    GM_ADDR where = lists + 16 * n;
    told[0] = hccl.Wait(hccl.AlltoAllvWrite<true>(in, where, lists, 4096 + 64 * me, 3 + 2 * me));
    told[1] = hccl.AlltoAllvWrite<true>(in, where, lists, 0, 2);
    uint64_t window = reinterpret_cast<CommContext *>(GetHcclContext<HCCL_GROUP_ID_0>())->winSize;
    uint64_t past = me == n - 1 ? window - 2 : 8192;
    told[2] = hccl.Wait(hccl.AlltoAllvWrite<true>(in, where, lists, past, 3 + 2 * me));
    hccl.Finalize();
}

static void WriteAll()
{
    Begin("AlltoAllvWrite");
    const uint8_t me = static_cast<uint8_t>(job.me), n = static_cast<uint8_t>(job.n);
    Device<uint8_t> in(64 + 16 * job.n), lists(32 * job.n);
    Device<int32_t> told(3);
    for (size_t i = 0; i < in.size(); i++) {
        in[i] = static_cast<uint8_t>(i + 3 * me);
    }
    uint8_t *window =
        reinterpret_cast<uint8_t *>(static_cast<CommContext *>(job.ctx)->windowsIn[job.me]);
    memset(window + 4096, 0xee, 8192);
    CHECK(HcclBarrier(job.comm, job.stream) == HCCL_SUCCESS);
    Sync();
    {
        Said said;
        write_all<<<1, nullptr, job.stream>>>(in.gm(), lists.data(), told.data());
        SyncFails("localDataSize is 2, and its block has 2 and ");
        bool past = said.Text().find("bytes past the end of the window of rank 0") < 4096;
        CHECK(past == (me == n - 1));
    }
    CHECK(told[0] == 0 && told[1] == -1 && told[2] == -1);
    for (uint8_t r = 0; r < n; r++) {
        const uint8_t *block = window + 4096 + 64 * r;
        for (int i = 0; i < 3 + r + me; i++) {
            int from = i < 2 ? 2 * me + i : 64 + 16 * me + i - 2;
            CHECK(block[i] == static_cast<uint8_t>(from + 3 * r));
        }
        CHECK(block[3 + r + me] == 0xee);
    }
    CHECK(window[8192] == 0xee);
}

// Blocks in the order in which they are handed out, three at a time.
extern "C" __global__ __aicore__ void iterate(GM_ADDR in, GM_ADDR out, int32_t *told)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    uint64_t counts[8], offsets[8];
    for (uint64_t i = 0; i < hccl.GetRankDim(); i++) {
        counts[i] = 4;
        offsets[i] = 8 * i;
    }
    HcclHandle handle =
        hccl.AlltoAllV<true>(in, counts, offsets, I32, out, counts, offsets, I32, 2);
    uint16_t slices[3];
    int32_t seen = 0;
    for (int32_t filled; (filled = hccl.Iterate<true>(handle, slices, 3)) > 0;) {
        for (int32_t i = 0; i < filled; i++) {
            told[slices[i]]++;
            seen += Ints(out)[8 * slices[i]] == slices[i];
        }
    }
    told[8] = seen;
    told[9] = hccl.Iterate<false>(handle, slices, 3);
    told[10] = hccl.Iterate(handle, nullptr, 0);
    hccl.Finalize();
}

static void Iterate()
{
    Begin("Iterate");
    Device<int32_t> in(8 * job.n), out(8 * job.n), told(11);
    for (size_t i = 0; i < in.size(); i++) {
        in[i] = static_cast<int32_t>(job.me);
    }
    memset(told.data(), 0, 44);
    {
        Said said;
        iterate<<<1, nullptr, job.stream>>>(in.gm(), out.gm(), told.data());
        SyncFails("Iterate: it is for AlltoAllV");
    }
    for (uint32_t i = 0; i < job.n; i++) {
        CHECK(told[i] == 2);
    }
    CHECK(told[8] == static_cast<int32_t>(2 * job.n) && told[9] == 0 && told[10] == -1);
}

// Calls of the host on the same communicator, while a kernel of another stream makes its own.
extern "C" __global__ __aicore__ void many(GM_ADDR in, GM_ADDR out)
{
    for (int life = 0; life < 20; life++) {
        Hccl hccl;
        hccl.Init(GetHcclContext<0>());
        for (int i = 0; i < 10; i++) {
            hccl.Wait(hccl.AllReduce<true>(in, out, 100, I32, HCCL_REDUCE_SUM));
        }
        hccl.Finalize();
    }
}

static void BesideTheHost()
{
    Begin("beside calls of the host");
    Device<int32_t> in(100), out(100);
    memset(in.data(), 0, 400);
    in[99] = 1;
    many<<<1, nullptr, job.stream>>>(in.gm(), out.gm());
    for (int i = 0; i < 50; i++) {
        CHECK(HcclBarrier(job.comm, nullptr) == HCCL_SUCCESS);
    }
    Sync();
    CHECK(out[99] == static_cast<int32_t>(job.n));
}

static void Body()
{
    Alternate();
    Busy();
    Groups();
    Write();
    WriteWrongly();
    WriteAll();
    Iterate();
    BesideTheHost();
}

int main()
{
    for (uint32_t n : {1u, 2u, 3u, 8u}) {
        if (Ranks(n, Body) != 0) {
            fprintf(stderr, "order: not right with %u ranks\n", n);
            return 1;
        }
    }
    return 0;
}
