// SPDX-License-Identifier: Apache-2.0
// The kernels of the layer (tp_ffn.py). Matrices come as regions, so that a rank's columns of a
// weight are used where they lie in the file. The AllReduce of a chunk is one pass: each rank sums
// a slice of all ranks' partial sums, in rank order, and stores it on all, so all have the same
// bits.
//
// Signals only count up. `ready` of a chunk: a rank's partial sums lie in its window; `done`: a
// rank has stored its slice here. Nothing is overwritten while a peer reads it: a run ends after it
// has seen `done` of all, who have then read its partial sums; and in the next run a rank stores
// sums only after `ready` of all, which a rank says when its last run, and its reads, have ended.
#include <cmath>
#include <cstdint>

#include <tern/graph.h>
#include <tern/put.h>
#include <tern/region.h>
#include <tern/signal.h>
#include <tern/tile.h>
#include <tern/window.h>

namespace
{

tern_tile tile_of(const tern_region *region)
{
    tern_tile tile =
        tern_tile_2d(tern_region_data(region), TERN_F32, static_cast<int32_t>(region->shape[0]),
                     static_cast<int32_t>(region->stride[0]));
    tile.valid_columns = static_cast<int32_t>(region->shape[1]);
    return tile;
}

const tern_region *region_of(int64_t word)
{
    return reinterpret_cast<const tern_region *>(word);
}

bool multiply(const tern_region *to, const tern_region *a, const tern_region *b)
{
    tern_tile result = tile_of(to), left = tile_of(a), right = tile_of(b);
    if (tern_tile_matmul(&result, &left, &right, 0) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
        return false;
    }
    return true;
}

// Adds 1 to a signal of every rank, beginning with the next one.
void notify_all(tern_window *window, int64_t rank, int64_t nranks, int64_t signal)
{
    for (int64_t i = 1; i <= nranks; i++) {
        int to = static_cast<int>((rank + i) % nranks);
        if (tern_signal_notify(window, to, static_cast<size_t>(signal), 1, TERN_NOTIFY_ADD) !=
            TERN_OK) {
            tern_kernel_fail("%s", tern_last_error());
            return;
        }
    }
}

} // namespace

extern "C" {

// x, w, partial: partial = x w
void linear(int64_t *args)
{
    multiply(region_of(args[2]), region_of(args[0]), region_of(args[1]));
}

// a, gate weights, up weights, down weights, partial, memory for gate and for up:
// partial = (silu(a Wg) * (a Wu)) Wd
void ffn(int64_t *args)
{
    const tern_region *gate = region_of(args[5]), *up = region_of(args[6]);
    if (!multiply(gate, region_of(args[0]), region_of(args[1])) ||
        !multiply(up, region_of(args[0]), region_of(args[2]))) {
        return;
    }
    float *g = static_cast<float *>(tern_region_data(gate));
    const float *u = static_cast<const float *>(tern_region_data(up));
    for (uint64_t i = 0; i < tern_region_count(gate); i++) {
        g[i] = g[i] / (1.0F + std::exp(-g[i])) * u[i];
    }
    multiply(region_of(args[4]), gate, region_of(args[3]));
}

// window, rank, nranks, signal
void announce(int64_t *args)
{
    notify_all(reinterpret_cast<tern_window *>(args[0]), args[1], args[2], args[3]);
}

// window, rank, nranks, signal, where the chunk's partial sums and where its sums begin in a window
// (bytes), the first element of this rank's slice of the chunk, and how many it has
void reduce(int64_t *args)
{
    tern_window *window = reinterpret_cast<tern_window *>(args[0]);
    const int64_t rank = args[1], nranks = args[2], first = args[6], count = args[7];
    for (int64_t begin = 0; begin < count; begin += 1024) { // stays in the first-level cache
        float sums[1024], fetched[1024];
        const int64_t length = count - begin < 1024 ? count - begin : 1024;
        const size_t bytes = static_cast<size_t>(length) * sizeof(float);
        const size_t at = static_cast<size_t>(first + begin) * sizeof(float);
        int status = TERN_OK;
        for (int64_t i = 0; i < nranks && status == TERN_OK; i++) {
            status = tern_get(window, static_cast<int>(i), static_cast<size_t>(args[4]) + at,
                              fetched, bytes);
            for (int64_t k = 0; k < length; k++) {
                sums[k] = i == 0 ? fetched[k] : sums[k] + fetched[k];
            }
        }
        for (int64_t i = 0; i < nranks && status == TERN_OK; i++) {
            status = tern_put(window, static_cast<int>(i), static_cast<size_t>(args[5]) + at, sums,
                              bytes);
        }
        if (status != TERN_OK) {
            tern_kernel_fail("%s", tern_last_error());
            return;
        }
    }
    notify_all(window, rank, nranks, args[3]);
}
}
