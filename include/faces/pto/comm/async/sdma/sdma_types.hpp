// SPDX-License-Identifier: Apache-2.0
// How an asynchronous session of the SDMA engine is configured. Here a copy engine is a thread, so
// blocks and queues do not count; the offset does.
#ifndef TERN_FACES_PTO_COMM_ASYNC_SDMA_SDMA_TYPES_HPP
#define TERN_FACES_PTO_COMM_ASYNC_SDMA_SDMA_TYPES_HPP

#include <cstdint>

namespace pto::comm::sdma
{

constexpr uint32_t UB_ALIGN_SIZE = 256;
constexpr uint32_t SDMA_FLAG_LENGTH = 128;
constexpr uint64_t kSdmaContextWorkspaceBytes = 16 * 1024;
constexpr uint64_t kDefaultSdmaBlockBytes = 1024 * 1024;
constexpr uint32_t kAutoChannelGroupIdx = UINT32_MAX;

struct SdmaBaseConfig {
    uint64_t block_bytes = kDefaultSdmaBlockBytes;
    uint64_t comm_block_offset = 0; // bytes that source and destination are shifted by
    uint32_t queue_num = 1;
};

} // namespace pto::comm::sdma

#endif
