// SPDX-License-Identifier: Apache-2.0
// f = (a + b + 1) * (a + b + 2) by four tasks; the chip builds the graph while it runs. Arguments:
// a, b, f (of the chip), their sizes in bytes, the number of elements.
#include "runtime.h"

#include "../../../common/kernels/orchestration/bits.hpp"

enum { ADD, ADD_SCALAR, MUL };

extern "C" int build_graph(Runtime *runtime)
{
    const AicpuBuildApi &api = runtime->aicpu_build_api;
    if (runtime->orch_argc != 7) {
        return -1;
    }
    const uint64_t *args = runtime->orch_args;
    uint64_t count = args[6];
    auto allocate = [&] { return reinterpret_cast<uint64_t>(api.device_malloc(args[3])); };
    uint64_t a = args[0], b = args[1], c = allocate(), d = allocate(), e = allocate(), f = args[2];
    auto task = [&](int kernel, uint64_t one, uint64_t two, uint64_t out, int after, int also) {
        uint64_t list[] = {one, two, out, count};
        int id = api.add_task(runtime, list, 4, kernel, CoreType::AIV, 0);
        for (int before : {after, also}) {
            if (before >= 0) {
                api.add_successor_conditional(runtime, before, id);
            }
        }
        api.publish_task(runtime, id);
        return id;
    };
    int sum = task(ADD, a, b, c, -1, -1);
    int plus1 = task(ADD_SCALAR, c, Bits(1), d, sum, -1);
    int plus2 = task(ADD_SCALAR, c, Bits(2), e, sum, -1);
    return task(MUL, d, e, f, plus1, plus2) < 0 ? -1 : 0;
}
