// SPDX-License-Identifier: Apache-2.0
// A use of every method, enumerator, structure and constant of the device class, in C++11 to C++20;
// it is compiled, and not run.

#include "adv_api/hccl/hccl.h"
#include "adv_api/hccl/hccl_tiling.h"
#include "hccl/hccl.h"
#include "kernel_operator.h"
#include "lib/hccl/hccl.h"
#include "lib/hccl/hccl_tiling.h"

#include <cstddef>
#include <type_traits>

using namespace AscendC;

static_assert(std::is_same<HcclHandle, int8_t>::value, "");
static_assert(std::is_same<GM_ADDR, uint8_t *>::value, "");
static_assert(std::is_same<::HcclDataType, AscendC::HcclDataType>::value, "");
static_assert(std::is_same<::HcclReduceOp, AscendC::HcclReduceOp>::value, "");
static_assert(HcclDataType::HCCL_DATA_TYPE_INT8 == HCCL_DATA_TYPE_INT8 &&
                  HcclDataType::HCCL_DATA_TYPE_BFP16 == 11 && HCCL_DATA_TYPE_RESERVED == 255,
              "");
static_assert(HcclReduceOp::HCCL_REDUCE_SUM == HCCL_REDUCE_SUM && HCCL_REDUCE_MAX == 2 &&
                  HCCL_REDUCE_MIN == 3,
              "");
static_assert(HcclServerType::HCCL_SERVER_TYPE_AICPU == 0 && HCCL_SERVER_TYPE_CCU == 5, "");
static_assert(static_cast<int>(CoreType::DEFAULT) == 0 && static_cast<int>(CoreType::ON_AIV) == 1 &&
                  static_cast<int>(CoreType::ON_AIC) == 2,
              "");
static_assert(HcclCMDType::HCCL_CMD_ALLREDUCE == 2 && HCCL_CMD_ALLGATHER == 6 &&
                  HCCL_CMD_REDUCE_SCATTER == 7 && HCCL_CMD_ALLTOALLV == 8 &&
                  HCCL_CMD_ALLTOALL == 10 && HCCL_CMD_BATCH_WRITE == 18 &&
                  HCCL_CMD_HALF_ALLTOALLV == 20 && HCCL_CMD_FINALIZE == 100 &&
                  HCCL_CMD_INTER_GROUP_SYNC == 101 && HCCL_CMD_INIT == 102 &&
                  HCCL_CMD_BARRIER == 103,
              "");
static_assert(HCCL_GROUP_ID_0 == 0 && AIC != AIV && g_coreType == AscendC::AIV, "");
static_assert(DEFAULT_CFG.type == CoreType::DEFAULT && DEFAULT_CFG.blockId == 0, "");
static_assert(sizeof(BatchWriteItem) == 32 && offsetof(BatchWriteItem, remoteRankId) == 28, "");
static_assert(sizeof(BatchWriteItemA3) == 64 && offsetof(BatchWriteItemA3, length) == 28 &&
                  offsetof(BatchWriteItemA3, srcAddrLow) == 32,
              "");

struct KernelTiling {
    Mc2InitTiling init;
    Mc2CcTiling gather;
    uint32_t rows;
};

static_assert(AscendC::HCCL_REDUCE_SUM == ::HCCL_REDUCE_SUM &&
                  AscendC::HCCL_DATA_TYPE_FP16 == ::HCCL_DATA_TYPE_FP16 &&
                  AscendC::HCCL_CMD_ALLREDUCE == ::HCCL_CMD_ALLREDUCE,
              "kernels qualify the enumerators, too");

constexpr HcclServerConfig ON_VECTORS = {CoreType::ON_AIV, 0};

extern "C" __global__ __aicore__ void with_defaults(GM_ADDR send, GM_ADDR recv, GM_ADDR tilingGM)
{
    REGISTER_TILING_DEFAULT(KernelTiling);
    GET_TILING_DATA(tiling, tilingGM);
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    if (TILING_KEY_IS(TILING_KEY_VAR)) {
        Hccl<> hccl;
        hccl.InitV2(GetHcclContext<HCCL_GROUP_ID_0>(), &tiling);
        hccl.AllReduce(send, recv, tiling.rows, AscendC::HCCL_DATA_TYPE_FP16,
                       AscendC::HCCL_REDUCE_SUM);
    }
}

