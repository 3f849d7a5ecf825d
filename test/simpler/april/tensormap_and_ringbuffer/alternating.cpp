// SPDX-License-Identifier: Apache-2.0
// C = A @ B and Z = X + Y in turn, for batches of matrices of 128 x 128. Tensors: A, B, X, Y, C, Z.
#include "pto_orchestration_api.h"

enum { MATMUL, ADD };
enum { SIDE = 128 };

extern "C" void aicpu_orchestration_entry(const ChipStorageTaskArgs &args)
{
    Tensor whole[6];
    uint32_t batch = static_cast<uint32_t>(args.tensor(0).nbytes() / sizeof(float)) / (SIDE * SIDE);
    uint32_t shapes[] = {batch * SIDE, SIDE};
    uint32_t part[] = {SIDE, SIDE};
    for (int j = 0; j < 6; j++) {
        whole[j] = from_tensor_arg(args.tensor(j)).reshape(shapes, 2);
    }
    for (uint32_t i = 0; i < batch; i++) {
        uint32_t offsets[] = {i * SIDE, 0};
        Tensor t[6];
        for (int j = 0; j < 6; j++) {
            t[j] = whole[j].view(part, offsets);
        }
        Arg matmul;
        matmul.add_input(t[0], t[1]);
        matmul.add_output(t[4]);
        rt_submit_aic_task(MATMUL, matmul);
        Arg add;
        add.add_input(t[2], t[3]);
        add.add_output(t[5]);
        rt_submit_aiv_task(ADD, add);
    }
}
