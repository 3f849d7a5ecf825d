// SPDX-License-Identifier: Apache-2.0
// For large messages: each healthy rank owns a block of the result. All ranks add their part of it
// to the owner's CCL_Out, up to seven at the same time, then read the sums of all owners. A link
// between healthy ranks carries a third of all bytes in all.
#ifndef EXAMPLES_EXECUTORS_LARGE_H
#define EXAMPLES_EXECUTORS_LARGE_H

#include "around_cut.h"

namespace hccl
{

class AllReduceLarge : public AroundCut
{
  public:
    using AroundCut::AroundCut;

    HcclResult KernelRun(const OpParam &param, ExecMem &mem) override
    {
        in_ = static_cast<u8 *>(mem.inputPtr);
        out_ = static_cast<u8 *>(mem.outputPtr);
        sums_ = static_cast<u8 *>(mem.outputMem.ptr());
        Cut(mem.count * unit_);
        CHK_RET(ReduceScatter(param));
        return AllGather();
    }

  protected:
    // All blocks, but for the last ones, begin and end at whole slices, so a buffer takes as many.
    u64 MaxCount() override
    {
        const u64 bytes = algResResp_->cclOutputMem.size();
        const u64 slice = HCCL_MIN_SLICE_ALIGN_910B;
        const u64 block = bytes >= slice ? bytes / slice * slice : bytes / unit_ * unit_;
        slice_ = bytes >= slice ? slice : unit_;
        return block / unit_ * (ranks_ - BROKEN_RANKS);
    }

    u64 slice_ = HCCL_MIN_SLICE_ALIGN_910B;

  private:
    struct Block {
        u64 offset, bytes;
    };

    void Cut(u64 total)
    {
        const u64 owners = ranks_ - BROKEN_RANKS;
        const u64 share = (total + owners - 1) / owners;
        const u64 bytes = (share + slice_ - 1) / slice_ * slice_;
        blocks_.assign(ranks_, Block{total, 0});
        for (u64 i = 0; i < owners && i * bytes < total; i++) {
            blocks_[i + BROKEN_RANKS] =
                Block{i * bytes, total - i * bytes < bytes ? total - i * bytes : bytes};
        }
    }

    HcclResult AddTo(u32 peer, const OpParam &param, Stream &stream)
    {
        u8 *sums = nullptr;
        CHK_RET(Theirs(links_[peer], UserMemType::OUTPUT_MEM, &sums));
        const Block &block = blocks_[peer];
        return Add(sums, in_ + block.offset, block.bytes, param, stream, links_[peer]);
    }

    HcclResult ReadFrom(u32 peer, Stream &stream)
    {
        u8 *sums = nullptr;
        CHK_RET(Theirs(links_[peer], UserMemType::OUTPUT_MEM, &sums));
        return Copy(out_ + blocks_[peer].offset, sums, blocks_[peer].bytes, stream);
    }

    // The one link that is missing; a task, so that all streams look alike in a trace.
    HcclResult Nothing(Stream &stream)
    {
        return Copy(out_, sums_, 0, stream);
    }

    HcclResult ReduceScatter(const OpParam &param)
    {
        const Block &own = blocks_[rank_];
        if (own.bytes > 0) {
            CHK_RET(Copy(sums_, in_ + own.offset, own.bytes, main_));
        }
        CHK_RET(Release());
        for (u32 round = 1; round < ranks_; round++) {
            const u32 peer = Above(round);
            Stream &stream = Slave(round);
            if (Healthy(rank_) && Healthy(peer)) {
                CHK_RET(Begin(links_[peer], stream));
                CHK_RET(AddTo(peer, param, stream));
                CHK_RET(End(links_[peer], stream));
            } else if (Healthy(rank_)) {
                CHK_RET(links_[peer]->TxAck(stream));
                CHK_RET(links_[peer]->RxDataSignal(stream));
            } else if (Healthy(peer)) {
                CHK_RET(links_[peer]->RxAck(stream));
                CHK_RET(AddTo(peer, param, stream));
                CHK_RET(links_[peer]->TxDataSignal(stream));
            } else {
                CHK_RET(Nothing(stream));
            }
        }
        return Collect();
    }

    HcclResult AllGather()
    {
        CHK_RET(Release());
        const Block &own = blocks_[rank_];
        if (own.bytes > 0) {
            CHK_RET(Copy(out_ + own.offset, sums_, own.bytes, main_));
        }
        for (u32 round = 1; round < ranks_; round++) {
            const u32 peer = Below(round);
            Stream &stream = Slave(round);
            if (Healthy(rank_) && Healthy(peer)) {
                CHK_RET(Begin(links_[peer], stream));
                CHK_RET(ReadFrom(peer, stream));
                CHK_RET(End(links_[peer], stream));
            } else if (Healthy(rank_)) {
                CHK_RET(links_[peer]->TxAck(stream));
                CHK_RET(links_[peer]->RxDataSignal(stream));
            } else if (Healthy(peer)) {
                CHK_RET(links_[peer]->RxAck(stream));
                CHK_RET(ReadFrom(peer, stream));
                CHK_RET(links_[peer]->TxDataSignal(stream));
            } else {
                CHK_RET(Nothing(stream));
            }
        }
        return Collect();
    }

    std::vector<Block> blocks_; // by owner
    u8 *in_ = nullptr;
    u8 *out_ = nullptr;
    u8 *sums_ = nullptr; // own CCL_Out
};

} // namespace hccl

#endif
