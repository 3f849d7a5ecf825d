// SPDX-License-Identifier: Apache-2.0
// Arguments of tasks and of orchestrations, August 2026, under their present names and the earlier
// ones (L0, L2). C++ only.
#ifndef TERN_FACES_SIMPLER_AUGUST_PTO_TYPES_H
#define TERN_FACES_SIMPLER_AUGUST_PTO_TYPES_H

#include <new>

#include "simpler/august/tensor.h"
#include "simpler/tern/arg.hpp"

using TaskId = PTO2TaskId;
using OrchestrationConfig = PTO2OrchestrationConfig;

// Why a task runs after another one. Both are one here: outputs stay until their scope has ended.
constexpr uint8_t DEP_WAIT = 1;
constexpr uint8_t DEP_RETAIN = 2;

// A task whose element is not so when it would start calls no kernel, and what comes after it goes
// on. No order follows from the element: name its writer among the dependences.
enum class PredicateOp : int32_t { EQ = 0, NE = 1, GT = 2, GE = 3, LT = 4, LE = 5 };
struct CoreTaskPredicate {
    struct {
        const Tensor *tensor = nullptr;
        uint32_t ndims = 0;
        uint32_t indices[TERN_REGION_DIMS_MAX] = {};
    } operand;
    PredicateOp op = PredicateOp::EQ;
    int64_t target = 0;
};

// The arguments of a task.
class CoreTaskArgs : public Arg
{
  public:
    // Tasks to run after, as many as there are; the array stays the caller's, until the submit.
    void set_dependencies(const PTO2TaskId *tasks, uint32_t count)
    {
        if (tasks == nullptr && count > 0) {
            refuse("set_dependencies names no tasks, but how many");
            return;
        }
        static_assert(sizeof(PTO2TaskId) == sizeof(uint64_t), "a task's number");
        tern_more.deps = reinterpret_cast<const uint64_t *>(tasks);
        tern_more.deps_count = count;
    }
    void set_dependencies_with_kinds(const PTO2TaskId *tasks, const uint8_t *, uint32_t count)
    {
        set_dependencies(tasks, count);
    }

    // Tasks start when those before them have ended, whatever is allowed.
    void set_allow_early_resolve(bool)
    {
    }

    void set_predicate(const CoreTaskPredicate &predicate)
    {
        const Tensor *tensor = predicate.operand.tensor;
        bool is_one = tensor != nullptr && predicate.operand.ndims == tensor->ndims;
        uint64_t at = is_one ? tensor->start_offset : 0;
        for (uint32_t d = 0; is_one && d < tensor->ndims; d++) {
            is_one = predicate.operand.indices[d] < tensor->shapes[d];
            at += uint64_t{predicate.operand.indices[d]} * tensor->strides[d];
        }
        if (!is_one) {
            refuse("set_predicate names no element of its tensor");
            return;
        }
        tern_more.has_predicate = true;
        tern_more.element_dtype = tensor->dtype;
        tern_more.cmp = static_cast<int32_t>(predicate.op);
        tern_more.element = reinterpret_cast<const void *>(
            static_cast<uintptr_t>(tensor->buffer.addr + at * get_element_size(tensor->dtype)));
        tern_more.target = predicate.target;
    }

    tern_simpler_more tern_more = {};
};

// The same with an array of its own, of at most N tasks.
template <int N = 16> class CoreTaskArgsWithDeps : public CoreTaskArgs
{
  public:
    CoreTaskArgsWithDeps() = default;
    CoreTaskArgsWithDeps(const CoreTaskArgsWithDeps &) = delete;
    CoreTaskArgsWithDeps &operator=(const CoreTaskArgsWithDeps &) = delete;

    template <typename... T> void add_dep(T... tasks)
    {
        (add_one(tasks), ...);
    }
    void add_dep_wait(PTO2TaskId task)
    {
        add_one(task);
    }

  private:
    void add_one(PTO2TaskId task)
    {
        if (count_ == N) {
            refuse("more explicit dependences than CoreTaskArgsWithDeps has room for");
            return;
        }
        tasks_[count_++] = task;
        set_dependencies(tasks_, static_cast<uint32_t>(count_));
    }

    PTO2TaskId tasks_[N];
    int count_ = 0;
};

using L0TaskArgs = CoreTaskArgs;
using L0TaskPredicate = CoreTaskPredicate;
template <int N = 16> using L0TaskArgsWithDeps = CoreTaskArgsWithDeps<N>;

// One for all sources of a shared object: the tensors of the orchestration's arguments.
alignas(64) __attribute__((
    weak,
    visibility("hidden"))) __thread unsigned char tern_simpler_arguments[TERN_SIMPLER_ARG_TENSORS *
                                                                         sizeof(Tensor)];

// An argument of the orchestration, as a tensor that lives as long as the orchestration runs.
class TensorRef
{
  public:
    TensorRef(const ContinuousTensor &given, int32_t i)
        : tensor_(new (tern_simpler_arguments + static_cast<size_t>(i) * sizeof(Tensor))
                      Tensor(from_tensor_arg(given)))
    {
    }
    const Tensor &ref() const
    {
        return *tensor_;
    }
    operator const Tensor &() const
    {
        return *tensor_;
    }

  private:
    const Tensor *tensor_;
};

// The arguments of the orchestration.
struct ChipTaskArgs : ChipStorageTaskArgs {
    TensorRef tensor(int32_t i) const
    {
        return {tensors_[i], i};
    }
};
static_assert(sizeof(ChipTaskArgs) == sizeof(ChipStorageTaskArgs), "the same memory");
using L2TaskArgs = ChipTaskArgs;

// The bits of a scalar, with zeros above them.
template <typename T> inline uint64_t to_u64(T value)
{
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "a scalar");
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

#endif
