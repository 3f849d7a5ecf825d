// SPDX-License-Identifier: Apache-2.0
// A barrier of all blocks of a kernel on all ranks, between two phases of it, in words of a window
// that the host has set to 0 before the launch, and that count up:
//
//     [0 .. 8)  slot r: how many phases rank r has ended
//     [8]       the phase that the blocks of this rank have left
//     [9]       how often a block of this rank has come, but block 0
//
// Block 0 alone talks to other ranks. What any block did before is visible to all blocks after.
#ifndef PATTERNS_PHASE_BARRIER_HPP
#define PATTERNS_PHASE_BARRIER_HPP

#include "pto/comm/pto_comm_inst.hpp"
#include "pto/pto-inst.hpp"

#include "comm_context.h"

constexpr int PHASE_RANKS_MAX = 8;
constexpr int PHASE_WORDS = PHASE_RANKS_MAX + 2;

// phase: 1 for the first barrier of a launch, 2 for the next.
AICORE inline void PhaseBarrier(__gm__ const CommDeviceContext *ctx, __gm__ int32_t *words,
                                int32_t phase)
{
    namespace comm = pto::comm;
    const int rank = static_cast<int>(ctx->rankId);
    const int nranks = static_cast<int>(ctx->rankNum);
    const int32_t others = static_cast<int32_t>(get_block_num()) - 1;
    comm::Signal left(words + PHASE_RANKS_MAX);
    comm::Signal come(words + PHASE_RANKS_MAX + 1);
    pipe_barrier(PIPE_ALL);
    if (get_block_idx() != 0) {
        comm::TNOTIFY(come, 1, comm::NotifyOp::AtomicAdd);
        comm::TWAIT(left, phase, comm::WaitCmp::GE);
        pipe_barrier(PIPE_ALL);
        return;
    }
    comm::TWAIT(come, others * phase, comm::WaitCmp::GE);
    pipe_barrier(PIPE_ALL);
    for (int step = 1; step < nranks; step++) { // each rank begins with another peer
        comm::Signal slot(CommRemotePtr(ctx, words + rank, (rank + step) % nranks));
        comm::TNOTIFY(slot, 1, comm::NotifyOp::AtomicAdd);
    }
    for (int peer = 0; peer < nranks; peer++) {
        comm::Signal slot(words + peer);
        if (peer != rank) {
            comm::TWAIT(slot, phase, comm::WaitCmp::GE);
        }
    }
    comm::TNOTIFY(left, phase, comm::NotifyOp::Set);
    pipe_barrier(PIPE_ALL);
}

#endif
