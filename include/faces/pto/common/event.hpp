// SPDX-License-Identifier: Apache-2.0
// Events of the PTO ISA: recorded behind one instruction, waited for before another. All but stores
// happens at once here, so waiting orders these alone: those of the kind that is named first.
#ifndef TERN_FACES_PTO_COMMON_EVENT_HPP
#define TERN_FACES_PTO_COMMON_EVENT_HPP

#include "pto/tern/call.hpp"
#include "tern/block.h"

namespace pto
{

// Instructions, by where they are executed and what they move.
enum class Op : uint16_t {
#define TERN_PTO_OP(NAME) NAME,
#include "pto/tern/op.def"
#undef TERN_PTO_OP
    OP_COUNT
};

namespace tern_detail
{

template <Op op> inline void order_stores_of()
{
    if constexpr (op == Op::TSTORE_VEC || op == Op::TSTORE_MAT || op == Op::MSCATTER) {
        tern_pipe_barrier(TERN_PIPE_MTE3);
    } else if constexpr (op == Op::TSTORE_ACC) {
        tern_pipe_barrier(TERN_PIPE_FIX);
    }
}

} // namespace tern_detail

// The number of the flag is the chip's means.
template <Op SrcOp, Op DstOp, bool AutoToken = true, event_t EventID = EVENT_ID0> struct Event {
    static constexpr Op srcOp = SrcOp;
    static constexpr Op dstOp = DstOp;

    Event() = default;
    Event(RecordEvent)
    {
    }
    Event &operator=(RecordEvent)
    {
        return *this;
    }
    Event &Init()
    {
        return *this;
    }
    Event &Record()
    {
        return *this;
    }
    Event &Wait()
    {
        tern_detail::order_stores_of<SrcOp>();
        return *this;
    }
};

// Waits for events; or orders what instructions of this kind have done.
template <typename... Events> PTO_INST void TSYNC(Events &...events)
{
    tern_detail::wait_for(events...);
}

template <Op op> PTO_INST void TSYNC()
{
    tern_detail::order_stores_of<op>();
}

} // namespace pto

#endif
