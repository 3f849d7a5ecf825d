// SPDX-License-Identifier: Apache-2.0
// Which block of a task a kernel is, and which of a cluster's kernels: April 2026. The chip says
// it; the arguments have no contexts behind them here. C++ only.
#ifndef TERN_FACES_SIMPLER_APRIL_INTRINSIC_H
#define TERN_FACES_SIMPLER_APRIL_INTRINSIC_H

#include "simpler/tern/tasks.h"
#include "tern/graph.h"

inline int32_t get_block_idx(int64_t *)
{
    return tern_kernel_block();
}
inline int32_t get_block_num(int64_t *)
{
    return tern_kernel_blocks();
}
// 0: AIV0, and the AIC; 1: AIV1.
inline int32_t get_sub_block_id(int64_t *)
{
    return tern_kernel_slot() == 2 ? 1 : 0;
}

#endif
