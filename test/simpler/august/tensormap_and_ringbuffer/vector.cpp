// SPDX-License-Identifier: Apache-2.0
// c = a + b; in a scope d = c + 1, e = c + 2, g = d * e, f = g + c.
#include "orchestration_api.h"

namespace
{

constexpr int32_t kAdd = 0;
constexpr int32_t kAddScalar = 1;
constexpr int32_t kMul = 2;

TaskOutputTensors add_scalar(const simpler::tmr::Tensor &to, const TensorCreateInfo &info,
                             float scalar)
{
    CoreTaskArgs args;
    args.add_input(to);
    args.add_output(info);
    args.add_scalar(to_u64(scalar));
    return rt_submit_aiv_task(kAddScalar, args);
}

} // namespace

extern "C" {

__attribute__((visibility("default"))) OrchestrationConfig
aicpu_orchestration_config(const ChipTaskArgs &args)
{
    (void)args;
    return OrchestrationConfig{.expected_arg_count = 3};
}

__attribute__((visibility("default"))) void aicpu_orchestration_entry(const ChipTaskArgs &args)
{
    const ChipTensor &a = args.tensor(0).ref();
    const simpler::tmr::Tensor &b = args.tensor(1).ref();
    const uint32_t *shapes = args.tensor(0).ref().shapes;
    TensorCreateInfo info(shapes, 1);
    CoreTaskArgs sum;
    sum.add_input(a, b);
    sum.add_output(info);
    TaskOutputTensors first = rt_submit_aiv_task(kAdd, sum);
    const ChipTensor &c = first.get_ref(0);
    LOG_INFO_V9("%d tensors", static_cast<int>(args.tensor_count()));
    SIMPLER_SCOPE()
    {
        TaskOutputTensors d = add_scalar(c, info, 1);
        TaskOutputTensors e = add_scalar(c, info, 2);
        CoreTaskArgs product;
        product.add_input(d.get_ref(0), e.get_ref(0));
        product.add_output(info);
        product.launch_spec.set_core_num(1);
        product.set_allow_early_resolve(true);
        const ChipTensor &g = rt_submit_aiv_task(kMul, product).get_ref(0);
        CoreTaskArgs last;
        last.add_input(g, c);
        last.add_output(args.tensor(2).ref());
        rt_submit_aiv_task(kAdd, last);
    }
}
}
