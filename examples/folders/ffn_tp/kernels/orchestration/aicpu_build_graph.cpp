// SPDX-License-Identifier: Apache-2.0
// partial = x @ w on a matrix core, then the sum over all ranks on a vector core. Arguments: x, w,
// y, mailbox, signals, ranks, context.
#include "runtime.h"

enum { MATMUL, SUM };

extern "C" int build_graph(Runtime *runtime)
{
    const AicpuBuildApi &api = runtime->aicpu_build_api;
    const uint64_t *args = runtime->orch_args;
    if (runtime->orch_argc != 7) {
        return -1;
    }
    void *memory = api.device_malloc(64 * 64 * sizeof(float));
    uint64_t partial = reinterpret_cast<uint64_t>(memory);
    uint64_t matmul[] = {args[0], args[1], partial};
    uint64_t sum[] = {partial, args[2], args[3], args[4], args[5], args[6]};
    int product = api.add_task(runtime, matmul, 3, MATMUL, CoreType::AIC, 0);
    api.publish_task(runtime, product);
    int added = api.add_task(runtime, sum, 6, SUM, CoreType::AIV, 0);
    api.add_successor_conditional(runtime, product, added);
    api.publish_task(runtime, added);
    return memory == nullptr || added < 0 ? -1 : 0;
}
