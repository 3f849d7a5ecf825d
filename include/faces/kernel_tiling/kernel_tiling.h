// SPDX-License-Identifier: Apache-2.0
// What a kernel reads of its host's tiling: Mc2InitTiling, Mc2CcTiling.
#ifndef TERN_FACES_KERNEL_TILING_KERNEL_TILING_H
#define TERN_FACES_KERNEL_TILING_KERNEL_TILING_H

#include "lib/hccl/hccl_tiling.h"

#endif
