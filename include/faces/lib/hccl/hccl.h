// SPDX-License-Identifier: Apache-2.0
// AscendC::Hccl: collective calls from inside a kernel. A block writes down tasks (Prepare calls:
// AllReduce, AllGather, …), releases their turns (Commit) and waits for them (Wait); the
// communicator's server runs them. C++11 to C++20. What each method does wrong, when it does, is
// told with file and line of the call (hccl_client.h).
//
//     Hccl hccl;                                    // C++17; before it, Hccl<> hccl
//     hccl.Init(GetHcclContext<HCCL_GROUP_ID_0>());
//     if (GetBlockIdx() == 0) {
//         HcclHandle h = hccl.AllGather<true>(send, recv, 128, HCCL_DATA_TYPE_FP16, 300, 2);
//         hccl.Wait(h);                             // as often as there are turns
//         hccl.Wait(h);
//     }
//     SyncAll();
//     hccl.Finalize();
//
// Counts and strides are elements. Of a task with `repeat` turns, turn i moves on by `count`
// elements. strideCount: from the block of one rank to that of the next; 0: blocks are adjacent.
#ifndef TERN_FACES_LIB_HCCL_HCCL_H
#define TERN_FACES_LIB_HCCL_HCCL_H

#include "hccl/hccl_types.h"
#include "lib/hccl/hccl_client.h"

#ifdef __cplusplus // nothing here is for C

#include "kernel_operator.h"
#include "lib/hccl/hccl_tiling.h"

namespace AscendC
{

using ::HcclCMDType;
using ::HcclDataType;
using ::HcclReduceOp;

// Kernels qualify the enumerators, too.
using ::HCCL_CMD_ALL;
using ::HCCL_CMD_ALLGATHER;
using ::HCCL_CMD_ALLGATHER_V;
using ::HCCL_CMD_ALLREDUCE;
using ::HCCL_CMD_ALLTOALL;
using ::HCCL_CMD_ALLTOALLV;
using ::HCCL_CMD_ALLTOALLVC;
using ::HCCL_CMD_BARRIER;
using ::HCCL_CMD_BATCH_GET;
using ::HCCL_CMD_BATCH_PUT;
using ::HCCL_CMD_BATCH_SEND_RECV;
using ::HCCL_CMD_BATCH_WRITE;
using ::HCCL_CMD_BROADCAST;
using ::HCCL_CMD_FINALIZE;
using ::HCCL_CMD_GATHER;
using ::HCCL_CMD_HALF_ALLTOALLV;
using ::HCCL_CMD_INIT;
using ::HCCL_CMD_INTER_GROUP_SYNC;
using ::HCCL_CMD_INVALID;
using ::HCCL_CMD_RECEIVE;
using ::HCCL_CMD_REDUCE;
using ::HCCL_CMD_REDUCE_SCATTER;
using ::HCCL_CMD_REDUCE_SCATTER_V;
using ::HCCL_CMD_SCATTER;
using ::HCCL_CMD_SEND;
using ::HCCL_DATA_TYPE_BFP16;
using ::HCCL_DATA_TYPE_FP16;
using ::HCCL_DATA_TYPE_FP32;
using ::HCCL_DATA_TYPE_FP64;
using ::HCCL_DATA_TYPE_FP8E4M3;
using ::HCCL_DATA_TYPE_FP8E5M2;
using ::HCCL_DATA_TYPE_FP8E8M0;
using ::HCCL_DATA_TYPE_HIF8;
using ::HCCL_DATA_TYPE_INT128;
using ::HCCL_DATA_TYPE_INT16;
using ::HCCL_DATA_TYPE_INT32;
using ::HCCL_DATA_TYPE_INT64;
using ::HCCL_DATA_TYPE_INT8;
using ::HCCL_DATA_TYPE_RESERVED;
using ::HCCL_DATA_TYPE_UINT16;
using ::HCCL_DATA_TYPE_UINT32;
using ::HCCL_DATA_TYPE_UINT64;
using ::HCCL_DATA_TYPE_UINT8;
using ::HCCL_REDUCE_MAX;
using ::HCCL_REDUCE_MIN;
using ::HCCL_REDUCE_PROD;
using ::HCCL_REDUCE_RESERVED;
using ::HCCL_REDUCE_SUM;

using HcclHandle = int8_t;

enum HcclServerType { HCCL_SERVER_TYPE_AICPU = 0, HCCL_SERVER_TYPE_CCU = 5 };
enum class CoreType : uint8_t { DEFAULT = 0, ON_AIV = 1, ON_AIC = 2 };
enum class ScopeType : uint8_t { ALL = 0 };

// Who calls the methods: a kind of core (DEFAULT: any), and the block.
struct HcclServerConfig {
    CoreType type;
    int64_t blockId;
};
constexpr HcclServerConfig DEFAULT_CFG = {CoreType::DEFAULT, 0};

constexpr uint32_t HCCL_GROUP_ID_0 = 0;
constexpr uint32_t HCCL_GROUP_ID_1 = 1;

// The context of the first communicator with resources, of the second, ….
template <uint32_t index = HCCL_GROUP_ID_0> inline GM_ADDR GetHcclContext()
{
    return static_cast<GM_ADDR>(tern_hccl_group_context(index));
}

// Items of BatchWrite, as kernels write them: of the A2, and of the A3.
struct BatchWriteItem {
    uint64_t localBuf, remoteBuf, count;
    uint32_t dataType, remoteRankId;
};
struct BatchWriteItemA3 {
    uint64_t type; // 0
    uint32_t rsv0[5];
    uint32_t length; // bytes
    uint32_t srcAddrLow, srcAddrHigh, dstAddrLow, dstAddrHigh;
    uint32_t rsv1[4];
};

#define TERN_HCCL_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

template <HcclServerType serverType = HCCL_SERVER_TYPE_AICPU,
          const HcclServerConfig &config = DEFAULT_CFG>
class Hccl
{
  public:
    Hccl() : object_()
    {
    }
    ~Hccl()
    {
        tern_hccl_drop(&object_, tern_hccl_site{file_, line_});
    }

