// SPDX-License-Identifier: Apache-2.0
// Groups, signals, words and asynchronous transfers of the PTO communication ISA. Names and values
// are those of the PTO ISA.
#ifndef TERN_FACES_PTO_COMM_COMM_TYPES_HPP
#define TERN_FACES_PTO_COMM_COMM_TYPES_HPP

#include "pto/tern/call.hpp"
#include "tern/async.h"

namespace pto::comm
{

enum class NotifyOp : uint8_t { AtomicAdd = 0, Set = 1 };
enum class WaitCmp : uint8_t { EQ = 0, NE = 1, GT = 2, GE = 3, LT = 4, LE = 5 };
enum class ReduceOp : uint8_t { Sum = 0, Max = 1, Min = 2 };
enum class DmaEngine : uint8_t { SDMA = 0, URMA = 1, RDMA = 2 };
enum class CollEngine : uint8_t { AIV = 0, CCU = 1 };

// A tensor of each rank, as addressed from here; the root is the caller.
template <typename G> struct ParallelGroup {
    using value_type = G;
    G *tensors = nullptr;
    int nranks = 0;
    int rootIdx = -1;

    ParallelGroup() = default;
    ParallelGroup(G *arr, int size, int root = -1) : tensors(arr), nranks(size), rootIdx(root)
    {
    }
    static ParallelGroup Create(G *arr, int size, int root = -1)
    {
        return {arr, size, root};
    }
    int GetRootIdx() const
    {
        return rootIdx;
    }
    int GetSize() const
    {
        return nranks;
    }
    bool empty() const
    {
        return nranks == 0 || tensors == nullptr;
    }
    G &operator[](int rank) const
    {
        return tensors[rank];
    }
};

template <typename PG> struct ParallelGroupTraits {
    using GlobalDataType = typename PG::value_type;
};

template <typename Element, typename Shape, typename Stride, Layout layout = Layout::ND>
using GlobalSignal = GlobalTensor<Element, Shape, Stride, layout>;

// One word.
struct Signal : GlobalTensor<int32_t, Shape<1, 1, 1, 1, 1>, Stride<1, 1, 1, 1, 1>, Layout::ND> {
    using GlobalTensor::GlobalTensor;
    Signal() = default;
};

// R rows of C words, together or rowStride words apart.
template <int R, int C>
struct Signal2D
    : GlobalTensor<int32_t, Shape<1, 1, 1, R, C>, Stride<1, 1, 1, DYNAMIC, 1>, Layout::ND> {
    using Base =
        GlobalTensor<int32_t, Shape<1, 1, 1, R, C>, Stride<1, 1, 1, DYNAMIC, 1>, Layout::ND>;
    explicit Signal2D(int32_t *ptr, int rowStride = C)
        : Base(ptr, typename Base::Shape(), typename Base::Stride(rowStride))
    {
    }
};

// Transfers that were begun together; Wait on the last is Wait on all.
struct AsyncSession {
    DmaEngine engine = DmaEngine::SDMA;
    bool valid = false;
    tern_detail::shared<tern_session> session; // copies are the same session
    uint64_t commBlockOffset = 0;              // bytes that source and destination are shifted by
};

struct AsyncEvent {
    uint64_t handle = 0;
    DmaEngine engine = DmaEngine::SDMA;

    bool valid() const
    {
        return handle != 0;
    }
    bool Wait(const AsyncSession &session) const
    {
        if (valid()) {
            tern_detail::check("AsyncEvent::Wait",
                               tern_session_wait(session.session.get(), handle));
        }
        return true;
    }
    bool Test(const AsyncSession &session) const
    {
        return !valid() ||
               tern_detail::check("AsyncEvent::Test",
                                  tern_session_test(session.session.get(), handle)) != 0;
    }
};

} // namespace pto::comm

#endif
