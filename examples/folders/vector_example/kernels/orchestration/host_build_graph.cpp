// SPDX-License-Identifier: Apache-2.0
// f = (a + b + 1) * (a + b + 2) by four tasks; the host builds the graph, and copies what the chip
// reads. Arguments: a, b, f (of the host), their sizes in bytes, the number of elements.
#include "runtime.h"

#include "../../../common/kernels/orchestration/bits.hpp"

enum { ADD, ADD_SCALAR, MUL };

extern "C" int build_graph(Runtime *runtime, uint64_t *args, int arg_count)
{
    if (arg_count != 7) {
        return -1;
    }
    size_t size = args[3];
    uint64_t count = args[6];
    uint64_t memory[6]; // of the chip: a to f
    for (uint64_t &one : memory) {
        one = reinterpret_cast<uint64_t>(runtime->host_api.device_malloc(size));
        if (one == 0) {
            return -1;
        }
    }
    auto [a, b, c, d, e, f] = memory;
    for (int i = 0; i < 2; i++) {
        runtime->host_api.copy_to_device(reinterpret_cast<void *>(memory[i]),
                                         reinterpret_cast<void *>(args[i]), size);
    }
    runtime->record_tensor_pair(reinterpret_cast<void *>(args[2]), reinterpret_cast<void *>(f),
                                size);
    uint64_t sum_args[] = {a, b, c, count};
    uint64_t plus1_args[] = {c, Bits(1), d, count};
    uint64_t plus2_args[] = {c, Bits(2), e, count};
    uint64_t product_args[] = {d, e, f, count};
    int sum = runtime->add_task(sum_args, 4, ADD, CoreType::AIV);
    int plus1 = runtime->add_task(plus1_args, 4, ADD_SCALAR, CoreType::AIV);
    int plus2 = runtime->add_task(plus2_args, 4, ADD_SCALAR, CoreType::AIV);
    int product = runtime->add_task(product_args, 4, MUL, CoreType::AIV);
    runtime->add_successor(sum, plus1);
    runtime->add_successor(sum, plus2);
    runtime->add_successor(plus1, product);
    runtime->add_successor(plus2, product);
    return 0;
}
