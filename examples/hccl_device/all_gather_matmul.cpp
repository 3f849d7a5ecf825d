// SPDX-License-Identifier: Apache-2.0
// C = A B, fused with the AllGather that A needs: each rank has ROWS rows of A, all of B, and wants
// all of C. The rows are gathered in tiles (repeat), and strideCount leaves room for the tiles of a
// rank that are still to come, so A lies in memory as if it had been gathered at once. While a tile
// is on its way, the blocks multiply the one before.
//
//     hccl_all_gather_matmul [RANKS]

#include "kernel_operator.h"
#include "lib/hccl/hccl.h"

#include <algorithm>

#include "job.hpp"

using namespace AscendC;

constexpr uint64_t ROWS = 100, INNER = 64, COLUMNS = 48; // of a rank's A; of A and B; of B and C
constexpr uint64_t TILE = 32;                            // rows; the last tile has fewer
constexpr uint64_t TILES = ROWS / TILE, TAIL = ROWS % TILE;
constexpr int64_t BLOCKS = 4;

// Rows of C, from `row` on.
static void Multiply(const float *a, const float *b, float *c, uint64_t row, uint64_t rows)
{
    for (uint64_t i = row; i < row + rows; i++) {
        std::fill(c + i * COLUMNS, c + (i + 1) * COLUMNS, 0.0f);
        for (uint64_t k = 0; k < INNER; k++) {
            for (uint64_t j = 0; j < COLUMNS; j++) {
                c[i * COLUMNS + j] += a[i * INNER + k] * b[k * COLUMNS + j];
            }
        }
    }
}

extern "C" __global__ __aicore__ void all_gather_matmul(GM_ADDR aLocal, GM_ADDR bGM, GM_ADDR aGM,
                                                        GM_ADDR cGM)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<HCCL_GROUP_ID_0>());
    const float *b = reinterpret_cast<const float *>(bGM);
    const float *a = reinterpret_cast<const float *>(aGM);
    float *c = reinterpret_cast<float *>(cGM);
    const uint64_t done = TILES * TILE * INNER * sizeof(float); // bytes in front of the tail
    HcclHandle tiles = -1, tail = -1;
    if (g_coreType == AIV && GetBlockIdx() == 0) {
        tiles = hccl.AllGather<true>(aLocal, aGM, TILE * INNER, HCCL_DATA_TYPE_FP32, ROWS * INNER,
                                     TILES);
        tail = hccl.AllGather<true>(aLocal + done, aGM + done, TAIL * INNER, HCCL_DATA_TYPE_FP32,
                                    ROWS * INNER);
    }
    for (uint64_t tile = 0; tile <= TILES; tile++) {
        if (g_coreType == AIV && GetBlockIdx() == 0) {
            hccl.Wait(tile < TILES ? tiles : tail);
        }
        SyncAll(); // now all blocks may read the tile
        uint64_t rows = tile < TILES ? TILE : TAIL;
        for (uint64_t rank = 0; rank < hccl.GetRankDim(); rank++) {
            if (rank % static_cast<uint64_t>(GetBlockNum()) ==
                static_cast<uint64_t>(GetBlockIdx())) {
                Multiply(a, b, c, rank * ROWS + tile * TILE, rows);
            }
        }
    }
    SyncAll();
    hccl.Finalize();
}

static double Body(const Job &job)
{
    const size_t all = ROWS * job.ranks;
    float *local = Allocate(job, ROWS * INNER), *b = Allocate(job, INNER * COLUMNS);
    float *a = Allocate(job, all * INNER), *c = Allocate(job, all * COLUMNS);
    for (size_t i = 0; i < ROWS * INNER; i++) {
        local[i] = Element(0, job.rank * ROWS * INNER + i);
    }
    for (size_t i = 0; i < INNER * COLUMNS; i++) {
        b[i] = Element(1, i);
    }
    all_gather_matmul<<<BLOCKS, nullptr, job.stream>>>(reinterpret_cast<GM_ADDR>(local),
                                                       reinterpret_cast<GM_ADDR>(b),
                                                       reinterpret_cast<GM_ADDR>(a),
                                                       reinterpret_cast<GM_ADDR>(c));
    Try(job, "all_gather_matmul", aclrtSynchronizeStream(job.stream));
    double error = Compare(c, all, INNER, COLUMNS, 0);
    for (float *memory : {local, b, a, c}) {
        aclrtFree(memory);
    }
    return error;
}

int main(int argc, char **argv)
{
    return Run("hccl_all_gather_matmul", argc, argv, Body, 1e-4);
}
