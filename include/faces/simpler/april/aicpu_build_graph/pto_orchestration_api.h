// SPDX-License-Identifier: Apache-2.0
// Orchestrations that submit tasks with tensors, and say themselves which runs after which: April
// 2026. A scope's tasks may run when the scope ends. C++ only.
//
//     extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs &);
//     extern "C" void aicpu_orchestration_entry(PTO2Runtime *rt, const ChipStorageTaskArgs &args);
//
// A kernel's arguments are the addresses of Tensors, then the scalars. After a failure every call
// does nothing.
#ifndef TERN_FACES_SIMPLER_APRIL_BUILD_PTO_ORCHESTRATION_API_H
#define TERN_FACES_SIMPLER_APRIL_BUILD_PTO_ORCHESTRATION_API_H

#include "simpler/april/pto_types.h"
#include "simpler/tern/mark.hpp"
#include "simpler/tern/scope.hpp"

using PTO2RuntimeOps = tern_simpler_build_ops;

struct PTO2Runtime {
    const PTO2RuntimeOps *ops;
};

inline SubmitResult rt_submit_task(PTO2Runtime *rt, const MixedKernels &kernels, const Arg &args)
{
    return rt->ops->submit_task(rt, &kernels, &args);
}
inline SubmitResult rt_submit_aic_task(PTO2Runtime *rt, int32_t kernel_id, const Arg &args)
{
    MixedKernels kernels;
    kernels.aic_kernel_id = kernel_id;
    return rt->ops->submit_task(rt, &kernels, &args);
}
inline SubmitResult rt_submit_aiv_task(PTO2Runtime *rt, int32_t kernel_id, const Arg &args)
{
    MixedKernels kernels;
    kernels.aiv0_kernel_id = kernel_id;
    return rt->ops->submit_task(rt, &kernels, &args);
}
inline void rt_add_dependency(PTO2Runtime *rt, PTO2TaskId producer, PTO2TaskId consumer)
{
    rt->ops->add_dependency(rt, producer.raw, consumer.raw);
}
inline void rt_scope_begin(PTO2Runtime *rt)
{
    rt->ops->scope_begin(rt);
}
inline void rt_scope_end(PTO2Runtime *rt)
{
    rt->ops->scope_end(rt);
}
inline void rt_orchestration_done(PTO2Runtime *rt)
{
    rt->ops->orchestration_done(rt);
}
inline bool rt_is_fatal(PTO2Runtime *rt)
{
    return rt->ops->is_fatal(rt);
}

using PTO2ScopeGuard = tern_simpler_scope<PTO2Runtime>;

TERN_SIMPLER_MARK(tern_simpler_april_aicpu_build_graph);

#endif
