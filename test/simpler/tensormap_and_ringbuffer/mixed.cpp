// SPDX-License-Identifier: Apache-2.0
// All shapes of tasks, on matrices of 128 x 128. args: A, B, D, E, G, H; C, F, I, J, K, L, M, N, O;
// their sizes in bytes, the number of elements.
#include "pto_orchestration_api.h"

#include <initializer_list>

enum { MATMUL, ADD, ADD_AT_3, MUL, MUL_AT_3, MUL_AT_6 };
enum { SIDE = 128, COUNT = 15 };

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(uint64_t *, int)
{
    return PTO2OrchestrationConfig{2 * COUNT + 1};
}

extern "C" void aicpu_orchestration_entry(PTO2Runtime *rt, uint64_t *args, int, int,
                                          int orch_thread_index)
{
    if (orch_thread_index != 0) {
        return;
    }
    uint32_t shapes[] = {SIDE, SIDE};
    Tensor t[COUNT];
    for (int i = 0; i < COUNT; i++) {
        t[i] = make_tensor_external(reinterpret_cast<void *>(args[i]), shapes, 2);
    }
    auto submit = [&](MixedKernels kernels, std::initializer_list<int> numbers) {
        PTOParam params[9];
        int32_t count = 0;
        for (int number : numbers) {
            params[count] = number < 6 ? make_input_param(t[number]) : make_output_param(t[number]);
            count++;
        }
        pto2_rt_submit_task(rt, kernels, params, count);
    };
    enum { A, B, D, E, G, H, C, F, I, J, K, L, M, N, O };
    submit({MATMUL, ADD_AT_3, MUL_AT_6}, {A, B, C, D, E, F, G, H, I});
    submit({MATMUL, -1, -1}, {A, B, J});
    submit({-1, ADD, -1}, {D, E, K});
    submit({-1, ADD, MUL_AT_3}, {D, E, L, G, H, M});
    submit({MATMUL, ADD_AT_3, -1}, {A, B, N, D, E, O});
}
