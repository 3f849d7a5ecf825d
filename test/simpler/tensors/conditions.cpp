// SPDX-License-Identifier: Apache-2.0
// (code): 102, more conditions than a task may have; 101, one that is on no counter.
#include "pto_async_kernel_api.h"

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    static uint32_t counter = 1;
    AsyncCtx ctx = get_async_ctx(args);
    for (int i = 0; i < 65 && args[0] == 102; i++) {
        defer_condition(ctx, &counter, 1, COMPLETION_ENGINE_SDMA, COMPLETION_TYPE_COUNTER);
    }
    if (args[0] == 101) {
        save_expected_notification_counter(ctx, reinterpret_cast<char *>(&counter) + 1, 1);
    }
}
