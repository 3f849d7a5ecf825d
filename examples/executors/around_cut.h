// SPDX-License-Identifier: Apache-2.0
// What the executors of this folder share: an AllReduce on a mesh of ranks of which two, 0 and 1,
// have no link to each other; all others are healthy. A rank has a slave stream for each other
// rank. A phase of all slave streams lies between release() and collect() on the main stream.
#ifndef EXAMPLES_EXECUTORS_AROUND_CUT_H
#define EXAMPLES_EXECUTORS_AROUND_CUT_H

#include "coll_comm_executor.h"

namespace hccl
{

constexpr u32 BROKEN_RANKS = 2; // 0 and 1

class AroundCut : public CollCommExecutor
{
  public:
    using CollCommExecutor::CollCommExecutor;

    HcclResult CalcStreamNum(u32 &streamNum) override
    {
        streamNum = topoAttr_.deviceNumPerAggregation - 1;
        return HCCL_SUCCESS;
    }

    HcclResult CalcCommInfo(std::vector<LevelNSubCommTransport> &opTransport) override
    {
        CommParaInfo mesh(COMM_LEVEL0, CommType::COMM_TAG_MESH);
        return CalcCommPlaneInfo(tag_, mesh, opTransport[COMM_LEVEL0], TransportMemType::CCL_INPUT,
                                 TransportMemType::CCL_OUTPUT);
    }

    // In chunks that the CCL buffers can take.
    HcclResult Orchestrate(OpParam &param, AlgResourceResponse &algRes) override
    {
        algResResp_ = &algRes;
        CHK_PTR_NULL(param.inputPtr);
        CHK_PTR_NULL(param.outputPtr);
        CHK_RET(CheckCommSize(COMM_LEVEL0, COMM_INDEX_0 + 1));
        SubCommInfo level0 = GetSubCommInfo(COMM_LEVEL0, COMM_INDEX_0);
        rank_ = level0.localRank;
        ranks_ = level0.localRankSize;
        links_ = level0.links;
        main_ = param.stream;
        unit_ = SIZE_TABLE[param.DataDes.dataType];
        if (ranks_ <= BROKEN_RANKS) {
            HCCL_ERROR("%u ranks leave none that is healthy", ranks_);
            return HCCL_E_NOT_SUPPORT;
        }
        u64 most = MaxCount();
        if (most == 0) {
            HCCL_ERROR("CCL buffers of %llu bytes hold no element", algRes.cclOutputMem.size());
            return HCCL_E_MEMORY;
        }
        u64 count = param.DataDes.count;
        for (u64 done = 0; done < count; done += most) {
            ExecMem mem;
            mem.count = count - done < most ? count - done : most;
            mem.inputMem = algRes.cclInputMem;
            mem.outputMem = algRes.cclOutputMem;
            mem.scratchMem = algRes.scratchMem;
            mem.inputPtr = static_cast<u8 *>(param.inputPtr) + done * unit_;
            mem.outputPtr = static_cast<u8 *>(param.outputPtr) + done * unit_;
            CHK_RET(KernelRun(param, mem));
        }
        return HCCL_SUCCESS;
    }

  protected:
    // Elements of a chunk.
    virtual u64 MaxCount()
    {
        return algResResp_->cclOutputMem.size() / unit_;
    }

    static bool Healthy(u32 rank)
    {
        return rank >= BROKEN_RANKS;
    }
    u32 OtherBroken() const
    {
        return 1 - rank_;
    }

    // Stream r - 1 serves the peer that is r ranks away.
    u32 Above(u32 round) const
    {
        return (rank_ + round) % ranks_;
    }
    u32 Below(u32 round) const
    {
        return (rank_ + ranks_ - round) % ranks_;
    }
    Stream &Slave(u32 round)
    {
        return algResResp_->slaveStreams[round - 1];
    }

    HcclResult Release()
    {
        for (u32 i = 0; i + 1 < ranks_; i++) {
            CHK_RET(
                LocalNotify::Post(main_, dispatcher_, algResResp_->notifiesAux[i], PROF_STAGE_1));
            CHK_RET(LocalNotify::Wait(algResResp_->slaveStreams[i], dispatcher_,
                                      algResResp_->notifiesAux[i], PROF_STAGE_1));
        }
        return HCCL_SUCCESS;
    }
    HcclResult Collect()
    {
        for (u32 i = 0; i + 1 < ranks_; i++) {
            CHK_RET(LocalNotify::Post(algResResp_->slaveStreams[i], dispatcher_,
                                      algResResp_->notifiesMain[i], PROF_STAGE_1));
            CHK_RET(
                LocalNotify::Wait(main_, dispatcher_, algResResp_->notifiesMain[i], PROF_STAGE_1));
        }
        return HCCL_SUCCESS;
    }

    HcclResult Copy(void *to, const void *from, u64 bytes, Stream &stream)
    {
        DeviceMem dst = DeviceMem::create(to, bytes);
        DeviceMem src = DeviceMem::create(const_cast<void *>(from), bytes);
        return HcclD2DMemcpyAsync(dispatcher_, dst, src, stream);
    }
    HcclResult Add(void *to, void *from, u64 bytes, const OpParam &param, Stream &stream,
                   const LINK &link)
    {
        return HcclReduceAsync(dispatcher_, from, bytes / unit_, param.DataDes.dataType,
                               param.reduceType, stream, to, link->GetRemoteRank(),
                               link->GetLinkType(), INLINE_REDUCE_BIT);
    }
    // A peer's CCL_In or CCL_Out.
    HcclResult Theirs(const LINK &link, UserMemType which, u8 **memory)
    {
        void *pointer = nullptr;
        CHK_RET(link->GetRemoteMem(which, &pointer));
        *memory = static_cast<u8 *>(pointer);
        return HCCL_SUCCESS;
    }

    // "You may": mine to the peer, the peer's to me. "Done": likewise.
    HcclResult Begin(const LINK &link, Stream &stream)
    {
        CHK_RET(link->TxAck(stream));
        return link->RxAck(stream);
    }
    HcclResult End(const LINK &link, Stream &stream)
    {
        CHK_RET(link->TxDataSignal(stream));
        return link->RxDataSignal(stream);
    }

    u32 rank_ = 0;
    u32 ranks_ = 0;
    u64 unit_ = 1;
    std::vector<LINK> links_;
    Stream main_;
};

} // namespace hccl

#endif
