// SPDX-License-Identifier: Apache-2.0
// The calls of c10d that move.
#include "backend.hpp"
#include "shares.hpp"

namespace tern_torch
{

WorkPointer ProcessGroupTern::broadcast(Tensors &tensors, const c10d::BroadcastOptions &opts)
{
    at::Tensor &tensor = only("broadcast", tensors);
    Element element = element_to_move(tensor.scalar_type());
    CallPointer call = make(c10d::OpType::BROADCAST, "tern:broadcast", tensors, opts.timeout);
    int root = check_root("broadcast", opts.rootRank);
    at::Tensor flat = root == rank_ ? to_read(*call, tensor) : to_write(*call, tensor);
    call->coll.kind = TERN_COLL_BROADCAST;
    call->coll.root = root;
    call->coll.in = call->coll.out = flat.data_ptr();
    call->coll.count = count_of(flat) * element.factor;
    call->coll.dtype = element.dtype;
    call->outputs.push_back(tensors);
    return push(std::move(call));
}

namespace
{

// An input that tern may read while it writes the shares.
at::Tensor apart(Call &call, const at::Tensor &input, const Shares &shares, Element element,
                 int own)
{
    at::Tensor flat = to_read(call, input);
    size_t bytes = tern_dtype_size(element.dtype);
    if (shares.overlaps(flat.data_ptr(), flat.nbytes(), bytes, own)) {
        call.kept.push_back(flat.clone());
        return call.kept.back();
    }
    return flat;
}

void set_all_gather(Call &call, tern_coll &coll, const at::Tensor &input, const Tensors &outputs,
                    int rank)
{
    Element element = element_to_move(input.scalar_type());
    Shares shares = shares_to_write(call, outputs, element);
    size_t count = count_of(input) * element.factor;
    if (shares.counts[rank] != count) {
        refuse("all_gather", "the output of rank " + std::to_string(rank) + " has " +
                                 std::to_string(shares.counts[rank] / element.factor) +
                                 " elements, its input " + std::to_string(input.numel()));
    }
    coll.kind = shares.even ? TERN_COLL_ALL_GATHER : TERN_COLL_ALL_GATHER_V;
    bool in_place = shares.even && shares.pointers == nullptr;
    coll.in = apart(call, input, shares, element, in_place ? rank : -1).data_ptr();
    set_out(coll, shares, !shares.even);
    coll.count = count;
    coll.dtype = element.dtype;
}

} // namespace

WorkPointer ProcessGroupTern::allgather(Lists &outputs, Tensors &inputs,
                                        const c10d::AllgatherOptions &opts)
{
    at::Tensor &input = only("all_gather", inputs);
    if (outputs.size() != 1) {
        refuse("all_gather", "one list of tensors, not " + std::to_string(outputs.size()));
    }
    check_list("all_gather", outputs[0], input);
    CallPointer call = make(c10d::OpType::ALLGATHER, "tern:all_gather", inputs, opts.timeout);
    set_all_gather(*call, call->coll, input, outputs[0], rank_);
    call->outputs = outputs;
    return push(std::move(call));
}

WorkPointer ProcessGroupTern::_allgather_base(at::Tensor &output, at::Tensor &input,
                                              const c10d::AllgatherOptions &opts)
{
    check_tensor("all_gather_into_tensor", input);
    check_same_type("all_gather_into_tensor", output, input);
    if (output.numel() != input.numel() * size_) {
        refuse("all_gather_into_tensor",
               "output tensor size must be equal to world_size times input tensor size");
    }
    Element element = element_to_move(input.scalar_type());
    CallPointer call =
        make(c10d::OpType::_ALLGATHER_BASE, "tern:all_gather_into_tensor", {input}, opts.timeout);
    at::Tensor flat = to_write(*call, output);
    Shares shares = shares_of(flat.data_ptr(), count_of(output) * element.factor, (size_t)size_);
    call->coll.kind = TERN_COLL_ALL_GATHER;
    call->coll.in = apart(*call, input, shares, element, rank_).data_ptr();
    set_out(call->coll, shares, false);
    call->coll.dtype = element.dtype;
    call->outputs.push_back({output});
    return push(std::move(call));
}

// outputs[r] are the tensors of rank r: one call for each input.
WorkPointer ProcessGroupTern::allgather_coalesced(Lists &outputs, Tensors &inputs,
                                                  const c10d::AllgatherOptions &opts)
{
    const char *name = "all_gather_coalesced";
    if (inputs.empty() || outputs.size() != (size_t)size_) {
        refuse(name, "at least one input, and a list of outputs for each rank");
    }
    CallPointer call =
        make(c10d::OpType::ALLGATHER_COALESCED, "tern:all_gather", inputs, opts.timeout);
    for (size_t i = 0; i < inputs.size(); i++) {
        check_tensor(name, inputs[i]);
        Tensors list;
        for (const Tensors &of_rank : outputs) {
            if (of_rank.size() != inputs.size()) {
                refuse(name, "the lists of outputs are as long as that of inputs");
            }
            list.push_back(of_rank[i]);
        }
        check_list(name, list, inputs[i]);
        tern_coll coll = {};
        set_all_gather(*call, coll, inputs[i], list, rank_);
        call->more.push_back(coll);
    }
    call->coll = call->more[0];
    call->more.erase(call->more.begin());
    call->outputs = outputs;
    return push(std::move(call));
}

WorkPointer ProcessGroupTern::gather(Lists &outputs, Tensors &inputs,
                                     const c10d::GatherOptions &opts)
{
    at::Tensor &input = only("gather", inputs);
    int root = check_root("gather", opts.rootRank);
    Element element = element_to_move(input.scalar_type());
    if (root == rank_ ? outputs.size() != 1 : !outputs.empty()) {
        refuse("gather", "requires a list of outputs on the root, and none elsewhere");
    }
    CallPointer call = make(c10d::OpType::GATHER, "tern:gather", inputs, opts.timeout);
    call->coll.kind = TERN_COLL_GATHER;
    call->coll.root = root;
    if (root == rank_) {
        check_list("gather", outputs[0], input);
        Shares shares = shares_to_write(*call, outputs[0], element);
        if (!shares.even || shares.count != count_of(input) * element.factor) {
            refuse("gather", "the outputs must have as many elements as the input");
        }
        int own = shares.pointers == nullptr ? rank_ : -1;
        call->coll.in = apart(*call, input, shares, element, own).data_ptr();
        set_out(call->coll, shares, false);
    } else {
        call->coll.in = to_read(*call, input).data_ptr();
    }
    call->coll.count = count_of(input) * element.factor;
    call->coll.dtype = element.dtype;
    call->outputs = outputs;
    return push(std::move(call));
}

WorkPointer ProcessGroupTern::scatter(Tensors &outputs, Lists &inputs,
                                      const c10d::ScatterOptions &opts)
{
    at::Tensor &output = only("scatter", outputs);
    int root = check_root("scatter", opts.rootRank);
    Element element = element_to_move(output.scalar_type());
    if (root == rank_ ? inputs.size() != 1 : !inputs.empty()) {
        refuse("scatter", "requires a list of inputs on the root, and none elsewhere");
    }
    CallPointer call = make(c10d::OpType::SCATTER, "tern:scatter",
                            inputs.empty() ? Tensors() : inputs[0], opts.timeout);
    at::Tensor flat = to_write(*call, output);
    call->coll.kind = TERN_COLL_SCATTER;
    call->coll.root = root;
    if (root == rank_) {
        check_list("scatter", inputs[0], output);
        Shares shares = shares_to_read(*call, inputs[0], element);
        if (!shares.even || shares.count != count_of(output) * element.factor) {
            refuse("scatter", "the inputs must have as many elements as the output");
        }
        if (shares.overlaps(flat.data_ptr(), flat.nbytes(), tern_dtype_size(element.dtype),
                            shares.pointers == nullptr ? rank_ : -1)) {
            at::Tensor own = at::empty(flat.sizes(), flat.options());
            call->copies.emplace_back(flat, own);
            flat = own;
        }
        set_in(call->coll, shares, false);
    }
    call->coll.out = flat.data_ptr();
    call->coll.count = count_of(output) * element.factor;
    call->coll.dtype = element.dtype;
    call->outputs.push_back(outputs);
    return push(std::move(call));
}

// Always with counts: a rank does not know whether those of others are alike.
WorkPointer ProcessGroupTern::alltoall(Tensors &outputs, Tensors &inputs,
                                       const c10d::AllToAllOptions &opts)
{
    if (inputs.empty()) {
        refuse("all_to_all", "the list of inputs is empty");
    }
    check_list("all_to_all", inputs, inputs[0]);
    check_list("all_to_all", outputs, inputs[0]);
    Element element = element_to_move(inputs[0].scalar_type());
    CallPointer call = make(c10d::OpType::ALLTOALL, "tern:all_to_all", inputs, opts.timeout);
    Shares to = shares_to_write(*call, outputs, element);
    Tensors list = inputs;
    for (at::Tensor &tensor : list) {
        if (to.overlaps(tensor.data_ptr(), tensor.nbytes(), tern_dtype_size(element.dtype), -1)) {
            tensor = tensor.clone();
        }
    }
    Shares from = shares_to_read(*call, list, element);
    call->coll.kind = TERN_COLL_ALL_TO_ALL_V;
    set_in(call->coll, from, true);
    set_out(call->coll, to, true);
    call->coll.count = 0;
    call->coll.dtype = element.dtype;
    call->outputs.push_back(outputs);
    return push(std::move(call));
}

WorkPointer ProcessGroupTern::alltoall_base(at::Tensor &output, at::Tensor &input,
                                            std::vector<int64_t> &output_splits,
                                            std::vector<int64_t> &input_splits,
                                            const c10d::AllToAllOptions &opts)
{
    const char *name = "all_to_all_single";
    check_tensor(name, input);
    check_same_type(name, output, input);
    Element element = element_to_move(input.scalar_type());
    CallPointer call =
        make(c10d::OpType::ALLTOALL_BASE, "tern:all_to_all_single", {input}, opts.timeout);
    at::Tensor flat = to_write(*call, output), read = to_read(*call, input);
    size_t n = (size_t)size_;
    Shares to = shares_split(*call, flat, output_splits, n, element, name);
    if (to.overlaps(read.data_ptr(), read.nbytes(), tern_dtype_size(element.dtype), -1)) {
        read = to_read(*call, read.clone());
    }
    Shares from = shares_split(*call, read, input_splits, n, element, name);
    bool even = output_splits.empty() && input_splits.empty();
    if (even && output.numel() != input.numel()) {
        refuse(name, "without splits the output has as many elements as the input");
    }
    call->coll.kind = even ? TERN_COLL_ALL_TO_ALL : TERN_COLL_ALL_TO_ALL_V;
    set_in(call->coll, from, !even);
    set_out(call->coll, to, !even);
    call->coll.count = even ? from.count : 0;
    call->coll.dtype = element.dtype;
    call->outputs.push_back({output});
    return push(std::move(call));
}

} // namespace tern_torch
