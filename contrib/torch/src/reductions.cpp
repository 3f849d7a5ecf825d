// SPDX-License-Identifier: Apache-2.0
// The calls of c10d that sum.
#include <map>

#include "backend.hpp"
#include "shares.hpp"

namespace tern_torch
{

WorkPointer ProcessGroupTern::allreduce(Tensors &tensors, const c10d::AllreduceOptions &opts)
{
    if (tensors.size() == 1 && tensors[0].defined() && tensors[0].is_sparse()) {
        return sparse_allreduce(tensors, opts);
    }
    at::Tensor &tensor = only("all_reduce", tensors);
    Reduction reduction = reduction_of(tensor.scalar_type(), opts.reduceOp);
    CallPointer call = make(c10d::OpType::ALLREDUCE, "tern:all_reduce", tensors, opts.timeout);
    at::Tensor flat = to_change(*call, tensor);
    premultiply(flat, opts.reduceOp);
    call->coll.kind = TERN_COLL_ALL_REDUCE;
    call->coll.in = call->coll.out = flat.data_ptr();
    call->coll.count = count_of(flat) * reduction.element.factor;
    call->coll.dtype = reduction.element.dtype;
    call->coll.op = reduction.op;
    call->outputs.push_back(tensors);
    return push(std::move(call));
}

// One call for each dtype, in the order in which they appear.
WorkPointer ProcessGroupTern::allreduce_coalesced(Tensors &tensors,
                                                  const c10d::AllreduceCoalescedOptions &opts)
{
    CallPointer call =
        make(c10d::OpType::ALLREDUCE_COALESCED, "tern:all_reduce", tensors, opts.timeout);
    std::vector<at::ScalarType> types;
    std::map<at::ScalarType, Tensors> by_type;
    for (const at::Tensor &tensor : tensors) {
        check_tensor("all_reduce_coalesced", tensor);
        if (by_type[tensor.scalar_type()].empty()) {
            types.push_back(tensor.scalar_type());
        }
        by_type[tensor.scalar_type()].push_back(tensor);
    }
    if (types.empty()) {
        refuse("all_reduce_coalesced", "the list is empty");
    }
    for (at::ScalarType type : types) {
        Reduction reduction = reduction_of(type, opts.reduceOp);
        int64_t total = 0;
        for (const at::Tensor &tensor : by_type[type]) {
            total += tensor.numel();
        }
        at::Tensor flat = at::empty({total}, by_type[type][0].options());
        int64_t at = 0;
        for (const at::Tensor &tensor : by_type[type]) {
            at::Tensor part = flat.narrow(0, at, tensor.numel()).view(tensor.sizes());
            part.copy_(tensor);
            call->copies.emplace_back(tensor, part);
            at += tensor.numel();
        }
        premultiply(flat, opts.reduceOp);
        tern_coll coll = {};
        coll.kind = TERN_COLL_ALL_REDUCE;
        coll.in = coll.out = flat.data_ptr();
        coll.count = count_of(flat) * reduction.element.factor;
        coll.dtype = reduction.element.dtype;
        coll.op = reduction.op;
        call->kept.push_back(flat);
        call->more.push_back(coll);
    }
    call->coll = call->more[0];
    call->more.erase(call->more.begin());
    call->outputs.push_back(tensors);
    return push(std::move(call));
}

WorkPointer ProcessGroupTern::reduce(Tensors &tensors, const c10d::ReduceOptions &opts)
{
    at::Tensor &tensor = only("reduce", tensors);
    Reduction reduction = reduction_of(tensor.scalar_type(), opts.reduceOp);
    CallPointer call = make(c10d::OpType::REDUCE, "tern:reduce", tensors, opts.timeout);
    int root = check_root("reduce", opts.rootRank);
    bool scaled = opts.reduceOp == c10d::ReduceOp::PREMUL_SUM && root != rank_;
    at::Tensor flat =
        root == rank_ ? to_change(*call, tensor) : to_read(*call, scaled ? tensor.clone() : tensor);
    premultiply(flat, opts.reduceOp);
    call->coll.kind = TERN_COLL_REDUCE;
    call->coll.root = root;
    call->coll.in = flat.data_ptr();
    call->coll.out = root == rank_ ? flat.data_ptr() : nullptr;
    call->coll.count = count_of(flat) * reduction.element.factor;
    call->coll.dtype = reduction.element.dtype;
    call->coll.op = reduction.op;
    call->outputs.push_back(tensors);
    return push(std::move(call));
}

WorkPointer ProcessGroupTern::reduce_scatter(Tensors &outputs, Lists &inputs,
                                             const c10d::ReduceScatterOptions &opts)
{
    at::Tensor &output = only("reduce_scatter", outputs);
    if (inputs.size() != 1) {
        refuse("reduce_scatter", "one list of tensors, not " + std::to_string(inputs.size()));
    }
    check_list("reduce_scatter", inputs[0], output);
    Reduction reduction = reduction_of(output.scalar_type(), opts.reduceOp);
    CallPointer call =
        make(c10d::OpType::REDUCE_SCATTER, "tern:reduce_scatter", inputs[0], opts.timeout);
    at::Tensor flat = to_write(*call, output);
    Tensors list = inputs[0];
    if (opts.reduceOp == c10d::ReduceOp::PREMUL_SUM) {
        for (at::Tensor &tensor : list) {
            tensor = tensor.clone();
            premultiply(tensor, opts.reduceOp);
        }
    }
    Shares shares = shares_to_read(*call, list, reduction.element);
    size_t bytes = tern_dtype_size(reduction.element.dtype);
    size_t count = count_of(output) * reduction.element.factor;
    if (shares.counts[rank_] != count) {
        refuse("reduce_scatter", "the input for rank " + std::to_string(rank_) + " has " +
                                     std::to_string(shares.counts[rank_]) +
                                     " elements, the output " + std::to_string(count));
    }
    if (shares.overlaps(flat.data_ptr(), flat.nbytes(), bytes, -1)) {
        at::Tensor own = at::empty(flat.sizes(), flat.options());
        call->copies.emplace_back(flat, own);
        flat = own;
    }
    call->coll.kind = shares.even ? TERN_COLL_REDUCE_SCATTER : TERN_COLL_REDUCE_SCATTER_V;
    set_in(call->coll, shares, !shares.even);
    call->coll.out = flat.data_ptr();
    call->coll.count = count;
    call->coll.dtype = reduction.element.dtype;
    call->coll.op = reduction.op;
    call->outputs.push_back(outputs);
    return push(std::move(call));
}

WorkPointer ProcessGroupTern::_reduce_scatter_base(at::Tensor &output, at::Tensor &input,
                                                   const c10d::ReduceScatterOptions &opts)
{
    check_tensor("reduce_scatter_tensor", output);
    check_same_type("reduce_scatter_tensor", input, output);
    if (input.numel() != output.numel() * size_) {
        refuse("reduce_scatter_tensor", "input tensor must be the same size as output size times "
                                        "world size");
    }
    Reduction reduction = reduction_of(output.scalar_type(), opts.reduceOp);
    CallPointer call = make(c10d::OpType::_REDUCE_SCATTER_BASE, "tern:reduce_scatter_tensor",
                            {input}, opts.timeout);
    at::Tensor flat = to_write(*call, output);
    bool scaled = opts.reduceOp == c10d::ReduceOp::PREMUL_SUM;
    at::Tensor from = to_read(*call, scaled ? input.clone() : input);
    premultiply(from, opts.reduceOp);
    size_t total = count_of(input) * reduction.element.factor;
    Shares shares = shares_of(from.data_ptr(), total, (size_t)size_);
    size_t bytes = tern_dtype_size(reduction.element.dtype);
    if (shares.overlaps(flat.data_ptr(), flat.nbytes(), bytes, rank_)) {
        at::Tensor own = at::empty(flat.sizes(), flat.options());
        call->copies.emplace_back(flat, own);
        flat = own;
    }
    call->coll.kind = TERN_COLL_REDUCE_SCATTER;
    set_in(call->coll, shares, false);
    call->coll.out = flat.data_ptr();
    call->coll.dtype = reduction.element.dtype;
    call->coll.op = reduction.op;
    call->outputs.push_back({output});
    return push(std::move(call));
}

namespace
{

// What all ranks have of something, one after the other; counts of each.
int gather_all(Call &call, const at::Tensor &own, const std::vector<int64_t> &rows, int64_t width,
               at::Tensor &all)
{
    Element element = element_to_move(own.scalar_type());
    std::vector<size_t> counts;
    int64_t total = 0;
    for (int64_t count : rows) {
        counts.push_back((size_t)(count * width) * element.factor);
        total += count * width;
    }
    all = at::empty({total}, own.options());
    tern_coll coll = {};
    coll.kind = TERN_COLL_ALL_GATHER_V;
    coll.in = own.data_ptr();
    coll.out = all.data_ptr();
    coll.out_counts = counts.data();
    coll.count = count_of(own) * element.factor;
    coll.dtype = element.dtype;
    return call.run(coll);
}

int sum_sparse(Call &call, const at::Tensor &tensor, int size)
{
    at::Tensor own = tensor.coalesce();
    at::Tensor indices = own._indices().contiguous(), values = own._values().contiguous();
    int64_t entries = own._nnz(), dimensions = own.sparse_dim();
    int64_t width = 1;
    for (int64_t i = dimensions; i < own.dim(); i++) {
        width *= own.size(i);
    }
    std::vector<int64_t> counts((size_t)size);
    tern_coll coll = {};
    coll.kind = TERN_COLL_ALL_GATHER;
    coll.in = &entries;
    coll.out = counts.data();
    coll.count = 1;
    coll.dtype = TERN_I64;
    int status = call.run(coll);
    at::Tensor all_indices, all_values;
    status = status < 0 ? status : gather_all(call, indices, counts, dimensions, all_indices);
    status = status < 0 ? status : gather_all(call, values, counts, width, all_values);
    if (status < 0) {
        return status;
    }
    Tensors columns;
    int64_t at = 0, total = 0;
    for (int64_t count : counts) {
        columns.push_back(all_indices.narrow(0, at, count * dimensions).view({dimensions, count}));
        at += count * dimensions;
        total += count;
    }
    std::vector<int64_t> shape = values.sizes().vec();
    shape[0] = total;
    at::Tensor sum = at::_sparse_coo_tensor_unsafe(at::cat(columns, 1), all_values.view(shape),
                                                   own.sizes(), own.options())
                         .coalesce();
    call.copies.emplace_back(tensor, sum);
    return TERN_OK;
}

} // namespace

// Of the entries of all ranks: how many, where, what; summed in rank order by coalesce().
WorkPointer ProcessGroupTern::sparse_allreduce(Tensors &tensors, const c10d::AllreduceOptions &opts)
{
    at::Tensor tensor = tensors[0];
    if (!tensor.device().is_cpu()) {
        refuse("all_reduce", "the tensor is on " + tensor.device().str() +
                                 "; tern moves tensors of the CPU only");
    }
    if (!(opts.reduceOp == c10d::ReduceOp::SUM)) {
        refuse("all_reduce", "sparse tensors can be summed, nothing else");
    }
    CallPointer call =
        make(c10d::OpType::ALLREDUCE, "tern:sparse_all_reduce", tensors, opts.timeout);
    call->body = [tensor, size = size_](Call &call) { return sum_sparse(call, tensor, size); };
    call->outputs.push_back(tensors);
    return push(std::move(call));
}

} // namespace tern_torch
