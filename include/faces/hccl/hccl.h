// SPDX-License-Identifier: Apache-2.0
// The host API of HCCL over tern's collective calls (docs/hccl.md). Names, arguments and values are
// those of HCCL; what a call computes is said in tern/coll.h.
//
// Calls with a stream return at once and run in the stream's order. Calls on one communicator run
// in the order they were made, also from several streams and threads; communicators do not wait for
// each other. With the stream NULL a call is done when it returns. What a rank can see alone is
// refused by the call itself; other failures are returned by aclrtSynchronizeStream and told by
// HcclGetCommAsyncError. Arrays of counts and displacements hold uint64_t, elements, and are read
// before the call returns; buffers belong to it until it has ended.
//
// Functions return HCCL_SUCCESS, or the number of an error: its sentence is in tern_last_error(),
// in HcclGetErrorString of the same thread, and in the log (TERN_LOG).
#ifndef TERN_FACES_HCCL_HCCL_H
#define TERN_FACES_HCCL_HCCL_H

#include <stdbool.h>
#include <string.h>

#include "acl/acl.h"
#include "hccl/hccl_types.h"

TERN_BEGIN_DECLS

// Where the ranks meet, as the root makes it: a path below TMPDIR, or /tmp.
TERN_API HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo);

// Collective. All ranks have a copy of the root's info; rank 0 need not have made it.
TERN_API HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo,
                                         uint32_t rank, HcclComm *comm);
TERN_API HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo *rootInfo,
                                               uint32_t rank, const HcclCommConfig *config,
                                               HcclComm *comm);

// Collective among the ranks of the new communicator alone: the others need not call; those that do
// pass rankIds NULL and rankNum 0, and get NULL. rankIds: ranks of *comm, in the order of their new
// ranks, alike on all; subCommRankId: the caller's place in it. The id is one that no living
// communicator of this process that was made from the same one has; config may be NULL.
TERN_API HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t rankNum, uint32_t *rankIds,
                                            uint64_t subCommId, uint32_t subCommRankId,
                                            HcclCommConfig *config, HcclComm *subComm);

// Waits until the calls that were made have ended.
TERN_API HcclResult HcclCommDestroy(HcclComm comm);

TERN_API HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize);
TERN_API HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank);

// commName has COMM_NAME_MAX_LENGTH bytes. A name stands for one communicator of a process.
TERN_API HcclResult HcclGetCommName(HcclComm comm, char *commName);
TERN_API HcclResult HcclCommGetHandleWithName(const char *commName, HcclComm *comm);

// Sets everything to "not set".
static inline void HcclCommConfigInit(HcclCommConfig *config)
{
    if (config == NULL) {
        return;
    }
    const size_t size = sizeof *config;
    const uint32_t words[2] = {HCCL_COMM_CONFIG_MAGIC_WORD, HCCL_COMM_CONFIG_VERSION};
    memset(config, 0, sizeof *config);
    memcpy(config->reserved, &size, sizeof size);
    memcpy(config->reserved + sizeof size, words, sizeof words);
    config->hcclBufferSize = HCCL_COMM_CONFIG_NOT_SET;
    config->hcclDeterministic = HCCL_COMM_CONFIG_NOT_SET;
    config->hcclRdmaTrafficClass = HCCL_COMM_CONFIG_NOT_SET;
    config->hcclRdmaServiceLevel = HCCL_COMM_CONFIG_NOT_SET;
    config->hcclExecTimeOut = HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET;
    config->hcclQos = HCCL_COMM_CONFIG_NOT_SET;
}
TERN_API uint32_t HcclGetCommConfigCapability(void);

// For all communicators of the process. HCCL_DETERMINISTIC is 0, 1 or 2; results are the same bits
// with each.
TERN_API HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue);
TERN_API HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue);

// Why calls of the communicator have failed, or ranks have died: HCCL_SUCCESS, or the first result.
TERN_API HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError);

// Between these, calls on the communicator are HCCL_E_SUSPENDING on this rank; those that were made
// before go on.
TERN_API HcclResult HcclCommSuspend(HcclComm comm);
TERN_API HcclResult HcclCommResume(HcclComm comm);
TERN_API HcclResult HcclCommGetStatus(const char *commId, HcclCommStatus *status);

// Valid until the thread's next call of this. Behind the name of the result, when it is what the
// thread's last failing call returned, the sentence.
TERN_API const char *HcclGetErrorString(HcclResult code);

// Calls of this thread between these are made by the last HcclGroupEnd: those of one communicator
// and stream are under way together, so messages among them may be in any order.
TERN_API HcclResult HcclGroupStart(void);
TERN_API HcclResult HcclGroupEnd(void);
// Whether this thread is between these.
TERN_API HcclResult HcclGroupStatusGet(bool *isGroupEnabled);

// There are no network cards: HCCL_E_NOT_SUPPORT where a second one is asked for.
TERN_API HcclResult HcclCommWorkingDevNicSet(HcclComm comm, uint32_t *ranks, bool *useBackup,
                                             uint32_t nRanks);

TERN_API HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count,
                                  HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                  aclrtStream stream);
TERN_API HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType, uint32_t root,
                                  HcclComm comm, aclrtStream stream);
