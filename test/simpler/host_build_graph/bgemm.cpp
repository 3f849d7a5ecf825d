// SPDX-License-Identifier: Apache-2.0
// C[m,n] = sum over k of A[m,k] @ B[k,n], for a grid of 4 x 4 x 4 tiles of 64 x 64. args: A, B, C,
// their sizes in bytes, the number of elements.
#include "runtime.h"

enum { MATMUL, ADD };
enum { GRID = 4, TILE = 64 * 64 };

extern "C" int build_bgemm(Runtime *runtime, uint64_t *args, int)
{
    uint64_t memory[3];
    for (int i = 0; i < 3; i++) {
        void *device = runtime->host_api.device_malloc(args[3 + i]);
        runtime->host_api.copy_to_device(device, reinterpret_cast<void *>(args[i]), args[3 + i]);
        memory[i] = reinterpret_cast<uint64_t>(device);
    }
    runtime->record_tensor_pair(reinterpret_cast<void *>(args[2]),
                                reinterpret_cast<void *>(memory[2]), args[5]);
    auto tile = [&](int of, int row, int column) {
        return memory[of] + sizeof(float) * TILE * static_cast<uint64_t>(row * GRID + column);
    };
    for (int m = 0; m < GRID; m++) {
        for (int n = 0; n < GRID; n++) {
            int before = -1;
            for (int k = 0; k < GRID; k++) {
                uint64_t part = reinterpret_cast<uint64_t>(
                    runtime->host_api.device_malloc(TILE * sizeof(float)));
                uint64_t product[] = {tile(0, m, k), tile(1, k, n), part};
                uint64_t sum[] = {tile(2, m, n), part, tile(2, m, n), TILE};
                int t = runtime->add_task(product, 3, MATMUL); // on an AIC
                int s = runtime->add_task(sum, 4, ADD, CoreType::AIV);
                runtime->add_successor(t, s);
                if (before >= 0) {
                    runtime->add_successor(before, s);
                }
                before = s;
            }
        }
    }
    return 0;
}
