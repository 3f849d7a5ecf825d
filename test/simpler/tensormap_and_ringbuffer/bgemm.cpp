// SPDX-License-Identifier: Apache-2.0
// C[m,n] = sum over k of A[m,k] @ B[k,n], for a grid of 4 x 4 x 4 tiles of 64 x 64. The tiles are
// views.
#include "pto_orchestration_api.h"

enum { MATMUL, ADD };
enum { GRID = 4, SIDE = 64 };

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(uint64_t *, int)
{
    return PTO2OrchestrationConfig{7};
}

static Tensor tile(const Tensor &of, uint32_t row, uint32_t column)
{
    uint32_t shapes[] = {1, SIDE * SIDE};
    uint32_t offsets[] = {row * GRID + column, 0};
    return of.view(shapes, offsets);
}

extern "C" void aicpu_orchestration_entry(PTO2Runtime *rt, uint64_t *args, int, int,
                                          int orch_thread_index)
{
    if (orch_thread_index != 0) {
        return;
    }
    uint32_t shapes[] = {GRID * GRID, SIDE * SIDE};
    uint32_t part[] = {SIDE, SIDE};
    Tensor a = make_tensor_external(reinterpret_cast<void *>(args[0]), shapes, 2);
    Tensor b = make_tensor_external(reinterpret_cast<void *>(args[1]), shapes, 2);
    Tensor c = make_tensor_external(reinterpret_cast<void *>(args[2]), shapes, 2);
    for (uint32_t m = 0; m < GRID; m++) {
        for (uint32_t n = 0; n < GRID; n++) {
            PTO2_SCOPE(rt)
            {
                Tensor sum = tile(c, m, n);
                for (uint32_t k = 0; k < GRID; k++) {
                    Tensor left = tile(a, m, k);
                    Tensor right = tile(b, k, n);
                    Tensor product = make_tensor(part, 2);
                    PTOParam matmul[] = {make_input_param(left), make_input_param(right),
                                         make_output_param(product)};
                    PTOParam add[] = {make_inout_param(sum), make_input_param(product),
                                      make_inout_param(sum)};
                    pto2_rt_submit_aic_task(rt, MATMUL, matmul, 3);
                    pto2_rt_submit_aiv_task(rt, ADD, add, 3);
                }
            }
        }
    }
}