    void Init(GM_ADDR context, __gm__ void *initTiling = nullptr, TERN_HCCL_SITE)
    {
        start(context, initTiling, 0, file, line);
    }
    void InitV2(GM_ADDR context, const void *initTiling, TERN_HCCL_SITE)
    {
        start(context, initTiling, 1, file, line);
    }
    int32_t SetCcTiling(__gm__ void *ccTiling, TERN_HCCL_SITE)
    {
        return tern_hccl_set_tiling(&object_, ccTiling, 0, 0, tern_hccl_site{file, line});
    }
    int32_t SetCcTilingV2(uint64_t offset, TERN_HCCL_SITE)
    {
        return tern_hccl_set_tiling(&object_, nullptr, offset, 1, tern_hccl_site{file, line});
    }

    // Whether reductions can have these. They do with what Prepare names: one dtype, in and out.
    bool SetReduceDataTypeAbility(HcclReduceOp op, HcclDataType dstDataType,
                                  HcclDataType srcDataType, TERN_HCCL_SITE)
    {
        return tern_hccl_set_reduce_types(&object_, op, dstDataType, srcDataType,
                                          tern_hccl_site{file, line}) != 0;
    }

    // Prepare calls: a handle from 0 on, or -1. commit: all turns are released at once.
    template <bool commit = false>
    HcclHandle AllReduce(GM_ADDR sendBuf, GM_ADDR recvBuf, uint64_t count, HcclDataType dataType,
                         HcclReduceOp op, uint8_t repeat = 1, TERN_HCCL_SITE)
    {
        tern_hccl_task task =
            describe(HCCL_CMD_ALLREDUCE, sendBuf, recvBuf, count, dataType, commit);
        task.op = static_cast<uint32_t>(op);
        task.repeat = repeat;
        return prepare(task, file, line);
    }
    template <bool commit = false>
    HcclHandle AllGather(GM_ADDR sendBuf, GM_ADDR recvBuf, uint64_t sendCount,
                         HcclDataType dataType, uint64_t strideCount, uint8_t repeat = 1,
                         TERN_HCCL_SITE)
    {
        tern_hccl_task task =
            describe(HCCL_CMD_ALLGATHER, sendBuf, recvBuf, sendCount, dataType, commit);
        task.stride = strideCount;
        task.repeat = repeat;
        return prepare(task, file, line);
    }
    template <bool commit = false>
    HcclHandle ReduceScatter(GM_ADDR sendBuf, GM_ADDR recvBuf, uint64_t recvCount,
                             HcclDataType dataType, HcclReduceOp op, uint64_t strideCount,
                             uint8_t repeat = 1, TERN_HCCL_SITE)
    {
        tern_hccl_task task =
            describe(HCCL_CMD_REDUCE_SCATTER, sendBuf, recvBuf, recvCount, dataType, commit);
        task.op = static_cast<uint32_t>(op);
        task.stride = strideCount;
        task.repeat = repeat;
        return prepare(task, file, line);
    }
    template <bool commit = false>
    HcclHandle AlltoAll(GM_ADDR sendBuf, GM_ADDR recvBuf, uint64_t dataCount, HcclDataType dataType,
                        uint64_t strideCount = 0, uint8_t repeat = 1, TERN_HCCL_SITE)
    {
        tern_hccl_task task =
            describe(HCCL_CMD_ALLTOALL, sendBuf, recvBuf, dataCount, dataType, commit);
        task.stride = strideCount;
        task.repeat = repeat;
        return prepare(task, file, line);
    }
    // Lists of uint64_t, one number for each rank; they are read now.
    template <bool commit = false>
    HcclHandle AlltoAllV(GM_ADDR sendBuf, void *sendCounts, void *sdispls, HcclDataType sendType,
                         GM_ADDR recvBuf, void *recvCounts, void *rdispls, HcclDataType recvType,
                         uint8_t repeat = 1, TERN_HCCL_SITE)
    {
        tern_hccl_task task = describe(HCCL_CMD_ALLTOALLV, sendBuf, recvBuf, 0, sendType, commit);
        task.lists[0] = sendCounts;
        task.lists[1] = sdispls;
        task.lists[2] = recvCounts;
        task.lists[3] = rdispls;
        task.recv_dtype = static_cast<uint32_t>(recvType);
        task.repeat = repeat;
        return prepare(task, file, line);
    }
    // One-sided, into windows of other ranks: Wait means that this rank's side is done. The items
    // are read when the task runs.
    template <bool commit = false>
    HcclHandle BatchWrite(GM_ADDR batchWriteInfo, uint32_t itemNum, uint16_t queueID = 0,
                          TERN_HCCL_SITE)
    {
        tern_hccl_task task = describe(HCCL_CMD_BATCH_WRITE, batchWriteInfo, nullptr, itemNum,
                                       HCCL_DATA_TYPE_INT8, commit);
        task.stride = queueID;
        return prepare(task, file, line);
    }
    // Of the newest chip: a block to every rank, into its window at remoteWinOffset, which is a
    // place of this rank's own; Wait returns when all have come. In bytes. The chip sends with two
    // dies, so a block has two parts, one behind the other in the window: the lists of uint64_t
    // have one number for each rank, of the first parts, then as many of the second ones. They are
    // read now. localDataSize: of the block to this rank itself, both parts.
    template <bool commit = false>
    HcclHandle AlltoAllvWrite(GM_ADDR usrIn, GM_ADDR sendOffsets, GM_ADDR sendSizes,
                              uint64_t remoteWinOffset, uint64_t localDataSize, TERN_HCCL_SITE)
    {
        tern_hccl_task task = describe(HCCL_CMD_HALF_ALLTOALLV, usrIn, nullptr, localDataSize,
                                       HCCL_DATA_TYPE_INT8, commit);
        task.lists[0] = sendOffsets;
        task.lists[1] = sendSizes;
        task.stride = remoteWinOffset;
        return prepare(task, file, line);
    }

