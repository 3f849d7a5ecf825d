// SPDX-License-Identifier: Apache-2.0
// What hosts of kernels ask of a communicator beside hccl.h.
#ifndef TERN_FACES_HCCL_HCCL_COMM_H
#define TERN_FACES_HCCL_HCCL_COMM_H

#include "hccl/hccl.h"

TERN_BEGIN_DECLS

#define COMM_TOPO_RESERVED 0
#define COMM_TOPO_MESH 1

// The communicator of this name in this process.
TERN_API HcclResult HcomGetCommHandleByGroup(const char *group, HcclComm *comm);

// COMM_TOPO_MESH: the resource below is the context itself.
TERN_API HcclResult HcomGetL0TopoTypeEx(const char *group, uint32_t *topoType,
                                        uint32_t isSetDevice);

// Collective, once per communicator; later calls return the same. *ctx is the address of a
// CommContext of windows of HCCL_BUFFSIZE MiB (environment; 200), all zero; it lives as long as the
// communicator. tiling is not read.
TERN_API HcclResult HcclAllocComResourceByTiling(HcclComm comm, void *stream, void *tiling,
                                                 void **ctx);

TERN_END_DECLS

#endif
