// SPDX-License-Identifier: Apache-2.0
// (input, output, nranks, root, context): a barrier of signals in the 256 bytes at the window's
// beginning, which works once after they were 0; then on the root output = the sum of all inputs,
// 256 floats. EXAMPLE_TEST makes rank 1 do something wrong instead.
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "comm_context.h"
#include "pto/comm/pto_comm_inst.hpp"
#include "pto/pto-inst.hpp"

using namespace pto;

static void misbehave(const char *how)
{
    if (strcmp(how, "kill") == 0) {
        raise(SIGKILL);
    } else if (strcmp(how, "address") == 0) {
        *reinterpret_cast<volatile int *>(16) = 1;
    } else if (strcmp(how, "pointer") == 0) {
        *reinterpret_cast<volatile int *>(0x40e0000040c00000) = 1; // two floats
    } else if (strcmp(how, "abort") == 0) {
        abort();
    }
    for (volatile bool forever = strcmp(how, "spin") == 0; forever;) {
    }
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    auto *ctx = reinterpret_cast<__gm__ CommDeviceContext *>(args[4]);
    auto *input = reinterpret_cast<__gm__ float *>(args[0]);
    auto *output = reinterpret_cast<__gm__ float *>(args[1]);
    int nranks = static_cast<int>(args[2]);
    int own = static_cast<int>(ctx->rankId);
    auto *slots = reinterpret_cast<__gm__ int32_t *>(ctx->windowsIn[own]);
    const char *how = getenv("EXAMPLE_TEST");
    if (how != nullptr && own == 1) {
        misbehave(how);
        if (strcmp(how, "fail") == 0) {
            tern_kernel_fail("a kernel that fails on purpose");
            return;
        }
    }
    for (int pe = 0; pe < nranks; pe++) {
        comm::Signal slot(CommRemotePtr(ctx, slots + own, pe));
        comm::TNOTIFY(slot, 1, comm::NotifyOp::AtomicAdd);
    }
    for (int pe = 0; pe < nranks; pe++) {
        comm::Signal slot(slots + pe);
        bool never = how != nullptr && strcmp(how, "wait") == 0;
        comm::TWAIT(slot, never ? 2 : 1, comm::WaitCmp::EQ);
    }
    for (int i = 0; own == args[3] && i < 256; i++) {
        output[i] = 0;
        for (int pe = 0; pe < nranks; pe++) {
            output[i] += CommRemotePtr(ctx, input, pe)[i];
        }
    }
}
