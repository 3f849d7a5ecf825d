// SPDX-License-Identifier: Apache-2.0
// Returns at once; its task is complete when the counter stands at 1. Arguments: counter.
#include "pto_async_kernel_api.h"

#include "../form.hpp"

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    auto *counter = reinterpret_cast<__gm__ int32_t *>(args[1]); // behind `arrived`
    AsyncCtx ctx = get_async_ctx(args);
    save_expected_notification_counter(ctx, counter, 1);
}
