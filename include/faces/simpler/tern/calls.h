// SPDX-License-Identifier: Apache-2.0
// What orchestrations that add tasks and edges themselves find in their Runtime: tables of
// functions, so that they need no library. One text for C (libtern, which fills them) and C++.
#ifndef TERN_FACES_SIMPLER_TERN_CALLS_H
#define TERN_FACES_SIMPLER_TERN_CALLS_H

#include "simpler/tern/types.h"

typedef struct tern_simpler_runtime tern_simpler_runtime;

// Memory of the device, of the host side's orchestrations. Copies return 0; upload_kernel_binary
// the kernel's address, 0 when it cannot be loaded.
typedef struct HostApi {
    void *(*device_malloc)(size_t size);
    void (*device_free)(void *memory);
    int (*copy_to_device)(void *device, const void *host, size_t size);
    int (*copy_from_device)(void *host, const void *device, size_t size);
    uint64_t (*upload_kernel_binary)(int func_id, const uint8_t *data, size_t size);
    void (*remove_kernel_binary)(int func_id);
} HostApi;

// Building on the chip. function_bin_addr 0: the kernel of func_id.
typedef struct AicpuBuildApi {
    int (*add_task)(tern_simpler_runtime *runtime, uint64_t *args, int num_args, int func_id,
                    CoreType core_type, uint64_t function_bin_addr);
    void (*add_successor_conditional)(tern_simpler_runtime *runtime, int from, int to);
    void (*publish_task)(tern_simpler_runtime *runtime, int id);
    void *(*device_malloc)(size_t size);
    void (*device_free)(void *memory);
} AicpuBuildApi;

// Building on the host: what the member functions of its Runtime call.
typedef struct tern_simpler_host_calls {
    int (*add_task)(tern_simpler_runtime *runtime, uint64_t *args, int num_args, int func_id,
                    CoreType core_type);
    void (*add_successor)(tern_simpler_runtime *runtime, int from, int to);
    void (*record_tensor_pair)(tern_simpler_runtime *runtime, void *host, void *device,
                               size_t size);
    int (*get_task_count)(tern_simpler_runtime *runtime);
    int (*get_initial_ready_tasks)(tern_simpler_runtime *runtime, int *tasks);
    void (*print_runtime)(tern_simpler_runtime *runtime);
} tern_simpler_host_calls;

#define TERN_SIMPLER_ORCH_ARGS 64
#define TERN_SIMPLER_FUNC_IDS 1024

// The Runtime of March, of both kinds of explicit graphs.
struct tern_simpler_runtime {
    const tern_simpler_host_calls *tern_calls;
    void *tern_state;
    HostApi host_api;
    AicpuBuildApi aicpu_build_api;
    int orch_argc;
    uint64_t orch_args[TERN_SIMPLER_ORCH_ARGS];
    uint64_t kernel_addrs[TERN_SIMPLER_FUNC_IDS];
};

// Of April, on the host.
typedef struct OrchestrationRuntime OrchestrationRuntime;
typedef struct TensorInfo TensorInfo;

typedef struct OrchestrationRuntimeOps {
    int (*add_task)(OrchestrationRuntime *runtime, uint64_t *args, int num_args, int func_id,
                    CoreType core_type);
    void (*set_tensor_info_to_task)(OrchestrationRuntime *runtime, int id, const TensorInfo *infos,
                                    int count);
    void (*add_successor)(OrchestrationRuntime *runtime, int from, int to);
    void (*record_tensor_pair)(OrchestrationRuntime *runtime, void *host, void *device,
                               size_t size);
    int (*get_task_count)(OrchestrationRuntime *runtime);
    void (*print_runtime)(OrchestrationRuntime *runtime);
    void *(*device_malloc)(OrchestrationRuntime *runtime, size_t size);
    void (*device_free)(OrchestrationRuntime *runtime, void *memory);
    int (*copy_to_device)(OrchestrationRuntime *runtime, void *device, const void *host,
                          size_t size);
} OrchestrationRuntimeOps;

static_assert(offsetof(OrchestrationRuntimeOps, add_successor) == 2 * sizeof(void *) &&
                  offsetof(OrchestrationRuntimeOps, device_malloc) == 6 * sizeof(void *) &&
                  sizeof(OrchestrationRuntimeOps) == 9 * sizeof(void *),
              "the order of April 2026");

struct OrchestrationRuntime {
    const OrchestrationRuntimeOps *ops;
    void *tern_state;
};

#endif
