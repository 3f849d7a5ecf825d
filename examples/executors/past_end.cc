// SPDX-License-Identifier: Apache-2.0
// An error on purpose: the chunk is as long as six buffers, but its blocks are rounded up to
// 16 KiB. With --ccl-bytes 1000000 and 6000000 bytes they have 1015808, and stick out of CCL_Out.
// Buffers of whole MiB hide it.
#include "large.h"

namespace hccl
{

class AllReducePastEnd : public AllReduceLarge
{
  public:
    using AllReduceLarge::AllReduceLarge;

  protected:
    u64 MaxCount() override
    {
        return algResResp_->cclOutputMem.size() / unit_ * (ranks_ - BROKEN_RANKS);
    }
};

REGISTER_EXEC("AllReducePastEnd", AllReducePastEndExecutor, AllReducePastEnd);

} // namespace hccl
