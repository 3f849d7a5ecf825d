// SPDX-License-Identifier: Apache-2.0
// The arguments of a task of April: tensors first, then scalars. A mistake is kept until the
// submit, which refuses it with the first one's sentence.
#ifndef TERN_FACES_SIMPLER_TERN_ARG_HPP
#define TERN_FACES_SIMPLER_TERN_ARG_HPP

#include <cstring>
#include <type_traits>

#include "simpler/tern/tensor.hpp"

// An output to allocate.
class TensorCreateInfo : public tern_simpler_create_info
{
  public:
    TensorCreateInfo(const uint32_t given[], uint32_t count, DataType type = DataType::FLOAT32,
                     bool no_dependences = false)
        : tern_simpler_create_info{}
    {
        ndims = count <= TERN_REGION_DIMS_MAX ? count : 0;
        for (uint32_t d = 0; d < ndims; d++) {
            shapes[d] = given[d];
        }
        dtype = type;
        is_all_offset_zero = 1;
        is_raw_eq_shapes = 1;
        manual_dep = no_dependences;
    }

    // Every element, when the memory is allocated.
    template <typename T> void set_initial_value(T value)
    {
        static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "an element");
        initial_value = 0;
        std::memcpy(&initial_value, &value, sizeof value);
        has_initial_value = 1;
    }
};

class Arg : public tern_simpler_arg
{
  public:
    Arg()
    {
        reset();
    }

    void reset()
    {
        has_error = false;
        error_msg = nullptr;
        launch_spec = {1, false};
        tensor_count_ = 0;
        scalar_count_ = 0;
        dep_count_ = 0;
    }

    // Tensors that exist; an Arg keeps their addresses until the submit.
    template <typename... T> void add_input(T &&...tensors)
    {
        (add_existing<T>(tensors, TensorArgType::INPUT), ...);
    }
    template <typename... T> void add_inout(T &&...tensors)
    {
        (add_existing<T>(tensors, TensorArgType::INOUT), ...);
    }
    template <typename... T> void add_no_dep(T &&...tensors)
    {
        (add_existing<T>(tensors, TensorArgType::NO_DEP), ...);
    }

    // Outputs: to allocate, or tensors that exist.
    template <typename... T> void add_output(T &&...outputs)
    {
        constexpr int tensors = (0 + ... + int{std::is_same_v<std::decay_t<T>, Tensor>});
        static_assert(tensors == 0 || tensors == int{sizeof...(T)},
                      "outputs to allocate and those that exist are added by calls of their own");
        if constexpr (tensors > 0) {
            (add_existing<T>(outputs, TensorArgType::OUTPUT_EXISTING), ...);
        } else {
            (add_new(outputs), ...);
        }
    }

    // Their bits; those of smaller types with zeros above them.
    template <typename... T> void add_scalar(T... values)
    {
        (add_bits(bits_of(values)), ...);
    }
    void add_scalars(const uint64_t *values, int count)
    {
        for (int i = 0; i < count; i++) {
            add_bits(values[i]);
        }
    }
    void add_scalars_i32(const int32_t *values, int count)
    {
        for (int i = 0; i < count; i++) {
            add_bits(bits_of(values[i]));
        }
    }
    void copy_scalars_from(const Arg &source, int offset, int count)
    {
        if (offset < 0 || count < 0 || count > source.scalar_count_ - offset) {
            refuse("copy_scalars_from names scalars that the source does not have");
            return;
        }
        add_scalars(source.scalars_ + offset, count);
    }

    // Tasks to run after.
    template <typename... T> void add_dep(T... tasks)
    {
        (add_task(tasks), ...);
    }

    int32_t tensor_count() const
    {
        return tensor_count_;
    }
    int32_t scalar_count() const
    {
        return scalar_count_;
    }

  protected:
    void refuse(const char *sentence)
    {
        error_msg = has_error ? error_msg : sentence;
        has_error = true;
    }

  private:
    // The index of one more tensor, -1: there is no place for it.
    int32_t take(TensorArgType tag)
    {
        if (scalar_count_ > 0) {
            refuse("a tensor was added behind a scalar");
            return -1;
        }
        if (tensor_count_ == TERN_SIMPLER_TENSORS) {
            refuse("more than 16 tensors");
            return -1;
        }
        tags_[tensor_count_] = tag;
        return tensor_count_++;
    }

    template <typename T> void add_existing(const Tensor &tensor, TensorArgType tag)
    {
        static_assert(std::is_lvalue_reference_v<T>, "an Arg keeps the tensor's address");
        int32_t at = take(tag);
        if (at >= 0) {
            tensors_[at] = &tensor;
        }
    }

    void add_new(const TensorCreateInfo &info)
    {
        int32_t at = take(TensorArgType::OUTPUT);
        if (at >= 0) {
            infos_[at] = info;
        }
    }

    template <typename T> static uint64_t bits_of(T value)
    {
        static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "a scalar");
        uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        return bits;
    }

    void add_bits(uint64_t bits)
    {
        if (scalar_count_ == TERN_SIMPLER_SCALARS) {
            refuse("more than 32 scalars");
            return;
        }
        scalars_[scalar_count_++] = bits;
    }

    void add_task(PTO2TaskId task)
    {
        if (dep_count_ == TERN_SIMPLER_DEPS) {
            refuse("more than 16 explicit dependences");
            return;
        }
        if (task.is_valid()) {
            deps_[dep_count_++] = task.raw;
        }
    }
};

#endif
