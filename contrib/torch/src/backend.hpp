// SPDX-License-Identifier: Apache-2.0
// The process group "tern".
#ifndef TERN_TORCH_BACKEND_HPP
#define TERN_TORCH_BACKEND_HPP

#include <memory>
#include <string>
#include <vector>

#include "call.hpp"
#include "library.hpp"

namespace tern_torch
{

using Tensors = std::vector<at::Tensor>;
using Lists = std::vector<std::vector<at::Tensor>>;
using WorkPointer = c10::intrusive_ptr<c10d::Work>;
using CallPointer = c10::intrusive_ptr<Call>;

class ProcessGroupTern final : public BackendBase
{
  public:
    // Collective over the ranks of the group.
    ProcessGroupTern(c10d::Store &store, int rank, int size, std::chrono::milliseconds timeout);
    ~ProcessGroupTern() override;

    const std::string getBackendName() const override
    {
        return "tern";
    }

    WorkPointer allreduce(Tensors &tensors, const c10d::AllreduceOptions &opts) override;
    WorkPointer allreduce_coalesced(Tensors &tensors,
                                    const c10d::AllreduceCoalescedOptions &opts) override;
    WorkPointer broadcast(Tensors &tensors, const c10d::BroadcastOptions &opts) override;
    WorkPointer reduce(Tensors &tensors, const c10d::ReduceOptions &opts) override;
    WorkPointer allgather(Lists &outputs, Tensors &inputs,
                          const c10d::AllgatherOptions &opts) override;
    WorkPointer _allgather_base(at::Tensor &output, at::Tensor &input,
                                const c10d::AllgatherOptions &opts) override;
    WorkPointer allgather_coalesced(Lists &outputs, Tensors &inputs,
                                    const c10d::AllgatherOptions &opts) override;
    WorkPointer gather(Lists &outputs, Tensors &inputs, const c10d::GatherOptions &opts) override;
    WorkPointer scatter(Tensors &outputs, Lists &inputs, const c10d::ScatterOptions &opts) override;
    WorkPointer reduce_scatter(Tensors &outputs, Lists &inputs,
                               const c10d::ReduceScatterOptions &opts) override;
    WorkPointer _reduce_scatter_base(at::Tensor &output, at::Tensor &input,
                                     const c10d::ReduceScatterOptions &opts) override;
    WorkPointer alltoall(Tensors &outputs, Tensors &inputs,
                         const c10d::AllToAllOptions &opts) override;
    WorkPointer alltoall_base(at::Tensor &output, at::Tensor &input,
                              std::vector<int64_t> &output_splits,
                              std::vector<int64_t> &input_splits,
                              const c10d::AllToAllOptions &opts) override;
    WorkPointer send(Tensors &tensors, int to, int tag) override;
    WorkPointer recv(Tensors &tensors, int from, int tag) override;
    WorkPointer recvAnysource(Tensors &tensors, int tag) override;
    WorkPointer barrier(const c10d::BarrierOptions &opts) override;
    void monitoredBarrier(const c10d::BarrierOptions &opts, bool wait_all_ranks) override;
    void setSequenceNumberForGroup() override
    {
    }
    uint64_t getSequenceNumberForGroup() override
    {
        return calls_;
    }

#if TORCH_VERSION_MAJOR >= 2
    WorkPointer allgather_into_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                                const c10d::AllgatherOptions &opts) override;
    WorkPointer reduce_scatter_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                                const c10d::ReduceScatterOptions &opts) override;
    bool supportsCoalescing() const override
    {
        return true;
    }
    void startCoalescing() override;
    WorkPointer endCoalescing() override;
#endif

  private:
    // Remembers it while calls are coalesced.
    WorkPointer made(WorkPointer work);
    CallPointer make(c10d::OpType type, const char *title, const Tensors &inputs,
                     std::chrono::milliseconds timeout);
    WorkPointer sparse_allreduce(Tensors &tensors, const c10d::AllreduceOptions &opts);
    // A list of one tensor for each rank, all of the dtype.
    void check_list(const char *name, const Tensors &list, const at::Tensor &like) const;
    // The only tensor of a list, which c10d has for machines with several devices.
    static at::Tensor &only(const char *name, Tensors &tensors);
    int check_root(const char *name, int64_t root) const;
    WorkPointer push(CallPointer call);
    WorkPointer begin(c10d::OpType type, const char *title, const at::Tensor &tensor, int other,
                      int tag);

    std::shared_ptr<Group> group_;
    bool coalescing_ = false;
    std::vector<WorkPointer> coalesced_;
    std::atomic<uint64_t> calls_{0}; // collective ones
};

} // namespace tern_torch

#endif
