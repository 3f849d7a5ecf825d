// SPDX-License-Identifier: Apache-2.0
// One task of three blocks, each on a cluster: a cube core and two vector cores. Tensors: x, w1,
// w2, y.
#include "pto_orchestration_api.h"

enum { CUBE, VECTOR };
enum { X, W1, W2, Y };

extern "C" void aicpu_orchestration_entry(const ChipStorageTaskArgs &args)
{
    Tensor x = from_tensor_arg(args.tensor(X));
    Tensor w1 = from_tensor_arg(args.tensor(W1));
    Tensor w2 = from_tensor_arg(args.tensor(W2));
    Tensor y = from_tensor_arg(args.tensor(Y));
    Arg ffn;
    ffn.add_input(x, w1, w2);
    ffn.add_output(y);
    ffn.launch_spec.set_block_num(3);
    rt_submit_task({CUBE, VECTOR, VECTOR}, ffn);
}
