// SPDX-License-Identifier: Apache-2.0
// f = (a + b + 1) * (a + b + 2). args: a, b, f, their sizes in bytes, the number of elements.
#include "runtime.h"

#include <cstring>

enum { ADD, ADD_SCALAR, MUL };

static uint64_t bits(float value)
{
    uint64_t result = 0;
    std::memcpy(&result, &value, sizeof value);
    return result;
}

extern "C" int build_vector(Runtime *runtime, uint64_t *args, int arg_count)
{
    if (arg_count != 7) {
        return -1;
    }
    size_t size = args[3];
    uint64_t count = args[6];
    uint64_t memory[6]; // a to f
    for (uint64_t &one : memory) {
        one = reinterpret_cast<uint64_t>(runtime->host_api.device_malloc(size));
        if (one == 0) {
            return -1;
        }
    }
    for (int i = 0; i < 2; i++) {
        runtime->host_api.copy_to_device(reinterpret_cast<void *>(memory[i]),
                                         reinterpret_cast<void *>(args[i]), size);
    }
    runtime->record_tensor_pair(reinterpret_cast<void *>(args[2]),
                                reinterpret_cast<void *>(memory[5]), size);
    uint64_t t0_args[] = {memory[0], memory[1], memory[2], count};
    uint64_t t1_args[] = {memory[2], bits(1), memory[3], count};
    uint64_t t2_args[] = {memory[2], bits(2), memory[4], count};
    uint64_t t3_args[] = {memory[3], memory[4], memory[5], count};
    int t0 = runtime->add_task(t0_args, 4, ADD, CoreType::AIV);
    int t1 = runtime->add_task(t1_args, 4, ADD_SCALAR, CoreType::AIV);
    int t2 = runtime->add_task(t2_args, 4, ADD_SCALAR, CoreType::AIV);
    int t3 = runtime->add_task(t3_args, 4, MUL, CoreType::AIV);
    runtime->add_successor(t0, t1);
    runtime->add_successor(t0, t2);
    runtime->add_successor(t1, t3);
    runtime->add_successor(t2, t3);
    int ready[4];
    runtime->print_runtime();
    return runtime->get_task_count() == 4 && runtime->get_initial_ready_tasks(ready) == 1 &&
                   ready[0] == t0
               ? 0
               : -1;
}
