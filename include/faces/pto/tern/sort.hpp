// SPDX-License-Identifier: Apache-2.0
// TSORT32 and TMRGSORT of the PTO ISA: pairs of a value and an index (tern/tile.h), 32 of them
// sorted, and sorted lists merged. A tile for what lies between is not used.
#ifndef TERN_FACES_PTO_TERN_SORT_HPP
#define TERN_FACES_PTO_TERN_SORT_HPP

#include "pto/tern/call.hpp"
#include "tern/tile.h"

namespace pto
{

// How many pairs of each list were merged.
struct MrgSortExecutedNumList {
    uint16_t mrgSortList0;
    uint16_t mrgSortList1;
    uint16_t mrgSortList2;
    uint16_t mrgSortList3;
};

template <typename... Lists> constexpr uint32_t GETMRGSORTTMPSIZE()
{
    return (static_cast<uint32_t>(Lists::Cols) + ...);
}

namespace tern_detail
{

template <bool exhausted, typename D, typename... Lists>
void merge(D &dst, MrgSortExecutedNumList &executed, Lists &...lists)
{
    const tern_tile to = dst.tern_view();
    const tern_tile views[] = {lists.tern_view()...};
    int64_t taken[4] = {};
    check("TMRGSORT",
          tern_tile_merge(&to, views, static_cast<int>(sizeof...(Lists)), exhausted, taken));
    executed = {static_cast<uint16_t>(taken[0]), static_cast<uint16_t>(taken[1]),
                static_cast<uint16_t>(taken[2]), static_cast<uint16_t>(taken[3])};
}

} // namespace tern_detail

// Blocks of 32, of which the last one may be shorter in the form with a tile for what lies between.
template <typename D, typename S, typename I, typename T>
PTO_INST RecordEvent TSORT32(D &dst, S &src, I &index, T &)
{
    tern_tile views[3] = {dst.tern_view(), src.tern_view(), index.tern_view()};
    tern_detail::check("TSORT32", tern_tile_sort(&views[0], &views[1], &views[2]));
    return {};
}

template <typename D, typename S, typename I> PTO_INST RecordEvent TSORT32(D &dst, S &src, I &index)
{
    static_assert(S::ValidCol == DYNAMIC || S::ValidCol % 32 == 0,
                  "blocks of 32: the last one is shorter in the form of four tiles alone");
    return TSORT32(dst, src, index, src);
}

template <typename D, typename S, typename... Events>
PTO_INST RecordEvent TMRGSORT(D &dst, S &src, uint32_t length, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_tile views[2] = {dst.tern_view(), src.tern_view()};
    tern_detail::check("TMRGSORT",
                       tern_tile_merge_blocks(&views[0], &views[1], static_cast<int32_t>(length)));
    return {};
}

// exhausted: no more are merged when a list has none left.
template <typename D, typename T, typename A, typename B, bool exhausted, typename... Events>
PTO_INST RecordEvent TMRGSORT(D &dst, MrgSortExecutedNumList &executed, T &, A &src0, B &src1,
                              Events &...events)
{
    tern_detail::wait_for(events...);
    tern_detail::merge<exhausted>(dst, executed, src0, src1);
    return {};
}

template <typename D, typename T, typename A, typename B, typename C, bool exhausted,
          typename... Events>
PTO_INST RecordEvent TMRGSORT(D &dst, MrgSortExecutedNumList &executed, T &, A &src0, B &src1,
                              C &src2, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_detail::merge<exhausted>(dst, executed, src0, src1, src2);
    return {};
}

template <typename D, typename T, typename A, typename B, typename C, typename E, bool exhausted,
          typename... Events>
PTO_INST RecordEvent TMRGSORT(D &dst, MrgSortExecutedNumList &executed, T &, A &src0, B &src1,
                              C &src2, E &src3, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_detail::merge<exhausted>(dst, executed, src0, src1, src2, src3);
    return {};
}

} // namespace pto

#endif
