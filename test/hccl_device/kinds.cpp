// SPDX-License-Identifier: Apache-2.0
// Every kind of task, against its formula: all element types and operations, turns and strides,
// commit at once and later, buffers of aclrtMalloc and in windows, in place. All comparisons exact.

#include "kernel_operator.h"
#include "lib/hccl/hccl.h"

#include "common.hpp"

using namespace AscendC;

enum Mode { AT_ONCE, ONE_BY_ONE, BY_QUERY, MODES };

struct Args {
    HcclCMDType type;
    GM_ADDR send;
    GM_ADDR recv;
    uint64_t count, stride;
    HcclDataType dtype;
    HcclReduceOp op;
    uint8_t repeat;
    Mode mode;
    uint64_t lists[4][8];
};

template <bool commit> static HcclHandle Prepare(Hccl<> &hccl, Args &a)
{
    switch (a.type) {
    case HCCL_CMD_ALLREDUCE:
        return hccl.AllReduce<commit>(a.send, a.recv, a.count, a.dtype, a.op, a.repeat);
    case HCCL_CMD_ALLGATHER:
        return hccl.AllGather<commit>(a.send, a.recv, a.count, a.dtype, a.stride, a.repeat);
    case HCCL_CMD_REDUCE_SCATTER:
        return hccl.ReduceScatter<commit>(a.send, a.recv, a.count, a.dtype, a.op, a.stride,
                                          a.repeat);
    case HCCL_CMD_ALLTOALL:
        return hccl.AlltoAll<commit>(a.send, a.recv, a.count, a.dtype, a.stride, a.repeat);
    default:
        return hccl.AlltoAllV<commit>(a.send, a.lists[0], a.lists[1], a.dtype, a.recv, a.lists[2],
                                      a.lists[3], a.dtype, a.repeat);
    }
}

extern "C" __global__ __aicore__ void task(Args a, GM_ADDR told)
{
    int32_t *wrong = reinterpret_cast<int32_t *>(told);
    Hccl hccl;
    hccl.InitV2(GetHcclContext<0>(), nullptr);
    if (GetBlockIdx() == 0) {
        HcclHandle handle = a.mode == AT_ONCE ? Prepare<true>(hccl, a) : Prepare<false>(hccl, a);
        *wrong += handle != 0;
        memset(a.lists, 0xff, sizeof a.lists); // they have been read
        for (int i = 0; i < a.repeat && a.mode == ONE_BY_ONE; i++) {
            hccl.Commit(handle);
            *wrong += hccl.Wait(handle) != 0 || hccl.Query(handle) != i + 1;
        }
        for (int i = 0; i < a.repeat && a.mode == BY_QUERY; i++) {
            hccl.Commit(handle);
        }
        while (a.mode == BY_QUERY && hccl.Query(handle) < a.repeat) {
        }
        for (int i = 0; i < a.repeat && a.mode != ONE_BY_ONE; i++) {
            *wrong += hccl.Wait(handle) != 0;
        }
    }
    SyncAll();
    hccl.Finalize();
}

template <typename T> static T Value(uint32_t rank, uint64_t index)
{
    return static_cast<T>(static_cast<int>((rank * 5 + index * 7 + index / 13) % 7) + 1);
}

// The formulas, one turn after the other, over what all ranks hold.
template <typename T> struct Wanted {
    std::vector<std::vector<T>> send;
    std::vector<T> recv;

    T Reduce(uint64_t index, HcclReduceOp op) const
    {
        float value = static_cast<float>(send[0][index]);
        for (uint32_t r = 1; r < job.n; r++) {
            float other = static_cast<float>(send[r][index]);
            value = op == HCCL_REDUCE_SUM   ? value + other
                    : op == HCCL_REDUCE_MAX ? std::max(value, other)
                                            : std::min(value, other);
        }
        return static_cast<T>(value);
    }
    void Run(const Args &a)
    {
        uint64_t stride = a.stride > 0 ? a.stride : a.count;
        for (uint64_t i = 0; i < a.repeat; i++) {
            uint64_t at = i * a.count;
            for (uint64_t k = 0; k < a.count; k++) {
                if (a.type == HCCL_CMD_ALLREDUCE) {
                    recv[at + k] = Reduce(at + k, a.op);
                } else if (a.type == HCCL_CMD_REDUCE_SCATTER) {
                    recv[at + k] = Reduce(job.me * stride + at + k, a.op);
                }
                for (uint32_t j = 0; j < job.n; j++) {
                    if (a.type == HCCL_CMD_ALLGATHER) {
                        recv[j * stride + at + k] = send[j][at + k];
                    } else if (a.type == HCCL_CMD_ALLTOALL) {
                        recv[j * stride + at + k] = send[j][job.me * stride + at + k];
                    }
                }
            }
        }
    }
};

