// SPDX-License-Identifier: Apache-2.0
// The buffers of a call: where tensors lie, and what is copied before and after it.
#ifndef TERN_TORCH_SHARES_HPP
#define TERN_TORCH_SHARES_HPP

#include <vector>

#include "call.hpp"
#include "tensors.hpp"

namespace tern_torch
{

// What tern reads of a tensor: itself where its elements lie one after the other, a copy else.
at::Tensor to_read(Call &call, const at::Tensor &tensor);
// What tern writes; copied into the tensor when the call has ended well.
at::Tensor to_write(Call &call, const at::Tensor &tensor);
// Read and written.
at::Tensor to_change(Call &call, const at::Tensor &tensor);

// The shares of all ranks, of a list of tensors with one dtype.
struct Shares {
    void *data = nullptr;            // one after the other; nullptr: pointers
    void *const *pointers = nullptr; // one for each rank; of the call
    const size_t *counts = nullptr;  // elements of tern; of the call; nullptr: all alike
    size_t n = 0;
    bool even = true;            // all counts are the first
    size_t count = 0, total = 0; // the first, all

    // Whether [from, from + bytes) overlaps any of them, but for the share of `own`, exactly.
    bool overlaps(const void *from, size_t bytes, size_t element_bytes, int own) const;
};
Shares shares_to_read(Call &call, const std::vector<at::Tensor> &list, Element element);
Shares shares_to_write(Call &call, const std::vector<at::Tensor> &list, Element element);
// n equal ones in one tensor.
Shares shares_of(void *data, size_t total, size_t n);
// With these splits of the first dimension; none: equal ones.
Shares shares_split(Call &call, const at::Tensor &flat, const std::vector<int64_t> &splits,
                    size_t n, Element element, const char *name);

// Puts shares where the call has its input, or its output; counted: with the count of each.
void set_in(tern_coll &coll, const Shares &shares, bool counted);
void set_out(tern_coll &coll, const Shares &shares, bool counted);

} // namespace tern_torch

#endif
