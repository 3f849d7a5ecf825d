// SPDX-License-Identifier: Apache-2.0
// Orchestrations whose dependences follow from tensors: August 2026. C++ only.
//
//     extern "C" OrchestrationConfig aicpu_orchestration_config(const ChipTaskArgs &);
//     extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &args);
//
// A kernel's arguments are the addresses of Tensors, then the scalars. Captured graphs
// (rt_graph_begin) are not here.
#ifndef TERN_FACES_SIMPLER_AUGUST_TENSORMAP_ORCHESTRATION_API_H
#define TERN_FACES_SIMPLER_AUGUST_TENSORMAP_ORCHESTRATION_API_H

#include "simpler/august/pto_types.h"
#include "simpler/tern/mark.hpp"
#include "simpler/april/tensormap.hpp"

// What a run ends with: the numbers of tern/graph_code.def, under both prefixes.
constexpr int32_t SIMPLER_ERROR_SCOPE_DEADLOCK = 1;
constexpr int32_t SIMPLER_ERROR_HEAP_RING_DEADLOCK = 2;
constexpr int32_t SIMPLER_ERROR_FLOW_CONTROL_DEADLOCK = 3;
constexpr int32_t SIMPLER_ERROR_DEP_POOL_OVERFLOW = 4;
constexpr int32_t SIMPLER_ERROR_INVALID_ARGS = 5;
constexpr int32_t SIMPLER_ERROR_REQUIRE_SYNC_START_INVALID = 7;
constexpr int32_t SIMPLER_ERROR_TENSOR_WAIT_TIMEOUT = 8;
constexpr int32_t SIMPLER_ERROR_EXPLICIT_ORCH_FATAL = 9;
constexpr int32_t SIMPLER_ERROR_TENSORMAP_OVERFLOW = 11;
constexpr int32_t SIMPLER_ERROR_SCHEDULER_TIMEOUT = 100;
constexpr int32_t PTO2_ERROR_SCOPE_DEADLOCK = SIMPLER_ERROR_SCOPE_DEADLOCK;
constexpr int32_t PTO2_ERROR_HEAP_RING_DEADLOCK = SIMPLER_ERROR_HEAP_RING_DEADLOCK;
constexpr int32_t PTO2_ERROR_FLOW_CONTROL_DEADLOCK = SIMPLER_ERROR_FLOW_CONTROL_DEADLOCK;
constexpr int32_t PTO2_ERROR_DEP_POOL_OVERFLOW = SIMPLER_ERROR_DEP_POOL_OVERFLOW;
constexpr int32_t PTO2_ERROR_INVALID_ARGS = SIMPLER_ERROR_INVALID_ARGS;
constexpr int32_t PTO2_ERROR_REQUIRE_SYNC_START_INVALID = SIMPLER_ERROR_REQUIRE_SYNC_START_INVALID;
constexpr int32_t PTO2_ERROR_TENSOR_WAIT_TIMEOUT = SIMPLER_ERROR_TENSOR_WAIT_TIMEOUT;
constexpr int32_t PTO2_ERROR_EXPLICIT_ORCH_FATAL = SIMPLER_ERROR_EXPLICIT_ORCH_FATAL;
constexpr int32_t PTO2_ERROR_TENSORMAP_OVERFLOW = SIMPLER_ERROR_TENSORMAP_OVERFLOW;
constexpr int32_t PTO2_ERROR_SCHEDULER_TIMEOUT = SIMPLER_ERROR_SCHEDULER_TIMEOUT;

inline const tern_simpler_august_ops *tern_simpler_august()
{
    return reinterpret_cast<const tern_simpler_august_ops *>(tern_simpler_current_runtime->ops);
}

inline TaskOutputTensors tern_simpler_submit(const MixedKernels *kernels, const CoreTaskArgs &args)
{
    return tern_simpler_august()->submit_more(tern_simpler_current_runtime, kernels, &args,
                                              &args.tern_more);
}

inline TaskOutputTensors rt_submit_task(const MixedKernels &kernels, const CoreTaskArgs &args)
{
    return tern_simpler_submit(&kernels, args);
}
inline TaskOutputTensors rt_submit_aic_task(int32_t kernel_id, const CoreTaskArgs &args)
{
    MixedKernels kernels;
    kernels.aic_kernel_id = kernel_id;
    return tern_simpler_submit(&kernels, args);
}
inline TaskOutputTensors rt_submit_aiv_task(int32_t kernel_id, const CoreTaskArgs &args)
{
    MixedKernels kernels;
    kernels.aiv0_kernel_id = kernel_id;
    return tern_simpler_submit(&kernels, args);
}

// A task that runs no kernel: it comes after what its arguments say, and others come after it.
inline TaskOutputTensors rt_submit_dummy_task(const CoreTaskArgs &args)
{
    return tern_simpler_submit(nullptr, args);
}

// Of this run: clusters (an AIC and two AIV cores each), and AIV cores.
inline int32_t rt_available_cluster_count()
{
    return tern_simpler_august()->available_cluster_count(tern_simpler_current_runtime);
}
inline int32_t rt_available_aiv_count()
{
    return tern_simpler_august()->available_aiv_count(tern_simpler_current_runtime);
}

#define SIMPLER_SCOPE(...) PTO2_SCOPE(__VA_ARGS__)

// Ten levels; all are information here.
#define LOG_INFO_V0(...) LOG_INFO(__VA_ARGS__)
#define LOG_INFO_V1(...) LOG_INFO(__VA_ARGS__)
#define LOG_INFO_V2(...) LOG_INFO(__VA_ARGS__)
#define LOG_INFO_V3(...) LOG_INFO(__VA_ARGS__)
#define LOG_INFO_V4(...) LOG_INFO(__VA_ARGS__)
#define LOG_INFO_V5(...) LOG_INFO(__VA_ARGS__)
#define LOG_INFO_V6(...) LOG_INFO(__VA_ARGS__)
#define LOG_INFO_V7(...) LOG_INFO(__VA_ARGS__)
#define LOG_INFO_V8(...) LOG_INFO(__VA_ARGS__)
#define LOG_INFO_V9(...) LOG_INFO(__VA_ARGS__)

TERN_SIMPLER_MARK(tern_simpler_august_tensormap_and_ringbuffer);

#endif
