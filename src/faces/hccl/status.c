// SPDX-License-Identifier: Apache-2.0
// Suspending, and what a communicator's state is. Set-up path.

#include "faces/hccl/state.h"

static HcclResult suspend(const char *call, struct hccl *comm, uint32_t suspended)
{
    HcclResult result = tern__hccl_lives(call, comm);
    if (result == HCCL_SUCCESS) {
        tern__flag_store(&comm->suspended, suspended);
    }
    return result;
}

HcclResult HcclCommSuspend(HcclComm comm)
{
    return suspend("HcclCommSuspend", comm, 1);
}

HcclResult HcclCommResume(HcclComm comm)
{
    return suspend("HcclCommResume", comm, 0);
}

HcclResult HcclCommGetStatus(const char *commId, HcclCommStatus *status)
{
    const char *call = "HcclCommGetStatus";
    struct hccl *comm = NULL;
    HcclResult failure = HCCL_SUCCESS;
    if (commId == NULL || status == NULL) {
        return tern__hccl_no_pointer(call, commId == NULL ? "commId" : "status");
    }
    *status = HCCL_COMM_STATUS_INVALID;
    HcclResult result = tern__hccl_find(call, commId, &comm);
    if (result == HCCL_SUCCESS) {
        result = HcclGetCommAsyncError(comm, &failure);
    }
    if (result == HCCL_SUCCESS && failure == HCCL_SUCCESS) {
        *status = tern__flag_load(&comm->suspended) != 0 ? HCCL_COMM_STATUS_SUSPENDING
                                                         : HCCL_COMM_STATUS_READY;
    }
    return result;
}

HcclResult HcclCommWorkingDevNicSet(HcclComm comm, uint32_t *ranks, bool *useBackup,
                                    uint32_t nRanks)
{
    const char *call = "HcclCommWorkingDevNicSet";
    const struct hccl *hccl = comm;
    HcclResult result = tern__hccl_lives(call, hccl);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    if (ranks == NULL || useBackup == NULL) {
        return tern__hccl_no_pointer(call, ranks == NULL ? "ranks" : "useBackup");
    }
    for (uint32_t i = 0; i < nRanks; i++) {
        if (ranks[i] >= hccl->size) {
            return tern__hccl_refuse(call, HCCL_E_PARA,
                                     "ranks[%u] is %u; the communicator has ranks 0..%u", i,
                                     ranks[i], hccl->size - 1);
        }
        if (useBackup[i]) {
            return tern__hccl_refuse(call, HCCL_E_NOT_SUPPORT,
                                     "rank %u has no second network card: ranks share memory",
                                     ranks[i]);
        }
    }
    return HCCL_SUCCESS;
}
