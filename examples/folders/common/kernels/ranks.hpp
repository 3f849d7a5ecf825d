// SPDX-License-Identifier: Apache-2.0
// The ranks of a run as a kernel sees them: addresses in the windows of the others, and a barrier
// of all ranks. Its signals are in a window buffer, `signals`: 16 words for each rank, so that each
// rank writes a line of its own.
#pragma once

#include "pto/comm/pto_comm_inst.hpp"

#include "comm_context.h"
#include "rows.hpp"

namespace folders
{

class Ranks
{
  public:
    const int count, rank;

    Ranks(int64_t signals, int64_t nranks, int64_t context)
        : count(static_cast<int>(nranks)),
          rank(static_cast<int>(reinterpret_cast<__gm__ CommDeviceContext *>(context)->rankId)),
          signals_(reinterpret_cast<__gm__ int32_t *>(signals)),
          context_(reinterpret_cast<__gm__ CommDeviceContext *>(context))
    {
    }

    // Where a rank has what lies at `mine` in the own window.
    template <typename T> AICORE __gm__ T *There(__gm__ T *mine, int peer) const
    {
        return CommRemotePtr(context_, mine, peer);
    }

    // The rank `distance` places further, in a ring.
    int Next(int distance) const
    {
        return ((rank + distance) % count + count) % count;
    }

    // What any rank stored before is visible to all ranks afterwards. Signals count up, so it can
    // be used any number of times, and the next run goes on where this one ends. Each rank has a
    // signal of its own in every window: a sum of all would not do, for a fast rank that is at its
    // next barrier already would count for a slow one.
    AICORE void Barrier() const
    {
        pipe_barrier(PIPE_ALL);
        __gm__ int32_t *own = signals_ + rank * words; // in the own window: barriers so far
        int32_t passed = *own + 1;
        *own = passed;
        dcci(own, cache_line_t::SINGLE_CACHE_LINE);
        for (int distance = 1; distance < count; distance++) { // not all to the same rank at once
            pto::comm::Signal there(There(own, Next(distance)));
            pto::comm::TNOTIFY(there, 1, pto::comm::NotifyOp::AtomicAdd);
        }
        Signals all(signals_, pto::Shape<1, 1, 1, -1, 1>(count));
        pto::comm::TWAIT(all, passed, pto::comm::WaitCmp::GE);
        pipe_barrier(PIPE_ALL);
    }

  private:
    static constexpr int words = 16;
    using Signals = pto::comm::GlobalSignal<int32_t, pto::Shape<1, 1, 1, pto::DYNAMIC, 1>,
                                            pto::Stride<words, words, words, words, 1>>;

    __gm__ int32_t *signals_;
    __gm__ CommDeviceContext *context_;
};

AICORE inline __gm__ float *Floats(int64_t argument)
{
    return reinterpret_cast<__gm__ float *>(argument);
}

} // namespace folders
