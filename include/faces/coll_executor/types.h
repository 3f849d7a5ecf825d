// SPDX-License-Identifier: Apache-2.0
// C++ only. What executors are told, and what they say it with: part of coll_comm_executor.h.
#ifndef TERN_FACES_COLL_EXECUTOR_TYPES_H
#define TERN_FACES_COLL_EXECUTOR_TYPES_H

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "hccl/hccl_types.h"
#include "tern/record.h"

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using s8 = signed char;
using s16 = signed short;
using s32 = signed int;
using s64 = signed long long;

// Where a call stands in the executor's source.
#define TERN_RECORD_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

#ifndef HCCL_ERROR
#define HCCL_ERROR(...) ::tern_record_say(true, __FILE__, __LINE__, __VA_ARGS__)
#endif
#ifndef HCCL_WARNING
#define HCCL_WARNING(...) ::tern_record_say(false, __FILE__, __LINE__, __VA_ARGS__)
#endif
#ifndef HCCL_INFO
#define HCCL_INFO(...) ::tern_record_say(false, __FILE__, __LINE__, __VA_ARGS__)
#endif
#ifndef HCCL_DEBUG
#define HCCL_DEBUG(...) ::tern_record_say(false, __FILE__, __LINE__, __VA_ARGS__)
#endif
#ifndef HCCL_RUN_INFO
#define HCCL_RUN_INFO(...) ::tern_record_say(false, __FILE__, __LINE__, __VA_ARGS__)
#endif
#ifndef HCCL_RUN_WARNING
#define HCCL_RUN_WARNING(...) ::tern_record_say(false, __FILE__, __LINE__, __VA_ARGS__)
#endif

#ifndef CHK_RET
#define CHK_RET(...)                                                                               \
    do {                                                                                           \
        const ::HcclResult tern_result_ = (__VA_ARGS__);                                           \
        if (tern_result_ != ::HCCL_SUCCESS) {                                                      \
            ::tern_record_returned(__FILE__, __LINE__, #__VA_ARGS__,                               \
                                   static_cast<int>(tern_result_));                                \
            return tern_result_;                                                                   \
        }                                                                                          \
    } while (0)
