// SPDX-License-Identifier: Apache-2.0
// Orchestrations that build the whole graph on the host, before it runs: April 2026. C++ only.
//
//     extern "C" int build(OrchestrationRuntime *rt, const ChipStorageTaskArgs &args);
//
// args.tensor(i).data is memory of the host: the orchestration allocates, copies to the device, and
// records what is copied back.
#ifndef TERN_FACES_SIMPLER_APRIL_ORCHESTRATION_API_H
#define TERN_FACES_SIMPLER_APRIL_ORCHESTRATION_API_H

#include "simpler/april/tensor_info.h"
#include "simpler/tern/calls.h"
#include "simpler/tern/mark.hpp"

// The task's number, from 0 on; -1 when it is refused, which the launch then is, too.
inline int add_task(OrchestrationRuntime *rt, uint64_t *args, int num_args, int func_id,
                    CoreType core_type = CoreType::AIC)
{
    return rt->ops->add_task(rt, args, num_args, func_id, core_type);
}
inline void set_tensor_info_to_task(OrchestrationRuntime *rt, int id, const TensorInfo *infos,
                                    int count)
{
    rt->ops->set_tensor_info_to_task(rt, id, infos, count);
}
inline int add_task_with_tensor_info(OrchestrationRuntime *rt, uint64_t *args, int num_args,
                                     int func_id, CoreType core_type, const TensorInfo *infos,
                                     int count)
{
    int id = rt->ops->add_task(rt, args, num_args, func_id, core_type);
    if (id >= 0) {
        rt->ops->set_tensor_info_to_task(rt, id, infos, count);
    }
    return id;
}
inline void add_successor(OrchestrationRuntime *rt, int from, int to)
{
    rt->ops->add_successor(rt, from, to);
}
// Copied to the host when the runtime is finalized.
inline void record_tensor_pair(OrchestrationRuntime *rt, void *host, void *device, size_t size)
{
    rt->ops->record_tensor_pair(rt, host, device, size);
}
inline int get_task_count(OrchestrationRuntime *rt)
{
    return rt->ops->get_task_count(rt);
}
inline void print_runtime(OrchestrationRuntime *rt)
{
    rt->ops->print_runtime(rt);
}
inline void *device_malloc(OrchestrationRuntime *rt, size_t size)
{
    return rt->ops->device_malloc(rt, size);
}
inline void device_free(OrchestrationRuntime *rt, void *memory)
{
    rt->ops->device_free(rt, memory);
}
inline int copy_to_device(OrchestrationRuntime *rt, void *device, const void *host, size_t size)
{
    return rt->ops->copy_to_device(rt, device, host, size);
}

TERN_SIMPLER_MARK(tern_simpler_april_host_build_graph);

#endif
