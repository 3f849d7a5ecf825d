// SPDX-License-Identifier: Apache-2.0
// For the tests of HCCL's calls: the cases of tern's own calls (coll/call/test/kit.h), made through
// HCCL; and ranks with a communicator of HCCL, whose root info the parent made and the fork copied,
// or where they are on several machines the last rank, for the others.
#ifndef TERN_FACES_HCCL_TEST_KIT_H
#define TERN_FACES_HCCL_TEST_KIT_H

#include "coll/call/test/kit.h"
#include "faces/hccl/state.h"
#include "hccl/hccl.h"

KIT const HcclDataType hccl_types[12] = {
    [TERN_I8] = HCCL_DATA_TYPE_INT8,    [TERN_I16] = HCCL_DATA_TYPE_INT16,
    [TERN_I32] = HCCL_DATA_TYPE_INT32,  [TERN_F16] = HCCL_DATA_TYPE_FP16,
    [TERN_F32] = HCCL_DATA_TYPE_FP32,   [TERN_I64] = HCCL_DATA_TYPE_INT64,
    [TERN_U64] = HCCL_DATA_TYPE_UINT64, [TERN_U8] = HCCL_DATA_TYPE_UINT8,
    [TERN_U16] = HCCL_DATA_TYPE_UINT16, [TERN_U32] = HCCL_DATA_TYPE_UINT32,
    [TERN_F64] = HCCL_DATA_TYPE_FP64,   [TERN_BF16] = HCCL_DATA_TYPE_BFP16,
};

KIT const HcclReduceOp hccl_ops[4] = {
    [TERN_SUM] = HCCL_REDUCE_SUM,
    [TERN_PROD] = HCCL_REDUCE_PROD,
    [TERN_MAX] = HCCL_REDUCE_MAX,
    [TERN_MIN] = HCCL_REDUCE_MIN,
};

typedef int (*hccl_body)(HcclComm comm, void *arg);

struct hccl_meeting {
    HcclRootInfo info;
    _Atomic int made;
};

struct hccl_ranks {
    struct hccl_meeting *meeting; // of all ranks
    int count;
    hccl_body body;
    void *arg;
};

// Before the ranks begin.
KIT bool hccl_prepare(struct hccl_ranks *job)
{
    job->meeting = ranks_shared(sizeof *job->meeting);
    if (getenv("TERN_TEST_MACHINES") == NULL) {
        job->meeting->made = HcclGetRootInfo(&job->meeting->info) == HCCL_SUCCESS;
        return job->meeting->made != 0;
    }
    return true;
}

// In a rank.
KIT const HcclRootInfo *hccl_info(int rank, const struct hccl_ranks *job)
{
    struct hccl_meeting *meeting = job->meeting;
    if (meeting->made == 0 && rank == job->count - 1) {
        setenv("HCCL_IF_IP", "127.0.0.1", 1);
        if (HcclGetRootInfo(&meeting->info) != HCCL_SUCCESS) {
            abort();
        }
        meeting->made = 1;
    }
    ranks_count_await(&meeting->made, 1);
    return &meeting->info;
}

KIT int hccl_rank(int rank, const struct ranks *ranks, void *arg)
{
    struct hccl_ranks *job = arg;
    HcclComm comm = NULL;
    CHECK(HcclCommInitRootInfo((uint32_t)job->count, hccl_info(rank, job), (uint32_t)rank, &comm) ==
          HCCL_SUCCESS);
    CHECK(tern__hccl_is_across(comm) == (ranks->machines != NULL));
    CHECK(job->body(comm, job->arg) == 0);
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    return 0;
}

// Ranks that have a communicator; destroyed after the body.
KIT bool hccl_run(int count, hccl_body body, void *arg, double deadline_s)
{
    struct hccl_ranks job = {.count = count, .body = body, .arg = arg};
    return hccl_prepare(&job) && ranks_run(count, hccl_rank, &job, deadline_s);
}

KIT int hccl_rank_of(HcclComm comm)
{
    uint32_t rank = 0;
    return HcclGetRankId(comm, &rank) == HCCL_SUCCESS ? (int)rank : -1;
}

KIT int hccl_size_of(HcclComm comm)
{
    uint32_t size = 0;
    return HcclGetRankSize(comm, &size) == HCCL_SUCCESS ? (int)size : -1;
}

// The counts of an all_to_all_v, of all ranks.
KIT void hccl_matrix(const struct ref_case *c, uint64_t *matrix)
{
    for (int i = 0; i < c->n; i++) {
        struct ref_shares shares;
        ref_shares(c, i, &shares);
        for (int j = 0; j < c->n; j++) {
            matrix[i * c->n + j] = shares.in_counts[j];
        }
    }
}