extern "C" __global__ __aicore__ void with_v2(GM_ADDR send, GM_ADDR recv, GM_ADDR tilingGM)
{
    REGISTER_TILING_DEFAULT(KernelTiling);
    GET_TILING_DATA_WITH_STRUCT(KernelTiling, tiling, tilingGM);
    Hccl<HCCL_SERVER_TYPE_AICPU, ON_VECTORS> hccl;
    hccl.InitV2(GetHcclContext<HCCL_GROUP_ID_0>(), &tiling);
    int32_t set = hccl.SetCcTilingV2(offsetof(KernelTiling, gather));
    bool able = hccl.SetReduceDataTypeAbility(HcclReduceOp::HCCL_REDUCE_SUM,
                                              AscendC::HcclDataType::HCCL_DATA_TYPE_BFP16,
                                              AscendC::HcclDataType::HCCL_DATA_TYPE_BFP16);
    set += able ? 0 : 1;
    uint64_t lists[4] = {};
    HcclHandle handles[] = {
        hccl.AllReduce(send, recv, tiling.rows, HCCL_DATA_TYPE_FP16, HCCL_REDUCE_SUM),
        hccl.AllReduce<true>(send, recv, 1, HcclDataType::HCCL_DATA_TYPE_FP32,
                             HcclReduceOp::HCCL_REDUCE_MAX, 2),
        hccl.AllGather(send, recv, 1, HCCL_DATA_TYPE_FP16, 0),
        hccl.AllGather<true>(send, recv, 1, HCCL_DATA_TYPE_FP16, 0, 2),
        hccl.ReduceScatter(send, recv, 1, HCCL_DATA_TYPE_FP16, HCCL_REDUCE_MIN, 0),
        hccl.ReduceScatter<false>(send, recv, 1, HCCL_DATA_TYPE_FP16, HCCL_REDUCE_SUM, 0, 2),
        hccl.AlltoAll(send, recv, 1, HCCL_DATA_TYPE_FP16),
        hccl.AlltoAll<true>(send, recv, 1, HCCL_DATA_TYPE_FP16, 0, 2),
        hccl.AlltoAllV(send, lists, lists, HCCL_DATA_TYPE_INT8, recv, lists, lists,
                       HCCL_DATA_TYPE_INT8),
        hccl.AlltoAllV<true>(send, lists, lists, HCCL_DATA_TYPE_INT8, recv, lists, lists,
                             HCCL_DATA_TYPE_INT8, 2),
        hccl.BatchWrite(send, 1),
        hccl.BatchWrite<true>(send, 1, 2),
        hccl.AlltoAllvWrite<true>(send, send, send, 0, 1),
        hccl.QueueBarrier<ScopeType::ALL>(0),
    };
    hccl.Commit(handles[0]);
    int32_t status = hccl.Wait(handles[0]) + hccl.Query(handles[0]) + set;
    hccl.InterHcclGroupSync(1, handles[0]);
    uint16_t slices[2] = {};
    status +=
        hccl.Iterate<true>(handles[8], slices, 2) + hccl.Iterate<false>(handles[8], slices, 2);
    GM_ADDR windows[] = {hccl.GetWindowsInAddr(0), hccl.GetWindowsOutAddr(0)};
    uint32_t ids = hccl.GetRankId() + hccl.GetRankDim() + hccl.GetQueueNum();
    (void)windows;
    (void)ids;
    (void)status;
    SyncAll();
    SyncAll<false>();
    hccl.Finalize<true>();
}

extern "C" __global__ __aicore__ void with_init(GM_ADDR context, GM_ADDR tilingGM)
{
    KernelTiling *tiling = reinterpret_cast<KernelTiling *>(tilingGM);
#if __cplusplus >= 201703L
    Hccl hccl;
#else
    Hccl<> hccl;
#endif
    if ASCEND_IS_AIV {
        if (GetBlockIdx() < GetBlockNum() && g_coreType == AIV) {
            hccl.Init(context, &tiling->init);
            hccl.SetCcTiling(&tiling->gather);
        }
    }
    hccl.Finalize<false>();
}

uint32_t host(KernelTiling &tiling);
uint32_t host(KernelTiling &tiling)
{
    AscendC::Mc2CcTilingConfig config("group", HCCL_CMD_ALLGATHER, "AllGather=level0:doublering");
    AscendC::Mc2CcTilingConfig all("group", HCCL_CMD_ALLREDUCE, "AllReduce=level0:doublering",
                                   HCCL_REDUCE_SUM, 4, 4, 0);
    return config.SetOpType(HCCL_CMD_ALLTOALL) + config.SetGroupName("group") +
           config.SetAlgConfig("AlltoAll=level0:fullmesh;level1:pairwise") +
           config.SetReduceType(HCCL_REDUCE_SUM, 0, 0) + config.SetStepSize(1) +
           config.SetSkipLocalRankCopy(1) + config.SetSkipBufferWindowCopy(2) +
           config.SetDebugMode(0) + config.SetQueueNum(1) + config.SetCommBlockNum(1) +
           config.SetCommEngine(0) + config.GetTiling(tiling.init) +
           config.GetTiling(tiling.gather) + all.GetTiling(tiling.gather);
}
