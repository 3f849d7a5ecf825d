// SPDX-License-Identifier: Apache-2.0
// f = (a + b + 1) * (a + b + 2), while it runs. Arguments: a, b, f, their sizes in bytes, the
// number of elements.
#include "runtime.h"

#include <cstring>

enum { ADD, ADD_SCALAR, MUL };

static uint64_t bits(float value)
{
    uint64_t result = 0;
    std::memcpy(&result, &value, sizeof value);
    return result;
}

extern "C" int build_vector(Runtime *runtime)
{
    const AicpuBuildApi &api = runtime->aicpu_build_api;
    if (runtime->orch_argc != 7) {
        return -1;
    }
    uint64_t a = runtime->orch_args[0];
    uint64_t b = runtime->orch_args[1];
    uint64_t f = runtime->orch_args[2];
    size_t size = runtime->orch_args[3];
    uint64_t count = runtime->orch_args[6];
    uint64_t c = reinterpret_cast<uint64_t>(api.device_malloc(size));
    uint64_t d = reinterpret_cast<uint64_t>(api.device_malloc(size));
    uint64_t e = reinterpret_cast<uint64_t>(api.device_malloc(size));

    uint64_t t0_args[] = {a, b, c, count};
    int t0 = api.add_task(runtime, t0_args, 4, ADD, CoreType::AIV, 0);
    api.publish_task(runtime, t0);

    uint64_t t1_args[] = {c, bits(1), d, count};
    int t1 = api.add_task(runtime, t1_args, 4, ADD_SCALAR, CoreType::AIV, 0);
    api.add_successor_conditional(runtime, t0, t1);
    api.publish_task(runtime, t1);

    uint64_t t2_args[] = {c, bits(2), e, count};
    int t2 = api.add_task(runtime, t2_args, 4, ADD_SCALAR, CoreType::AIV,
                          runtime->kernel_addrs[ADD_SCALAR]);
    api.add_successor_conditional(runtime, t0, t2);
    api.publish_task(runtime, t2);

    uint64_t t3_args[] = {d, e, f, count};
    int t3 = api.add_task(runtime, t3_args, 4, MUL, CoreType::AIV, 0);
    api.add_successor_conditional(runtime, t1, t3);
    api.add_successor_conditional(runtime, t2, t3);
    api.publish_task(runtime, t3);
    return t3 < 0 ? -1 : 0;
}
