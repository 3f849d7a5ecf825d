// SPDX-License-Identifier: Apache-2.0
// What orchestrations that submit tasks with tensors hand to the runtime, and the tables of
// functions through which they do: of March, and of April with and without a tensor map. They need
// no library. One text for C (libtern, which fills the tables) and C++.
#ifndef TERN_FACES_SIMPLER_TERN_TASKS_H
#define TERN_FACES_SIMPLER_TERN_TASKS_H

#include "simpler/tern/types.h"
#include "tern/api.h"

#ifdef __cplusplus
#define TERN_SIMPLER_INIT(value) = value
enum class PTOParamType : int32_t { INPUT = 0, OUTPUT = 1, INOUT = 2, SCALAR = 3 };
enum class TensorArgType : int32_t {
    INPUT = 0,
    OUTPUT = 1, // allocated by the runtime
    INOUT = 2,
    OUTPUT_EXISTING = 3,
    NO_DEP = 4,
};
enum class ArgDirection : int32_t { SCALAR = 0, IN = 1, OUT = 2, INOUT = 3 };
enum class PTO2ScopeMode : uint8_t { AUTO = 0, MANUAL = 1 };
#else
#define TERN_SIMPLER_INIT(value)
typedef int32_t PTOParamType;
typedef int32_t TensorArgType;
typedef uint8_t PTO2ScopeMode;
#endif

typedef struct PTO2Runtime PTO2Runtime;
typedef struct Tensor Tensor; // simpler/tern/tensor.hpp; in C, a tern_region

#define TERN_SIMPLER_TENSORS 16
#define TERN_SIMPLER_SCALARS 32
#define TERN_SIMPLER_DEPS 16

typedef struct PTO2OrchestrationConfig {
    int expected_arg_count;
} PTO2OrchestrationConfig;

// The kernels of a task by their ids; -1: none. Two or more: all on one cluster, at the same time.
typedef struct MixedKernels {
    int32_t aic_kernel_id TERN_SIMPLER_INIT(-1);
    int32_t aiv0_kernel_id TERN_SIMPLER_INIT(-1);
    int32_t aiv1_kernel_id TERN_SIMPLER_INIT(-1);
} MixedKernels;

static_assert(sizeof(MixedKernels) == 12, "the layout of April 2026");

// A parameter of March.
typedef struct PTOParam {
    PTOParamType type;
    Tensor *tensor;
    uint64_t scalar_value;
} PTOParam;

// A task's number: ring << 32 | number in the ring.
#ifdef __cplusplus
struct PTO2TaskId {
    uint64_t raw = UINT64_MAX;
    static constexpr PTO2TaskId invalid()
    {
        return PTO2TaskId{};
    }
    constexpr bool is_valid() const
    {
        return raw != UINT64_MAX;
    }
    constexpr uint32_t ring() const
    {
        return static_cast<uint32_t>(raw >> 32);
    }
    constexpr uint32_t local() const
    {
        return static_cast<uint32_t>(raw);
    }
    constexpr bool operator==(const PTO2TaskId &other) const
    {
        return raw == other.raw;
    }
    constexpr bool operator!=(const PTO2TaskId &other) const
    {
        return raw != other.raw;
    }
};
static_assert(sizeof(PTO2TaskId) == 8, "the layout of April 2026");
#endif

// An output that is to be allocated: of April. From byte 32 on as in a Tensor.
typedef struct tern_simpler_create_info {
    uint64_t initial_value; // the bits of an element, in the low bytes
    uint8_t has_initial_value;
    uint8_t unused[23];
    int32_t version;
    uint32_t ndims;
    DataType dtype;
    uint8_t is_all_offset_zero;
    uint8_t is_raw_eq_shapes;
    uint8_t manual_dep;
    uint32_t shapes[TERN_REGION_DIMS_MAX];
} tern_simpler_create_info;

static_assert(sizeof(tern_simpler_create_info) == 64 &&
                  offsetof(tern_simpler_create_info, has_initial_value) == 8 &&
                  offsetof(tern_simpler_create_info, version) == 32 &&
                  offsetof(tern_simpler_create_info, shapes) == 44,
              "the layout of April 2026");

// How often a task is called, and whether all its blocks start together.
typedef struct PTO2LaunchSpec {
    int16_t block_num_;
    bool require_sync_start_;
#ifdef __cplusplus
    void set_block_num(int16_t count)
    {
        block_num_ = count;
    }
    void set_core_num(int16_t count)
    {
        block_num_ = count;
    }
    int16_t block_num() const
    {
        return block_num_;
    }
    void set_require_sync_start(bool require)
    {
        require_sync_start_ = require;
    }
    bool require_sync_start() const
    {
        return require_sync_start_;
    }
#endif
} PTO2LaunchSpec;

// The arguments of a task of April (Arg, simpler/tern/arg.hpp). What lies behind a count is
// undefined.
typedef struct tern_simpler_arg {
    bool has_error;
    const char *error_msg;
    PTO2LaunchSpec launch_spec;
    int32_t tensor_count_;
    int32_t scalar_count_;
    int32_t dep_count_;
    TensorArgType tags_[TERN_SIMPLER_TENSORS];
    const Tensor *tensors_[TERN_SIMPLER_TENSORS];          // of OUTPUT undefined
    tern_simpler_create_info infos_[TERN_SIMPLER_TENSORS]; // of OUTPUT
    uint64_t deps_[TERN_SIMPLER_DEPS];
    uint64_t scalars_[TERN_SIMPLER_SCALARS];
} tern_simpler_arg;