#endif
#ifndef CHK_PTR_NULL
#define CHK_PTR_NULL(pointer)                                                                      \
    do {                                                                                           \
        if ((pointer) == nullptr) {                                                                \
            ::tern_record_say(true, __FILE__, __LINE__, "%s is null", #pointer);                   \
            ::tern_record_returned(__FILE__, __LINE__, "CHK_PTR_NULL(" #pointer ")",               \
                                   static_cast<int>(::HCCL_E_PTR));                                \
            return ::HCCL_E_PTR;                                                                   \
        }                                                                                          \
    } while (0)
#endif
#ifndef CHK_SMART_PTR_NULL
#define CHK_SMART_PTR_NULL(pointer) CHK_PTR_NULL(pointer)
#endif
#ifndef CHK_PRT_RET
#define CHK_PRT_RET(condition, say, result)                                                        \
    do {                                                                                           \
        if (condition) {                                                                           \
            say;                                                                                   \
            ::tern_record_returned(__FILE__, __LINE__, #condition, static_cast<int>(result));      \
            return result;                                                                         \
        }                                                                                          \
    } while (0)
#endif

constexpr u32 INVALID_VALUE_RANKID = 0xFFFFFFFFU;
constexpr u64 INLINE_REDUCE_BIT = 1;
constexpr u32 COMM_INDEX_0 = 0;
constexpr s32 PROF_STAGE_0 = 0;
constexpr s32 PROF_STAGE_1 = 1;
constexpr s32 PROF_STAGE_2 = 2;
constexpr s32 INVALID_VALUE_STAGE = -1;
constexpr u32 NOTIFY_DEFAULT_WAIT_TIME = 27 * 68; // s
constexpr u64 HCCL_MIN_SLICE_ALIGN = 128;
constexpr u64 HCCL_MIN_SLICE_ALIGN_910B = 16384;
constexpr u64 HCCL_MIN_SLICE_ALIGN_910_93 = 16384;
constexpr u64 HCCL_MIN_SLICE_ALIGN_ONCHIP = 512;

// Bytes of an element; 0 for numbers that are no type.
constexpr u32 SIZE_TABLE[static_cast<int>(HCCL_DATA_TYPE_RESERVED) + 1] = {1, 2, 4, 2, 4, 8, 8,
                                                                           1, 2, 4, 8, 2, 16};

namespace hccl
{

using std::string;
using std::vector;

using HcclDispatcher = void *;

enum LinkType {
    LINK_ONCHIP = 0,
    LINK_HCCS = 1,
    LINK_PCIE = 2,
    LINK_ROCE = 3,
    LINK_SIO = 4,
    LINK_HCCS_SW = 5,
    LINK_STANDARD_ROCE = 6,
    LINK_UB = 7,
    LINK_RESERVED = 255,
};

enum TransportMemType {
    CCL_INPUT = 0,
    CCL_OUTPUT = 1,
    SCRATCH = 2,
    PARAM_INPUT = 3,
    PARAM_OUTPUT = 4,
    AIV_INPUT = 5,
    AIV_OUTPUT = 6,
    RESERVED,
};

enum UserMemType { INPUT_MEM = 0, OUTPUT_MEM = 1, MEM_RESERVED = 2 };

enum CommPlane { COMM_LEVEL0 = 0, COMM_LEVEL1, COMM_LEVEL2, COMM_LEVEL_RESERVED };

// All ranks of a plane have links to each other, whatever is asked for; a recording cuts some.
enum CommType { COMM_TAG_RING_INNER, COMM_TAG_MESH, COMM_TAG_STAR, COMM_TAG_MAX };

// What the executor may know of the machine. Opaque.
class TopoMatcher
{
};

// A view of memory of a device. Copies are of the view.
class DeviceMem
{
  public:
    DeviceMem()
    {
    }
    DeviceMem(void *ptr, u64 size, bool owner = false) : ptr_(ptr), size_(size)
    {
        (void)owner;
    }

    static DeviceMem create(void *ptr, u64 size)
    {
        return DeviceMem(ptr, size);
    }
    static DeviceMem alloc(u64 size, bool level2 = false)
    {
        (void)level2;
        return DeviceMem(::tern_record_alloc(size), size, true);
    }

    void *ptr() const
    {
        return ptr_;
    }
    u64 size() const
    {
        return size_;
    }
    // A part; one past the end is an error of the recording.
    DeviceMem range(u64 offset, u64 size, TERN_RECORD_HERE) const
    {
        if (offset > size_ || size > size_ - offset) {
            ::tern_status_ignore(
                ::tern_record_fail(file, line,
                                   "bytes %llu..%llu of a memory of %llu: %llu bytes past its end",
                                   offset, offset + size, size_, offset + size - size_));
            return DeviceMem();
        }
        return DeviceMem(static_cast<u8 *>(ptr_) + offset, size);
    }
    explicit operator bool() const
    {
        return ptr_ != nullptr;
    }
    bool operator==(const DeviceMem &other) const
    {
        return ptr_ == other.ptr_ && size_ == other.size_;
    }
    bool operator!=(const DeviceMem &other) const
    {
        return !(*this == other);
    }

  private:
    void *ptr_ = nullptr;
    u64 size_ = 0;
};

// A queue of tasks. Copies are of the handle.
class Stream
{
  public:
    Stream()
    {
    }
    explicit Stream(void *stream) : stream_(stream)
    {
    }
    void *ptr() const
    {
        return stream_;
    }
    s32 id() const
    {
        return ::tern_record_stream_number(stream_);
    }
    explicit operator bool() const
    {
        return stream_ != nullptr;
    }

  private:
    void *stream_ = nullptr;
};

struct OpParam {
    std::string tag;
    Stream stream;
    void *inputPtr = nullptr;
    u64 inputSize = 0;
    void *outputPtr = nullptr;
    u64 outputSize = 0;
    HcclReduceOp reduceType = HCCL_REDUCE_RESERVED;
    u32 root = INVALID_VALUE_RANKID;
    u32 dstRank = 0;
    u32 srcRank = 0;
    HcclCMDType opType = HCCL_CMD_INVALID;
    struct {
        u64 count;
        HcclDataType dataType;
        u64 strideCount;
    } DataDes = {0, HCCL_DATA_TYPE_RESERVED, 0};
    struct {
        void *counts;
        void *displs;
        HcclDataType dataType;
    } VDataDes = {nullptr, nullptr, HCCL_DATA_TYPE_RESERVED};
    struct {
        HcclDataType sendType;
        HcclDataType recvType;
        u64 sendCount;
        void *sendCounts;
        void *recvCounts;
        void *sdispls;
        void *rdispls;
        void *sendCountMatrix;
    } All2AllDataDes = {HCCL_DATA_TYPE_RESERVED,
                        HCCL_DATA_TYPE_RESERVED,
                        0,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr};
    struct {
        void *sendRecvItemsPtr;
        u32 itemNum;
    } BatchSendRecvDataDes = {nullptr, 0};

    HcclDataType GetDataType() const
    {
        return DataDes.dataType;
    }
};

struct ExecMem {
    u64 count = 0;
    DeviceMem inputMem;
    DeviceMem outputMem;
    DeviceMem scratchMem;
    void *inputPtr = nullptr;
    void *outputPtr = nullptr;
};

// What is the same for all ranks here, but for userRank.
struct HcclTopoAttr {
    u32 serverNum = 1;
    u32 superPodNum = 1;
    u32 moduleNum = 1;
    u32 deviceNumPerServer = 8;
    u32 deviceNumPerAggregation = 8;
    u32 userRank = 0;
    u32 userRankSize = 8;
    u32 realUserRank = 0;
    s32 devicePhyId = 0;
};

} // namespace hccl

#endif
