// SPDX-License-Identifier: Apache-2.0
// BatchWrite: a rank writes anything into any windows.

#include <inttypes.h>
#include <string.h>

#include "comm/comm.h"
#include "faces/hccl/device.h"
#include "faces/hccl/form.h"
#include "sync/far.h"
#include "tern/block.h"

// An item of BatchWrite, in either of the forms that chips have.
struct batch_write {
    uintptr_t from, to;
    uint64_t bytes;
    int64_t rank; // -1: the item does not say
};

// The forms.
struct batch_item_a2 {
    uint64_t local, remote, count;
    uint32_t dtype, rank;
};
struct batch_item_a3 {
    uint64_t type;
    uint32_t reserved[5];
    uint32_t length;
    uint32_t source[2], target[2]; // lower half first
    uint32_t more[4];
};
_Static_assert(sizeof(struct batch_item_a2) == 32, "layout of kernels");
_Static_assert(sizeof(struct batch_item_a3) == 64, "layout of kernels");

// The first word of the one form is an address, and of the other 0.
static bool is_a3(const struct tern_hccl_task *call)
{
    uint64_t first;
    memcpy(&first, call->send, sizeof first);
    return first == 0;
}

static int read_item(const struct tern_hccl_task *call, uint32_t index, struct batch_write *write)
{
    if (is_a3(call)) {
        struct batch_item_a3 item;
        memcpy(&item, (const char *)call->send + index * sizeof item, sizeof item);
        write->bytes = item.length;
        write->from = (uintptr_t)item.source[1] << 32 | item.source[0];
        write->to = (uintptr_t)item.target[1] << 32 | item.target[0];
        write->rank = -1;
        return TERN_OK;
    }
    struct batch_item_a2 item;
    memcpy(&item, (const char *)call->send + index * sizeof item, sizeof item);
    tern_dtype dtype;
    if (!tern__hccl_dtype_is(item.dtype, &dtype)) {
        return tern__fail(TERN_ERR_ARG, "BatchWrite: item %u: %u is no element type",
                          (unsigned)index, (unsigned)item.dtype);
    }
    *write = (struct batch_write){.from = (uintptr_t)item.local,
                                  .to = (uintptr_t)item.remote,
                                  .rank = item.rank};
    if (__builtin_mul_overflow(item.count, tern_dtype_size(dtype), &write->bytes)) {
        return tern__fail(TERN_ERR_ARG, "BatchWrite: item %u: no memory has %" PRIu64 " elements",
                          (unsigned)index, item.count);
    }
    return TERN_OK;
}

static int check_item(const struct hccl_server *server, struct device_task *task, uint32_t index)
{
    struct batch_write write;
    TERN_TRY(read_item(&task->call, index, &write));
    if (write.rank >= server->ranks) {
        return tern__fail(TERN_ERR_ARG, "BatchWrite: item %u is for rank %" PRId64 " of %d",
                          (unsigned)index, write.rank, server->ranks);
    }
    int owner = -1;
    uint64_t offset = 0;
    for (int i = 0; i < server->ranks && owner < 0; i++) {
        offset = write.to - server->context->windowsIn[i];
        owner = offset < server->context->winSize ? i : -1;
    }
    if (write.bytes > 0 && (owner < 0 || (write.rank >= 0 && owner != write.rank))) {
        return tern__fail(TERN_ERR_ARG,
                          "BatchWrite: item %u: its destination is not in the window of %s",
                          (unsigned)index, write.rank >= 0 ? "its rank" : "a rank");
    }
    if (write.bytes > 0 && write.bytes > server->context->winSize - offset) {
        task->past_bytes = write.bytes - (server->context->winSize - offset);
        return tern__fail(TERN_ERR_ARG,
                          "BatchWrite: rank %d: item %u: %" PRIu64 " bytes are %" PRIu64
                          " bytes past the end of the window of rank %d",
                          server->rank, (unsigned)index, write.bytes, task->past_bytes, owner);
    }
    task->element = 1;
    return tern__hccl_task_buffer(server, task, "a source", (const void *)write.from, write.bytes);
}

// That the items themselves are there: of the first one what both forms have, then all.
static int check_list(const struct hccl_server *server, struct device_task *task)
{
    const struct tern_hccl_task *call = &task->call;
    task->element = sizeof(struct batch_item_a2);
    TERN_TRY(tern__hccl_task_buffer(server, task, "the list of items", call->send, 1));
    task->element = is_a3(call) ? sizeof(struct batch_item_a3) : sizeof(struct batch_item_a2);
    return tern__hccl_task_buffer(server, task, "the list of items", call->send, call->count);
}

int tern__hccl_batch_check(const struct hccl_server *server, struct device_task *task)
{
    const struct tern_hccl_task *call = &task->call;
    if (call->send == NULL || call->count == 0 || call->count > TERN_HCCL_BATCH_ITEMS_MAX) {
        return tern__fail(TERN_ERR_ARG, "BatchWrite: %" PRIu64 " items at %p; there are 1 to %d",
                          call->count, call->send, TERN_HCCL_BATCH_ITEMS_MAX);
    }
    if (call->stride >= TERN_HCCL_QUEUES_MAX) {
        return tern__fail(TERN_ERR_ARG, "BatchWrite: queue %" PRIu64 "; there are 0 to %d",
                          call->stride, TERN_HCCL_QUEUES_MAX - 1);
    }
    TERN_TRY(check_list(server, task));
    for (uint32_t i = 0; i < call->count; i++) {
        TERN_TRY(check_item(server, task, i));
    }
    return TERN_OK;
}

int tern__hccl_batch_run(struct hccl_server *server, const struct device_task *task)
{
    for (uint32_t i = 0; i < task->call.count; i++) {
        struct batch_write write;
        if (read_item(&task->call, i, &write) == TERN_OK && write.bytes > 0) {
            TERN_TRY(tern__hccl_store(server, write.to, (const void *)write.from, write.bytes));
        }
    }
    tern_fence();
    struct tern__group *group = &server->comm->group;
    return server->across ? tern__far_flush(group, group->job->timeout_ns) : TERN_OK;
}
