// SPDX-License-Identifier: Apache-2.0
// f = a + b by a kernel that the orchestration brings itself: a file that the environment names.
#include "runtime.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

enum { NOTHING, OWN = 9 };

extern "C" int build_upload(Runtime *runtime, uint64_t *args, int)
{
    const HostApi &api = runtime->host_api;
    std::ifstream file(std::getenv("OWN_KERNEL"), std::ios::binary);
    std::vector<char> bytes((std::istreambuf_iterator<char>(file)),
                            std::istreambuf_iterator<char>());
    const uint8_t *start = reinterpret_cast<const uint8_t *>(bytes.data());
    for (int i = 0; i < 2; i++) { // the second takes the place of the first
        if (api.upload_kernel_binary(OWN, start, bytes.size()) == 0) {
            return -1;
        }
    }
    uint64_t memory[3];
    for (int i = 0; i < 3; i++) {
        void *device = api.device_malloc(args[3 + i]);
        api.copy_to_device(device, reinterpret_cast<void *>(args[i]), args[3 + i]);
        memory[i] = reinterpret_cast<uint64_t>(device);
    }
    api.device_free(api.device_malloc(64));
    runtime->record_tensor_pair(reinterpret_cast<void *>(args[2]),
                                reinterpret_cast<void *>(memory[2]), args[5]);
    uint64_t own[] = {memory[0], memory[1], memory[2], args[6]};
    api.remove_kernel_binary(NOTHING);
    return runtime->add_task(own, 4, OWN, CoreType::AIV);
}
