// SPDX-License-Identifier: Apache-2.0
// One task with five scalars.
#include "pto_orchestration_api.h"

extern "C" PTO2OrchestrationConfig config(uint64_t *, int)
{
    return PTO2OrchestrationConfig{5};
}

extern "C" void build(PTO2Runtime *rt, uint64_t *args, int arg_count, int, int thread)
{
    PTOParam params[5];
    for (int i = 0; i < arg_count; i++) {
        params[i] = make_scalar_param(args[i]);
    }
    if (thread == 0) {
        pto2_rt_submit_aiv_task(rt, 0, params, arg_count);
    }
}
