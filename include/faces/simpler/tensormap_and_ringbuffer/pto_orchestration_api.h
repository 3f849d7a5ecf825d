// SPDX-License-Identifier: Apache-2.0
// Orchestrations whose dependences follow from tensors: March 2026. C++ only.
//
//     extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(uint64_t *args, int arg_count);
//     extern "C" void aicpu_orchestration_entry(PTO2Runtime *rt, uint64_t *args, int arg_count,
//                                               int orch_thread_num, int orch_thread_index);
//
// It is called once, with index 0. A kernel's arguments follow the parameters in their order: the
// address of a Tensor, or the scalar. After a failure every call does nothing.
#ifndef TERN_FACES_SIMPLER_TENSORMAP_PTO_ORCHESTRATION_API_H
#define TERN_FACES_SIMPLER_TENSORMAP_PTO_ORCHESTRATION_API_H

#include "simpler/tensormap_and_ringbuffer/pto_types.h"
#include "simpler/tern/mark.hpp"
#include "simpler/tern/scope.hpp"

using PTO2RuntimeOps = tern_simpler_march_ops;

struct PTO2Runtime {
    const PTO2RuntimeOps *ops;
};

inline void pto2_rt_submit_task(PTO2Runtime *rt, const MixedKernels &kernels, PTOParam *params,
                                int32_t count)
{
    rt->ops->submit_task(rt, &kernels, params, count);
}
inline void pto2_rt_submit_aic_task(PTO2Runtime *rt, int32_t kernel_id, PTOParam *params,
                                    int32_t count)
{
    MixedKernels kernels;
    kernels.aic_kernel_id = kernel_id;
    rt->ops->submit_task(rt, &kernels, params, count);
}
inline void pto2_rt_submit_aiv_task(PTO2Runtime *rt, int32_t kernel_id, PTOParam *params,
                                    int32_t count)
{
    MixedKernels kernels;
    kernels.aiv0_kernel_id = kernel_id;
    rt->ops->submit_task(rt, &kernels, params, count);
}
inline void pto2_rt_scope_begin(PTO2Runtime *rt)
{
    rt->ops->scope_begin(rt);
}
inline void pto2_rt_scope_end(PTO2Runtime *rt)
{
    rt->ops->scope_end(rt);
}
inline void pto2_rt_orchestration_done(PTO2Runtime *rt)
{
    rt->ops->orchestration_done(rt);
}

using PTO2ScopeGuard = tern_simpler_scope<PTO2Runtime>;

TERN_SIMPLER_MARK(tern_simpler_tensormap_and_ringbuffer);

#endif
