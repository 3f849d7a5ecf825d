// SPDX-License-Identifier: Apache-2.0
// The host API of HCCL as a program sees it: the type of every function, the number of every
// enumerator, the place of every field. Compiled as C11, C17, C++11, C++14 and C++17 by
// test/system/hccl.sh.
#include <stdio.h>
#include <string.h>

#include "hccl/hccl.h"
#include "hccl/hccl_comm.h"
#include "hccl/hccl_types.h"
#include "names.h"

typedef HcclDataType Type;
typedef HcclReduceOp Op;
typedef HcclComm Comm;
typedef aclrtStream Stream;

IS(HcclGetRootInfo, HcclRootInfo *);
IS(HcclCommInitRootInfo, uint32_t, const HcclRootInfo *, uint32_t, Comm *);
IS(HcclCommInitRootInfoConfig, uint32_t, const HcclRootInfo *, uint32_t, const HcclCommConfig *,
   Comm *);
IS(HcclCreateSubCommConfig, Comm *, uint32_t, uint32_t *, uint64_t, uint32_t, HcclCommConfig *,
   Comm *);
IS(HcclCommDestroy, Comm);
IS(HcclGetRankSize, Comm, uint32_t *);
IS(HcclGetRankId, Comm, uint32_t *);
IS(HcclGetCommName, Comm, char *);
IS(HcclCommGetHandleWithName, const char *, Comm *);
IS(HcomGetCommHandleByGroup, const char *, Comm *);
IS(HcclSetConfig, HcclConfig, HcclConfigValue);
IS(HcclGetConfig, HcclConfig, HcclConfigValue *);
IS(HcclGetCommAsyncError, Comm, HcclResult *);
IS(HcclCommSuspend, Comm);
IS(HcclCommResume, Comm);
IS(HcclCommGetStatus, const char *, HcclCommStatus *);
IS(HcclGroupStart, void);
IS(HcclGroupEnd, void);
IS(HcclCommWorkingDevNicSet, Comm, uint32_t *, bool *, uint32_t);
IS(HcclAllReduce, void *, void *, uint64_t, Type, Op, Comm, Stream);
IS(HcclBroadcast, void *, uint64_t, Type, uint32_t, Comm, Stream);
IS(HcclReduce, void *, void *, uint64_t, Type, Op, uint32_t, Comm, Stream);
IS(HcclReduceScatter, void *, void *, uint64_t, Type, Op, Comm, Stream);
IS(HcclReduceScatterV, void *, const void *, const void *, void *, uint64_t, Type, Op, Comm,
   Stream);
IS(HcclAllGather, void *, void *, uint64_t, Type, Comm, Stream);
IS(HcclAllGatherV, void *, uint64_t, void *, const void *, const void *, Type, Comm, Stream);
IS(HcclScatter, void *, void *, uint64_t, Type, uint32_t, Comm, Stream);
IS(HcclSend, void *, uint64_t, Type, uint32_t, Comm, Stream);
IS(HcclRecv, void *, uint64_t, Type, uint32_t, Comm, Stream);
IS(HcclAlltoAll, const void *, uint64_t, Type, const void *, uint64_t, Type, Comm, Stream);
IS(HcclAlltoAllV, const void *, const void *, const void *, Type, const void *, const void *,
   const void *, Type, Comm, Stream);
IS(HcclAlltoAllVC, const void *, const void *, Type, const void *, Type, Comm, Stream);
IS(HcclBatchSendRecv, HcclSendRecvItem *, uint32_t, Comm, Stream);
IS(HcclBarrier, Comm, Stream);
const char *(*call_HcclGetErrorString)(HcclResult) = HcclGetErrorString;
uint32_t (*call_HcclGetCommConfigCapability)(void) = HcclGetCommConfigCapability;
void (*call_HcclCommConfigInit)(HcclCommConfig *) = HcclCommConfigInit;

