// SPDX-License-Identifier: Apache-2.0
// A communicator of HCCL, and what its calls share: statuses of tern as results of HCCL.
#ifndef TERN_FACES_HCCL_STATE_H
#define TERN_FACES_HCCL_STATE_H

#include "base/handle.h"
#include "hccl/hccl_comm.h"
#include "tern/comm.h"
#include "tern/window.h"

struct hccl {
    struct tern__handle handle;
    tern_comm *comm;
    tern_window *window; // of HcclAllocComResourceByTiling; NULL before
    char name[COMM_NAME_MAX_LENGTH];
    struct hccl *next; // of this process
};

HcclResult tern__hccl_result(int status);

// HCCL_E_PTR, with its sentence.
HcclResult tern__hccl_no_pointer(const char *call);

// TERN_OK when it is a communicator that lives.
int tern__hccl_check(const char *call, const struct hccl *comm);

#endif
