// SPDX-License-Identifier: Apache-2.0
// Tensors in memory that all ranks map, which calls use where it lies.
#ifndef TERN_TORCH_MEMORY_HPP
#define TERN_TORCH_MEMORY_HPP

#include <ATen/core/Tensor.h>

#include <vector>

namespace tern_torch
{

// A tensor in a window. Throws tern's sentence when there is no process group, or no room.
at::Tensor empty_in_window(const std::vector<int64_t> &sizes, at::ScalarType type);

// From now on every tensor of the CPU from 4 KiB on is made in a window, while there is a process
// group and room; the others, and all in the child of a fork, where the allocator before makes
// them. false: as before.
void use_windows(bool yes);
bool uses_windows();

} // namespace tern_torch

#endif