TERN_API HcclResult HcclReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType,
                               HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream);
TERN_API HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
                                      HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                      aclrtStream stream);
TERN_API HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount,
                                  HcclDataType dataType, HcclComm comm, aclrtStream stream);
TERN_API HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
                                HcclDataType dataType, uint32_t root, HcclComm comm,
                                aclrtStream stream);
TERN_API HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount, HcclDataType sendType,
                                 const void *recvBuf, uint64_t recvCount, HcclDataType recvType,
                                 HcclComm comm, aclrtStream stream);

// In the order of the stream: goes on when the streams of all ranks have come.
TERN_API HcclResult HcclBarrier(HcclComm comm, aclrtStream stream);

// With a count and a displacement for each rank. recvCount and sendCount are this rank's count in
// the array.
TERN_API HcclResult HcclReduceScatterV(void *sendBuf, const void *sendCounts,
                                       const void *sendDispls, void *recvBuf, uint64_t recvCount,
                                       HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                       aclrtStream stream);
TERN_API HcclResult HcclAllGatherV(void *sendBuf, uint64_t sendCount, void *recvBuf,
                                   const void *recvCounts, const void *recvDispls,
                                   HcclDataType dataType, HcclComm comm, aclrtStream stream);
TERN_API HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts, const void *sdispls,
                                  HcclDataType sendType, const void *recvBuf,
                                  const void *recvCounts, const void *rdispls,
                                  HcclDataType recvType, HcclComm comm, aclrtStream stream);

// sendCountMatrix[i * n + j] elements go from rank i to rank j; shares are packed in rank order.
TERN_API HcclResult HcclAlltoAllVC(const void *sendBuf, const void *sendCountMatrix,
                                   HcclDataType sendType, const void *recvBuf,
                                   HcclDataType recvType, HcclComm comm, aclrtStream stream);

// Messages between two ranks arrive in the order sent. To oneself only in a batch or a group.
TERN_API HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType,
                             uint32_t destRank, HcclComm comm, aclrtStream stream);
TERN_API HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank,
                             HcclComm comm, aclrtStream stream);

// All items are under way together, so their order does not matter but between the same two ranks.
TERN_API HcclResult HcclBatchSendRecv(HcclSendRecvItem *sendRecvInfo, uint32_t itemNum,
                                      HcclComm comm, aclrtStream stream);

// A rank table in a file: JSON, version "1.0" to "1.2". Collective: all ranks of the table, with a
// copy of the same text and the same user. Its servers are one machine, or several, as their
// addresses say (docs/hccl.md).
TERN_API HcclResult HcclCommInitClusterInfo(const char *rankTableFile, uint32_t rank,
                                            HcclComm *comm);
TERN_API HcclResult HcclCommInitClusterInfoConfig(const char *rankTableFile, uint32_t rank,
                                                  HcclCommConfig *config, HcclComm *comm);

// All ndev ranks in this process: comms[i] is rank i, on devices[i]. One thread may make the calls
// of all of them, each communicator's on a stream of its own. On the stream NULL, which is at once,
// a call would wait for the next one of the same thread.
TERN_API HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms);

// Memory that a program announces, for its own answers: calls find what a buffer is by its address,
// and none of this makes them faster or is needed. Announced memory of one kind does not overlap in
// a communicator, and is forgotten with it. Get: the window that these bytes are in, and where.
// flag: HCCL_WIN_DEFAULT or HCCL_WIN_COLL_SYMMETRIC, which do the same.
TERN_API HcclResult HcclCommSymWinRegister(HcclComm comm, void *addr, uint64_t size,
                                           HcclCommSymWindow *win, uint32_t flag);
TERN_API HcclResult HcclCommSymWinDeregister(HcclCommSymWindow win);
TERN_API HcclResult HcclCommSymWinGet(HcclComm comm, void *ptr, size_t size, HcclCommSymWindow *win,
                                      size_t *offset);

// Active memory lies in a range. flags must be 0; alignment and offset are not used. handle is of
// aclrtMallocPhysical, or NULL.
TERN_API HcclResult HcclCommSetMemoryRange(HcclComm comm, void *baseVirPtr, size_t size,
                                           size_t alignment, uint64_t flags);
TERN_API HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void *baseVirPtr);
TERN_API HcclResult HcclCommActivateCommMemory(HcclComm comm, void *virPtr, size_t size,
                                               size_t offset, void *handle, uint64_t flags);
TERN_API HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void *virPtr);

// Registered memory, flag 0, which is exchanged with these other ranks of the communicator.
TERN_API HcclResult HcclCommRegister(HcclComm comm, void *addr, uint64_t size, void **handle,
                                     uint32_t flag);
TERN_API HcclResult HcclCommDeregister(HcclComm comm, void *handle);
TERN_API HcclResult HcclCommExchangeMem(HcclComm comm, void *handle, uint32_t *peerRanks,
                                        uint32_t peerRankNum);

// Memory of the device for windows: that of aclrtMalloc.
TERN_API HcclResult HcommMemAlloc(void **ptr, size_t size);
TERN_API HcclResult HcommMemFree(void *ptr);

TERN_END_DECLS

#endif
