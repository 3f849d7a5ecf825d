// SPDX-License-Identifier: Apache-2.0
// c = a + b, and in a scope within that f = (c + 1) * (c + 2) by edges of its own.
#include "pto_orchestration_api.h"

enum { ADD, ADD_SCALAR, MUL };

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs &)
{
    return PTO2OrchestrationConfig{3};
}

extern "C" void aicpu_orchestration_entry(PTO2Runtime *rt, const ChipStorageTaskArgs &args)
{
    Tensor a = from_tensor_arg(args.tensor(0));
    Tensor b = from_tensor_arg(args.tensor(1));
    Tensor f = from_tensor_arg(args.tensor(2));
    uint32_t shapes[] = {a.shapes[0]};
    Arg sum;
    sum.add_input(a, b);
    sum.add_output(TensorCreateInfo(shapes, 1));
    PTO2_SCOPE(rt)
    {
        SubmitResult t0 = rt_submit_aiv_task(rt, ADD, sum);
        const Tensor &c = t0.outputs.get_ref(0);
        PTO2_SCOPE(rt)
        {
            SubmitResult parts[2];
            for (int i = 0; i < 2; i++) {
                Arg arg;
                arg.add_input(c);
                arg.add_output(TensorCreateInfo(shapes, 1));
                arg.add_scalar(i == 0 ? 1.0f : 2.0f);
                parts[i] = rt_submit_aiv_task(rt, ADD_SCALAR, arg);
                rt_add_dependency(rt, t0.task_id, parts[i].task_id);
            }
            Arg product;
            product.add_input(parts[0].outputs.get_ref(0), parts[1].outputs.get_ref(0));
            product.add_output(f);
            SubmitResult t3 = rt_submit_aiv_task(rt, MUL, product);
            rt_add_dependency(rt, parts[0].task_id, t3.task_id);
            rt_add_dependency(rt, parts[1].task_id, t3.task_id);
        }
    }
    LOG_INFO(rt, "fatal: %d", rt_is_fatal(rt));
}