    // One more turn of the task may run.
    void Commit(HcclHandle handleId, TERN_HCCL_SITE)
    {
        tern_hccl_commit(&object_, handleId, tern_hccl_site{file, line});
    }
    // Returns when one more turn has finished: 0, or -1.
    int32_t Wait(HcclHandle handleId, TERN_HCCL_SITE)
    {
        return tern_hccl_wait(&object_, handleId, tern_hccl_site{file, line});
    }
    // How many turns have finished, or -1.
    int32_t Query(HcclHandle handleId, TERN_HCCL_SITE)
    {
        return tern_hccl_query(&object_, handleId, tern_hccl_site{file, line});
    }
    // What follows begins when that task of another communicator has finished.
    void InterHcclGroupSync(int8_t srcGroupID, HcclHandle srcHandleID, TERN_HCCL_SITE)
    {
        tern_hccl_group_sync(&object_, srcGroupID, srcHandleID, tern_hccl_site{file, line});
    }
    // What follows begins when all ranks have come here.
    template <ScopeType type = ScopeType::ALL>
    HcclHandle QueueBarrier(uint16_t queueID, TERN_HCCL_SITE)
    {
        tern_hccl_task task =
            describe(HCCL_CMD_BARRIER, nullptr, nullptr, 0, HCCL_DATA_TYPE_INT8, true);
        task.stride = queueID;
        return prepare(task, file, line);
    }
    // Of an AlltoAllV: the next blocks, by rank, at most seqSliceLen of them; 0 when there are no
    // more. sync: that have arrived, for which it waits; else in which order they will be sent.
    template <bool sync = true>
    int32_t Iterate(HcclHandle handleId, uint16_t *seqSlices, uint16_t seqSliceLen, TERN_HCCL_SITE)
    {
        return tern_hccl_iterate(&object_, handleId, seqSlices, seqSliceLen, sync,
                                 tern_hccl_site{file, line});
    }
    // All tasks end, and the object with them.
    template <bool sync = true> void Finalize(TERN_HCCL_SITE)
    {
        tern_hccl_finalize(&object_, tern_hccl_site{file, line});
    }

