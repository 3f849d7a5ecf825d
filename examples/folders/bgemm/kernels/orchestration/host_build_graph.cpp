// SPDX-License-Identifier: Apache-2.0
// C[m,n] += A[m,k] @ B[k,n], 4 x 4 x 4 tiles of 64 x 64: products on matrix cores, sums
// on vector cores, one after the other for each tile of C. Arguments: A, B, C (of the host), their
// sizes in bytes.
#include "runtime.h"

enum { MATMUL, ADD };
enum { GRID = 4, TILE = 64 * 64 };

extern "C" int build_graph(Runtime *runtime, uint64_t *args, int)
{
    const HostApi &api = runtime->host_api;
    uint64_t start[3];
    for (int i = 0; i < 3; i++) {
        void *memory = api.device_malloc(args[3 + i]);
        api.copy_to_device(memory, reinterpret_cast<void *>(args[i]), args[3 + i]);
        start[i] = reinterpret_cast<uint64_t>(memory);
    }
    runtime->record_tensor_pair(reinterpret_cast<void *>(args[2]),
                                reinterpret_cast<void *>(start[2]), args[5]);
    auto tile = [&](int of, int row, int column) {
        return start[of] + sizeof(float) * TILE * static_cast<uint64_t>(row * GRID + column);
    };
    for (int cell = 0; cell < GRID * GRID; cell++) {
        int m = cell / GRID, n = cell % GRID;
        int before = -1;
        for (int k = 0; k < GRID; k++) {
            void *memory = api.device_malloc(TILE * sizeof(float));
            uint64_t part = reinterpret_cast<uint64_t>(memory);
            uint64_t product[] = {tile(0, m, k), tile(1, k, n), part};
            uint64_t sum[] = {tile(2, m, n), part, tile(2, m, n), TILE};
            int multiplied = runtime->add_task(product, 3, MATMUL, CoreType::AIC);
            int added = runtime->add_task(sum, 4, ADD, CoreType::AIV);
            runtime->add_successor(multiplied, added);
            if (before >= 0) {
                runtime->add_successor(before, added);
            }
            before = added;
        }
    }
    return 0;
}