template <typename T> static void Compare(const char *what, const T *recv, const Wanted<T> &wanted)
{
    for (size_t i = 0; i < wanted.recv.size(); i++) {
        if (memcmp(&recv[i], &wanted.recv[i], sizeof(T)) != 0) {
            Fail("%s: element %zu is %g, not %g", what, i, static_cast<double>(recv[i]),
                 static_cast<double>(wanted.recv[i]));
        }
    }
}

// Buffers of exactly the right size, or at the end of the window.
template <typename T> static void Run(const char *name, Args a, bool window, bool in_place = false)
{
    uint64_t stride = a.stride > 0 ? a.stride : a.count;
    uint64_t block = a.repeat * a.count;
    uint64_t all = (job.n - 1) * stride + block;
    bool scatters = a.type == HCCL_CMD_REDUCE_SCATTER || a.type == HCCL_CMD_ALLTOALL;
    bool gathers = a.type == HCCL_CMD_ALLGATHER || a.type == HCCL_CMD_ALLTOALL;
    uint64_t send_count = scatters ? all : block, recv_count = gathers ? all : block;
    Begin(name);
    Wanted<T> wanted;
    for (uint32_t r = 0; r < job.n; r++) {
        wanted.send.emplace_back();
        for (uint64_t i = 0; i < send_count; i++) {
            wanted.send[r].push_back(Value<T>(r, i));
        }
    }
    wanted.recv.assign(recv_count, T(0));
    if (in_place && send_count == recv_count) { // what lies in gaps stays
        wanted.recv = wanted.send[job.me];
    }
    wanted.Run(a);
    Device<T> send(send_count), recv(recv_count);
    Device<int32_t> told(1);
    CommContext *context = static_cast<CommContext *>(job.ctx);
    char *end = reinterpret_cast<char *>(context->windowsIn[job.me] + context->winSize);
    T *to = window ? reinterpret_cast<T *>(end - recv_count * sizeof(T)) : recv.data();
    T *from = window ? reinterpret_cast<T *>(end - 65536 - send_count * sizeof(T)) : send.data();
    if (in_place) {
        from = a.type == HCCL_CMD_ALLGATHER ? to + job.me * stride : to;
    }
    memset(static_cast<void *>(to), 0, recv_count * sizeof(T));
    memcpy(static_cast<void *>(from), wanted.send[job.me].data(), send_count * sizeof(T));
    told[0] = 0;
    a.send = reinterpret_cast<GM_ADDR>(from);
    a.recv = reinterpret_cast<GM_ADDR>(to);
    task<<<2, nullptr, job.stream>>>(a, told.gm());
    Sync();
    Compare(name, to, wanted);
    CHECK(told[0] == 0);
    CHECK(HcclBarrier(job.comm, job.stream) == HCCL_SUCCESS); // others may read the window
    Sync();
}

template <typename T> static void Types(HcclDataType dtype, bool reduces)
{
    for (uint64_t count : {1, 37, 3000}) {
        for (int op = HCCL_REDUCE_SUM; op < HCCL_REDUCE_RESERVED && reduces; op++) {
            if (op == HCCL_REDUCE_PROD || op > HCCL_REDUCE_MIN) {
                continue;
            }
            HcclReduceOp how = static_cast<HcclReduceOp>(op);
            Run<T>("AllReduce", {HCCL_CMD_ALLREDUCE, 0, 0, count, 0, dtype, how, 2, AT_ONCE, {}},
                   false);
            Run<T>(
                "ReduceScatter",
                {HCCL_CMD_REDUCE_SCATTER, 0, 0, count, 2 * count + 3, dtype, how, 2, AT_ONCE, {}},
                false);
        }
        Run<T>("AllGather",
               {HCCL_CMD_ALLGATHER, 0, 0, count, 0, dtype, HCCL_REDUCE_SUM, 1, AT_ONCE, {}}, false);
        Run<T>("AlltoAll",
               {HCCL_CMD_ALLTOALL, 0, 0, count, 0, dtype, HCCL_REDUCE_SUM, 1, AT_ONCE, {}}, false);
    }
}