    GM_ADDR GetWindowsInAddr(uint32_t rankId)
    {
        return static_cast<GM_ADDR>(tern_hccl_window(&object_, rankId, 0));
    }
    GM_ADDR GetWindowsOutAddr(uint32_t rankId)
    {
        return static_cast<GM_ADDR>(tern_hccl_window(&object_, rankId, 1));
    }
    uint32_t GetRankId()
    {
        return tern_hccl_rank(&object_);
    }
    uint32_t GetRankDim()
    {
        return tern_hccl_rank_count(&object_);
    }
    uint16_t GetQueueNum()
    {
        return GetRankDim() == UINT32_MAX ? UINT16_MAX : 1;
    }

  private:
    void start(void *context, const void *tiling, int32_t newest, const char *file, int line)
    {
        tern_hccl_start given = tern_hccl_start();
        given.context = context;
        given.tiling = tiling;
        given.newest = newest;
        given.kind_fits = config.type == CoreType::DEFAULT ||
                          (config.type == CoreType::ON_AIV) == (g_coreType == AIV);
        given.block = config.blockId;
        file_ = file;
        line_ = line;
        tern_hccl_init(&object_, &given, tern_hccl_site{file, line});
    }
    static tern_hccl_task describe(HcclCMDType type, const void *send, void *recv, uint64_t count,
                                   HcclDataType dtype, bool commit)
    {
        tern_hccl_task task = tern_hccl_task();
        task.type = static_cast<uint32_t>(type);
        task.send = send;
        task.recv = recv;
        task.count = count;
        task.dtype = static_cast<uint32_t>(dtype);
        task.repeat = 1;
        task.commit = commit;
        return task;
    }
    HcclHandle prepare(const tern_hccl_task &task, const char *file, int line)
    {
        return static_cast<HcclHandle>(
            tern_hccl_prepare(&object_, &task, tern_hccl_site{file, line}));
    }

    tern_hccl object_;
    const char *file_ = nullptr;
    int line_ = 0;
};

#undef TERN_HCCL_SITE

} // namespace AscendC

#endif

#endif
