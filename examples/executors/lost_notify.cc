// SPDX-License-Identifier: Apache-2.0
// An error on purpose: ranks 2 and 3 say "the result is there" with the DataSignal that has just
// said "I have read yours", and nothing says that ranks 0 and 1 have heard that. If they have not,
// the second post sets a bit that is set, and they wait for ever. It works most of the time.
#include "medium.h"

namespace hccl
{

class AllReduceLostNotify : public AllReduceMedium
{
  public:
    using AllReduceMedium::AllReduceMedium;

  protected:
    HcclResult Hand() override
    {
        CHK_RET(Release());
        Stream &stream = Slave(Healthy(rank_) ? ranks_ - BROKEN_RANKS : BROKEN_RANKS);
        if (!Healthy(rank_)) {
            const LINK &link = links_[rank_ + BROKEN_RANKS];
            u8 *sums = nullptr;
            CHK_RET(Theirs(link, UserMemType::OUTPUT_MEM, &sums));
            CHK_RET(link->RxDataSignal(stream));
            CHK_RET(Copy(mem_.outputPtr, sums, bytes_, stream));
        } else {
            CHK_RET(Copy(mem_.outputPtr, mem_.outputMem.ptr(), bytes_, main_));
            if (rank_ < 2 * BROKEN_RANKS) {
                CHK_RET(links_[rank_ - BROKEN_RANKS]->TxDataSignal(stream));
            }
        }
        return Collect();
    }
};

REGISTER_EXEC("AllReduceLostNotify", AllReduceLostNotifyExecutor, AllReduceLostNotify);

} // namespace hccl
