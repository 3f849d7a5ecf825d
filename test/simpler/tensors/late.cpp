// SPDX-License-Identifier: Apache-2.0
// (out, counter): returns at once; its task is complete when the counter has reached 3.
#include "platform_comm/comm_context.h"
#include "pto_async_kernel_api.h"
#include "tensor.h"

#include "at.hpp"

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    PTO2AsyncCtx ctx = pto2_async_ctx(args);
    pto2_defer_counter(ctx, reinterpret_cast<void *>(args[1]), 3);
    pto2_defer_flush(ctx);
}
