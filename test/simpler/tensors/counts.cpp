// SPDX-License-Identifier: Apache-2.0
// (marks, out, counter): out[0] = 5 and then counts three times; and what tensors are to kernels.
#include "pto_async_kernel_api.h"
#include "tensor.h"

#include "at.hpp"

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    if (args[0] % 64 != 0 || args[1] % 64 != 0) {
        tern_kernel_fail("a Tensor lies at %#llx", static_cast<unsigned long long>(args[0]));
    }
    At(args[1])[0] = 5;
    send_notification(reinterpret_cast<void *>(args[2]), 1, PTO2NotifyOp::AtomicAdd);
    for (int i = 1; i < 3; i++) {
        pto2_send_notification(reinterpret_cast<void *>(args[2]), 1, NotifyOp::AtomicAdd);
    }
}
