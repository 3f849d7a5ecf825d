// SPDX-License-Identifier: Apache-2.0
// TCMP, TCMPS, TSEL and TSELS of the PTO ISA: a mask is a tile of bits, bit c % 8 of byte c / 8 of
// its row for column c. A tile for what lies between, which kernels hand over, is not used.
#ifndef TERN_FACES_PTO_TERN_MASKS_HPP
#define TERN_FACES_PTO_TERN_MASKS_HPP

#include "pto/tern/call.hpp"
#include "tern/tile.h"

namespace pto
{

enum class CmpMode : uint8_t { EQ = 0, NE = 1, LT = 2, LE = 3, GT = 4, GE = 5 };

namespace tern_detail
{

inline tern_cmp comparison(CmpMode mode)
{
    switch (mode) {
    case CmpMode::EQ:
        return TERN_CMP_EQ;
    case CmpMode::NE:
        return TERN_CMP_NE;
    case CmpMode::LT:
        return TERN_CMP_LT;
    case CmpMode::LE:
        return TERN_CMP_LE;
    case CmpMode::GT:
        return TERN_CMP_GT;
    case CmpMode::GE:
        return TERN_CMP_GE;
    }
    return static_cast<tern_cmp>(TERN_CMP_LE + 1); // there is none: it is refused
}

} // namespace tern_detail

template <typename M, typename A, typename B, typename... Events>
PTO_INST RecordEvent TCMP(M &mask, A &src0, B &src1, CmpMode mode, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_tile views[3] = {mask.tern_view(), src0.tern_view(), src1.tern_view()};
    tern_detail::check("TCMP", tern_tile_compare(&views[0], &views[1], &views[2],
                                                 tern_detail::comparison(mode)));
    return {};
}

template <typename M, typename A, typename T, typename... Events,
          typename = std::enable_if_t<!tern_detail::is_tile<T>::value>>
PTO_INST RecordEvent TCMPS(M &mask, A &src, T scalar, CmpMode mode, Events &...events)
{
    tern_detail::wait_for(events...);
    const typename A::DType element = static_cast<typename A::DType>(scalar);
    tern_tile views[2] = {mask.tern_view(), src.tern_view()};
    tern_detail::check("TCMPS", tern_tile_compare_scalar(&views[0], &views[1], &element,
                                                         tern_detail::comparison(mode)));
    return {};
}

// dst = src0 where the mask is set, else src1.
template <typename D, typename M, typename A, typename B, typename... Events>
PTO_INST RecordEvent TSEL(D &dst, M &mask, A &src0, B &src1, Events &...events)
{
    tern_detail::wait_for_but_tiles(events...);
    tern_tile views[4] = {dst.tern_view(), mask.tern_view(), src0.tern_view(), src1.tern_view()};
    tern_detail::check("TSEL", tern_tile_select(&views[0], &views[1], &views[2], &views[3]));
    return {};
}

// dst = src where the mask is set, else the scalar.
template <typename D, typename M, typename A, typename... Events>
PTO_INST RecordEvent TSELS(D &dst, M &mask, A &src, typename A::DType scalar, Events &...events)
{
    static_assert(!std::is_same_v<D, M>,
                  "the second tile is a mask: the form of two tiles and a mode is not here");
    tern_detail::wait_for(events...);
    tern_tile views[3] = {dst.tern_view(), mask.tern_view(), src.tern_view()};
    tern_detail::check("TSELS", tern_tile_select_scalar(&views[0], &views[1], &views[2], &scalar));
    return {};
}

template <typename D, typename M, typename A, typename T, typename... Events,
          typename = std::enable_if_t<tern_detail::is_tile<T>::value>>
PTO_INST RecordEvent TSELS(D &dst, M &mask, A &src, T &, typename A::DType scalar,
                           Events &...events)
{
    return TSELS(dst, mask, src, scalar, events...);
}

} // namespace pto

#endif
