// SPDX-License-Identifier: Apache-2.0
// C = A B, where each rank has INNER columns of A and the rows of B that go with them: the ranks'
// products are summed by an AllReduce that is prepared once, with a turn for each tile of rows. A
// turn is committed when all blocks have multiplied its tile, and is on its way while they do the
// next.
//
//     hccl_matmul_all_reduce [RANKS]

#include "kernel_operator.h"
#include "lib/hccl/hccl.h"

#include <algorithm>

#include "job.hpp"

using namespace AscendC;

constexpr uint64_t ROWS = 150, INNER = 40, COLUMNS = 48; // of A and C; of a rank; of B and C
constexpr uint64_t TILE = 32;                            // rows; the last tile has fewer
constexpr uint64_t TILES = ROWS / TILE, TAIL = ROWS % TILE;
constexpr int64_t BLOCKS = 4;

static void MultiplyRow(const float *a, const float *b, float *c)
{
    std::fill(c, c + COLUMNS, 0.0f);
    for (uint64_t k = 0; k < INNER; k++) {
        for (uint64_t j = 0; j < COLUMNS; j++) {
            c[j] += a[k] * b[k * COLUMNS + j];
        }
    }
}

extern "C" __global__ __aicore__ void matmul_all_reduce(GM_ADDR aGM, GM_ADDR bGM, GM_ADDR partGM,
                                                        GM_ADDR cGM)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<HCCL_GROUP_ID_0>());
    const float *a = reinterpret_cast<const float *>(aGM);
    const float *b = reinterpret_cast<const float *>(bGM);
    float *part = reinterpret_cast<float *>(partGM);
    const bool calls = g_coreType == AIV && GetBlockIdx() == 0;
    const uint64_t done = TILES * TILE * COLUMNS * sizeof(float); // bytes in front of the tail
    HcclHandle tiles = -1, tail = -1;
    if (calls) {
        tiles = hccl.AllReduce(partGM, cGM, TILE * COLUMNS, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                               TILES);
        tail = hccl.AllReduce(partGM + done, cGM + done, TAIL * COLUMNS, HCCL_DATA_TYPE_FP32,
                              HCCL_REDUCE_SUM);
    }
    for (uint64_t tile = 0; tile <= TILES; tile++) {
        uint64_t end = std::min(ROWS, (tile + 1) * TILE);
        for (uint64_t row = tile * TILE; row < end; row++) {
            if (row % static_cast<uint64_t>(GetBlockNum()) ==
                static_cast<uint64_t>(GetBlockIdx())) {
                MultiplyRow(a + row * INNER, b, part + row * COLUMNS);
            }
        }
        SyncAll(); // the tile is whole
        if (calls) {
            hccl.Commit(tile < TILES ? tiles : tail);
        }
    }
    for (uint64_t tile = 0; calls && tile <= TILES; tile++) {
        hccl.Wait(tile < TILES ? tiles : tail);
    }
    SyncAll();
    hccl.Finalize();
}

static double Body(const Job &job)
{
    const size_t inner = INNER * job.ranks;
    float *a = Allocate(job, ROWS * INNER), *b = Allocate(job, INNER * COLUMNS);
    float *part = Allocate(job, ROWS * COLUMNS), *c = Allocate(job, ROWS * COLUMNS);
    for (size_t i = 0; i < ROWS * INNER; i++) {
        a[i] = Element(0, i / INNER * inner + job.rank * INNER + i % INNER);
    }
    for (size_t i = 0; i < INNER * COLUMNS; i++) {
        b[i] = Element(1, job.rank * INNER * COLUMNS + i);
    }
    matmul_all_reduce<<<BLOCKS, nullptr, job.stream>>>(reinterpret_cast<GM_ADDR>(a),
                                                       reinterpret_cast<GM_ADDR>(b),
                                                       reinterpret_cast<GM_ADDR>(part),
                                                       reinterpret_cast<GM_ADDR>(c));
    Try(job, "matmul_all_reduce", aclrtSynchronizeStream(job.stream));
    double error = Compare(c, ROWS, inner, COLUMNS, 0);
    for (float *memory : {a, b, part, c}) {
        aclrtFree(memory);
    }
    return error;
}

int main(int argc, char **argv)
{
    return Run("hccl_matmul_all_reduce", argc, argv, Body, 1e-4);
}
