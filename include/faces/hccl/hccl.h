// SPDX-License-Identifier: Apache-2.0
// The part of HCCL that programs for the PTO ISA bring themselves up with: root info, a
// communicator, the context that kernels read, a barrier. Collectives are not here.
//
// Functions return HCCL_SUCCESS, or the number of an error whose sentence is in tern_last_error().
#ifndef TERN_FACES_HCCL_HCCL_H
#define TERN_FACES_HCCL_HCCL_H

#include "acl/acl.h"
#include "hccl/hccl_types.h"

TERN_BEGIN_DECLS

// Where the ranks meet, as the root makes it: a path below TMPDIR, or /tmp.
TERN_API HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo);

// Collective. All ranks have a copy of the root's info; rank 0 need not have made it.
TERN_API HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo,
                                         uint32_t rank, HcclComm *comm);
TERN_API HcclResult HcclCommDestroy(HcclComm comm);

TERN_API HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize);
TERN_API HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank);

// commName has COMM_NAME_MAX_LENGTH bytes.
TERN_API HcclResult HcclGetCommName(HcclComm comm, char *commName);

// In the order of the stream (NULL: at once): goes on when the streams of all ranks have come.
TERN_API HcclResult HcclBarrier(HcclComm comm, aclrtStream stream);

TERN_END_DECLS

#endif
