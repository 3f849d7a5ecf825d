// SPDX-License-Identifier: Apache-2.0
// What sources of AscendC kernels that communicate include first: the words that kernels are
// written with, which block of which kind of core this is, and where all blocks meet. C++11 to
// C++20; with C++17 and newer also `half`, `bfloat16_t`, pipes and events (pto/common/type.hpp).
//
// A kernel that `tern kernel-cc` compiles runs on vector cores (AIV), all its blocks at the same
// time.
#ifndef TERN_FACES_KERNEL_OPERATOR_H
#define TERN_FACES_KERNEL_OPERATOR_H

#include "tern/block.h"
#include "tern/cluster.h"
#include "tern/status.h"

#ifdef __cplusplus // nothing here is for C

#include <cstddef>
#include <cstdint>

#if __cplusplus >= 201703L
#include "pto/tern/call.hpp"
#else
#include <stdexcept>
#define __gm__
#endif
#ifndef __global__
#define __global__
#endif
#ifndef __aicore__
#define __aicore__
#endif
#ifndef GM_ADDR
#define GM_ADDR __gm__ uint8_t *
#endif
#ifndef ASCEND_IS_AIV
#define ASCEND_IS_AIV (AscendC::g_coreType == AscendC::AIV)
#define ASCEND_IS_AIC (AscendC::g_coreType == AscendC::AIC)
#endif

// On which kinds of cores a kernel runs: all of this is one processor.
#ifndef KERNEL_TASK_TYPE_DEFAULT
#define KERNEL_TASK_TYPE_DEFAULT(kind)
#define KERNEL_TASK_TYPE(key, kind)
#endif

// A source that is for several tilings is compiled for one: -DTILING_KEY_VAR=1.
#ifndef TILING_KEY_IS
#ifndef TILING_KEY_VAR
#define TILING_KEY_VAR 0
#endif
#define TILING_KEY_IS(key) ((TILING_KEY_VAR) == (key))
#endif

// A kernel's tiling is what its host has put at an address.
#ifndef REGISTER_TILING_DEFAULT
#define REGISTER_TILING_DEFAULT(type) typedef type tern_tiling_default __attribute__((unused));
#define GET_TILING_DATA(name, address)                                                             \
    const tern_tiling_default &name = *reinterpret_cast<const tern_tiling_default *>(address)
#define GET_TILING_DATA_WITH_STRUCT(type, name, address)                                           \
    const type &name = *reinterpret_cast<const type *>(address)
#endif

namespace AscendC
{

constexpr int32_t MIX = 0;
constexpr int32_t AIC = 1; // matrices
constexpr int32_t AIV = 2; // vectors

// The kind of core that this is compiled for.
#ifdef __DAV_C220_CUBE__
constexpr int32_t g_coreType = AIC;
#else
constexpr int32_t g_coreType = AIV;
#endif

inline int64_t GetBlockIdx()
{
    return tern_block_index();
}
inline int64_t GetBlockNum()
{
    return tern_block_count();
}
// Of a vector core which one of its cluster it is, and of how many.
inline int64_t GetSubBlockIdx()
{
    return tern_cluster_lane() == 2 ? 1 : 0;
}
inline int64_t GetSubBlockNum()
{
    int vectors = tern_cluster_vectors();
    return vectors > 0 ? vectors : 1;
}

// Returns when all blocks of the kernel have come here. A block that fails, or does not come in
// time, ends the others.
template <bool isAIVOnly = true> inline void SyncAll()
{
    int status = tern_block_sync();
#if __cplusplus >= 201703L
    pto::tern_detail::check("SyncAll", status);
#else
    if (status < 0) {
        throw std::runtime_error(tern_last_error());
    }
#endif
}

#if __cplusplus >= 201703L
// Flags between the cores of a cluster: mode 1 between the vector cores, 2 between the cube core
// and these. Of kernels of mixed tasks (docs/graph.md).
template <uint8_t modeId, pipe_t pipe> inline void CrossCoreSetFlag(uint16_t flagId)
{
    pto::tern_detail::check("CrossCoreSetFlag",
                            tern_cluster_set(flagId, static_cast<tern_cluster_mode>(modeId)));
}
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S> inline void CrossCoreWaitFlag(uint16_t flagId)
{
    pto::tern_detail::check("CrossCoreWaitFlag", tern_cluster_wait(flagId));
}
#endif

} // namespace AscendC

using AscendC::g_coreType;

#endif

#endif
