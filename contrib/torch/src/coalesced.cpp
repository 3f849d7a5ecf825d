// SPDX-License-Identifier: Apache-2.0
// What Backends of torch 2 can do more than process groups of torch 1. Never compiled or run: no
// torch 2 could be had where this was written.
#include "backend.hpp"

#if TORCH_VERSION_MAJOR >= 2

namespace tern_torch
{

namespace
{

// The end of several.
class Several final : public c10d::Work
{
  public:
    explicit Several(std::vector<WorkPointer> works) : works_(std::move(works))
    {
    }

    bool isCompleted() override
    {
        bool all = true;
        for (auto &work : works_) {
            all = work->isCompleted() && all;
        }
        return all;
    }
    bool isSuccess() const override
    {
        for (auto &work : works_) {
            if (!work->isSuccess()) {
                return false;
            }
        }
        return true;
    }
    std::exception_ptr exception() const override
    {
        for (auto &work : works_) {
            if (auto error = work->exception()) {
                return error;
            }
        }
        return nullptr;
    }
    void synchronize() override
    {
        wait();
    }
    bool wait(std::chrono::milliseconds timeout = kNoTimeout) override
    {
        for (auto &work : works_) {
            work->wait(timeout);
        }
        return true;
    }
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override
    {
        c10::List<c10::intrusive_ptr<c10::ivalue::Future>> futures(
            c10::FutureType::create(c10::ListType::create(c10::TensorType::get())));
        for (auto &work : works_) {
            futures.push_back(work->getFuture());
        }
        return c10::collectAll(futures);
    }

  private:
    std::vector<WorkPointer> works_;
};

} // namespace

void ProcessGroupTern::startCoalescing()
{
    coalescing_ = true;
    coalesced_.clear();
}

WorkPointer ProcessGroupTern::endCoalescing()
{
    coalescing_ = false;
    return c10::make_intrusive<Several>(std::move(coalesced_));
}

WorkPointer ProcessGroupTern::allgather_into_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                                              const c10d::AllgatherOptions &opts)
{
    std::vector<WorkPointer> works;
    for (size_t i = 0; i < inputs.size(); i++) {
        works.push_back(_allgather_base(outputs.at(i), inputs[i], opts));
    }
    return c10::make_intrusive<Several>(std::move(works));
}

WorkPointer
ProcessGroupTern::reduce_scatter_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                                  const c10d::ReduceScatterOptions &opts)
{
    std::vector<WorkPointer> works;
    for (size_t i = 0; i < inputs.size(); i++) {
        works.push_back(_reduce_scatter_base(outputs.at(i), inputs[i], opts));
    }
    return c10::make_intrusive<Several>(std::move(works));
}

} // namespace tern_torch

#endif
