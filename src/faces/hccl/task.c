// SPDX-License-Identifier: Apache-2.0
// Whether a task of a kernel can be done, as far as one rank sees it: element types and operations,
// and all turns inside their buffers. Set-up path.

#include <inttypes.h>

#include "faces/hccl/device.h"
#include "faces/hccl/form.h"

// Of the element types that kernels do not reduce.
static const char *const unreduced[] = {
    [HCCL_DATA_TYPE_INT64] = "int64",   [HCCL_DATA_TYPE_UINT64] = "uint64",
    [HCCL_DATA_TYPE_UINT8] = "uint8",   [HCCL_DATA_TYPE_UINT16] = "uint16",
    [HCCL_DATA_TYPE_UINT32] = "uint32", [HCCL_DATA_TYPE_FP64] = "fp64",
    [HCCL_DATA_TYPE_BFP16] = NULL,
};

static bool is_reduction(uint32_t type)
{
    return type == HCCL_CMD_ALLREDUCE || type == HCCL_CMD_REDUCE_SCATTER;
}

static int check_words(struct device_task *task)
{
    const struct tern_hccl_task *call = &task->call;
    const char *name = tern__hccl_task_name(call->type);
    if (call->repeat == 0) {
        return tern__fail(TERN_ERR_ARG, "%s: repeat is 0; it must be 1 or more", name);
    }
    if (!tern__hccl_dtype_is(call->dtype, &task->dtype)) {
        return tern__fail(TERN_ERR_ARG, "%s: %u is no element type; there are 0 to 11", name,
                          (unsigned)call->dtype);
    }
    if (call->type == HCCL_CMD_ALLTOALLV && call->dtype != call->recv_dtype) {
        return tern__fail(TERN_ERR_ARG, "%s: sendType is %u and recvType %u; they must be the same",
                          name, (unsigned)call->dtype, (unsigned)call->recv_dtype);
    }
    if (is_reduction(call->type)) {
        if (unreduced[call->dtype] != NULL) {
            return tern__fail(TERN_ERR_ARG,
                              "%s: not of %s; kernels reduce fp32, fp16, bfp16, int8, int16 and "
                              "int32",
                              name, unreduced[call->dtype]);
        }
        if (call->op != HCCL_REDUCE_SUM && call->op != HCCL_REDUCE_MAX &&
            call->op != HCCL_REDUCE_MIN) {
            return tern__fail(TERN_ERR_ARG, "%s: op is %u; kernels reduce by sum, max and min",
                              name, (unsigned)call->op);
        }
    }
    task->element = tern_dtype_size(task->dtype);
    return TERN_OK;
}

// The elements from the beginning of a buffer to the last that any turn touches.
struct extent {
    uint64_t send, recv;
};

// Of n blocks that begin `stride` apart. False: no such memory.
static bool reach(uint64_t n, uint64_t stride, uint64_t block, uint64_t *elements)
{
    return !__builtin_mul_overflow(n - 1, stride, elements) &&
           !__builtin_add_overflow(*elements, block, elements);
}

static bool reach_lists(const struct device_task *task, int n, const size_t *counts,
                        const size_t *offsets, uint64_t *elements)
{
    *elements = 0;
    for (int i = 0; i < n; i++) {
        uint64_t end;
        if (__builtin_mul_overflow((uint64_t)task->call.repeat, counts[i], &end) ||
            __builtin_add_overflow(end, offsets[i], &end)) {
            return false;
        }
        *elements = counts[i] > 0 && end > *elements ? end : *elements;
    }
    return true;
}

static bool measure(const struct device_task *task, int n, struct extent *extent)
{
    const struct tern_hccl_task *call = &task->call;
    uint64_t stride = call->stride > 0 ? call->stride : call->count;
    uint64_t block;
    uint64_t all = 0;
    if (call->type == HCCL_CMD_ALLTOALLV) {
        return reach_lists(task, n, task->lists[0], task->lists[1], &extent->send) &&
               reach_lists(task, n, task->lists[2], task->lists[3], &extent->recv);
    }
    if (__builtin_mul_overflow((uint64_t)call->repeat, call->count, &block) ||
        (call->type != HCCL_CMD_ALLREDUCE && !reach((uint64_t)n, stride, block, &all))) {
        return false;
    }
    all = call->count > 0 ? all : 0;
    bool gathers = call->type == HCCL_CMD_ALLGATHER || call->type == HCCL_CMD_ALLTOALL;
    bool scatters = call->type == HCCL_CMD_REDUCE_SCATTER || call->type == HCCL_CMD_ALLTOALL;
    extent->send = scatters ? all : block;
    extent->recv = gathers ? all : block;
    return true;
}

static int check_blocks(const struct hccl_server *server, const struct device_task *task)
{
    const struct tern_hccl_task *call = &task->call;
    const char *name = tern__hccl_task_name(call->type);
    bool gathers = call->type == HCCL_CMD_ALLGATHER || call->type == HCCL_CMD_ALLTOALL;
    if (gathers && call->stride > 0 && call->stride < call->count) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: strideCount is %" PRIu64 " and the count %" PRIu64
                          ": blocks of two ranks would overlap",
                          name, call->stride, call->count);
    }
    for (int i = 0; call->type == HCCL_CMD_ALLTOALLV && i < server->ranks; i++) {
        for (int k = 0; k < i; k++) {
            const size_t *counts = task->lists[2];
            const size_t *offsets = task->lists[3];
            if (counts[i] > 0 && counts[k] > 0 && offsets[i] < offsets[k] + counts[k] &&
                offsets[k] < offsets[i] + counts[i]) {
                return tern__fail(TERN_ERR_ARG,
                                  "%s: what arrives from rank %d and from rank %d overlaps", name,
                                  k, i);
            }
        }
    }
    return TERN_OK;
}

static int copy_lists(const struct hccl_server *server, struct device_task *task)
{
    static const char *const names[] = {"sendCounts", "sdispls", "recvCounts", "rdispls"};
    for (int k = 0; k < 4; k++) {
        const uint64_t *list = task->call.lists[k];
        if (list == NULL) {
            return tern__fail(TERN_ERR_ARG, "AlltoAllV: %s must not be NULL", names[k]);
        }
        for (int i = 0; i < server->ranks; i++) {
            task->lists[k][i] = list[i];
        }
    }
    return TERN_OK;
}

int tern__hccl_task_check(const struct hccl_server *server, struct device_task *task)
{
    struct extent extent;
    uint32_t type = task->call.type;
    if (type == HCCL_CMD_BATCH_WRITE) {
        return tern__hccl_batch_check(server, task);
    }
    if (type == HCCL_CMD_HALF_ALLTOALLV) {
        task->dtype = TERN_U8;
        return tern__hccl_write_check(server, task);
    }
    if (type == HCCL_CMD_BARRIER || type == HCCL_CMD_INTER_GROUP_SYNC) {
        return TERN_OK;
    }
    TERN_TRY(check_words(task));
    if (type == HCCL_CMD_ALLTOALLV) {
        TERN_TRY(copy_lists(server, task));
    }
    if (!measure(task, server->ranks, &extent)) {
        return tern__fail(TERN_ERR_ARG, "%s: rank %d: no memory has so many elements",
                          tern__hccl_task_name(type), server->rank);
    }
    TERN_TRY(tern__hccl_task_buffer(server, task, "sendBuf", task->call.send, extent.send));
    TERN_TRY(tern__hccl_task_buffer(server, task, "recvBuf", task->call.recv, extent.recv));
    return check_blocks(server, task);
}
