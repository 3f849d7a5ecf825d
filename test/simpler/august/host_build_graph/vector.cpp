// SPDX-License-Identifier: Apache-2.0
// The same on the host: f = (a + b + 1) * (a + b + 2) + (a + b).
#include "orchestration_api.h"

static const simpler::hbg::Tensor &submit(int32_t kernel, TaskOutputTensors &outputs,
                                          CoreTaskArgs &args)
{
    outputs = rt_submit_aiv_task(kernel, args);
    return outputs.get_ref(0);
}

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch_args)
{
    const simpler::hbg::Tensor &a = orch_args.tensor(0).ref();
    TensorCreateInfo info(a.shapes, 1);
    TaskOutputTensors made[4];
    CoreTaskArgs args[5];
    args[0].add_input(a, orch_args.tensor(1).ref());
    args[0].add_output(info);
    const ChipTensor &sum = submit(0, made[0], args[0]);
    for (int i = 1; i <= 2; i++) {
        args[i].add_input(sum);
        args[i].add_output(info);
        args[i].add_scalar(static_cast<float>(i));
        submit(1, made[i], args[i]);
    }
    args[3].add_input(made[1].get_ref(0), made[2].get_ref(0));
    args[3].add_output(info);
    const ChipTensor &product = submit(2, made[3], args[3]);
    args[4].add_input(product, sum);
    args[4].add_output(orch_args.tensor(2).ref());
    rt_submit_aiv_task(0, args[4]);
}