// A ring, or pairs that swap: with itself too.
KIT HcclResult hccl_exchange(const struct kit_work *w, HcclComm comm, aclrtStream stream)
{
    const tern_coll *k = &w->call;
    HcclDataType type = hccl_types[k->dtype];
    uint32_t to = (uint32_t)ref_to(&w->c, w->rank), from = (uint32_t)ref_from(&w->c, w->rank);
    if (w->c.kind == TERN_COLL_SEND) {
        HcclSendRecvItem items[2] = {{HCCL_RECV, w->out, k->count, type, from},
                                     {HCCL_SEND, w->in, k->count, type, to}};
        return HcclBatchSendRecv(items, 2, comm, stream);
    }
    HcclResult result = HcclGroupStart();
    result = result != HCCL_SUCCESS ? result : HcclRecv(w->out, k->count, type, from, comm, stream);
    result = result != HCCL_SUCCESS ? result : HcclSend(w->in, k->count, type, to, comm, stream);
    HcclResult ended = HcclGroupEnd();
    return result != HCCL_SUCCESS ? result : ended;
}

// Arrays of counts are overwritten as soon as the call has returned.
KIT HcclResult hccl_make_v(const struct kit_work *w, HcclComm comm, aclrtStream stream)
{
    const tern_coll *k = &w->call;
    HcclDataType type = hccl_types[k->dtype];
    struct ref_shares s = w->shares;
    static uint64_t matrix[TERN_RANKS_MAX * TERN_RANKS_MAX];
    HcclResult result = HCCL_E_NOT_SUPPORT;
    size_t sum = 0;
    if (k->kind == TERN_COLL_REDUCE_SCATTER_V) {
        for (int i = 0; i < w->c.n; i++) {
            s.in_offsets[i] = sum;
            sum += s.in_counts[i];
        }
        result = HcclReduceScatterV((void *)(uintptr_t)k->in, s.in_counts, s.in_offsets, k->out,
                                    s.in_counts[w->rank], type, hccl_ops[k->op], comm, stream);
    } else if (k->kind == TERN_COLL_ALL_GATHER_V) {
        result = HcclAllGatherV((void *)(uintptr_t)k->in, s.out_counts[w->rank], k->out,
                                s.out_counts, s.out_offsets, type, comm, stream);
    } else if (w->c.spread) {
        result = HcclAlltoAllV(k->in, s.in_counts, s.in_offsets, type, k->out, s.out_counts,
                               s.out_offsets, type, comm, stream);
    } else {
        hccl_matrix(&w->c, matrix);
        result = HcclAlltoAllVC(k->in, matrix, type, k->out, type, comm, stream);
    }
    memset(&s, 0xee, sizeof s);
    memset(matrix, 0xee, sizeof matrix);
    return result;
}

KIT HcclResult hccl_make(const struct kit_work *w, HcclComm comm, aclrtStream stream)
{
    const tern_coll *k = &w->call;
    HcclDataType type = hccl_types[k->dtype];
    HcclReduceOp op = ref_reduces(k->kind) ? hccl_ops[k->op] : HCCL_REDUCE_RESERVED;
    void *in = (void *)(uintptr_t)k->in;
    uint32_t root = (uint32_t)k->root;
    switch (k->kind) {
    case TERN_COLL_ALL_REDUCE:
        return HcclAllReduce(in, k->out, k->count, type, op, comm, stream);
    case TERN_COLL_REDUCE_SCATTER:
        return HcclReduceScatter(in, k->out, k->count, type, op, comm, stream);
    case TERN_COLL_ALL_GATHER:
        return HcclAllGather(in, k->out, k->count, type, comm, stream);
    case TERN_COLL_BROADCAST: // has one buffer
        return HcclBroadcast(w->rank == w->c.root ? in : k->out, k->count, type, root, comm,
                             stream);
    case TERN_COLL_REDUCE:
        return HcclReduce(in, k->out, k->count, type, op, root, comm, stream);
    case TERN_COLL_SCATTER:
        return HcclScatter(in, k->out, k->count, type, root, comm, stream);
    case TERN_COLL_ALL_TO_ALL:
        return HcclAlltoAll(in, k->count, type, k->out, k->count, type, comm, stream);
    case TERN_COLL_BARRIER:
        return HcclBarrier(comm, stream);
    case TERN_COLL_SEND:
    case TERN_COLL_RECV:
        return hccl_exchange(w, comm, stream);
    default:
        return hccl_make_v(w, comm, stream);
    }
}

#endif
