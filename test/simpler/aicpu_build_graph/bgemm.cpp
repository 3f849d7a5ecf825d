// SPDX-License-Identifier: Apache-2.0
// C[m,n] = sum over k of A[m,k] @ B[k,n], for a grid of 4 x 4 x 4 tiles of 64 x 64, while it runs.
#include "runtime.h"

enum { MATMUL, ADD };
enum { GRID = 4, TILE = 64 * 64 };

extern "C" int build_bgemm(Runtime *runtime)
{
    const AicpuBuildApi &api = runtime->aicpu_build_api;
    auto tile = [&](int of, int row, int column) {
        return runtime->orch_args[of] +
               sizeof(float) * TILE * static_cast<uint64_t>(row * GRID + column);
    };
    for (int m = 0; m < GRID; m++) {
        for (int n = 0; n < GRID; n++) {
            int before = -1;
            for (int k = 0; k < GRID; k++) {
                uint64_t part = reinterpret_cast<uint64_t>(api.device_malloc(TILE * sizeof(float)));
                uint64_t product[] = {tile(0, m, k), tile(1, k, n), part};
                uint64_t sum[] = {tile(2, m, n), part, tile(2, m, n), TILE};
                int t = api.add_task(runtime, product, 3, MATMUL, CoreType::AIC, 0);
                api.publish_task(runtime, t);
                int s = api.add_task(runtime, sum, 4, ADD, CoreType::AIV, 0);
                api.add_successor_conditional(runtime, t, s);
                if (before >= 0) {
                    api.add_successor_conditional(runtime, before, s);
                }
                api.publish_task(runtime, s);
                before = s;
            }
        }
    }
    return 0;
}
