// SPDX-License-Identifier: Apache-2.0
// C[m,n] = sum over k of A[m,k] @ B[k,n], for a grid of 4 x 4 x 4 tiles of 64 x 64, by edges of its
// own.
#include "pto_orchestration_api.h"

enum { MATMUL, ADD };
enum { GRID = 4, SIDE = 64 };

static Tensor tile(const Tensor &of, uint32_t row, uint32_t column)
{
    uint32_t shapes[] = {1, SIDE * SIDE};
    uint32_t offsets[] = {row * GRID + column, 0};
    return of.view(shapes, offsets);
}

extern "C" void aicpu_orchestration_entry(PTO2Runtime *rt, const ChipStorageTaskArgs &args)
{
    Tensor a = from_tensor_arg(args.tensor(0));
    Tensor b = from_tensor_arg(args.tensor(1));
    Tensor c = from_tensor_arg(args.tensor(2));
    uint32_t part[] = {SIDE, SIDE};
    for (uint32_t m = 0; m < GRID; m++) {
        PTO2_SCOPE(rt)
        {
            for (uint32_t n = 0; n < GRID; n++) {
                Tensor sum = tile(c, m, n);
                PTO2TaskId before = PTO2TaskId::invalid();
                for (uint32_t k = 0; k < GRID; k++) {
                    Tensor left = tile(a, m, k);
                    Tensor right = tile(b, k, n);
                    Arg matmul;
                    matmul.add_input(left, right);
                    matmul.add_output(TensorCreateInfo(part, 2));
                    SubmitResult product = rt_submit_aic_task(rt, MATMUL, matmul);
                    Arg add;
                    add.add_inout(sum);
                    add.add_input(product.outputs.get_ref(0));
                    add.add_inout(sum);
                    SubmitResult added = rt_submit_aiv_task(rt, ADD, add);
                    rt_add_dependency(rt, product.task_id, added.task_id);
                    if (before.is_valid()) {
                        rt_add_dependency(rt, before, added.task_id);
                    }
                    before = added.task_id;
                }
            }
        }
    }
}
