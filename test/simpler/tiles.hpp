// SPDX-License-Identifier: Apache-2.0
// What the kernels of these tests compute, on tiles.
#pragma once

#include "pto/pto-inst.hpp"

namespace tiles
{

constexpr int side = 64; // of the tiles of vectors
constexpr int step = side * side;

using Vector = pto::Tile<pto::TileType::Vec, float, side, side>;
template <int R, int C>
using Matrix =
    pto::GlobalTensor<float, pto::Shape<1, 1, 1, R, C>, pto::Stride<R * C, R * C, R * C, C, 1>>;

enum class Op { Add, Multiply };

// out[i] = a[i] op b[i], for a multiple of `step` elements.
template <Op op>
AICORE void Combine(__gm__ float *a, __gm__ float *b, __gm__ float *out, uint64_t count)
{
    Vector left, right, result;
    TASSIGN(left, 0x0);
    TASSIGN(right, 0x4000);
    TASSIGN(result, 0x8000);
    for (uint64_t i = 0; i < count; i += step) {
        Matrix<side, side> from_a(a + i), from_b(b + i), to(out + i);
        TLOAD(left, from_a);
        TLOAD(right, from_b);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        if constexpr (op == Op::Add) {
            TADD(result, left, right);
        } else {
            TMUL(result, left, right);
        }
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TSTORE(to, result);
        pipe_barrier(PIPE_ALL);
    }
}

AICORE inline void AddScalar(__gm__ float *a, float scalar, __gm__ float *out, uint64_t count)
{
    Vector source, result;
    TASSIGN(source, 0x0);
    TASSIGN(result, 0x4000);
    for (uint64_t i = 0; i < count; i += step) {
        Matrix<side, side> from(a + i), to(out + i);
        TLOAD(source, from);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TADDS(result, source, scalar);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TSTORE(to, result);
        pipe_barrier(PIPE_ALL);
    }
}

// out = a @ b, all N x N.
template <int N> AICORE void Matmul(__gm__ float *a, __gm__ float *b, __gm__ float *out)
{
    using Loaded = pto::Tile<pto::TileType::Mat, float, N, N, pto::BLayout::ColMajor, N, N,
                             pto::SLayout::RowMajor, 512>;
    Loaded a1, b1;
    pto::TileLeft<float, N, N> a0;
    pto::TileRight<float, N, N> b0;
    pto::TileAcc<float, N, N> c;
    TASSIGN(a1, 0x0);
    TASSIGN(b1, 0x20000);
    TASSIGN(a0, 0x0);
    TASSIGN(b0, 0x0);
    TASSIGN(c, 0x0);
    Matrix<N, N> from_a(a), from_b(b), to(out);
    TLOAD(a1, from_a);
    TLOAD(b1, from_b);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TMOV(a0, a1);
    TMOV(b0, b1);
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    TMATMUL(c, a0, b0);
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    TSTORE(to, c);
    pipe_barrier(PIPE_ALL);
}

} // namespace tiles
