// SPDX-License-Identifier: Apache-2.0
// The barrier between two phases of a kernel (phase_barrier.h).
#include "phase_barrier.h"

#include "tern/block.h"
#include "tern/isa.h"

static int notify(int32_t *word, int32_t value, tern_notify_op op)
{
    tern_tensor signal = tern_tensor_1d(word, TERN_I32, 1);
    return tern_tensor_notify(&signal, value, op);
}

static int wait_for(int32_t *word, int32_t least)
{
    tern_tensor signal = tern_tensor_1d(word, TERN_I32, 1);
    return tern_tensor_wait(&signal, TERN_CMP_GE, least, TERN_TIMEOUT_DEFAULT);
}

static int meet_ranks(const tern_context *context, int32_t *words, int32_t phase)
{
    uint32_t rank = context->rankId;
    int status = TERN_OK;
    for (uint32_t step = 1; step < context->rankNum && status == TERN_OK; step++) {
        uint32_t peer = (rank + step) % context->rankNum; // each rank begins with another one
        status = notify(tern_context_remote(context, words + rank, peer), 1, TERN_NOTIFY_ADD);
    }
    for (uint32_t peer = 0; peer < context->rankNum && status == TERN_OK; peer++) {
        status = peer != rank ? wait_for(words + peer, phase) : TERN_OK;
    }
    return status;
}

int phase_barrier(const tern_context *context, int32_t *words, int32_t phase)
{
    int32_t *left = words + PHASE_RANKS_MAX;
    int32_t *come = words + PHASE_RANKS_MAX + 1;
    int status;
    tern_pipe_barrier(TERN_PIPE_ALL); // what the block has stored is there before it says so
    if (tern_block_index() != 0) {
        status = notify(come, 1, TERN_NOTIFY_ADD);
        return status < 0 ? status : wait_for(left, phase);
    }
    status = wait_for(come, (tern_block_count() - 1) * phase);
    if (status == TERN_OK) {
        status = meet_ranks(context, words, phase);
    }
    return status < 0 ? status : notify(left, phase, TERN_NOTIFY_SET);
}
