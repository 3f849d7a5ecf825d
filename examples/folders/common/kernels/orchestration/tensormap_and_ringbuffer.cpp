// SPDX-License-Identifier: Apache-2.0
// One task on a vector core: kernel 0 gets all arguments of the run, in their order.
#include "pto_orchestration_api.h"

#include <algorithm>

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(uint64_t *, int arg_count)
{
    return PTO2OrchestrationConfig{arg_count}; // any number
}

extern "C" void aicpu_orchestration_entry(PTO2Runtime *rt, uint64_t *args, int arg_count, int,
                                          int orch_thread_index)
{
    if (orch_thread_index != 0) {
        return;
    }
    PTOParam params[16];
    int count = std::min(arg_count, 16);
    std::transform(args, args + count, params, make_scalar_param);
    pto2_rt_submit_aiv_task(rt, 0, params, count);
}
