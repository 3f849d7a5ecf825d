// SPDX-License-Identifier: Apache-2.0
// One task, which gets the scalars as they are, and memory of the chip for that of the host.
// Arguments: x, out, their sizes in bytes, alpha, shift, count.
#include "runtime.h"

extern "C" int build_graph(Runtime *runtime, uint64_t *args, int arg_count)
{
    const HostApi &api = runtime->host_api;
    void *x = arg_count == 7 ? api.device_malloc(args[2]) : nullptr;
    void *out = x != nullptr ? api.device_malloc(args[3]) : nullptr;
    if (out == nullptr) {
        return -1;
    }
    api.copy_to_device(x, reinterpret_cast<void *>(args[0]), args[2]);
    runtime->record_tensor_pair(reinterpret_cast<void *>(args[1]), out, args[3]);
    uint64_t task[] = {reinterpret_cast<uint64_t>(x),
                       reinterpret_cast<uint64_t>(out),
                       args[2],
                       args[3],
                       args[4],
                       args[5],
                       args[6]};
    return runtime->add_task(task, 7, 0, CoreType::AIV);
}
