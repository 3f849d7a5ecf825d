// SPDX-License-Identifier: Apache-2.0
// Whether a buffer of a task has as many bytes as the task touches. Its end is known in windows of
// the communicator and in memory of aclrtMalloc; other memory is believed. Set-up path.

#include <inttypes.h>

#include "faces/acl/memory.h"
#include "faces/hccl/device.h"

const char *tern__hccl_task_name(uint32_t type)
{
    switch (type) {
    case HCCL_CMD_ALLREDUCE:
        return "AllReduce";
    case HCCL_CMD_ALLGATHER:
        return "AllGather";
    case HCCL_CMD_REDUCE_SCATTER:
        return "ReduceScatter";
    case HCCL_CMD_ALLTOALL:
        return "AlltoAll";
    case HCCL_CMD_ALLTOALLV:
        return "AlltoAllV";
    case HCCL_CMD_HALF_ALLTOALLV:
        return "AlltoAllvWrite";
    case HCCL_CMD_BATCH_WRITE:
        return "BatchWrite";
    case HCCL_CMD_BARRIER:
        return "QueueBarrier";
    case HCCL_CMD_INTER_GROUP_SYNC:
        return "InterHcclGroupSync";
    default:
        return "a call";
    }
}

// That an address is in no window of a rank on another machine.
static int check_near(const struct hccl_server *server, const char *name, const char *what,
                      const void *address)
{
    const tern_window *window = server->hccl->window;
    for (int i = 0; server->across && i < server->ranks; i++) {
        uint64_t offset = (uintptr_t)address - server->context->windowsIn[i];
        if (offset < server->context->winSize && tern_window_is_local(window, i) == 0) {
            return tern__fail(TERN_ERR_ARG,
                              "%s: rank %d: %s is in the window of rank %d, which is on another "
                              "machine and has no address here; TGET reads it",
                              name, server->rank, what, i);
        }
    }
    return TERN_OK;
}

// Bytes from an address to the end of the memory that it lies in; false: not known.
static bool find_left(const struct hccl_server *server, const void *address, uint64_t *left)
{
    for (int i = 0; i < server->ranks; i++) {
        uint64_t offset = (uintptr_t)address - server->context->windowsIn[i];
        if (offset < server->context->winSize) {
            *left = server->context->winSize - offset;
            return true;
        }
    }
    uintptr_t begin = 0;
    size_t bytes = 0;
    const bool found =
        tern__acl_memory_of(address, &begin, &bytes) ||
        tern__acl_memory_of((const char *)address - 1, &begin, &bytes); // the end of it
    *left = found ? begin + bytes - (uintptr_t)address : 0;
    return found;
}

int tern__hccl_task_buffer(const struct hccl_server *server, struct device_task *task,
                           const char *what, const void *buffer, uint64_t elements)
{
    const char *name = tern__hccl_task_name(task->call.type);
    uint64_t bytes;
    uint64_t left;
    if (__builtin_mul_overflow(elements, (uint64_t)task->element, &bytes) || bytes > SIZE_MAX / 2) {
        task->past_bytes = UINT64_MAX;
        return tern__fail(TERN_ERR_ARG, "%s: rank %d: %s has more bytes than there is memory", name,
                          server->rank, what);
    }
    if (bytes > 0 && buffer == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: rank %d: %s must not be NULL", name, server->rank,
                          what);
    }
    TERN_TRY(bytes > 0 ? check_near(server, name, what, buffer) : TERN_OK);
    if (bytes == 0 || !find_left(server, buffer, &left) || bytes <= left) {
        return TERN_OK;
    }
    task->past_bytes = bytes - left;
    return tern__fail(TERN_ERR_ARG,
                      "%s: rank %d: %" PRIu64 " bytes of %s are %" PRIu64
                      " bytes past the end of its memory, which has %" PRIu64 " from there",
                      name, server->rank, bytes, what, bytes - left, left);
}
