// SPDX-License-Identifier: Apache-2.0
// What tern needs to know about tensors: element types, operations, and where the bytes lie.
#ifndef TERN_TORCH_TENSORS_HPP
#define TERN_TORCH_TENSORS_HPP

#include <string>
#include <vector>

#include "library.hpp"

namespace tern_torch
{

// An element of a tensor as `factor` elements of tern.
struct Element {
    tern_dtype dtype;
    size_t factor;
};

// Of calls that only move.
Element element_to_move(at::ScalarType type);

// Of calls that sum; and the operation, which may be another one (a sum of bools is their `or`).
// Throws std::invalid_argument with a sentence where the two do not go together.
struct Reduction {
    Element element;
    tern_reduce_op op;
};
Reduction reduction_of(at::ScalarType type, const c10d::ReduceOp &op);

// PREMUL_SUM: what each rank multiplies its elements with before the sum; in place.
void premultiply(at::Tensor &tensor, const c10d::ReduceOp &op);

// Throws unless it is a dense tensor of the CPU. name: "all_reduce".
void check_tensor(const char *name, const at::Tensor &tensor);
void check_same_type(const char *name, const at::Tensor &tensor, const at::Tensor &other);
[[noreturn]] void refuse(const char *name, const std::string &reason);

inline size_t count_of(const at::Tensor &tensor)
{
    return (size_t)tensor.numel();
}

} // namespace tern_torch

#endif
