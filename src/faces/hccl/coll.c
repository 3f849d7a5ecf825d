// SPDX-License-Identifier: Apache-2.0
// The collectives with one count, and messages: each is one call of tern.

#include <stdlib.h>

#include "faces/hccl/form.h"

// The words of a call, as tern's. op NULL: it has none.
static HcclResult begin(const char *call, const struct hccl *comm, HcclDataType type,
                        const HcclReduceOp *op, tern_coll *coll)
{
    HcclResult result = tern__hccl_ready(call, comm);
    result = result != HCCL_SUCCESS ? result : tern__hccl_dtype(call, type, &coll->dtype);
    return result != HCCL_SUCCESS || op == NULL ? result
                                                : tern__hccl_op(call, type, *op, &coll->op);
}

// A root that tern's int cannot hold is none.
static int root_of(uint32_t root)
{
    return root > INT32_MAX ? -1 : (int)root;
}

static HcclResult make(const char *call, tern_coll coll, HcclDataType type, const HcclReduceOp *op,
                       HcclComm comm, aclrtStream stream)
{
    HcclResult result = begin(call, comm, type, op, &coll);
    return result != HCCL_SUCCESS ? result : tern__hccl_make(call, comm, &coll, stream);
}

HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType,
                         HcclReduceOp op, HcclComm comm, aclrtStream stream)
{
    return make(
        __func__,
        (tern_coll){.kind = TERN_COLL_ALL_REDUCE, .in = sendBuf, .out = recvBuf, .count = count},
        dataType, &op, comm, stream);
}

HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType, uint32_t root,
                         HcclComm comm, aclrtStream stream)
{
    return make(__func__,
                (tern_coll){.kind = TERN_COLL_BROADCAST,
                            .in = buf,
                            .out = buf,
                            .count = count,
                            .root = root_of(root)},
                dataType, NULL, comm, stream);
}

HcclResult HcclReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType,
                      HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream)
{
    return make(__func__,
                (tern_coll){.kind = TERN_COLL_REDUCE,
                            .in = sendBuf,
                            .out = recvBuf,
                            .count = count,
                            .root = root_of(root)},
                dataType, &op, comm, stream);
}

HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
                             HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                             aclrtStream stream)
{
    return make(__func__,
                (tern_coll){.kind = TERN_COLL_REDUCE_SCATTER,
                            .in = sendBuf,
                            .out = recvBuf,
                            .count = recvCount},
                dataType, &op, comm, stream);
}

HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount, HcclDataType dataType,
                         HcclComm comm, aclrtStream stream)
{
    return make(__func__,
                (tern_coll){.kind = TERN_COLL_ALL_GATHER,
                            .in = sendBuf,
                            .out = recvBuf,
                            .count = sendCount},
                dataType, NULL, comm, stream);
}

HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType,
                       uint32_t root, HcclComm comm, aclrtStream stream)
{
    return make(__func__,
                (tern_coll){.kind = TERN_COLL_SCATTER,
                            .in = sendBuf,
                            .out = recvBuf,
                            .count = recvCount,
                            .root = root_of(root)},
                dataType, NULL, comm, stream);
}

HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount, HcclDataType sendType,
                        const void *recvBuf, uint64_t recvCount, HcclDataType recvType,
                        HcclComm comm, aclrtStream stream)
{
    const char *call = __func__;
    HcclResult result = tern__hccl_same_types(call, sendType, recvType);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    if (sendCount != recvCount) {
        return tern__hccl_refuse(call, HCCL_E_PARA,
                                 "sendCount is %llu and recvCount is %llu; they must be the same",
                                 (unsigned long long)sendCount, (unsigned long long)recvCount);
    }
    return make(call,
                (tern_coll){.kind = TERN_COLL_ALL_TO_ALL,
                            .in = sendBuf,
                            .out = (void *)(uintptr_t)recvBuf,
                            .count = sendCount},
                sendType, NULL, comm, stream);
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream)
{
    const char *call = __func__;
    HcclResult result = tern__hccl_ready(call, comm);
    return result != HCCL_SUCCESS
               ? result
               : tern__hccl_make(call, comm, &(tern_coll){.kind = TERN_COLL_BARRIER}, stream);
}

HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank,
                    HcclComm comm, aclrtStream stream)
{
    return make(__func__,
                (tern_coll){.kind = TERN_COLL_SEND,
                            .in = sendBuf,
                            .count = count,
                            .root = root_of(destRank)},
                dataType, NULL, comm, stream);
}

HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank,
                    HcclComm comm, aclrtStream stream)
{
    return make(__func__,
                (tern_coll){.kind = TERN_COLL_RECV,
                            .out = recvBuf,
                            .count = count,
                            .root = root_of(srcRank)},
                dataType, NULL, comm, stream);
}

// An item as a call of tern.
static HcclResult form_item(const char *call, const struct hccl *comm, const HcclSendRecvItem *item,
                            tern_coll *coll)
{
    const bool sends = item->sendRecvType == HCCL_SEND;
    if (!sends && item->sendRecvType != HCCL_RECV) {
        return tern__hccl_refuse(call, HCCL_E_PARA,
                                 "sendRecvType is %d; it must be HCCL_SEND (0) or HCCL_RECV (1)",
                                 (int)item->sendRecvType);
    }
    *coll = (tern_coll){.kind = sends ? TERN_COLL_SEND : TERN_COLL_RECV,
                        .in = sends ? item->buf : NULL,
                        .out = sends ? NULL : item->buf,
                        .count = item->count,
                        .root = root_of(item->remoteRank)};
    HcclResult result = tern__hccl_dtype(call, item->dataType, &coll->dtype);
    return result != HCCL_SUCCESS ? result : tern__hccl_form(call, comm, coll, false);
}

HcclResult HcclBatchSendRecv(HcclSendRecvItem *sendRecvInfo, uint32_t itemNum, HcclComm comm,
                             aclrtStream stream)
{
    const char *call = __func__;
    struct hccl *hccl = comm;
    HcclResult result = tern__hccl_ready(call, hccl);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    if (sendRecvInfo == NULL) {
        return tern__hccl_no_pointer(call, "sendRecvInfo");
    }
    if (itemNum == 0) {
        return tern__hccl_refuse(call, HCCL_E_PARA, "itemNum is 0; it must be 1 or more");
    }
    struct tern__hccl_work *work = tern__hccl_work_new(call, hccl, itemNum, 0, NULL);
    if (work == NULL) {
        return tern__hccl_result(TERN_ERR_MEMORY);
    }
    for (uint32_t i = 0; i < itemNum && result == HCCL_SUCCESS; i++) {
        result = form_item(call, hccl, &sendRecvInfo[i], &work->calls[i]);
    }
    if (result != HCCL_SUCCESS) {
        free(work);
        return result;
    }
    return tern__hccl_submit(work, stream);
}
