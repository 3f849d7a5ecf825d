// SPDX-License-Identifier: Apache-2.0
// The form of a call.

#include "faces/hccl/form.h"

#include <stdlib.h>

#include "base/kind.h"
#include "base/public.h"
#include "coll/call/call.h"
#include "faces/acl/memory.h"

struct tern__calls *tern__hccl_form_new(uint32_t rank, uint32_t size)
{
    struct tern__calls *form = calloc(1, sizeof *form);
    if (form == NULL) {
        tern__set_error("no memory for a communicator");
        return NULL;
    }
    form->rank = (int)rank;
    form->nranks = (int)size;
    form->handed = true; // whether the communicator works is looked at when the call runs
    return form;
}

bool tern__hccl_dtype_is(uint32_t number, tern_dtype *dtype)
{
    static const tern_dtype dtypes[] = {
        [HCCL_DATA_TYPE_INT8] = TERN_I8,    [HCCL_DATA_TYPE_INT16] = TERN_I16,
        [HCCL_DATA_TYPE_INT32] = TERN_I32,  [HCCL_DATA_TYPE_FP16] = TERN_F16,
        [HCCL_DATA_TYPE_FP32] = TERN_F32,   [HCCL_DATA_TYPE_INT64] = TERN_I64,
        [HCCL_DATA_TYPE_UINT64] = TERN_U64, [HCCL_DATA_TYPE_UINT8] = TERN_U8,
        [HCCL_DATA_TYPE_UINT16] = TERN_U16, [HCCL_DATA_TYPE_UINT32] = TERN_U32,
        [HCCL_DATA_TYPE_FP64] = TERN_F64,   [HCCL_DATA_TYPE_BFP16] = TERN_BF16,
    };
    if (number >= sizeof dtypes / sizeof dtypes[0]) {
        return false;
    }
    *dtype = dtypes[number];
    return true;
}

// Types of a byte that are moved only.
static bool is_moved(HcclDataType type)
{
    return type >= HCCL_DATA_TYPE_HIF8 && type <= HCCL_DATA_TYPE_FP8E8M0;
}

HcclResult tern__hccl_dtype(const char *call, HcclDataType type, tern_dtype *dtype)
{
    if (tern__hccl_dtype_is((uint32_t)type, dtype)) {
        return HCCL_SUCCESS;
    }
    if (is_moved(type)) {
        *dtype = TERN_U8;
        return HCCL_SUCCESS;
    }
    if (type == HCCL_DATA_TYPE_INT128) {
        return tern__hccl_refuse(call, HCCL_E_NOT_SUPPORT,
                                 "HCCL_DATA_TYPE_INT128 (12) is a number without a use");
    }
    return tern__hccl_refuse(call, HCCL_E_NOT_SUPPORT,
                             "data type %d; there are 0 (int8) to 11 (bfp16), and 14 (hif8) to 17 "
                             "(fp8e8m0)",
                             (int)type);
}

HcclResult tern__hccl_op(const char *call, HcclDataType type, HcclReduceOp op,
                         tern_reduce_op *result)
{
    static const tern_reduce_op ops[] = {[HCCL_REDUCE_SUM] = TERN_SUM,
                                         [HCCL_REDUCE_PROD] = TERN_PROD,
                                         [HCCL_REDUCE_MAX] = TERN_MAX,
                                         [HCCL_REDUCE_MIN] = TERN_MIN};
    if (is_moved(type)) {
        return tern__hccl_refuse(call, HCCL_E_NOT_SUPPORT, "data type %d is moved, and not reduced",
                                 (int)type);
    }
    if ((unsigned)op < sizeof ops / sizeof ops[0]) {
        *result = ops[op];
        return HCCL_SUCCESS;
    }
    return tern__hccl_refuse(call, HCCL_E_PARA,
                             "operation %d; there are 0 (sum), 1 (prod), 2 (max) and 3 (min)",
                             (int)op);
}

