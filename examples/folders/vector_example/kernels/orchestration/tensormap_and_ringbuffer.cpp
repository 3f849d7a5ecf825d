// SPDX-License-Identifier: Apache-2.0
// f = (a + b + 1) * (a + b + 2) by four tasks; what comes after what follows from the tensors.
// Arguments: a, b, f (of the chip), their sizes in bytes, the number of elements.
#include "pto_orchestration_api.h"

#include "../../../common/kernels/orchestration/bits.hpp"

enum { ADD, ADD_SCALAR, MUL };

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(uint64_t *, int)
{
    return PTO2OrchestrationConfig{7};
}

extern "C" void aicpu_orchestration_entry(PTO2Runtime *rt, uint64_t *args, int, int,
                                          int orch_thread_index)
{
    if (orch_thread_index != 0) {
        return;
    }
    uint32_t shapes[] = {static_cast<uint32_t>(args[6])};
    auto given = [&](uint64_t address) {
        return make_tensor_external(reinterpret_cast<void *>(address), shapes, 1);
    };
    Tensor a = given(args[0]), b = given(args[1]), f = given(args[2]);
    Tensor c = make_tensor(shapes, 1);
    PTOParam count = make_scalar_param(args[6]);
    PTOParam sum[] = {make_input_param(a), make_input_param(b), make_output_param(c), count};
    pto2_rt_submit_aiv_task(rt, ADD, sum, 4);
    PTO2_SCOPE(rt) // d and e are given back at its end
    {
        Tensor d = make_tensor(shapes, 1);
        Tensor e = make_tensor(shapes, 1);
        PTOParam plus1[] = {make_input_param(c), make_scalar_param(Bits(1)), make_output_param(d),
                            count};
        PTOParam plus2[] = {make_input_param(c), make_scalar_param(Bits(2)), make_output_param(e),
                            count};
        PTOParam product[] = {make_input_param(d), make_input_param(e), make_output_param(f),
                              count};
        pto2_rt_submit_aiv_task(rt, ADD_SCALAR, plus1, 4);
        pto2_rt_submit_aiv_task(rt, ADD_SCALAR, plus2, 4);
        pto2_rt_submit_aiv_task(rt, MUL, product, 4);
    }
}
