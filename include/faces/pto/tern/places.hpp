// SPDX-License-Identifier: Apache-2.0
// TINSERT, TTRANS, TFILLPAD, TGATHER and TSCATTER of the PTO ISA: elements of tiles in other
// places. The last two are also names of collectives of a group (pto/comm/pto_comm_inst.hpp).
#ifndef TERN_FACES_PTO_TERN_PLACES_HPP
#define TERN_FACES_PTO_TERN_PLACES_HPP

#include <limits>

#include "pto/tern/call.hpp"
#include "tern/tile.h"

namespace pto
{

// Of two, or of four, elements that one whose bit is 1; the rightmost bit is that of the first.
enum class MaskPattern : uint8_t {
    P0101 = 1,
    P1010 = 2,
    P0001 = 3,
    P0010 = 4,
    P0100 = 5,
    P1000 = 6,
    P1111 = 7,
};
enum class GatherAxis : uint8_t { GATHER_ROW = 0, GATHER_COL = 1 };
enum class ScatterAxis : uint8_t { SCATTER_ROW = 0, SCATTER_COL = 1 };
enum class TFillPadMode { Normal, InPlace, Expand };

namespace tern_detail
{

constexpr int32_t step_of(MaskPattern pattern)
{
    return pattern == MaskPattern::P1111 ? 1 : pattern <= MaskPattern::P1010 ? 2 : 4;
}
constexpr int32_t first_of(MaskPattern pattern)
{
    return pattern == MaskPattern::P1111
               ? 0
               : (static_cast<int32_t>(pattern) - 1) - (pattern <= MaskPattern::P1010 ? 0 : 2);
}

template <typename T> T pad_value(PadValue pad)
{
    static_assert(sizeof(T) <= 4, "elements of 1, 2 or 4 bytes");
    if (pad == PadValue::Zero) {
        return T(0);
    }
    if constexpr (std::is_integral_v<T>) {
        return pad == PadValue::Max ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
    } else {
        const float infinity = std::numeric_limits<float>::infinity();
        return T(pad == PadValue::Max ? infinity : -infinity);
    }
}

template <PadValue pad, typename D, typename S> void fill_pad(const char *name, D &dst, S &src)
{
    static_assert(pad != PadValue::Null, "what is filled in is not Null");
    const typename D::DType value = pad_value<typename D::DType>(pad);
    tern_tile views[2] = {dst.tern_view(), src.tern_view()};
    check(name, tern_tile_pad(&views[0], &views[1], &value));
}

} // namespace tern_detail

template <typename D, typename S, typename... Events>
PTO_INST RecordEvent TINSERT(D &dst, S &src, int row = 0, int column = 0, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_tile views[2] = {dst.tern_view(), src.tern_view()};
    tern_detail::check("TINSERT", tern_tile_insert(&views[0], &views[1], row, column));
    return {};
}

template <typename D, typename S, typename T, typename... Events>
PTO_INST RecordEvent TTRANS(D &dst, S &src, T &, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_tile views[2] = {dst.tern_view(), src.tern_view()};
    tern_detail::check("TTRANS", tern_tile_transpose(&views[0], &views[1]));
    return {};
}

// What the tile has beside the valid elements of src becomes what its type says.
template <TFillPadMode mode = TFillPadMode::Normal, typename D, typename S, typename... Events,
          typename = std::enable_if_t<D::Loc == TileType::Vec>>
PTO_INST RecordEvent TFILLPAD(D &dst, S &src, Events &...events)
{
    static_assert(mode == TFillPadMode::Expand ? D::Rows >= S::Rows && D::Cols >= S::Cols
                                               : D::Rows == S::Rows && D::Cols == S::Cols,
                  "dst has the rows and columns of src, and TFILLPAD_EXPAND at least these");
    tern_detail::wait_for(events...);
    tern_detail::fill_pad<D::PadVal>("TFILLPAD", dst, src);
    return {};
}

// Of tiles of L1, with zeros.
template <typename D, PadValue pad = PadValue::Zero, typename... Events,
          typename = std::enable_if_t<D::Loc == TileType::Mat>>
PTO_INST RecordEvent TFILLPAD(D &dst, D &src, Events &...events)
{
    static_assert(pad == PadValue::Zero, "of tiles of L1, with zeros alone");
    tern_detail::wait_for(events...);
    tern_detail::fill_pad<pad>("TFILLPAD", dst, src);
    return {};
}

template <typename D, typename S, typename... Events>
PTO_INST RecordEvent TFILLPAD_INPLACE(D &dst, S &src, Events &...events)
{
    return TFILLPAD<TFillPadMode::InPlace>(dst, src, events...);
}

template <typename D, typename S, typename... Events>
PTO_INST RecordEvent TFILLPAD_EXPAND(D &dst, S &src, Events &...events)
{
    return TFILLPAD<TFillPadMode::Expand>(dst, src, events...);
}

// dst = the elements of src that the indices name; the older form has no tile for what lies
// between.
template <
    typename D, typename S, typename I, typename... Events,
    typename = std::enable_if_t<tern_detail::is_tile<D>::value && tern_detail::is_tile<I>::value>>
PTO_INST RecordEvent TGATHER(D &dst, S &src, I &indices, Events &...events)
{
    tern_detail::wait_for_but_tiles(events...);
    tern_tile views[3] = {dst.tern_view(), src.tern_view(), indices.tern_view()};
    tern_detail::check("TGATHER", tern_tile_gather(&views[0], &views[1], &views[2]));
    return {};
}

template <typename D, typename S, MaskPattern pattern = MaskPattern::P1111,
          auto axis = GatherAxis::GATHER_ROW, typename... Events,
          typename = std::enable_if_t<tern_detail::is_tile<D>::value &&
                                      (!tern_detail::is_tile<Events>::value && ...)>>
PTO_INST RecordEvent TGATHER(D &dst, S &src, Events &...events)
{
    constexpr int32_t step = tern_detail::step_of(pattern);
    constexpr int32_t first = tern_detail::first_of(pattern);
    tern_detail::wait_for(events...);
    tern_tile views[2] = {dst.tern_view(), src.tern_view()};
    tern_detail::check("TGATHER", axis == GatherAxis::GATHER_ROW
                                      ? tern_tile_take_columns(&views[0], &views[1], step, first)
                                      : tern_tile_take_rows(&views[0], &views[1], step, first));
    return {};
}

// The elements of dst that the indices name = those of src, and all others 0.
template <
    typename D, typename S, typename I, typename... Events,
    typename = std::enable_if_t<tern_detail::is_tile<D>::value && tern_detail::is_tile<I>::value>>
PTO_INST RecordEvent TSCATTER(D &dst, S &src, I &indices, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_tile views[3] = {dst.tern_view(), src.tern_view(), indices.tern_view()};
    tern_detail::check("TSCATTER", tern_tile_scatter(&views[0], &views[1], &views[2]));
    return {};
}

template <MaskPattern pattern = MaskPattern::P1111, auto axis = ScatterAxis::SCATTER_ROW,
          typename D, typename S, typename... Events,
          typename = std::enable_if_t<tern_detail::is_tile<D>::value &&
                                      (!tern_detail::is_tile<Events>::value && ...)>>
PTO_INST RecordEvent TSCATTER(D &dst, S &src, Events &...events)
{
    constexpr int32_t step = tern_detail::step_of(pattern);
    constexpr int32_t first = tern_detail::first_of(pattern);
    tern_detail::wait_for(events...);
    tern_tile views[2] = {dst.tern_view(), src.tern_view()};
    if constexpr (step == 1) {
        tern_detail::check("TSCATTER", tern_tile_convert(&views[0], &views[1]));
    } else {
        tern_detail::check("TSCATTER",
                           axis == ScatterAxis::SCATTER_ROW
                               ? tern_tile_set_columns(&views[0], &views[1], step, first)
                               : tern_tile_set_rows(&views[0], &views[1], step, first));
    }
    return {};
}

} // namespace pto

#endif