HcclResult tern__hccl_same_types(const char *call, HcclDataType send, HcclDataType recv)
{
    return send == recv
               ? HCCL_SUCCESS
               : tern__hccl_refuse(call, HCCL_E_PARA,
                                   "sendType is %d and recvType is %d; they must be the same",
                                   (int)send, (int)recv);
}

static HcclResult form_message(const char *call, const struct hccl *comm, const tern_coll *coll,
                               bool alone)
{
    const bool sends = coll->kind == TERN_COLL_SEND;
    const size_t element = tern_dtype_size(coll->dtype);
    if ((uint32_t)coll->root >= comm->size) {
        return tern__hccl_refuse(call, HCCL_E_PARA,
                                 "the other rank is %u; the communicator has ranks 0..%u",
                                 (uint32_t)coll->root, comm->size - 1);
    }
    if (coll->count > SIZE_MAX / 2 / element) {
        return tern__hccl_refuse(call, HCCL_E_PARA,
                                 "%zu elements of %zu bytes are more than fit "
                                 "into memory",
                                 coll->count, element);
    }
    if (coll->count > 0 && (sends ? coll->in == NULL : coll->out == NULL)) {
        return tern__hccl_no_pointer(call, sends ? "sendBuf" : "recvBuf");
    }
    if (alone && (uint32_t)coll->root == comm->rank) {
        return tern__hccl_refuse(call, HCCL_E_PARA,
                                 "rank %u is this rank itself; put both halves into one "
                                 "HcclBatchSendRecv, or between HcclGroupStart and HcclGroupEnd",
                                 comm->rank);
    }
    return tern__hccl_result(
        tern__public_end(call, tern__acl_memory_check_use(call, sends ? "sendBuf" : "recvBuf",
                                                          sends ? coll->in : coll->out,
                                                          coll->count * element)));
}

// Elements that go into this rank's buffers, if any: those need a place.
static bool has_elements(const tern_coll *coll, const size_t *counts, uint32_t size)
{
    bool any = counts == NULL && coll->count > 0;
    for (uint32_t i = 0; counts != NULL && i < size; i++) {
        any = any || counts[i] > 0;
    }
    return any;
}

HcclResult tern__hccl_form(const char *call, const struct hccl *comm, const tern_coll *coll,
                           bool alone)
{
    struct tern__coll checked = {0};
    if (tern__kind_is_message(coll->kind)) {
        return form_message(call, comm, coll, alone);
    }
    const int rank = (int)comm->rank;
    const bool in = tern__kind_has_in(coll->kind, rank, coll->root) &&
                    has_elements(coll, coll->in_counts, comm->size);
    const bool out = tern__kind_has_out(coll->kind, rank, coll->root) &&
                     has_elements(coll, coll->out_counts, comm->size);
    if ((in && coll->in == NULL) || (out && coll->out == NULL)) {
        return tern__hccl_no_pointer(call, in && coll->in == NULL ? "sendBuf" : "recvBuf");
    }
    int status = tern__call_check(call, comm->form, coll, &checked);
    // What is too long for a block may be said to overlap, but for that reason.
    int fits = tern__acl_memory_check_use(call, "sendBuf", checked.in, checked.in_bytes);
    fits = fits < 0 ? fits
                    : tern__acl_memory_check_use(call, "recvBuf", checked.out, checked.out_bytes);
    return tern__hccl_result(tern__public_end(call, fits < 0 ? fits : status));
}

HcclResult tern__hccl_make(const char *call, struct hccl *comm, const tern_coll *coll,
                           tern_stream *stream)
{
    HcclResult result = tern__hccl_form(call, comm, coll, !tern__hccl_in_group());
    if (result != HCCL_SUCCESS) {
        return result;
    }
    struct tern__hccl_work *work = tern__hccl_work_new(call, comm, 1, 0, NULL);
    if (work == NULL) {
        return tern__hccl_result(TERN_ERR_MEMORY);
    }
    work->calls[0] = *coll;
    return tern__hccl_submit(work, stream);
}
