// SPDX-License-Identifier: Apache-2.0
#include "backend.hpp"

#include <limits>

#include "message.hpp"
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
    return made(std::move(call));
}

WorkPointer ProcessGroupTern::made(WorkPointer work)
{
    if (coalescing_) {
        coalesced_.push_back(work);
    }
    return work;
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

void ProcessGroupTern::check_list(const char *name, const Tensors &list,
                                  const at::Tensor &like) const
{
    if (list.size() != (size_t)size_) {
        refuse(name, "a list of " + std::to_string(size_) + " tensors, one for each rank, not of " +
                         std::to_string(list.size()));
    }
    for (const at::Tensor &tensor : list) {
        check_same_type(name, tensor, like);
    }
}

WorkPointer ProcessGroupTern::begin(c10d::OpType type, const char *title, const at::Tensor &tensor,
                                    int other, int tag)
{
    auto message = c10::make_intrusive<Message>(group_, type, title, tensor);
    message->begin(other, tag, group_->timeout_ns);
    return made(std::move(message));
}

WorkPointer ProcessGroupTern::send(Tensors &tensors, int to, int tag)
{
    at::Tensor &tensor = only("send", tensors);
    return begin(c10d::OpType::SEND, "tern:send", tensor, check_root("send", to), tag);
}

WorkPointer ProcessGroupTern::recv(Tensors &tensors, int from, int tag)
{
    at::Tensor &tensor = only("recv", tensors);
    return begin(c10d::OpType::RECV, "tern:recv", tensor, check_root("recv", from), tag);
}

WorkPointer ProcessGroupTern::recvAnysource(Tensors &tensors, int tag)
{
    at::Tensor &tensor = only("recv", tensors);
    return begin(c10d::OpType::RECVANYSOURCE, "tern:recvAnySource", tensor, TERN_RANK_ANY, tag);
}

WorkPointer ProcessGroupTern::barrier(const c10d::BarrierOptions &opts)
{
    CallPointer call = make(c10d::OpType::BARRIER, "tern:barrier", {}, opts.timeout);
    call->coll.kind = TERN_COLL_BARRIER;
    return push(std::move(call));
}

// tern's sentence names all ranks that have not come, so there is nothing more to wait for.
void ProcessGroupTern::monitoredBarrier(const c10d::BarrierOptions &opts, bool)
{
    barrier(opts)->wait();
}

} // namespace tern_torch
