// SPDX-License-Identifier: Apache-2.0
// Products of matrices of the PTO ISA, and of a row with a matrix. A phase says when the chip frees
// the accumulator; products are the same with each.
#ifndef TERN_FACES_PTO_TERN_CUBE_HPP
#define TERN_FACES_PTO_TERN_CUBE_HPP

#include "pto/tern/call.hpp"
#include "tern/tile.h"

namespace pto
{

enum class AccPhase : uint8_t { Unspecified = 0, Unknown = 0, Partial = 2, Final = 3 };

template <typename C, typename A, typename B, typename... Events>
PTO_INST RecordEvent TMATMUL(C &c, A &a, B &b, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_tile views[3] = {c.tern_view(), a.tern_view(), b.tern_view()};
    tern_detail::check("TMATMUL", tern_tile_matmul(&views[0], &views[1], &views[2], 0));
    return {};
}

// c += a b.
template <typename C, typename A, typename B, typename... Events,
          typename = std::enable_if_t<(!tern_detail::is_tile<Events>::value && ...)>>
PTO_INST RecordEvent TMATMUL_ACC(C &c, A &a, B &b, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_tile views[3] = {c.tern_view(), a.tern_view(), b.tern_view()};
    tern_detail::check("TMATMUL_ACC", tern_tile_matmul(&views[0], &views[1], &views[2], 1));
    return {};
}

// c = before + a b.
template <typename C, typename D, typename A, typename B, typename... Events,
          typename = std::enable_if_t<tern_detail::is_tile<B>::value>>
PTO_INST RecordEvent TMATMUL_ACC(C &c, D &before, A &a, B &b, Events &...events)
{
    tern_detail::wait_for(events...);
    if (static_cast<const void *>(c.data()) != static_cast<const void *>(before.data())) {
        tern_tile views[2] = {c.tern_view(), before.tern_view()};
        tern_detail::check("TMATMUL_ACC", tern_tile_convert(&views[0], &views[1]));
    }
    return TMATMUL_ACC(c, a, b);
}

// c = a b + the row of the bias, which has the type of c.
template <typename C, typename A, typename B, typename Bias, typename... Events>
PTO_INST RecordEvent TMATMUL_BIAS(C &c, A &a, B &b, Bias &bias, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_tile views[2] = {c.tern_view(), bias.tern_view()};
    tern_detail::check("TMATMUL_BIAS", tern_tile_spread_columns(&views[0], &views[1]));
    return TMATMUL_ACC(c, a, b);
}

template <AccPhase phase, typename... Operands> PTO_INST RecordEvent TMATMUL(Operands &...operands)
{
    return TMATMUL(operands...);
}

template <AccPhase phase, typename... Operands>
PTO_INST RecordEvent TMATMUL_ACC(Operands &...operands)
{
    return TMATMUL_ACC(operands...);
}

template <AccPhase phase, typename... Operands>
PTO_INST RecordEvent TMATMUL_BIAS(Operands &...operands)
{
    return TMATMUL_BIAS(operands...);
}

// The same of an a of one row.
template <typename C, typename A, typename... More>
PTO_INST RecordEvent TGEMV(C &c, A &a, More &...more)
{
    return TMATMUL(c, a, more...);
}

template <typename C, typename D, typename A, typename B, typename... Events>
PTO_INST RecordEvent TGEMV_ACC(C &c, D &before, A &a, B &b, Events &...events)
{
    return TMATMUL_ACC(c, before, a, b, events...);
}

template <typename C, typename A, typename B, typename Bias, typename... Events>
PTO_INST RecordEvent TGEMV_BIAS(C &c, A &a, B &b, Bias &bias, Events &...events)
{
    return TMATMUL_BIAS(c, a, b, bias, events...);
}

} // namespace pto

#endif
