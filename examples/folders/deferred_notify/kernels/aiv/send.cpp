// SPDX-License-Identifier: Apache-2.0
// Puts this rank's part into the mailbox of the rank before it, and counts there. Arguments:
// partial, mailbox, words, ranks, context. Words, each in a line of its own: how often the mailbox
// was filled, how often it was emptied (told by who empties it), how often this rank has sent.
#include "pto_async_kernel_api.h"

#include "../mail.hpp"

using namespace pto;

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    mail::Place here(args[2], args[3], args[4]);
    auto *partial = reinterpret_cast<__gm__ float *>(args[0]);
    auto *mailbox = reinterpret_cast<__gm__ float *>(args[1]);
    int before = here.Next(-1);

    comm::Signal emptied(here.Word(mail::EMPTIED));
    int32_t sent = (*here.Word(mail::SENT))++;
    comm::TWAIT(emptied, sent, comm::WaitCmp::GE); // all that was sent before has been taken
    mail::Letter from(partial);
    mail::Letter to(CommRemotePtr(here.context, mailbox, before));
    mail::LetterTile tile;
    TASSIGN(tile, 0x0);
    comm::TPUT(to, from, tile);
    pipe_barrier(PIPE_ALL);
    pto2_send_notification(CommRemotePtr(here.context, here.Word(mail::FILLED), before), 1,
                           NotifyOp::AtomicAdd);
}
