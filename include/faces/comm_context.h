// SPDX-License-Identifier: Apache-2.0
// The device context of the comm_* platform API under the names that kernels use for it. The layout
// is that of tern/context.h: 1056 bytes, the same since March 2026.
#ifndef TERN_FACES_COMM_CONTEXT_H
#define TERN_FACES_COMM_CONTEXT_H

#include <stdint.h>

#include "tern/context.h"

#ifndef COMM_MAX_RANK_NUM
#define COMM_MAX_RANK_NUM 64
#endif

typedef tern_context CommContext;
typedef tern_context CommDeviceContext;
typedef tern_context HcclDeviceContext;

#ifdef __cplusplus

// The address, in this process, of rank pe's copy of what `ptr` points to in the own window.
template <typename T> static inline T *CommRemotePtr(const CommDeviceContext *ctx, T *ptr, int pe)
{
    return static_cast<T *>(tern_context_remote(ctx, ptr, static_cast<uint32_t>(pe)));
}

template <typename T> static inline T *HcclRemotePtr(const CommDeviceContext *ctx, T *ptr, int pe)
{
    return CommRemotePtr(ctx, ptr, pe);
}

#endif

#endif
