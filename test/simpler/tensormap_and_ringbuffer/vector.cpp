// SPDX-License-Identifier: Apache-2.0
// c = a + b; in a scope d = c + 1, e = c + 2, g = d * e, f = g + c. args: a, b, f, their sizes in
// bytes, the number of elements.
#include "pto_orchestration_api.h"

#include <cstring>

enum { ADD, ADD_SCALAR, MUL };

static uint64_t bits(float value)
{
    uint64_t result = 0;
    std::memcpy(&result, &value, sizeof value);
    return result;
}

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(uint64_t *, int)
{
    return PTO2OrchestrationConfig{7};
}

extern "C" void aicpu_orchestration_entry(PTO2Runtime *rt, uint64_t *args, int arg_count,
                                          int orch_thread_num, int orch_thread_index)
{
    if (orch_thread_index != 0) {
        return;
    }
    LOG_INFO(rt, "%d arguments, thread %d of %d", arg_count, orch_thread_index, orch_thread_num);
    uint32_t shapes[] = {static_cast<uint32_t>(args[6])};
    Tensor a = make_tensor_external(reinterpret_cast<void *>(args[0]), shapes, 1);
    Tensor b = make_tensor_external(reinterpret_cast<void *>(args[1]), shapes, 1);
    Tensor f = make_tensor_external(reinterpret_cast<void *>(args[2]), shapes, 1);
    Tensor c = make_tensor(shapes, 1, DataType::FLOAT32);
    PTOParam t0[] = {make_input_param(a), make_input_param(b), make_output_param(c)};
    pto2_rt_submit_aiv_task(rt, ADD, t0, 3);
    PTO2_SCOPE(rt)
    {
        Tensor d = make_tensor(shapes, 1);
        Tensor e = make_tensor(shapes, 1);
        Tensor g = make_tensor(shapes, 1);
        PTOParam t1[] = {make_input_param(c), make_scalar_param(bits(1)), make_output_param(d)};
        PTOParam t2[] = {make_input_param(c), make_scalar_param(bits(2)), make_output_param(e)};
        PTOParam t3[] = {make_input_param(d), make_input_param(e), make_output_param(g)};
        PTOParam t4[] = {make_input_param(g), make_input_param(c), make_output_param(f)};
        pto2_rt_submit_aiv_task(rt, ADD_SCALAR, t1, 3);
        pto2_rt_submit_aiv_task(rt, ADD_SCALAR, t2, 3);
        pto2_rt_submit_aiv_task(rt, MUL, t3, 3);
        pto2_rt_submit_aiv_task(rt, ADD, t4, 3);
    }
}