static void AllTypes()
{
    Types<int8_t>(HCCL_DATA_TYPE_INT8, true);
    Types<int16_t>(HCCL_DATA_TYPE_INT16, true);
    Types<int32_t>(HCCL_DATA_TYPE_INT32, true);
    Types<half>(HCCL_DATA_TYPE_FP16, true);
    Types<float>(HCCL_DATA_TYPE_FP32, true);
    Types<bfloat16_t>(HCCL_DATA_TYPE_BFP16, true);
    Types<int64_t>(HCCL_DATA_TYPE_INT64, false);
    Types<uint64_t>(HCCL_DATA_TYPE_UINT64, false);
    Types<uint8_t>(HCCL_DATA_TYPE_UINT8, false);
    Types<uint16_t>(HCCL_DATA_TYPE_UINT16, false);
    Types<uint32_t>(HCCL_DATA_TYPE_UINT32, false);
    Types<double>(HCCL_DATA_TYPE_FP64, false);
}

static void TurnsAndStrides()
{
    const HcclCMDType kinds[] = {HCCL_CMD_ALLREDUCE, HCCL_CMD_ALLGATHER, HCCL_CMD_REDUCE_SCATTER,
                                 HCCL_CMD_ALLTOALL};
    for (HcclCMDType kind : kinds) {
        for (int mode = 0; mode < MODES; mode++) {
            for (uint8_t repeat : {uint8_t(1), uint8_t(3)}) {
                for (uint64_t stride : {0, 100, 33}) { // adjacent; gaps; no gaps over all turns
                    for (bool window : {false, true}) {
                        Run<int32_t>("turns",
                                     {kind,
                                      0,
                                      0,
                                      11,
                                      stride,
                                      HCCL_DATA_TYPE_INT32,
                                      HCCL_REDUCE_SUM,
                                      repeat,
                                      static_cast<Mode>(mode),
                                      {}},
                                     window);
                    }
                }
            }
        }
    }
    for (bool window : {false, true}) {
        for (uint64_t stride : {0, 70}) {
            Args a = {HCCL_CMD_ALLREDUCE, 0, 0,       50, stride, HCCL_DATA_TYPE_FP32,
                      HCCL_REDUCE_MAX,    1, AT_ONCE, {}};
            Run<float>("AllReduce in place", a, window, true);
            a.type = HCCL_CMD_ALLGATHER;
            Run<float>("AllGather in place", a, window, true);
            a.type = HCCL_CMD_ALLTOALL;
            Run<float>("AlltoAll in place", a, window, true);
        }
    }
}

// Rank r sends r + j + 1 elements to rank j in each turn, with a gap between the blocks.
static void Lists()
{
    Begin("AlltoAllV");
    for (uint8_t repeat : {uint8_t(1), uint8_t(3)}) {
        Args a = {HCCL_CMD_ALLTOALLV, 0,      0,       0, 0, HCCL_DATA_TYPE_INT32,
                  HCCL_REDUCE_SUM,    repeat, AT_ONCE, {}};
        const uint64_t room = 60;
        Device<int32_t> send(room * job.n), recv(room * job.n), told(1);
        for (uint32_t j = 0; j < job.n; j++) {
            a.lists[0][j] = a.lists[2][j] = job.me + j + 1;
            a.lists[1][j] = room * j;
            a.lists[3][j] = room * (job.n - 1 - j);
        }
        for (uint64_t i = 0; i < send.size(); i++) {
            send[i] = static_cast<int32_t>(job.me * 10000 + i);
            recv[i] = -1;
        }
        told[0] = 0;
        a.send = send.gm();
        a.recv = recv.gm();
        task<<<1, nullptr, job.stream>>>(a, told.gm());
        Sync();
        CHECK(told[0] == 0);
        for (uint32_t j = 0; j < job.n; j++) {
            for (uint64_t i = 0; i < room; i++) {
                bool sent = i < repeat * (job.me + j + 1);
                CHECK(recv[room * (job.n - 1 - j) + i] ==
                      (sent ? static_cast<int32_t>(j * 10000 + room * job.me + i) : -1));
            }
        }
    }
}

static void Body()
{
    AllTypes();
    TurnsAndStrides();
    Lists();
}

int main()
{
    for (uint32_t n : {1u, 2u, 3u, 5u, 8u}) {
        if (Ranks(n, Body) != 0) {
            fprintf(stderr, "kinds: not right with %u ranks\n", n);
            return 1;
        }
    }
    return 0;
}
