// SPDX-License-Identifier: Apache-2.0
// Returns at once; its task is complete when the mailbox has been filled once more, and until then
// holds no core. Arguments: mailbox (a tensor, for the order of tasks), words, ranks, context.
#include "pto_async_kernel_api.h"

#include "../mail.hpp"

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    mail::Place here(args[1], args[2], args[3]);
    AsyncCtx ctx = get_async_ctx(args);
    auto expected = static_cast<uint32_t>(*here.Word(mail::SENT));
    save_expected_notification_counter(ctx, here.Word(mail::FILLED), expected);
}
