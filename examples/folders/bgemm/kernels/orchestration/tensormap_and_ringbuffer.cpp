// SPDX-License-Identifier: Apache-2.0
// C[m,n] += A[m,k] @ B[k,n], 4 x 4 x 4 tiles of 64 x 64: products on matrix cores, sums
// on vector cores. The tiles are views; a scope for each tile of C gives the products back.
// Arguments: A, B, C (of the chip), their sizes in bytes.
#include "pto_orchestration_api.h"

enum { MATMUL, ADD };
enum { GRID = 4, SIDE = 64, TILE = SIDE * SIDE };

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(uint64_t *, int)
{
    return PTO2OrchestrationConfig{6};
}

extern "C" void aicpu_orchestration_entry(PTO2Runtime *rt, uint64_t *args, int, int,
                                          int orch_thread_index)
{
    if (orch_thread_index != 0) {
        return;
    }
    uint32_t all[] = {GRID * GRID, TILE}, one[] = {1, TILE}, square[] = {SIDE, SIDE};
    auto tile = [&](int of, uint32_t row, uint32_t column) {
        uint32_t offsets[] = {row * GRID + column, 0};
        return make_tensor_external(reinterpret_cast<void *>(args[of]), all, 2).view(one, offsets);
    };
    for (uint32_t cell = 0; cell < GRID * GRID; cell++) {
        uint32_t m = cell / GRID, n = cell % GRID;
        PTO2_SCOPE(rt)
        {
            Tensor c = tile(2, m, n);
            for (uint32_t k = 0; k < GRID; k++) {
                Tensor a = tile(0, m, k), b = tile(1, k, n);
                Tensor part = make_tensor(square, 2);
                PTOParam product[] = {make_input_param(a), make_input_param(b),
                                      make_output_param(part)};
                PTOParam sum[] = {make_inout_param(c), make_input_param(part), make_inout_param(c),
                                  make_scalar_param(TILE)};
                pto2_rt_submit_aic_task(rt, MATMUL, product, 3);
                pto2_rt_submit_aiv_task(rt, ADD, sum, 4);
            }
        }
    }
}
