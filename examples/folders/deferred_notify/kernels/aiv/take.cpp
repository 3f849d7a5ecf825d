// SPDX-License-Identifier: Apache-2.0
// Copies the mailbox out, and tells the rank after this one, which filled it. Arguments: mailbox,
// result (tensors), words, ranks, context.
#include "pto_async_kernel_api.h"
#include "tensor.h"

#include "../mail.hpp"

using namespace pto;

AICORE static __gm__ float *At(int64_t argument)
{
    auto *tensor = reinterpret_cast<__gm__ Tensor *>(argument);
    return reinterpret_cast<__gm__ float *>(tensor->buffer.addr) + tensor->start_offset;
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    mail::Place here(args[2], args[3], args[4]);
    mail::Letter from(At(args[0])), to(At(args[1]));
    mail::LetterTile tile;
    TASSIGN(tile, 0x0);
    TLOAD(tile, from);
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    TSTORE(to, tile);
    pipe_barrier(PIPE_ALL);
    pto2_send_notification(CommRemotePtr(here.context, here.Word(mail::EMPTIED), here.Next(1)), 1,
                           NotifyOp::AtomicAdd);
}
