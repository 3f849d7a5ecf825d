// SPDX-License-Identifier: Apache-2.0
// Vectors of any length, in pieces that fit into tiles: out = compute(a, b), or compute(a).
#pragma once

#include <algorithm>

#include "rows.hpp"

namespace folders
{

// `compute(result, a, b)` has tiles; what `b` holds when it is null is not defined.
template <typename Compute>
AICORE void InPieces(__gm__ float *out, __gm__ float *a, __gm__ float *b, uint64_t count,
                     Compute compute)
{
    for (uint64_t begin = 0; begin < count; begin += row_max) {
        int size = static_cast<int>(std::min<uint64_t>(count - begin, row_max));
        RowTile result(size), left(size), right(size);
        TASSIGN(result, 0x0);
        TASSIGN(left, 0x4000);
        TASSIGN(right, 0x8000);
        Row from_a(a + begin, size);
        TLOAD(left, from_a);
        if (b != nullptr) {
            Row from_b(b + begin, size);
            TLOAD(right, from_b);
        }
        Order(PIPE_MTE2, PIPE_V);
        compute(result, left, right);
        Order(PIPE_V, PIPE_MTE3);
        Row to(out + begin, size);
        TSTORE(to, result);
        pipe_barrier(PIPE_ALL);
    }
}

} // namespace folders
