// SPDX-License-Identifier: Apache-2.0
// out = 2 in, then the counter of the next rank counts. Rank 1 takes its time, so that its
// neighbour really waits. Arguments: in, out (a tensor), counter, context.
#include "pto_async_kernel_api.h"
#include "tensor.h"

#include "../form.hpp"

using namespace pto;

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    auto *out = reinterpret_cast<__gm__ Tensor *>(args[0]);
    auto *in = reinterpret_cast<__gm__ float *>(args[1]);
    auto *counter = reinterpret_cast<__gm__ int32_t *>(args[2]);
    auto *context = reinterpret_cast<__gm__ CommDeviceContext *>(args[3]);
    int next = static_cast<int>((context->rankId + 1) % context->rankNum);

    for (volatile int i = 0; context->rankId == 1 && i < 2000000; i = i + 1) {
    }
    form::InQuarters(reinterpret_cast<__gm__ float *>(out->buffer.addr), in,
                     [](form::QuarterTile &tile) { TMULS(tile, tile, 2.0f); });
    pto2_send_notification(CommRemotePtr(context, counter, next), 1, NotifyOp::AtomicAdd);
}
