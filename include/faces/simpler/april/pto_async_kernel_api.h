// SPDX-License-Identifier: Apache-2.0
// Kernels that return before their task is complete, April 2026: it completes when all conditions
// that they registered hold. And the notifications that such conditions wait for. C++ only.
#ifndef TERN_FACES_SIMPLER_APRIL_PTO_ASYNC_KERNEL_API_H
#define TERN_FACES_SIMPLER_APRIL_PTO_ASYNC_KERNEL_API_H

#include "pto/comm/pto_comm_inst.hpp"
#include "simpler/april/intrinsic.h"

#define COMPLETION_ENGINE_SDMA 0u
#define COMPLETION_ENGINE_ROCE 1u
#define COMPLETION_ENGINE_URMA 2u
#define COMPLETION_ENGINE_CCU 3u
#define COMPLETION_TYPE_COUNTER 0

struct DeferredCompletionEntry {
    uint64_t addr;
    uint32_t expected;
    uint32_t engine;
    int32_t type;
    uint32_t pad;
};
static_assert(sizeof(DeferredCompletionEntry) == 24 &&
                  offsetof(DeferredCompletionEntry, expected) == 8 &&
                  offsetof(DeferredCompletionEntry, type) == 16,
              "the layout of April 2026");

// Whose task it is; the functions below find that by themselves, so the pointers are null here.
struct AsyncCtx {
    volatile uint32_t *completion_count;
    volatile int32_t *error_code;
    DeferredCompletionEntry *entries;
    uint32_t capacity;
    PTO2TaskId task_token;
};
static_assert(sizeof(AsyncCtx) == 40 && offsetof(AsyncCtx, entries) == 16 &&
                  offsetof(AsyncCtx, capacity) == 24 && offsetof(AsyncCtx, task_token) == 32,
              "the layout of April 2026");

inline AsyncCtx get_async_ctx(int64_t *)
{
    return {nullptr, nullptr, nullptr, TERN_TASK_DEFERS_MAX, PTO2TaskId::invalid()};
}

// *addr >= expected, as unsigned numbers. A condition too many, or one that is none, fails the
// task.
inline void defer_condition(const AsyncCtx &, volatile void *addr, uint32_t expected,
                            uint32_t engine, int32_t type)
{
    if (type != COMPLETION_TYPE_COUNTER) {
        tern_kernel_fail("defer_condition: type %d of engine %u; only counters can be waited for",
                         type, engine);
        return;
    }
    tern_status_ignore(
        tern_kernel_defer_word(static_cast<const uint32_t *>(const_cast<const void *>(addr)),
                               expected));
}
inline void save_expected_notification_counter(const AsyncCtx &ctx, volatile void *addr,
                                               uint32_t expected)
{
    defer_condition(ctx, addr, expected, COMPLETION_ENGINE_SDMA, COMPLETION_TYPE_COUNTER);
}

using pto::comm::NotifyOp;

// Adds to a counter of another rank, or sets it; what was stored before is visible to who sees it.
inline void pto2_send_notification(volatile void *remote_addr, int32_t value, NotifyOp op)
{
    pto::comm::Signal signal(static_cast<int32_t *>(const_cast<void *>(remote_addr)));
    pto::comm::TNOTIFY(signal, value, op);
}

// Other names of the same: a later one, and earlier ones.
inline void send_notification(volatile void *remote_addr, int32_t value, NotifyOp op)
{
    pto2_send_notification(remote_addr, value, op);
}
using PTO2NotifyOp = NotifyOp;
using PTO2AsyncCtx = AsyncCtx;
inline PTO2AsyncCtx pto2_async_ctx(int64_t *args)
{
    return get_async_ctx(args);
}
inline void pto2_defer_counter(const PTO2AsyncCtx &ctx, volatile void *addr, uint32_t expected)
{
    save_expected_notification_counter(ctx, addr, expected);
}
inline void pto2_defer_flush(const PTO2AsyncCtx &)
{
}

#endif
