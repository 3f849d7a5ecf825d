// SPDX-License-Identifier: Apache-2.0
#include "backend.hpp"

#include <limits>

#include "tensors.hpp"

namespace tern_torch
{

namespace
{

int64_t nanoseconds(std::chrono::milliseconds timeout)
{
    return timeout.count() > std::numeric_limits<int64_t>::max() / 1000000
               ? std::numeric_limits<int64_t>::max()
               : (int64_t)timeout.count() * 1000000;
}

} // namespace

ProcessGroupTern::ProcessGroupTern(c10d::Store &store, int rank, int size,
                                   std::chrono::milliseconds timeout)
    : BackendBase(rank, size), group_(Group::start(store, rank, size, nanoseconds(timeout)))
{
    init();
}

ProcessGroupTern::~ProcessGroupTern()
{
    WithoutPython released;
    Group::leave(group_);
    group_.reset();
}

CallPointer ProcessGroupTern::make(c10d::OpType type, const char *title, const Tensors &inputs,
                                   std::chrono::milliseconds timeout)
{
    CallPointer call = c10::make_intrusive<Call>(group_, type, title, inputs);
    call->timeout_ns = timeout.count() > 0 ? nanoseconds(timeout) : group_->timeout_ns;
    return call;
}

WorkPointer ProcessGroupTern::push(CallPointer call)
{
    calls_++;
    group_->queue.push(*call);
    return call;
}

at::Tensor &ProcessGroupTern::only(const char *name, Tensors &tensors)
{
    if (tensors.size() != 1) {
        refuse(name, "one tensor, not " + std::to_string(tensors.size()));
    }
    check_tensor(name, tensors[0]);
    return tensors[0];
}

int ProcessGroupTern::check_root(const char *name, int64_t root) const
{
    if (root < 0 || root >= size_) {
        refuse(name, "there is no rank " + std::to_string(root) + " of " + std::to_string(size_));
    }
    return (int)root;
}

WorkPointer ProcessGroupTern::allreduce(Tensors &tensors, const c10d::AllreduceOptions &opts)
{
    at::Tensor &tensor = only("all_reduce", tensors);
    Reduction reduction = reduction_of(tensor.scalar_type(), opts.reduceOp);
    CallPointer call = make(c10d::OpType::ALLREDUCE, "tern:all_reduce", tensors, opts.timeout);
    at::Tensor flat = tensor.contiguous();
    premultiply(flat, opts.reduceOp);
    call->coll.kind = TERN_COLL_ALL_REDUCE;
    call->coll.in = call->coll.out = flat.data_ptr();
    call->coll.count = count_of(flat) * reduction.element.factor;
    call->coll.dtype = reduction.element.dtype;
    call->coll.op = reduction.op;
    if (!flat.is_same(tensor)) {
        call->after = [tensor, flat] { tensor.copy_(flat); };
    }
    call->outputs.push_back(tensors);
    return push(std::move(call));
}

WorkPointer ProcessGroupTern::broadcast(Tensors &tensors, const c10d::BroadcastOptions &opts)
{
    at::Tensor &tensor = only("broadcast", tensors);
    Element element = element_to_move(tensor.scalar_type());
    CallPointer call = make(c10d::OpType::BROADCAST, "tern:broadcast", tensors, opts.timeout);
    at::Tensor flat = tensor.contiguous();
    call->coll.kind = TERN_COLL_BROADCAST;
    call->coll.root = check_root("broadcast", opts.rootRank);
    call->coll.in = call->coll.out = flat.data_ptr();
    call->coll.count = count_of(flat) * element.factor;
    call->coll.dtype = element.dtype;
    if (!flat.is_same(tensor)) {
        bool mine = call->coll.root == rank_;
        call->after = [tensor, flat, mine] {
            if (!mine) {
                tensor.copy_(flat);
            }
        };
    }
    call->outputs.push_back(tensors);
    return push(std::move(call));
}

WorkPointer ProcessGroupTern::barrier(const c10d::BarrierOptions &opts)
{
    CallPointer call = make(c10d::OpType::BARRIER, "tern:barrier", {}, opts.timeout);
    call->coll.kind = TERN_COLL_BARRIER;
    return push(std::move(call));
}

} // namespace tern_torch
