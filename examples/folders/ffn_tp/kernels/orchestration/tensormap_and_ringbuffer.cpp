// SPDX-License-Identifier: Apache-2.0
// partial = x @ w on a matrix core, then the sum over all ranks on a vector core, which follows
// because it reads what the first writes. Arguments: x, w, y, mailbox, signals, ranks, context.
#include "pto_orchestration_api.h"

enum { MATMUL, SUM };

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(uint64_t *, int)
{
    return PTO2OrchestrationConfig{7};
}

extern "C" void aicpu_orchestration_entry(PTO2Runtime *rt, uint64_t *args, int, int,
                                          int orch_thread_index)
{
    if (orch_thread_index != 0) {
        return;
    }
    uint32_t shapes[] = {64, 64};
    auto matrix = [&](uint64_t address) {
        return make_tensor_external(reinterpret_cast<void *>(address), shapes, 2);
    };
    Tensor x = matrix(args[0]);
    Tensor w = matrix(args[1]);
    Tensor y = matrix(args[2]);
    Tensor partial = make_tensor(shapes, 2); // the runtime allocates it
    PTOParam matmul[] = {make_input_param(x), make_input_param(w), make_output_param(partial)};
    PTOParam sum[] = {make_input_param(partial),  make_output_param(y),
                      make_scalar_param(args[3]), make_scalar_param(args[4]),
                      make_scalar_param(args[5]), make_scalar_param(args[6])};
    pto2_rt_submit_aic_task(rt, MATMUL, matmul, 3);
    pto2_rt_submit_aiv_task(rt, SUM, sum, 6);
}
