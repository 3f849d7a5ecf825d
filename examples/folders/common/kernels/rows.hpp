// SPDX-License-Identifier: Apache-2.0
// What kernels of these folders share: rows of numbers of any length, and how a row is
// copied, added up, and cut into parts.
#pragma once

#include "pto/pto-inst.hpp"

namespace folders
{

// A tile has 16 KiB; three of them lie at 0x0, 0x4000 and 0x8000.
constexpr int row_max = 4096;

template <typename T>
using TileOf =
    pto::Tile<pto::TileType::Vec, T, 1, row_max, pto::BLayout::RowMajor, 1, pto::DYNAMIC>;
using RowTile = TileOf<float>;

template <typename T>
struct RowOf : pto::GlobalTensor<T, pto::Shape<1, 1, 1, 1, pto::DYNAMIC>,
                                 pto::Stride<row_max, row_max, row_max, row_max, 1>> {
    RowOf(__gm__ T *data, int count)
        : RowOf::GlobalTensor(data, pto::Shape<1, 1, 1, 1, pto::DYNAMIC>(count))
    {
    }
};
using Row = RowOf<float>;

AICORE inline void Order(pipe_t before, pipe_t after)
{
    set_flag(before, after, EVENT_ID0);
    wait_flag(before, after, EVENT_ID0);
}

AICORE inline void Copy(__gm__ float *to, __gm__ float *from, int count)
{
    if (count == 0) {
        return;
    }
    RowTile tile(count);
    TASSIGN(tile, 0x0);
    Row source(from, count), target(to, count);
    TLOAD(tile, source);
    Order(PIPE_MTE2, PIPE_MTE3);
    TSTORE(target, tile);
    pipe_barrier(PIPE_ALL);
}

// to = row_at(0) + row_at(1) + ... in this order, so that all who add the same rows get the same
// bits.
template <typename RowAt> AICORE void AddUp(__gm__ float *to, int rows, RowAt row_at, int count)
{
    if (count == 0) {
        return;
    }
    RowTile sum(count), next(count);
    TASSIGN(sum, 0x0);
    TASSIGN(next, 0x4000);
    for (int i = 0; i < rows; i++) {
        Row row(row_at(i), count);
        if (i == 0) {
            TLOAD(sum, row);
            continue;
        }
        TLOAD(next, row);
        Order(PIPE_MTE2, PIPE_V);
        TADD(sum, sum, next);
        Order(PIPE_V, PIPE_MTE2); // the next row takes the place of this one
    }
    Row target(to, count);
    Order(PIPE_MTE2, PIPE_MTE3);
    Order(PIPE_V, PIPE_MTE3);
    TSTORE(target, sum);
    pipe_barrier(PIPE_ALL);
}

// Part `index` of a row that is cut into `parts`: whole lines of 32 bytes, as the chip wants them.
// Parts differ by one line when the lines cannot be divided evenly, and may be empty.
struct Part {
    int begin, count;

    Part(int all, int parts, int index) : begin(At(all, parts, index)), count(0)
    {
        count = At(all, parts, index + 1) - begin;
    }

  private:
    static constexpr int line = 8;

    static int At(int all, int parts, int index)
    {
        return index == parts ? all : all / line * index / parts * line;
    }
};

} // namespace folders
