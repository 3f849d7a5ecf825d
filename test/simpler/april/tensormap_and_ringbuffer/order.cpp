// SPDX-License-Identifier: Apache-2.0
// What comes after what: y = x by tensors, z by an edge of its own; and how long outputs' tensors
// are there. Tensors x, y, z.
#include "pto_orchestration_api.h"

enum { SLOW, COPY };

static TaskOutputTensors copy(const Tensor &from, const TensorCreateInfo &info)
{
    Arg arg;
    arg.add_input(from);
    arg.add_output(info);
    return rt_submit_aiv_task(COPY, arg);
}

extern "C" void aicpu_orchestration_entry(const ChipStorageTaskArgs &args)
{
    Tensor x = from_tensor_arg(args.tensor(0));
    Tensor y = from_tensor_arg(args.tensor(1));
    Tensor z = from_tensor_arg(args.tensor(2));
    TensorCreateInfo info(x.shapes, 1);
    Arg write;
    write.add_output(x);
    write.add_scalar(1.0f);
    rt_submit_aiv_task(SLOW, write);
    TaskOutputTensors first = copy(x, info);
    PTO2_SCOPE()
    {
        for (int i = 0; i < 300; i++) { // more than one chunk of them
            copy(x, info);
        }
    }
    for (int i = 0; i < 3; i++) {
        copy(z, info);
    }
    Arg second;
    second.add_input(first.get_ref(0));
    second.add_output(y);
    rt_submit_aiv_task(COPY, second);

    PTO2_SCOPE(PTO2ScopeMode::MANUAL)
    {
        Arg slow;
        slow.add_output(info);
        slow.add_scalar(1.0f);
        TaskOutputTensors made = rt_submit_aiv_task(SLOW, slow);
        Arg third;
        third.add_input(made.get_ref(0));
        third.add_output(z);
        third.add_dep(made.task_id());
        rt_submit_aiv_task(COPY, third);
    }
}
