// SPDX-License-Identifier: Apache-2.0
// f = (a + b + 1) * (a + b + 2), of tensors a, b, f.
#include "orchestration_api.h"

#include <cstring>

enum { ADD, ADD_SCALAR, MUL };

static uint64_t bits(float value)
{
    uint64_t result = 0;
    std::memcpy(&result, &value, sizeof value);
    return result;
}

extern "C" int build_vector(OrchestrationRuntime *rt, const ChipStorageTaskArgs &args)
{
    if (args.tensor_count() != 3) {
        return -1;
    }
    size_t size = args.tensor(0).nbytes();
    uint64_t count = args.tensor(0).shapes[0];
    uint64_t memory[6]; // a to f
    for (uint64_t &one : memory) {
        one = reinterpret_cast<uint64_t>(device_malloc(rt, size));
    }
    for (int i = 0; i < 2; i++) {
        copy_to_device(rt, reinterpret_cast<void *>(memory[i]), args.tensor(i).data_as<void>(),
                       size);
    }
    record_tensor_pair(rt, args.tensor(2).data_as<void>(), reinterpret_cast<void *>(memory[5]),
                       size);
    uint64_t t0_args[] = {memory[0], memory[1], memory[2], count};
    uint64_t t1_args[] = {memory[2], bits(1), memory[3], count};
    uint64_t t2_args[] = {memory[2], bits(2), memory[4], count};
    uint64_t t3_args[] = {memory[3], memory[4], memory[5], count};
    TensorInfo infos[1] = {};
    int t0 = add_task_with_tensor_info(rt, t0_args, 4, ADD, CoreType::AIV, infos, 1);
    int t1 = add_task(rt, t1_args, 4, ADD_SCALAR, CoreType::AIV);
    int t2 = add_task(rt, t2_args, 4, ADD_SCALAR, CoreType::AIV);
    int t3 = add_task(rt, t3_args, 4, MUL, CoreType::AIV);
    add_successor(rt, t0, t1);
    add_successor(rt, t0, t2);
    add_successor(rt, t1, t3);
    add_successor(rt, t2, t3);
    return get_task_count(rt) == 4 ? 0 : -1;
}
