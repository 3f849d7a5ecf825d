// SPDX-License-Identifier: Apache-2.0
// For small messages: every rank adds up all inputs in its own output, so nobody waits for a sum.
// The input of rank 0 goes to rank 1 through rank 2, and that of rank 1 to rank 0 through rank 3.
//
// tern plan all_reduce --executor examples/executors/small.cc --topo mesh:8 --cut 0-1 --bytes 1K
#include "around_cut.h"

namespace hccl
{

class AllReduceSmall : public AroundCut
{
  public:
    using AroundCut::AroundCut;

    HcclResult KernelRun(const OpParam &param, ExecMem &mem) override
    {
        mem_ = mem;
        bytes_ = mem.count * unit_;
        if (ranks_ < 2 * BROKEN_RANKS) {
            HCCL_ERROR("ranks 2 and 3 relay for 0 and 1; there are %u ranks", ranks_);
            return HCCL_E_NOT_SUPPORT;
        }
        CHK_RET(Exchange(param));
        return Relay(param);
    }

  private:
    // Rank 2 relays for rank 0, rank 3 for rank 1.
    bool Relays(u32 broken) const
    {
        return rank_ == broken + BROKEN_RANKS;
    }

    HcclResult Exchange(const OpParam &param)
    {
        CHK_RET(Copy(mem_.inputMem.ptr(), mem_.inputPtr, bytes_, main_));
        CHK_RET(Copy(mem_.outputPtr, mem_.inputPtr, bytes_, main_));
        CHK_RET(Release());
        for (u32 round = 1; round < ranks_; round++) {
            const u32 peer = Above(round);
            Stream &stream = Slave(round);
            const LINK &link = links_[peer];
            if (!Healthy(rank_) && !Healthy(peer)) {
                continue;
            }
            u8 *theirs = nullptr;
            CHK_RET(Theirs(link, UserMemType::INPUT_MEM, &theirs));
            CHK_RET(Begin(link, stream));
            if (!Healthy(peer) && Relays(peer)) {
                CHK_RET(Copy(mem_.outputMem.ptr(), theirs, bytes_, stream));
                theirs = static_cast<u8 *>(mem_.outputMem.ptr()); // it is here already
            }
            CHK_RET(Add(mem_.outputPtr, theirs, bytes_, param, stream, link));
            CHK_RET(End(link, stream));
        }
        return Collect();
    }

    HcclResult Relay(const OpParam &param)
    {
        CHK_RET(Release());
        Stream &stream = algResResp_->slaveStreams[0];
        if (!Healthy(rank_)) {
            const LINK &link = links_[OtherBroken() + BROKEN_RANKS];
            u8 *theirs = nullptr;
            CHK_RET(Theirs(link, UserMemType::OUTPUT_MEM, &theirs));
            CHK_RET(link->RxAck(stream));
            CHK_RET(Add(mem_.outputPtr, theirs, bytes_, param, stream, link));
            CHK_RET(link->TxDataSignal(stream));
        } else if (rank_ < 2 * BROKEN_RANKS) {
            const LINK &link = links_[1 - (rank_ - BROKEN_RANKS)];
            CHK_RET(link->TxAck(stream));
            CHK_RET(link->RxDataSignal(stream));
        }
        return Collect();
    }

    ExecMem mem_;
    u64 bytes_ = 0;
};

REGISTER_EXEC("AllReduceSmall", AllReduceSmallExecutor, AllReduceSmall);

} // namespace hccl
