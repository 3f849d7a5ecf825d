// SPDX-License-Identifier: Apache-2.0
// The collectives with one count, and messages: each is one call of tern.

#include "faces/hccl/form.h"

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream)
{
    const char *call = __func__;
    HcclResult result = tern__hccl_ready(call, comm);
    return result != HCCL_SUCCESS
               ? result
               : tern__hccl_make(call, comm, &(tern_coll){.kind = TERN_COLL_BARRIER}, stream);
}
