// SPDX-License-Identifier: Apache-2.0
// The collectives with a count for each rank. The arrays are copied into the work before a call
// returns.

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "faces/hccl/form.h"

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "counts of HCCL are those of tern");

// The two, made of one call, and one array behind the other. NULL: refused.
static struct tern__hccl_work *begin(const char *call, struct hccl *comm, HcclDataType type,
                                     unsigned arrays, size_t *room[], HcclResult *result)
{
    tern_dtype dtype = TERN_F32;
    *result = tern__hccl_ready(call, comm);
    *result = *result != HCCL_SUCCESS ? *result : tern__hccl_dtype(call, type, &dtype);
    if (*result != HCCL_SUCCESS) {
        return NULL;
    }
    struct tern__hccl_work *work =
        tern__hccl_work_new(call, comm, 1, (size_t)arrays * comm->size, &room[0]);
    if (work == NULL) {
        *result = tern__hccl_result(TERN_ERR_MEMORY);
        return NULL;
    }
    for (unsigned i = 1; i < arrays; i++) {
        room[i] = room[i - 1] + comm->size;
    }
    work->calls[0].dtype = dtype;
    return work;
}

static HcclResult end(struct tern__hccl_work *work, HcclResult result, tern_stream *stream)
{
    if (result == HCCL_SUCCESS) {
        result = tern__hccl_form(work->name, work->comm, &work->calls[0], true);
    }
    if (result == HCCL_SUCCESS) {
        return tern__hccl_submit(work, stream);
    }
    free(work);
    return result;
}

static void copy(const struct hccl *comm, size_t *to, const void *from)
{
    memcpy(to, from, comm->size * sizeof *to);
}

// A rank's own count is said twice.
static HcclResult agree(const char *call, const char *what, uint64_t count, uint64_t in_array,
                        uint32_t rank)
{
    return count == in_array ? HCCL_SUCCESS
                             : tern__hccl_refuse(call, HCCL_E_PARA,
                                                 "%s is %" PRIu64 ", but the array says %" PRIu64
                                                 " for this rank, %u",
                                                 what, count, in_array, rank);
}

HcclResult HcclReduceScatterV(void *sendBuf, const void *sendCounts, const void *sendDispls,
                              void *recvBuf, uint64_t recvCount, HcclDataType dataType,
                              HcclReduceOp op, HcclComm comm, aclrtStream stream)
{
    struct hccl *hccl = comm;
    size_t *room[2];
    HcclResult result;
    if (sendCounts == NULL || sendDispls == NULL) {
        return tern__hccl_no_pointer(__func__, sendCounts == NULL ? "sendCounts" : "sendDispls");
    }
    struct tern__hccl_work *work = begin(__func__, hccl, dataType, 2, room, &result);
    if (work == NULL) {
        return result;
    }
    tern_coll *coll = &work->calls[0];
    copy(hccl, room[0], sendCounts);
    copy(hccl, room[1], sendDispls);
    coll->kind = TERN_COLL_REDUCE_SCATTER_V;
    coll->in = sendBuf;
    coll->out = recvBuf;
    coll->count = recvCount;
    coll->in_counts = room[0];
    coll->in_offsets = room[1];
    result = tern__hccl_op(__func__, dataType, op, &coll->op);
    if (result == HCCL_SUCCESS) {
        result = agree(__func__, "recvCount", recvCount, room[0][hccl->rank], hccl->rank);
    }
    return end(work, result, stream);
}

