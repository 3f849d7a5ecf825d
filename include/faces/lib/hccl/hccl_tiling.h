// SPDX-License-Identifier: Apache-2.0
// The host's side of tiling: how a kernel's calls shall run. What is said here is kept and checked;
// results do not depend on it, and which algorithm a call runs is tern's choice.
#ifndef TERN_FACES_LIB_HCCL_HCCL_TILING_H
#define TERN_FACES_LIB_HCCL_HCCL_TILING_H

#include "hccl/hccl_types.h"

#ifdef __cplusplus // nothing here is for C

#include <cstdint>
#include <cstring>
#include <string>

// Parts of a kernel's tiling data: plain bytes, which GetTiling fills in.
struct Mc2InitTiling {
    uint8_t reserved[64];
};
struct Mc2CcTiling {
    uint8_t reserved[280];
};

namespace AscendC
{

using ::Mc2CcTiling;
using ::Mc2InitTiling;

// Setters return 0, and 1 for a value that there is not.
class Mc2CcTilingConfig
{
  public:
    Mc2CcTilingConfig(const std::string &groupName, uint32_t opType, const std::string &algConfig,
                      uint32_t reduceType = 0, uint8_t dstDataType = 0, uint8_t srcDataType = 0,
                      uint8_t commEngine = 0)
        : group_(groupName), algorithm_(algConfig), type_(opType), reduce_(reduceType),
          dst_(dstDataType), src_(srcDataType), engine_(commEngine), step_(0), skipLocal_(0),
          skipBuffer_(0), debug_(0), queues_(0), blocks_(0)
    {
    }
    virtual ~Mc2CcTilingConfig() = default;

    uint32_t GetTiling(::Mc2InitTiling &tiling)
    {
        words init = {mark_init, 0, {queues_, blocks_, debug_, engine_}};
        std::memset(&tiling, 0, sizeof tiling);
        std::memcpy(&tiling, &init, sizeof init);
        return 0;
    }
    uint32_t GetTiling(::Mc2CcTiling &tiling)
    {
        if (type_ == 0 || type_ >= HCCL_CMD_ALL || group_.empty() ||
            group_.size() >= COMM_NAME_MAX_LENGTH) {
            return 1;
        }
        words call = {mark_call, type_, {skipLocal_, skipBuffer_, step_, engine_}};
        const uint32_t reduce[2] = {reduce_, static_cast<uint32_t>(dst_) << 8 | src_};
        std::memset(&tiling, 0, sizeof tiling);
        std::memcpy(tiling.reserved, &call, sizeof call);
        std::memcpy(tiling.reserved + sizeof call, reduce, sizeof reduce);
        group_.copy(reinterpret_cast<char *>(tiling.reserved) + 24, COMM_NAME_MAX_LENGTH - 1);
        algorithm_.copy(reinterpret_cast<char *>(tiling.reserved) + 24 + COMM_NAME_MAX_LENGTH, 127);
        return 0;
    }

    uint32_t SetOpType(uint32_t opType)
    {
        type_ = opType;
        return opType == 0 || opType >= HCCL_CMD_ALL;
    }
    uint32_t SetGroupName(const std::string &groupName)
    {
        group_ = groupName;
        return groupName.empty() || groupName.size() >= COMM_NAME_MAX_LENGTH;
    }
    uint32_t SetAlgConfig(const std::string &algConfig)
    {
        algorithm_ = algConfig;
        return 0;
    }
    uint32_t SetReduceType(uint32_t reduceType, uint8_t dstDataType = 0, uint8_t srcDataType = 0)
    {
        reduce_ = reduceType;
        dst_ = dstDataType;
        src_ = srcDataType;
        return reduceType > HCCL_REDUCE_MIN;
    }
    uint32_t SetStepSize(uint8_t stepSize)
    {
        step_ = stepSize;
        return 0;
    }
    uint32_t SetSkipLocalRankCopy(uint8_t skipLocalRankCopy)
    {
        skipLocal_ = skipLocalRankCopy;
        return skipLocalRankCopy > 1;
    }
    uint32_t SetSkipBufferWindowCopy(uint8_t skipBufferWindowCopy)
    {
        skipBuffer_ = skipBufferWindowCopy;
        return skipBufferWindowCopy > 2;
    }
    uint32_t SetDebugMode(uint8_t debugMode)
    {
        debug_ = debugMode;
        return 0;
    }
    uint32_t SetQueueNum(uint16_t num)
    {
        queues_ = static_cast<uint8_t>(num);
        return num > 48;
    }
    uint32_t SetCommBlockNum(uint16_t num)
    {
        blocks_ = static_cast<uint8_t>(num);
        return num > 255;
    }
    uint32_t SetCommEngine(uint8_t engineType)
    {
        engine_ = engineType;
        return 0;
    }

  private:
    struct words {
        uint32_t mark, type;
        uint8_t small[4];
    };
    static constexpr uint32_t mark_init = 0x7e520001, mark_call = 0x7e520002;

    std::string group_, algorithm_;
    uint32_t type_, reduce_;
    uint8_t dst_, src_, engine_, step_, skipLocal_, skipBuffer_, debug_, queues_, blocks_;
};

namespace tiling
{
using AscendC::Mc2CcTiling;
using AscendC::Mc2InitTiling;
} // namespace tiling

} // namespace AscendC

#endif

#endif
