// SPDX-License-Identifier: Apache-2.0
// partial = x @ w on a matrix core, then the sum over all ranks on a vector core. Arguments: x, w,
// y, mailbox, signals, ranks, context.
#include "runtime.h"

enum { MATMUL, SUM };

extern "C" int build_graph(Runtime *runtime, uint64_t *args, int arg_count)
{
    if (arg_count != 7) {
        return -1;
    }
    void *memory = runtime->host_api.device_malloc(64 * 64 * sizeof(float));
    uint64_t partial = reinterpret_cast<uint64_t>(memory);
    uint64_t matmul[] = {args[0], args[1], partial};
    uint64_t sum[] = {partial, args[2], args[3], args[4], args[5], args[6]};
    int product = runtime->add_task(matmul, 3, MATMUL, CoreType::AIC);
    int added = runtime->add_task(sum, 6, SUM, CoreType::AIV);
    runtime->add_successor(product, added);
    return memory == nullptr || added < 0 ? -1 : 0;
}