HcclResult HcclAllGatherV(void *sendBuf, uint64_t sendCount, void *recvBuf, const void *recvCounts,
                          const void *recvDispls, HcclDataType dataType, HcclComm comm,
                          aclrtStream stream)
{
    struct hccl *hccl = comm;
    size_t *room[2];
    HcclResult result;
    if (recvCounts == NULL || recvDispls == NULL) {
        return tern__hccl_no_pointer(__func__, recvCounts == NULL ? "recvCounts" : "recvDispls");
    }
    struct tern__hccl_work *work = begin(__func__, hccl, dataType, 2, room, &result);
    if (work == NULL) {
        return result;
    }
    tern_coll *coll = &work->calls[0];
    copy(hccl, room[0], recvCounts);
    copy(hccl, room[1], recvDispls);
    coll->kind = TERN_COLL_ALL_GATHER_V;
    coll->in = sendBuf;
    coll->out = recvBuf;
    coll->count = sendCount;
    coll->out_counts = room[0];
    coll->out_offsets = room[1];
    result = agree(__func__, "sendCount", sendCount, room[0][hccl->rank], hccl->rank);
    return end(work, result, stream);
}

static void fill_all_to_all(tern_coll *coll, const void *send, const void *recv, size_t *room[4])
{
    coll->kind = TERN_COLL_ALL_TO_ALL_V;
    coll->in = send;
    coll->out = (void *)(uintptr_t)recv;
    coll->in_counts = room[0];
    coll->in_offsets = room[1];
    coll->out_counts = room[2];
    coll->out_offsets = room[3];
}

HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts, const void *sdispls,
                         HcclDataType sendType, const void *recvBuf, const void *recvCounts,
                         const void *rdispls, HcclDataType recvType, HcclComm comm,
                         aclrtStream stream)
{
    size_t *room[4];
    if (sendCounts == NULL || sdispls == NULL || recvCounts == NULL || rdispls == NULL) {
        return tern__hccl_no_pointer(__func__, sendCounts == NULL   ? "sendCounts"
                                               : sdispls == NULL    ? "sdispls"
                                               : recvCounts == NULL ? "recvCounts"
                                                                    : "rdispls");
    }
    HcclResult result = tern__hccl_same_types(__func__, sendType, recvType);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    struct tern__hccl_work *work = begin(__func__, comm, sendType, 4, room, &result);
    if (work == NULL) {
        return result;
    }
    copy(comm, room[0], sendCounts);
    copy(comm, room[1], sdispls);
    copy(comm, room[2], recvCounts);
    copy(comm, room[3], rdispls);
    fill_all_to_all(&work->calls[0], sendBuf, recvBuf, room);
    return end(work, HCCL_SUCCESS, stream);
}

// Where shares of these counts are, packed. A sum that overflows is refused as the counts are.
static void pack(const size_t *counts, uint32_t n, size_t *offsets)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        offsets[i] = sum;
        sum = __builtin_add_overflow(sum, counts[i], &sum) ? SIZE_MAX : sum;
    }
}

HcclResult HcclAlltoAllVC(const void *sendBuf, const void *sendCountMatrix, HcclDataType sendType,
                          const void *recvBuf, HcclDataType recvType, HcclComm comm,
                          aclrtStream stream)
{
    struct hccl *hccl = comm;
    size_t *room[4];
    if (sendCountMatrix == NULL) {
        return tern__hccl_no_pointer(__func__, "sendCountMatrix");
    }
    HcclResult result = tern__hccl_same_types(__func__, sendType, recvType);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    struct tern__hccl_work *work = begin(__func__, hccl, sendType, 4, room, &result);
    if (work == NULL) {
        return result;
    }
    const uint32_t n = hccl->size;
    const char *matrix = sendCountMatrix; // of uint64_t, anywhere
    copy(hccl, room[0], matrix + (size_t)hccl->rank * n * sizeof(uint64_t));
    for (uint32_t i = 0; i < n; i++) {
        memcpy(&room[2][i], matrix + ((size_t)i * n + hccl->rank) * sizeof(uint64_t),
               sizeof(uint64_t));
    }
    pack(room[0], n, room[1]);
    pack(room[2], n, room[3]);
    fill_all_to_all(&work->calls[0], sendBuf, recvBuf, room);
    return end(work, HCCL_SUCCESS, stream);
}
