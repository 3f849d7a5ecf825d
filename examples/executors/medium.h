// SPDX-License-Identifier: Apache-2.0
// For medium messages: each healthy rank adds up all inputs in its CCL_Out, where they lie in the
// CCL_In of their ranks; the two others copy the result from a healthy one each, 2 and 3.
#ifndef EXAMPLES_EXECUTORS_MEDIUM_H
#define EXAMPLES_EXECUTORS_MEDIUM_H

#include "around_cut.h"

namespace hccl
{

class AllReduceMedium : public AroundCut
{
  public:
    using AroundCut::AroundCut;

    HcclResult KernelRun(const OpParam &param, ExecMem &mem) override
    {
        mem_ = mem;
        bytes_ = mem.count * unit_;
        if (ranks_ < 2 * BROKEN_RANKS) {
            HCCL_ERROR("the result comes from ranks 2 and 3; there are %u ranks", ranks_);
            return HCCL_E_NOT_SUPPORT;
        }
        CHK_RET(Sum(param));
        return Hand();
    }

  protected:
    virtual HcclResult Hand()
    {
        if (!Healthy(rank_)) {
            CHK_RET(Release());
            const LINK &link = links_[rank_ + BROKEN_RANKS];
            u8 *sums = nullptr;
            CHK_RET(Theirs(link, UserMemType::OUTPUT_MEM, &sums));
            CHK_RET(link->RxAck(Slave(BROKEN_RANKS)));
            CHK_RET(Copy(mem_.outputPtr, sums, bytes_, Slave(BROKEN_RANKS)));
            CHK_RET(link->TxDataSignal(Slave(BROKEN_RANKS)));
            return Collect();
        }
        CHK_RET(Release());
        CHK_RET(Copy(mem_.outputPtr, mem_.outputMem.ptr(), bytes_, main_));
        if (rank_ < 2 * BROKEN_RANKS) {
            const u32 peer = rank_ - BROKEN_RANKS;
            Stream &stream = Slave(ranks_ - BROKEN_RANKS); // the peer that is two ranks below
            CHK_RET(links_[peer]->TxAck(stream));
            CHK_RET(links_[peer]->RxDataSignal(stream));
        }
        return Collect();
    }

    HcclResult Sum(const OpParam &param)
    {
        CHK_RET(Copy(mem_.inputMem.ptr(), mem_.inputPtr, bytes_, main_));
        if (Healthy(rank_)) {
            CHK_RET(Copy(mem_.outputMem.ptr(), mem_.inputPtr, bytes_, main_));
        }
        CHK_RET(Release());
        for (u32 round = 1; round < ranks_; round++) {
            const u32 peer = Above(round);
            Stream &stream = Slave(round);
            const LINK &link = links_[peer];
            if (!Healthy(rank_) && !Healthy(peer)) {
                continue;
            }
            if (Healthy(peer)) { // it reads mine
                CHK_RET(link->TxAck(stream));
            }
            if (Healthy(rank_)) {
                u8 *theirs = nullptr;
                CHK_RET(Theirs(link, UserMemType::INPUT_MEM, &theirs));
                CHK_RET(link->RxAck(stream));
                CHK_RET(Add(mem_.outputMem.ptr(), theirs, bytes_, param, stream, link));
                CHK_RET(link->TxDataSignal(stream));
            }
            if (Healthy(peer)) {
                CHK_RET(link->RxDataSignal(stream));
            }
        }
        return Collect();
    }

    ExecMem mem_;
    u64 bytes_ = 0;
};

} // namespace hccl

#endif
