// SPDX-License-Identifier: Apache-2.0
// All shapes of tasks, on matrices of 128 x 128. Tensors: A, B, D, E, G, H; C, F, I, J, K, L, M, N,
// O.
#include "pto_orchestration_api.h"

#include <initializer_list>

enum { MATMUL, ADD, ADD_AT_3, MUL, MUL_AT_3, MUL_AT_6 };
enum { COUNT = 15 };

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs &)
{
    return PTO2OrchestrationConfig{COUNT};
}

extern "C" void aicpu_orchestration_entry(const ChipStorageTaskArgs &args)
{
    Tensor t[COUNT];
    for (int i = 0; i < COUNT; i++) {
        t[i] = from_tensor_arg(args.tensor(i));
    }
    auto submit = [&](MixedKernels kernels, std::initializer_list<int> numbers) {
        Arg arg;
        for (int number : numbers) {
            if (number < 6) {
                arg.add_input(t[number]);
            } else {
                arg.add_output(t[number]);
            }
        }
        rt_submit_task(kernels, arg);
    };
    enum { A, B, D, E, G, H, C, F, I, J, K, L, M, N, O };
    submit({MATMUL, ADD_AT_3, MUL_AT_6}, {A, B, C, D, E, F, G, H, I});
    submit({MATMUL, -1, -1}, {A, B, J});
    submit({-1, -1, ADD}, {D, E, K});
    submit({-1, ADD, MUL_AT_3}, {D, E, L, G, H, M});
    submit({MATMUL, ADD_AT_3, -1}, {A, B, N, D, E, O});
}
