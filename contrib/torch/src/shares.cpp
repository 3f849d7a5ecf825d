// SPDX-License-Identifier: Apache-2.0
#include "shares.hpp"

namespace tern_torch
{

at::Tensor to_read(Call &call, const at::Tensor &tensor)
{
    call.kept.push_back(tensor.contiguous());
    return call.kept.back();
}

at::Tensor to_write(Call &call, const at::Tensor &tensor)
{
    if (tensor.is_contiguous()) {
        call.kept.push_back(tensor);
        return tensor;
    }
    at::Tensor flat = at::empty(tensor.sizes(), tensor.options());
    call.copies.emplace_back(tensor, flat);
    return flat;
}

at::Tensor to_change(Call &call, const at::Tensor &tensor)
{
    at::Tensor flat = tensor.contiguous();
    if (flat.is_same(tensor)) {
        call.kept.push_back(flat);
    } else {
        call.copies.emplace_back(tensor, flat);
    }
    return flat;
}

namespace
{

Shares counted(Call &call, std::vector<size_t> counts)
{
    call.counts.push_back(std::move(counts));
    const std::vector<size_t> &kept = call.counts.back();
    Shares shares;
    shares.counts = kept.data();
    shares.n = kept.size();
    shares.count = kept.empty() ? 0 : kept[0];
    for (size_t count : kept) {
        shares.even = shares.even && count == shares.count;
        shares.total += count;
    }
    return shares;
}

// Where the first lies, when each begins where the one before ends.
void *one_after_the_other(const std::vector<at::Tensor> &list)
{
    char *next = nullptr;
    for (const at::Tensor &tensor : list) {
        if (!tensor.is_contiguous() || (next != nullptr && tensor.data_ptr() != next)) {
            return nullptr;
        }
        next = (char *)tensor.data_ptr() + tensor.nbytes();
    }
    return list.empty() ? nullptr : list[0].data_ptr();
}

bool all_contiguous(const std::vector<at::Tensor> &list)
{
    for (const at::Tensor &tensor : list) {
        if (!tensor.is_contiguous()) {
            return false;
        }
    }
    return true;
}

Shares shares_of_list(Call &call, const std::vector<at::Tensor> &list, Element element)
{
    std::vector<size_t> counts;
    counts.reserve(list.size());
    for (const at::Tensor &tensor : list) {
        counts.push_back(count_of(tensor) * element.factor);
    }
    Shares shares = counted(call, std::move(counts));
    shares.data = one_after_the_other(list);
    if (shares.data != nullptr) {
        call.kept.insert(call.kept.end(), list.begin(), list.end());
    } else if (all_contiguous(list)) {
        std::vector<void *> pointers;
        for (const at::Tensor &tensor : list) {
            pointers.push_back(tensor.data_ptr());
        }
        call.pointers.push_back(std::move(pointers));
        shares.pointers = call.pointers.back().data();
        call.kept.insert(call.kept.end(), list.begin(), list.end());
    }
    return shares;
}

at::Tensor flat_for(Shares &shares, const std::vector<at::Tensor> &list, Element element)
{
    at::Tensor flat = at::empty({(int64_t)(shares.total / element.factor)}, list[0].options());
    shares.data = flat.data_ptr();
    return flat;
}

} // namespace

Shares shares_to_read(Call &call, const std::vector<at::Tensor> &list, Element element)
{
    Shares shares = shares_of_list(call, list, element);
    if (shares.data == nullptr && shares.pointers == nullptr) {
        at::Tensor flat = flat_for(shares, list, element);
        int64_t at = 0;
        for (const at::Tensor &tensor : list) {
            flat.narrow(0, at, tensor.numel()).view(tensor.sizes()).copy_(tensor);
            at += tensor.numel();
        }
        call.kept.push_back(flat);
    }
    return shares;
}

Shares shares_to_write(Call &call, const std::vector<at::Tensor> &list, Element element)
{
    Shares shares = shares_of_list(call, list, element);
    if (shares.data == nullptr && shares.pointers == nullptr) {
        at::Tensor flat = flat_for(shares, list, element);
        int64_t at = 0;
        for (const at::Tensor &tensor : list) {
            call.copies.emplace_back(tensor,
                                     flat.narrow(0, at, tensor.numel()).view(tensor.sizes()));
            at += tensor.numel();
        }
        call.kept.push_back(flat);
    }
    return shares;
}

Shares shares_of(void *data, size_t total, size_t n)
{
    Shares shares;
    shares.n = n;
    shares.data = data;
    shares.count = total / n;
    shares.total = total;
    return shares;
}

Shares shares_split(Call &call, const at::Tensor &flat, const std::vector<int64_t> &splits,
                    size_t n, Element element, const char *name)
{
    if (flat.dim() == 0) {
        refuse(name, "a tensor without dimensions cannot be split");
    }
    int64_t rows = flat.size(0);
    if (!splits.empty() && splits.size() != n) {
        refuse(name, "Number of tensor splits not equal to group size");
    }
    if (splits.empty() && rows % (int64_t)n != 0) {
        refuse(name, "Tensor's dim 0 does not divide equally across group size");
    }
    size_t row = rows > 0 ? count_of(flat) / (size_t)rows * element.factor : 0;
    std::vector<size_t> counts;
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t split = splits.empty() ? rows / (int64_t)n : splits[i];
        if (split < 0) {
            refuse(name, "a split is below 0");
        }
        counts.push_back((size_t)split * row);
        sum += split;
    }
    if (sum != rows) {
        refuse(name, "Split sizes doesn't match total dim 0 size");
    }
    Shares shares = counted(call, std::move(counts));
    shares.data = flat.data_ptr();
    return shares;
}

bool Shares::overlaps(const void *from, size_t bytes, size_t element_bytes, int own) const
{
    const char *begin = (const char *)from, *end = begin + bytes;
    const char *next = (const char *)data;
    for (size_t i = 0; i < n; i++) {
        size_t length = (counts != nullptr ? counts[i] : count) * element_bytes;
        const char *share = pointers != nullptr ? (const char *)pointers[i] : next;
        bool in_place = (int)i == own && share == begin && length == bytes;
        if (!in_place && share < end && begin < share + length) {
            return true;
        }
        next = share + length;
    }
    return false;
}

void set_in(tern_coll &coll, const Shares &shares, bool counted)
{
    coll.in = shares.data;
    coll.ins = shares.pointers;
    coll.in_counts = counted ? shares.counts : nullptr;
    coll.count = shares.count;
}

void set_out(tern_coll &coll, const Shares &shares, bool counted)
{
    coll.out = shares.data;
    coll.outs = shares.pointers;
    coll.out_counts = counted ? shares.counts : nullptr;
    coll.count = shares.count;
}

} // namespace tern_torch
