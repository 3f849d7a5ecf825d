// SPDX-License-Identifier: Apache-2.0
// What comes after what: y = x after a slow writer of x, y = z after one of z. args: x, y, z, their
// sizes in bytes, the number of elements.
#include "pto_orchestration_api.h"

enum { SLOW, COPY };

extern "C" void aicpu_orchestration_entry(PTO2Runtime *rt, uint64_t *args, int, int, int)
{
    uint32_t shapes[] = {static_cast<uint32_t>(args[6])};
    Tensor x = make_tensor_external(reinterpret_cast<void *>(args[0]), shapes, 1);
    Tensor y = make_tensor_external(reinterpret_cast<void *>(args[1]), shapes, 1);
    Tensor z = make_tensor_external(reinterpret_cast<void *>(args[2]), shapes, 1);
    Tensor part = make_tensor(shapes, 1);
    PTOParam write[] = {make_output_param(x), make_scalar_param(0x3f800000)};
    PTOParam first[] = {make_input_param(x), make_output_param(part)};
    PTOParam second[] = {make_input_param(part), make_output_param(y)};
    PTOParam third[] = {make_inout_param(z), make_scalar_param(0x3f800000)};
    PTOParam fourth[] = {make_input_param(z), make_inout_param(y)};
    pto2_rt_submit_aiv_task(rt, SLOW, write, 2);
    pto2_rt_submit_aiv_task(rt, COPY, first, 2);
    PTO2_SCOPE(rt)
    {
        pto2_rt_submit_aiv_task(rt, COPY, second, 2);
    }
    pto2_rt_submit_aiv_task(rt, SLOW, third, 2);
    pto2_rt_submit_aiv_task(rt, COPY, fourth, 2);
}
