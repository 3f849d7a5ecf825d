// SPDX-License-Identifier: Apache-2.0
// C = A @ B and Z = X + Y in turn, for batches of matrices of 128 x 128. args: A, B, X, Y, C, Z,
// their sizes in bytes, the number of elements.
#include "pto_orchestration_api.h"

enum { MATMUL, ADD };
enum { SIDE = 128 };

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(uint64_t *, int)
{
    return PTO2OrchestrationConfig{13};
}

extern "C" void aicpu_orchestration_entry(PTO2Runtime *rt, uint64_t *args, int, int,
                                          int orch_thread_index)
{
    if (orch_thread_index != 0) {
        return;
    }
    uint32_t batch = static_cast<uint32_t>(args[12]) / (SIDE * SIDE);
    uint32_t shapes[] = {batch * SIDE, SIDE};
    uint32_t part[] = {SIDE, SIDE};
    for (uint32_t i = 0; i < batch; i++) {
        uint32_t offsets[] = {i * SIDE, 0};
        Tensor t[6];
        for (int j = 0; j < 6; j++) {
            t[j] = make_tensor_external(reinterpret_cast<void *>(args[j]), shapes, 2)
                       .view(part, offsets);
        }
        PTOParam matmul[] = {make_input_param(t[0]), make_input_param(t[1]),
                             make_output_param(t[4])};
        PTOParam add[] = {make_input_param(t[2]), make_input_param(t[3]), make_output_param(t[5])};
        pto2_rt_submit_aic_task(rt, MATMUL, matmul, 3);
        pto2_rt_submit_aiv_task(rt, ADD, add, 3);
    }
}