SAME(HCCL_SUCCESS, 0);
SAME(HCCL_E_PARA, 1);
SAME(HCCL_E_PTR, 2);
SAME(HCCL_E_MEMORY, 3);
SAME(HCCL_E_INTERNAL, 4);
SAME(HCCL_E_NOT_SUPPORT, 5);
SAME(HCCL_E_NOT_FOUND, 6);
SAME(HCCL_E_UNAVAIL, 7);
SAME(HCCL_E_SYSCALL, 8);
SAME(HCCL_E_TIMEOUT, 9);
SAME(HCCL_E_OPEN_FILE_FAILURE, 10);
SAME(HCCL_E_TCP_CONNECT, 11);
SAME(HCCL_E_ROCE_CONNECT, 12);
SAME(HCCL_E_TCP_TRANSFER, 13);
SAME(HCCL_E_ROCE_TRANSFER, 14);
SAME(HCCL_E_RUNTIME, 15);
SAME(HCCL_E_DRV, 16);
SAME(HCCL_E_PROFILING, 17);
SAME(HCCL_E_CCE, 18);
SAME(HCCL_E_NETWORK, 19);
SAME(HCCL_E_AGAIN, 20);
SAME(HCCL_E_REMOTE, 21);
SAME(HCCL_E_SUSPENDING, 22);
SAME(HCCL_E_OPRETRY_FAIL, 23);
SAME(HCCL_E_OOM, 24);
SAME(HCCL_E_IN_STATUS, 1041);
SAME(HCCL_REDUCE_SUM, 0);
SAME(HCCL_REDUCE_PROD, 1);
SAME(HCCL_REDUCE_MAX, 2);
SAME(HCCL_REDUCE_MIN, 3);
SAME(HCCL_DATA_TYPE_INT8, 0);
SAME(HCCL_DATA_TYPE_INT16, 1);
SAME(HCCL_DATA_TYPE_INT32, 2);
SAME(HCCL_DATA_TYPE_FP16, 3);
SAME(HCCL_DATA_TYPE_FP32, 4);
SAME(HCCL_DATA_TYPE_INT64, 5);
SAME(HCCL_DATA_TYPE_UINT64, 6);
SAME(HCCL_DATA_TYPE_UINT8, 7);
SAME(HCCL_DATA_TYPE_UINT16, 8);
SAME(HCCL_DATA_TYPE_UINT32, 9);
SAME(HCCL_DATA_TYPE_FP64, 10);
SAME(HCCL_DATA_TYPE_BFP16, 11);
SAME(HCCL_DATA_TYPE_INT128, 12);
SAME(HCCL_DATA_TYPE_HIF8, 14);
SAME(HCCL_DATA_TYPE_FP8E4M3, 15);
SAME(HCCL_DATA_TYPE_FP8E5M2, 16);
SAME(HCCL_DATA_TYPE_FP8E8M0, 17);
SAME(HCCL_CONFIG_RESERVED, 1);
SAME(HCCL_SEND_RECV_RESERVED, 2);
SAME(HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE, 16);
SAME(HCCL_DATA_TYPE_RESERVED, 255);
SAME(HCCL_E_RESERVED, HCCL_E_IN_STATUS + 1);
HcclSendRecvType both_sides[] = {HCCL_SEND, HCCL_RECV};
SAME(HCCL_SEND, 0);
SAME(HCCL_RECV, 1);
SAME(HCCL_DETERMINISTIC, 0);
SAME(HCCL_COMM_STATUS_READY, 0);
SAME(HCCL_COMM_STATUS_SUSPENDING, 1);
SAME(HCCL_COMM_STATUS_INVALID, 254);
SAME(HCCL_COMM_STATUS_RESERVED, 255);
SAME(HCCL_CMD_BARRIER, 103);

SAME(sizeof(HcclRootInfo), HCCL_ROOT_INFO_BYTES);
SAME(HCCL_ROOT_INFO_BYTES, 4108);
SAME(sizeof(HcclConfigValue), 4);
SAME(sizeof(HcclSendRecvItem), 32);
SAME(offsetof(HcclSendRecvItem, sendRecvType), 0);
SAME(offsetof(HcclSendRecvItem, buf), 8);
SAME(offsetof(HcclSendRecvItem, count), 16);
SAME(offsetof(HcclSendRecvItem, dataType), 24);
SAME(offsetof(HcclSendRecvItem, remoteRank), 28);
SAME(offsetof(HcclCommConfig, hcclBufferSize), 24);
SAME(offsetof(HcclCommConfig, hcclDeterministic), 28);
SAME(offsetof(HcclCommConfig, hcclCommName), 32);
SAME(offsetof(HcclCommConfig, hcclUdi), 160);
SAME(offsetof(HcclCommConfig, hcclOpExpansionMode), 288);
SAME(offsetof(HcclCommConfig, hcclRdmaTrafficClass), 292);
SAME(offsetof(HcclCommConfig, hcclRdmaServiceLevel), 296);
SAME(offsetof(HcclCommConfig, hcclWorldRankID), 300);
SAME(offsetof(HcclCommConfig, hcclJobID), 304);
SAME(offsetof(HcclCommConfig, aclGraphZeroCopyEnable), 312);
SAME(offsetof(HcclCommConfig, hcclExecTimeOut), 316);
SAME(offsetof(HcclCommConfig, hcclAlgo), 320);
SAME(offsetof(HcclCommConfig, hcclRetryEnable), 1920);
SAME(offsetof(HcclCommConfig, hcclRetryParams), 1970);
SAME(offsetof(HcclCommConfig, hcclBufferName), 2098);
SAME(offsetof(HcclCommConfig, hcclQos), 2228);
SAME(offsetof(HcclCommConfig, hcclSymWinMaxMemSizePerRank), 2232);
SAME(sizeof(HcclCommConfig), 2240);

int main(void)
{
    HcclCommConfig config;
    float in = 2, out = 0;
    HcclComm comm = NULL;
    HcclRootInfo info;
    HcclCommConfigInit(&config);
    config.hcclDeterministic = 1;
    if (HcclGetRootInfo(&info) != HCCL_SUCCESS ||
        HcclCommInitRootInfoConfig(1, &info, 0, &config, &comm) != HCCL_SUCCESS ||
        HcclAllReduce(&in, &out, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, NULL) !=
            HCCL_SUCCESS ||
        HcclCommDestroy(comm) != HCCL_SUCCESS || out < in) {
        fprintf(stderr, "it does not work\n");
        return 1;
    }
    printf("%s\n", HcclGetErrorString(HCCL_SUCCESS));
    return 0;
}
