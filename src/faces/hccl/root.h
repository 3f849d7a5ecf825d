// SPDX-License-Identifier: Apache-2.0
// Root infos of communicators that are all in this process.
#ifndef TERN_FACES_HCCL_ROOT_H
#define TERN_FACES_HCCL_ROOT_H

#include "hccl/hccl_comm.h"

// As HcclGetRootInfo, for ranks of this process alone: from its first '/' on, a path.
HcclResult tern__hccl_root_path(const char *call, HcclRootInfo *info);

#endif
