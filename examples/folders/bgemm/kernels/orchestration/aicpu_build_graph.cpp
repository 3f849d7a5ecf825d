// SPDX-License-Identifier: Apache-2.0
// C[m,n] += A[m,k] @ B[k,n], 4 x 4 x 4 tiles of 64 x 64: products on matrix cores, sums
// on vector cores, one after the other for each tile of C. Tasks run while later ones are added.
// Arguments: A, B, C (of the chip), their sizes in bytes.
#include "runtime.h"

enum { MATMUL, ADD };
enum { GRID = 4, TILE = 64 * 64 };

extern "C" int build_graph(Runtime *runtime)
{
    const AicpuBuildApi &api = runtime->aicpu_build_api;
    auto tile = [&](int of, int row, int column) {
        return runtime->orch_args[of] +
               sizeof(float) * TILE * static_cast<uint64_t>(row * GRID + column);
    };
    for (int cell = 0; cell < GRID * GRID; cell++) {
        int m = cell / GRID, n = cell % GRID;
        int before = -1;
        for (int k = 0; k < GRID; k++) {
            uint64_t part = reinterpret_cast<uint64_t>(api.device_malloc(TILE * sizeof(float)));
            uint64_t product[] = {tile(0, m, k), tile(1, k, n), part};
            uint64_t sum[] = {tile(2, m, n), part, tile(2, m, n), TILE};
            int multiplied = api.add_task(runtime, product, 3, MATMUL, CoreType::AIC, 0);
            api.publish_task(runtime, multiplied);
            int added = api.add_task(runtime, sum, 4, ADD, CoreType::AIV, 0);
            api.add_successor_conditional(runtime, multiplied, added);
            if (before >= 0) {
                api.add_successor_conditional(runtime, before, added);
            }
            api.publish_task(runtime, added);
            before = added;
        }
    }
    return 0;
}
