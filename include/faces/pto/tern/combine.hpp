// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the PTO ISA on operands that differ: TPARTADD, TROWEXPANDADD, TCOLEXPANDADD and
// their like, TDIVS of a scalar, TXOR with a tile for what lies between.
#ifndef TERN_FACES_PTO_TERN_COMBINE_HPP
#define TERN_FACES_PTO_TERN_COMBINE_HPP

#include "pto/tern/call.hpp"
#include "tern/tile.h"

namespace pto
{

// dst = src0 op src1 where both are valid, and else the one that is.
#define TERN_PTO_PARTS(NAME, OP)                                                                   \
    template <typename D, typename A, typename B, typename... Events>                              \
    PTO_INST RecordEvent NAME(D &dst, A &src0, B &src1, Events &...events)                         \
    {                                                                                              \
        tern_detail::wait_for(events...);                                                          \
        tern_tile views[3] = {dst.tern_view(), src0.tern_view(), src1.tern_view()};                \
        tern_detail::check(#NAME, tern_tile_combine_parts(&views[0], &views[1], &views[2], OP));   \
        return {};                                                                                 \
    }
TERN_PTO_PARTS(TPARTADD, TERN_TILE_ADD)
TERN_PTO_PARTS(TPARTMUL, TERN_TILE_MUL)
TERN_PTO_PARTS(TPARTMAX, TERN_TILE_MAX)
TERN_PTO_PARTS(TPARTMIN, TERN_TILE_MIN)
#undef TERN_PTO_PARTS

// A tile for what lies between may come first of what is left.
template <typename D, typename A, typename B, typename... Events>
PTO_INST RecordEvent TXOR(D &dst, A &src0, B &src1, Events &...events)
{
    tern_detail::wait_for_but_tiles(events...);
    tern_tile views[3] = {dst.tern_view(), src0.tern_view(), src1.tern_view()};
    tern_detail::check("TXOR", tern_tile_combine(&views[0], &views[1], &views[2], TERN_TILE_XOR));
    return {};
}

template <typename D, typename A, typename... Events>
PTO_INST RecordEvent TXORS(D &dst, A &src, typename D::DType scalar, Events &...events)
{
    tern_detail::wait_for_but_tiles(events...);
    tern_tile views[2] = {dst.tern_view(), src.tern_view()};
    tern_detail::check("TXORS",
                       tern_tile_combine_scalar(&views[0], &views[1], &scalar, TERN_TILE_XOR));
    return {};
}

// dst = scalar / src.
template <typename D, typename A, typename... Events,
          typename = std::enable_if_t<tern_detail::is_tile<A>::value>>
PTO_INST RecordEvent TDIVS(D &dst, typename D::DType scalar, A &src, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_tile views[2] = {dst.tern_view(), src.tern_view()};
    tern_detail::check("TDIVS",
                       tern_tile_combine_to_scalar(&views[0], &scalar, &views[1], TERN_TILE_DIV));
    return {};
}

namespace tern_detail
{

// dst = src0 op the first element of src1's row; or of a row of 32 bytes all of them, in turn.
template <typename D, typename A, typename B>
void expand_rows(const char *name, D &dst, A &src0, B &src1, tern_tile_op op)
{
    constexpr bool rows = B::isRowMajor && B::SFractal == SLayout::NoneBox;
    const bool repeated = rows && src1.GetValidCol() * sizeof(typename B::DType) == 32;
    tern_tile views[3] = {dst.tern_view(), src0.tern_view(), src1.tern_view()};
    check(name, repeated ? tern_tile_combine_repeated(&views[0], &views[1], &views[2], op)
                         : tern_tile_combine_rows(&views[0], &views[1], &views[2], op));
}

// dst = src0 op the element of src1's first row in the same column.
template <typename D, typename A, typename B>
void expand_columns(const char *name, D &dst, A &src0, B &src1, tern_tile_op op)
{
    tern_tile views[3] = {dst.tern_view(), src0.tern_view(), src1.tern_view()};
    check(name, tern_tile_combine_columns(&views[0], &views[1], &views[2], op));
}

} // namespace tern_detail

#define TERN_PTO_EXPAND(NAME, HOW, OP)                                                             \
    template <typename D, typename A, typename B, typename... Events>                              \
    PTO_INST RecordEvent NAME(D &dst, A &src0, B &src1, Events &...events)                         \
    {                                                                                              \
        tern_detail::wait_for_but_tiles(events...);                                                \
        tern_detail::HOW(#NAME, dst, src0, src1, OP);                                              \
        return {};                                                                                 \
    }
TERN_PTO_EXPAND(TROWEXPANDADD, expand_rows, TERN_TILE_ADD)
TERN_PTO_EXPAND(TROWEXPANDSUB, expand_rows, TERN_TILE_SUB)
TERN_PTO_EXPAND(TROWEXPANDMUL, expand_rows, TERN_TILE_MUL)
TERN_PTO_EXPAND(TROWEXPANDDIV, expand_rows, TERN_TILE_DIV)
TERN_PTO_EXPAND(TROWEXPANDMAX, expand_rows, TERN_TILE_MAX)
TERN_PTO_EXPAND(TROWEXPANDMIN, expand_rows, TERN_TILE_MIN)
TERN_PTO_EXPAND(TCOLEXPANDADD, expand_columns, TERN_TILE_ADD)
TERN_PTO_EXPAND(TCOLEXPANDSUB, expand_columns, TERN_TILE_SUB)
TERN_PTO_EXPAND(TCOLEXPANDMUL, expand_columns, TERN_TILE_MUL)
TERN_PTO_EXPAND(TCOLEXPANDDIV, expand_columns, TERN_TILE_DIV)
TERN_PTO_EXPAND(TCOLEXPANDMAX, expand_columns, TERN_TILE_MAX)
TERN_PTO_EXPAND(TCOLEXPANDMIN, expand_columns, TERN_TILE_MIN)
#undef TERN_PTO_EXPAND

// dst = exp(the same difference): rounded in between, as two instructions do it.
#define TERN_PTO_EXP_OF(NAME, DIFFERENCE)                                                          \
    template <typename D, typename A, typename B, typename... Events>                              \
    PTO_INST RecordEvent NAME(D &dst, A &src0, B &src1, Events &...events)                         \
    {                                                                                              \
        tern_detail::wait_for_but_tiles(events...);                                                \
        tern_detail::DIFFERENCE(#NAME, dst, src0, src1, TERN_TILE_SUB);                            \
        tern_tile view = dst.tern_view();                                                          \
        tern_detail::check(#NAME, tern_tile_exp(&view, &view));                                    \
        return {};                                                                                 \
    }
TERN_PTO_EXP_OF(TROWEXPANDEXPDIF, expand_rows)
TERN_PTO_EXP_OF(TCOLEXPANDEXPDIF, expand_columns)
#undef TERN_PTO_EXP_OF

} // namespace pto

#endif
