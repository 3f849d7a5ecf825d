// SPDX-License-Identifier: Apache-2.0
// The C functions beneath AscendC::Hccl (lib/hccl/hccl.h): what an object in a block of a kernel
// asks of the server of its communicator. An object writes down tasks; the server runs their turns
// by tern's collective calls, one after the other.
//
// What an object does wrong is a line on standard error with file and line of the call, and an
// error where the kernel's stream is synchronized; the kernel goes on.
#ifndef TERN_FACES_LIB_HCCL_HCCL_CLIENT_H
#define TERN_FACES_LIB_HCCL_HCCL_CLIENT_H

#include <stdint.h>

#include "hccl/hccl_types.h"
#include "tern/api.h"

TERN_BEGIN_DECLS

#define TERN_HCCL_TASKS_MAX 32    // Prepare calls between Init and Finalize
#define TERN_HCCL_TASKS_NEWEST 63 // the same after InitV2
#define TERN_HCCL_SLOTS 64        // of those, and of QueueBarrier and InterHcclGroupSync
#define TERN_HCCL_GROUPS_MAX 256  // communicators with resources
#define TERN_HCCL_QUEUES_MAX 48   // of BatchWrite
#define TERN_HCCL_BATCH_ITEMS_MAX 2047

// Where a call stands in the kernel's source.
typedef struct tern_hccl_site {
    const char *file;
    int line;
} tern_hccl_site;

typedef struct tern_hccl_call {
    tern_hccl_site site;
    uint32_t type, waits;
} tern_hccl_call;

// An object. All zero before Init; private to these functions.
typedef struct tern_hccl {
    void *server;
    const void *tiling; // of InitV2
    uint32_t life;      // of the server when the object was initialised
    uint32_t state;
    int32_t newest;  // InitV2
    int32_t right;   // whether the calls of this core and block become tasks
    int32_t follows; // whether they repeat those of block `works`
    int64_t works;
    // Of an object that follows: its Prepare calls, and messages like them.
    uint32_t followed, prepares;
    tern_hccl_call calls[TERN_HCCL_SLOTS];
} tern_hccl;

// What Init is told. kind_fits: the template's configuration names no other kind of core than this.
typedef struct tern_hccl_start {
    void *context;
    const void *tiling;
    int32_t newest;
    int32_t kind_fits;
    int64_t block;
} tern_hccl_start;

// A Prepare call. Counts, strides, offsets in elements.
typedef struct tern_hccl_task {
    uint32_t type; // HcclCMDType
    uint32_t dtype, op;
    uint32_t repeat;
    const void *send;
    void *recv;
    uint64_t count, stride;
    const void *lists[4]; // AlltoAllV: u64[n] send counts and offsets, receive counts and offsets;
                          // AlltoAllvWrite: u64[2 n] offsets and sizes; its stride: in windows
    uint32_t recv_dtype;  // AlltoAllV
    int32_t commit;       // all turns at once
} tern_hccl_task;

// The context of a communicator: the number counts HcclAllocComResourceByTiling. NULL: none.
TERN_API void *tern_hccl_group_context(uint32_t group);

TERN_API void tern_hccl_init(tern_hccl *object, const tern_hccl_start *start, tern_hccl_site site);
TERN_API int tern_hccl_set_tiling(tern_hccl *object, const void *tiling, uint64_t offset,
                                  int by_offset, tern_hccl_site site);

// 1 when reductions are of one dtype, as all are here; else 0.
TERN_API int tern_hccl_set_reduce_types(tern_hccl *object, uint32_t op, uint32_t to, uint32_t from,
                                        tern_hccl_site site);

// The object's memory goes away.
TERN_API void tern_hccl_drop(tern_hccl *object, tern_hccl_site site);

// A handle from 0 on, or -1.
TERN_API int tern_hccl_prepare(tern_hccl *object, const tern_hccl_task *task, tern_hccl_site site);
TERN_API void tern_hccl_commit(tern_hccl *object, int handle, tern_hccl_site site);
TERN_API int tern_hccl_wait(tern_hccl *object, int handle, tern_hccl_site site);
TERN_API int tern_hccl_query(tern_hccl *object, int handle, tern_hccl_site site);
TERN_API int tern_hccl_iterate(tern_hccl *object, int handle, uint16_t *slices, uint16_t length,
                               int sync, tern_hccl_site site);
TERN_API void tern_hccl_group_sync(tern_hccl *object, int group, int handle, tern_hccl_site site);
TERN_API void tern_hccl_finalize(tern_hccl *object, tern_hccl_site site);

// NULL for a rank that there is not, and before Init.
TERN_API void *tern_hccl_window(const tern_hccl *object, uint32_t rank, int out);

// UINT32_MAX before Init.
TERN_API uint32_t tern_hccl_rank(const tern_hccl *object);
TERN_API uint32_t tern_hccl_rank_count(const tern_hccl *object);

TERN_END_DECLS

#endif
