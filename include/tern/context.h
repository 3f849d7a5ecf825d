// SPDX-License-Identifier: Apache-2.0
// What a kernel sees of a window: the 1056-byte device context of the comm_* platform API
// (layout unchanged since March 2026). Addresses are those of this process and mean nothing in
// another: never store one in a window, never send one.
//
// The rule for a peer's copy of a local object:
//     remote = windowsIn[peer] + (local - windowsIn[rankId])
#ifndef TERN_CONTEXT_H
#define TERN_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "tern/api.h"

#define TERN_CONTEXT_RANKS 64

typedef struct tern_context {
    uint64_t workSpace;                      // 0
    uint64_t workSpaceSize;                  // 0
    uint32_t rankId;                         // this rank
    uint32_t rankNum;                        // number of ranks
    uint64_t winSize;                        // bytes per window, as allocated
    uint64_t windowsIn[TERN_CONTEXT_RANKS];  // base of each rank's window, as mapped here
    uint64_t windowsOut[TERN_CONTEXT_RANKS]; // the same again
} tern_context;

#ifdef __cplusplus
static_assert(sizeof(tern_context) == 1056, "the layout is fixed");
static_assert(offsetof(tern_context, rankId) == 16, "the layout is fixed");
static_assert(offsetof(tern_context, winSize) == 24, "the layout is fixed");
static_assert(offsetof(tern_context, windowsOut) == 544, "the layout is fixed");
#else
_Static_assert(sizeof(tern_context) == 1056, "the layout is fixed");
_Static_assert(offsetof(tern_context, rankId) == 16, "the layout is fixed");
_Static_assert(offsetof(tern_context, winSize) == 24, "the layout is fixed");
_Static_assert(offsetof(tern_context, windowsOut) == 544, "the layout is fixed");
#endif

// The address, in this process, at which rank `peer` has what `local` points to in the caller's own
// window. No check: `local` must lie in the caller's window, and peer < rankNum.
static inline void *tern_context_remote(const tern_context *context, const void *local,
                                        uint32_t peer)
{
    uint64_t offset = (uint64_t)(uintptr_t)local - context->windowsIn[context->rankId];
    return (void *)(uintptr_t)(context->windowsIn[peer] + offset);
}

#endif
