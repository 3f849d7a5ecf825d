// SPDX-License-Identifier: Apache-2.0
// c = a + b; in a scope d = c + 1, e = c + 2, g = d * e, f = g + c.
#include "pto_orchestration_api.h"

enum { ADD, ADD_SCALAR, MUL };

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs &)
{
    return PTO2OrchestrationConfig{3};
}

static TaskOutputTensors add_scalar(const Tensor &to, const TensorCreateInfo &info, float scalar)
{
    Arg arg;
    arg.add_input(to);
    arg.add_output(info);
    arg.add_scalar(scalar);
    return rt_submit_aiv_task(ADD_SCALAR, arg);
}

extern "C" void aicpu_orchestration_entry(const ChipStorageTaskArgs &args)
{
    Tensor a = from_tensor_arg(args.tensor(0));
    Tensor b = from_tensor_arg(args.tensor(1));
    Tensor f = from_tensor_arg(args.tensor(2));
    TensorCreateInfo info(a.shapes, 1);
    Arg sum;
    sum.add_input(a, b);
    sum.add_output(info);
    TaskOutputTensors first = rt_submit_aiv_task(ADD, sum);
    const Tensor &c = first.get_ref(0);
    PTO2_SCOPE()
    {
        TaskOutputTensors d = add_scalar(c, info, 1);
        TaskOutputTensors e = add_scalar(c, info, 2);
        Arg product;
        product.add_input(d.get_ref(0), e.get_ref(0));
        product.add_output(info);
        const Tensor &g = rt_submit_aiv_task(MUL, product).get_ref(0);
        Arg last;
        last.add_input(g, c);
        last.add_output(f);
        rt_submit_aiv_task(ADD, last);
    }
}
