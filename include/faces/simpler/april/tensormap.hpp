// SPDX-License-Identifier: Apache-2.0
// What orchestrations whose dependences follow from tensors call, of April 2026 and later. After a
// failure every call does nothing. The runtime is that of the thread; the host calls
// framework_bind_runtime before. C++ only.
#ifndef TERN_FACES_SIMPLER_APRIL_TENSORMAP_HPP
#define TERN_FACES_SIMPLER_APRIL_TENSORMAP_HPP

#include "simpler/april/pto_types.h"

using PTO2RuntimeOps = tern_simpler_april_ops;

struct PTO2Runtime {
    const PTO2RuntimeOps *ops;
    PTO2ScopeMode pending_scope_mode; // of the next scope_begin
};

// One for all sources of a shared object.
__attribute__((weak, visibility("hidden"))) __thread PTO2Runtime *tern_simpler_current_runtime;

extern "C" __attribute__((weak, used, visibility("default"))) void
framework_bind_runtime(PTO2Runtime *rt)
{
    tern_simpler_current_runtime = rt;
}
extern "C" __attribute__((weak, used, visibility("default"))) PTO2Runtime *
framework_current_runtime()
{
    return tern_simpler_current_runtime;
}

inline TaskOutputTensors rt_submit_task(const MixedKernels &kernels, const Arg &args)
{
    PTO2Runtime *rt = tern_simpler_current_runtime;
    return rt->ops->submit_task(rt, &kernels, &args);
}
inline TaskOutputTensors rt_submit_aic_task(int32_t kernel_id, const Arg &args)
{
    MixedKernels kernels;
    kernels.aic_kernel_id = kernel_id;
    return rt_submit_task(kernels, args);
}
inline TaskOutputTensors rt_submit_aiv_task(int32_t kernel_id, const Arg &args)
{
    MixedKernels kernels;
    kernels.aiv0_kernel_id = kernel_id;
    return rt_submit_task(kernels, args);
}

// The names of the same that were there first.
inline TaskOutputTensors pto2_rt_submit_task(const MixedKernels &kernels, const Arg &args)
{
    return rt_submit_task(kernels, args);
}
inline TaskOutputTensors pto2_rt_submit_aic_task(int32_t kernel_id, const Arg &args)
{
    return rt_submit_aic_task(kernel_id, args);
}
inline TaskOutputTensors pto2_rt_submit_aiv_task(int32_t kernel_id, const Arg &args)
{
    return rt_submit_aiv_task(kernel_id, args);
}

// Memory without a kernel.
inline TaskOutputTensors alloc_tensors(const Arg &args)
{
    PTO2Runtime *rt = tern_simpler_current_runtime;
    return rt->ops->alloc_tensors(rt, &args);
}
inline TaskOutputTensors alloc_tensors(const TensorCreateInfo *infos, int count)
{
    Arg args;
    for (int i = 0; i < count; i++) {
        args.add_output(infos[i]);
    }
    return alloc_tensors(args);
}
template <typename... More>
inline TaskOutputTensors alloc_tensors(const TensorCreateInfo &first, const More &...more)
{
    Arg args;
    args.add_output(first, more...);
    return alloc_tensors(args);
}

// An element, when the tensor's writers (set: and their readers) have finished. `index` has an
// entry for each of `ndims` dimensions.
template <typename T>
inline T get_tensor_data(const Tensor &tensor, uint32_t ndims, const uint32_t index[])
{
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "an element");
    PTO2Runtime *rt = tern_simpler_current_runtime;
    uint64_t bits = rt->ops->get_tensor_data(rt, &tensor, ndims, index);
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
template <typename T>
inline void set_tensor_data(const Tensor &tensor, uint32_t ndims, const uint32_t index[], T value)
{
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "an element");
    PTO2Runtime *rt = tern_simpler_current_runtime;
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    rt->ops->set_tensor_data(rt, &tensor, ndims, index, bits);
}

inline void rt_scope_begin(PTO2ScopeMode mode = PTO2ScopeMode::AUTO)
{
    PTO2Runtime *rt = tern_simpler_current_runtime;
    rt->pending_scope_mode = mode;
    rt->ops->scope_begin(rt);
}
inline void rt_scope_end()
{
    PTO2Runtime *rt = tern_simpler_current_runtime;
    rt->ops->scope_end(rt);
}
inline void rt_orchestration_done()
{
    PTO2Runtime *rt = tern_simpler_current_runtime;
    rt->ops->orchestration_done(rt);
}
inline bool rt_is_fatal()
{
    PTO2Runtime *rt = tern_simpler_current_runtime;
    return rt->ops->is_fatal(rt);
}

class PTO2ScopeGuard
{
  public:
    explicit PTO2ScopeGuard(PTO2ScopeMode mode = PTO2ScopeMode::AUTO)
    {
        rt_scope_begin(mode);
    }
    ~PTO2ScopeGuard()
    {
        rt_scope_end();
    }
    PTO2ScopeGuard(const PTO2ScopeGuard &) = delete;
    PTO2ScopeGuard &operator=(const PTO2ScopeGuard &) = delete;
};

// PTO2_SCOPE() { … }, PTO2_SCOPE(PTO2ScopeMode::MANUAL) { … }
#define PTO2_SCOPE(...) if (PTO2ScopeGuard tern_scope_{__VA_ARGS__}; true)

// Gives the run up: rt_report_fatal(code, format, …).
#define rt_report_fatal(code, ...)                                                                 \
    tern_simpler_current_runtime->ops->report_fatal(tern_simpler_current_runtime, code, __func__,  \
                                                    __VA_ARGS__)

#define LOG_ERROR(...) tern_simpler_current_runtime->ops->log_error(__func__, __VA_ARGS__)
#define LOG_WARN(...) tern_simpler_current_runtime->ops->log_warn(__func__, __VA_ARGS__)
#define LOG_INFO(...) tern_simpler_current_runtime->ops->log_info(__func__, __VA_ARGS__)
#define LOG_DEBUG(...) tern_simpler_current_runtime->ops->log_debug(__func__, __VA_ARGS__)
#define LOG_ALWAYS(...) tern_simpler_current_runtime->ops->log_always(__func__, __VA_ARGS__)

#endif
