// SPDX-License-Identifier: Apache-2.0
// What the orchestration gives up, by its scalar: 0 for reasons of its own, 1 a tensor behind a
// scalar, 2 a view that sticks out, 3 no such kernel, 4 a scope in one that does not allow it. The
// calls behind do nothing.
#include "pto_orchestration_api.h"

extern "C" void aicpu_orchestration_entry(const ChipStorageTaskArgs &args)
{
    Tensor a = from_tensor_arg(args.tensor(0));
    Arg arg;
    uint32_t shapes[] = {8};
    uint32_t offsets[] = {a.shapes[0]};
    Tensor out = a.view(shapes, offsets);
    switch (args.scalar(0)) {
    case 0:
        rt_report_fatal(9, "%d reasons", 3);
        break;
    case 1:
        arg.add_scalar(1);
        arg.add_input(a);
        rt_submit_aiv_task(0, arg);
        break;
    case 2:
        arg.add_input(out);
        rt_submit_aiv_task(0, arg);
        break;
    case 4:
        PTO2_SCOPE(PTO2ScopeMode::MANUAL)
        {
            PTO2_SCOPE()
            {
            }
        }
        break;
    default:
        arg.add_input(a);
        rt_submit_aiv_task(7, arg);
        break;
    }
    if (!rt_is_fatal()) {
        return;
    }
    TensorCreateInfo info(a.shapes, 1);
    PTO2_SCOPE()
    {
        Arg later;
        later.add_output(info);
        Tensor copy = rt_submit_aiv_task(0, later).get_ref(0);
        (void)copy;
    }
}
