// SPDX-License-Identifier: Apache-2.0
// AlltoAllvWrite: each rank writes a block into the window of every rank, at a place of its own
// that is the same in all of them. The chip that has the call sends with two dies, so a block comes
// in two parts, which lie one behind the other in the window; the lists have the first parts for
// all ranks, then the second ones.

#include <inttypes.h>
#include <string.h>

#include "base/memcpy.h"
#include "faces/hccl/device.h"
#include "tern/block.h"
#include "tern/put.h"

enum { PARTS = 2 };

// Of a part: a row of task->lists.
static const size_t *offsets_of(const struct device_task *task, int part)
{
    return task->lists[part];
}

static const size_t *sizes_of(const struct device_task *task, int part)
{
    return task->lists[PARTS + part];
}

static int copy_lists(const struct hccl_server *server, struct device_task *task)
{
    static const char *const names[] = {"sendOffsets", "sendSizes"};
    for (int k = 0; k < 2; k++) {
        const uint64_t *list = task->call.lists[k];
        task->element = sizeof *list;
        TERN_TRY(
            tern__hccl_task_buffer(server, task, names[k], list, PARTS * (uint64_t)server->ranks));
        for (int i = 0; i < PARTS * server->ranks; i++) {
            if (list[i] >= UINT64_C(1) << 48) {
                return tern__fail(TERN_ERR_ARG,
                                  "AlltoAllvWrite: no memory has byte %" PRIu64 ", which is %s[%d]",
                                  list[i], names[k], i);
            }
            task->lists[PARTS * k + i / server->ranks][i % server->ranks] = list[i];
        }
    }
    task->element = 1;
    return TERN_OK;
}

static int check_own(const struct hccl_server *server, const struct device_task *task)
{
    int own = server->rank;
    size_t first = sizes_of(task, 0)[own];
    size_t second = sizes_of(task, 1)[own];
    return first + second == task->call.count
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG,
                            "AlltoAllvWrite: rank %d: localDataSize is %" PRIu64
                            ", and its block has %zu and %zu bytes, sendSizes[%d] and [%d]: the "
                            "parts of two dies",
                            own, task->call.count, first, second, own, own + server->ranks);
}

static int check_windows(const struct hccl_server *server, struct device_task *task)
{
    uint64_t size = server->context->winSize;
    uint64_t at = task->call.stride;
    for (int rank = 0; rank < server->ranks; rank++) {
        uint64_t bytes = sizes_of(task, 0)[rank] + sizes_of(task, 1)[rank];
        if (bytes > 0 && (at > size || bytes > size - at)) {
            task->past_bytes = bytes + at - size;
            return tern__fail(TERN_ERR_ARG,
                              "AlltoAllvWrite: rank %d: %" PRIu64 " bytes at byte %" PRIu64
                              " are %" PRIu64 " bytes past the end of the window of rank %d",
                              server->rank, bytes, at, task->past_bytes, rank);
        }
    }
    return TERN_OK;
}

int tern__hccl_write_check(const struct hccl_server *server, struct device_task *task)
{
    uint64_t end = 0;
    TERN_TRY(copy_lists(server, task));
    TERN_TRY(check_own(server, task));
    for (int i = 0; i < PARTS * server->ranks; i++) {
        int rank = i % server->ranks;
        uint64_t bytes = sizes_of(task, i / server->ranks)[rank];
        uint64_t here = offsets_of(task, i / server->ranks)[rank] + bytes;
        end = bytes > 0 && here > end ? here : end;
    }
    TERN_TRY(tern__hccl_task_buffer(server, task, "usrIn", task->call.send, end));
    return check_windows(server, task);
}

int tern__hccl_store(const struct hccl_server *server, uintptr_t to, const void *from, size_t bytes)
{
    tern_window *window;
    int rank;
    size_t offset;
    if (server->across) {
        TERN_TRY(tern_window_find((const void *)to, &window, &rank, &offset));
        if (tern_window_is_local(window, rank) == 0) {
            return tern_put(window, rank, offset, from, bytes);
        }
    }
    tern__memmove((void *)to, from, bytes);
    return TERN_OK;
}

int tern__hccl_write_run(const struct hccl_server *server, const struct device_task *task)
{
    for (int i = 0; i < server->ranks; i++) {
        int rank = (server->rank + i) % server->ranks;
        uintptr_t to = server->context->windowsIn[rank] + task->call.stride;
        for (int part = 0; part < PARTS; part++) {
            size_t bytes = sizes_of(task, part)[rank];
            if (bytes > 0) {
                TERN_TRY(
                    tern__hccl_store(server, to,
                                     (const char *)task->call.send + offsets_of(task, part)[rank],
                                     bytes));
            }
            to += bytes;
        }
    }
    tern_fence();
    return tern_comm_barrier(server->comm); // all have come
}
