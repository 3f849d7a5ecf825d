// SPDX-License-Identifier: Apache-2.0
// Mixed tasks whose cores hand tiles to each other: tensors/pipes.cpp, each of its ways by three
// blocks. Tensors: a, b, d, out, workspace.
#include "pto_orchestration_api.h"

enum { CUBE, VECTOR, WAYS = 7, BLOCKS = 3 };

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs &)
{
    return PTO2OrchestrationConfig{5};
}

extern "C" void aicpu_orchestration_entry(const ChipStorageTaskArgs &args)
{
    for (uint64_t way = 0; way < WAYS; way++) {
        Arg arg;
        Tensor tensors[5];
        for (int i = 0; i < 5; i++) {
            tensors[i] = from_tensor_arg(args.tensor(i));
            if (i < 3) {
                arg.add_input(tensors[i]);
            } else {
                arg.add_inout(tensors[i]);
            }
        }
        arg.add_scalar(way);
        arg.launch_spec.set_block_num(BLOCKS);
        rt_submit_task({CUBE, VECTOR, VECTOR}, arg);
    }
}
