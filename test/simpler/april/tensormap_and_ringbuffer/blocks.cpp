// SPDX-License-Identifier: Apache-2.0
// Tasks of many blocks, and one that completes later than its kernel returns. Tensors: lines,
// first, second; a scalar: the address of a counter.
#include "pto_orchestration_api.h"

enum { AIC_BLOCK, AIV0_BLOCK, AIV1_BLOCK, LATE, COUNTS };

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs &)
{
    return PTO2OrchestrationConfig{4};
}

extern "C" void aicpu_orchestration_entry(const ChipStorageTaskArgs &args)
{
    Tensor lines = from_tensor_arg(args.tensor(0));
    Tensor first = from_tensor_arg(args.tensor(1));
    Tensor second = from_tensor_arg(args.tensor(2));
    Arg mix;
    mix.add_inout(lines);
    mix.add_scalar(0);
    mix.launch_spec.set_block_num(2);
    mix.launch_spec.set_require_sync_start(true);
    TaskOutputTensors all = rt_submit_task({AIC_BLOCK, AIV0_BLOCK, AIV1_BLOCK}, mix);
    Arg some;
    some.add_inout(lines);
    some.add_dep(all.task_id());
    some.add_scalar(6);
    some.launch_spec.set_block_num(5);
    rt_submit_aic_task(AIC_BLOCK, some);

    Arg late;
    late.add_output(first);
    late.add_scalar(args.scalar(0));
    TaskOutputTensors waits = rt_submit_aiv_task(LATE, late);
    Arg counts;
    counts.add_no_dep(first);
    counts.add_output(second);
    counts.add_scalar(args.scalar(0));
    rt_submit_aiv_task(COUNTS, counts);
    uint32_t index[] = {0};
    float seen = get_tensor_data<float>(first, 1, index); // when LATE is complete
    set_tensor_data<float>(first, 1, index, get_tensor_data<float>(second, 1, index) + seen);
    (void)waits;
}