// What a submit has allocated, in the order of add_output; valid until the scope ends. Never
// without a tensor at [0], so that a run that has failed can go on to its end.
typedef struct TaskOutputTensors {
    uint64_t id_ TERN_SIMPLER_INIT(UINT64_MAX);
    uint32_t count_ TERN_SIMPLER_INIT(0);
    const Tensor *tensors_[TERN_SIMPLER_TENSORS];
#ifdef __cplusplus
    const Tensor &get_ref(uint32_t i) const
    {
        return *tensors_[i < count_ ? i : 0];
    }
    PTO2TaskId task_id() const
    {
        return PTO2TaskId{id_};
    }
    uint32_t size() const
    {
        return count_;
    }
    bool empty() const
    {
        return count_ == 0;
    }
#endif
} TaskOutputTensors;

// Without a tensor map.
typedef struct SubmitResult {
#ifdef __cplusplus
    PTO2TaskId task_id;
#else
    uint64_t task_id;
#endif
    TaskOutputTensors outputs;
} SubmitResult;

typedef void (*tern_simpler_log)(const char *func, const char *format, ...) TERN_PRINTF(2, 3);

// tensormap_and_ringbuffer, March.
typedef struct tern_simpler_march_ops {
    void (*submit_task)(PTO2Runtime *rt, const MixedKernels *kernels, PTOParam *params,
                        int32_t count);
    void (*scope_begin)(PTO2Runtime *rt);
    void (*scope_end)(PTO2Runtime *rt);
    void (*orchestration_done)(PTO2Runtime *rt);
    tern_simpler_log log_error;
    tern_simpler_log log_warn;
    tern_simpler_log log_info;
    tern_simpler_log log_debug;
    tern_simpler_log log_always;
} tern_simpler_march_ops;

static_assert(offsetof(tern_simpler_march_ops, log_error) == 4 * sizeof(void *) &&
                  sizeof(tern_simpler_march_ops) == 9 * sizeof(void *),
              "the order of March 2026");

// aicpu_build_graph, April.
typedef struct tern_simpler_build_ops {
    SubmitResult (*submit_task)(PTO2Runtime *rt, const MixedKernels *kernels,
                                const tern_simpler_arg *args);
    void (*add_dependency)(PTO2Runtime *rt, uint64_t producer, uint64_t consumer);
    void (*scope_begin)(PTO2Runtime *rt);
    void (*scope_end)(PTO2Runtime *rt);
    void (*orchestration_done)(PTO2Runtime *rt);
    bool (*is_fatal)(PTO2Runtime *rt);
    tern_simpler_log log_error;
    tern_simpler_log log_warn;
    tern_simpler_log log_info;
    tern_simpler_log log_debug;
    tern_simpler_log log_always;
} tern_simpler_build_ops;

static_assert(offsetof(tern_simpler_build_ops, is_fatal) == 5 * sizeof(void *) &&
                  sizeof(tern_simpler_build_ops) == 11 * sizeof(void *),
              "the order of April 2026");

// tensormap_and_ringbuffer, April.
typedef struct tern_simpler_april_ops {
    TaskOutputTensors (*submit_task)(PTO2Runtime *rt, const MixedKernels *kernels,
                                     const tern_simpler_arg *args);
    void (*scope_begin)(PTO2Runtime *rt);
    void (*scope_end)(PTO2Runtime *rt);
    void (*orchestration_done)(PTO2Runtime *rt);
    bool (*is_fatal)(PTO2Runtime *rt);
    void (*report_fatal)(PTO2Runtime *rt, int32_t code, const char *func, const char *format, ...)
        TERN_PRINTF(4, 5);
    tern_simpler_log log_error;
    tern_simpler_log log_warn;
    tern_simpler_log log_info;
    tern_simpler_log log_debug;
    tern_simpler_log log_always;
    uint64_t (*get_tensor_data)(PTO2Runtime *rt, const Tensor *tensor, uint32_t ndims,
                                const uint32_t *index);
    void (*set_tensor_data)(PTO2Runtime *rt, const Tensor *tensor, uint32_t ndims,
                            const uint32_t *index, uint64_t value);
    TaskOutputTensors (*alloc_tensors)(PTO2Runtime *rt, const tern_simpler_arg *args);
} tern_simpler_april_ops;

static_assert(offsetof(tern_simpler_april_ops, report_fatal) == 5 * sizeof(void *) &&
                  offsetof(tern_simpler_april_ops, get_tensor_data) == 11 * sizeof(void *) &&
                  sizeof(tern_simpler_april_ops) == 14 * sizeof(void *),
              "the order of April 2026");

// What arguments of August have beside those of April.
typedef struct tern_simpler_more {
    const uint64_t *deps; // tasks to run after; those that are none (UINT64_MAX) do not count
    uint32_t deps_count;
    bool has_predicate; // element <cmp> target, else the kernels are not called
    DataType element_dtype;
    int32_t cmp; // a tern_cmp
    const void *element;
    int64_t target;
} tern_simpler_more;

// tensormap_and_ringbuffer, August. The order is tern's own.
typedef struct tern_simpler_august_ops {
    tern_simpler_april_ops april;
    // kernels: NULL for a task that only orders.
    TaskOutputTensors (*submit_more)(PTO2Runtime *rt, const MixedKernels *kernels,
                                     const tern_simpler_arg *args, const tern_simpler_more *more);
    int32_t (*available_cluster_count)(PTO2Runtime *rt);
    int32_t (*available_aiv_count)(PTO2Runtime *rt);
} tern_simpler_august_ops;

#undef TERN_SIMPLER_INIT

#endif
