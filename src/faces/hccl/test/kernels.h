// SPDX-License-Identifier: Apache-2.0
// For tests whose kernels call AscendC::Hccl, by the C functions beneath it.
#ifndef TERN_FACES_HCCL_TEST_KERNELS_H
#define TERN_FACES_HCCL_TEST_KERNELS_H

#include <string.h>

#include "acl/acl.h"
#include "hccl/hccl_comm.h"
#include "lib/hccl/hccl_client.h"
#include "tern/block.h"
#include "tern/stream.h"

static inline void kernel_init(tern_hccl *object, void *context, tern_hccl_site site)
{
    memset(object, 0, sizeof *object);
    tern_hccl_init(object, &(tern_hccl_start){.context = context, .kind_fits = 1}, site);
}

// A task of one turn and of int32 elements, summed where it reduces; with `commit` it may run at
// once.
static inline tern_hccl_task kernel_task(uint32_t type, const void *in, void *out, uint64_t count,
                                         int commit)
{
    return (tern_hccl_task){.type = type,
                            .dtype = HCCL_DATA_TYPE_INT32,
                            .op = HCCL_REDUCE_SUM,
                            .repeat = 1,
                            .send = in,
                            .recv = out,
                            .count = count,
                            .commit = commit};
}

// One block, which is given the pointer.
static inline int kernel_launch(aclrtStream stream, tern_block_kernel kernel, void *arg)
{
    return tern_stream_launch(stream, &(tern_stream_kernel){.kernel = kernel,
                                                            .blocks = 1,
                                                            .args = &arg,
                                                            .args_bytes = sizeof arg});
}

static inline int kernel_run(aclrtStream stream, tern_block_kernel kernel, void *arg)
{
    int status = kernel_launch(stream, kernel, arg);
    return status == TERN_OK ? tern_stream_sync(stream, TERN_TIMEOUT_DEFAULT) : status;
}

#endif
