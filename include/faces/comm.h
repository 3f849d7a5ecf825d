// SPDX-License-Identifier: Apache-2.0
// The comm_* platform API: a communicator of ranks, one shared window per rank, a barrier, and the
// context that kernels use to reach peers. Names, argument order and meaning are those of the
// platform API; what it leaves open is settled as follows.
//
//   * Functions return 0, or -1: for NULL arguments, without windows, and on any failure. The
//     reason is in tern_last_error() (tern/status.h).
//   * No wait is for ever: the deadline is TERN_TIMEOUT seconds, 60 by default; a rank that dies is
//     noticed within a second and named. A handle that has failed stays failed.
//   * Windows are zero before any rank can reach them. Kernels' addresses are valid in their own
//     process only.
//
//   * A handle is used by one thread at a time.
//
// What carries all of this is chosen by comm_init: shared memory of one machine, a job that a
// launcher has started on several, or HCCL; TERN_COMM_BACKEND names one (docs/comm-api.md).
//
// Link with -ltern. Errors never print.
#ifndef TERN_FACES_COMM_H
#define TERN_FACES_COMM_H

#include <stddef.h>
#include <stdint.h>

#include "tern/api.h"

TERN_BEGIN_DECLS

typedef struct CommHandle_ *CommHandle;

// Joins nranks processes, each with its rank 0..nranks-1, at a path of which no file exists: rank 0
// makes a Unix socket there and removes it once all have come. 1 <= nranks <= 64. NULL on failure.
TERN_API CommHandle comm_init(int rank, int nranks, const char *rootinfo_path);

// Collective. Makes one window of at least win_size bytes on every rank; once per handle.
// *device_ctx_out is the address of a CommContext (comm_context.h), valid until comm_destroy.
TERN_API int comm_alloc_windows(CommHandle h, size_t win_size, uint64_t *device_ctx_out);

// The address of the own window.
TERN_API int comm_get_local_window_base(CommHandle h, uint64_t *base_out);

// The bytes really allocated per rank: win_size rounded up.
TERN_API int comm_get_window_size(CommHandle h, size_t *size_out);

// Returns when all ranks have entered it. -1 before comm_alloc_windows.
TERN_API int comm_barrier(CommHandle h);

// A context of some ranks in parts of the base windows: rank_ids[i], a rank of the handle, is rank
// i there, and its window is window_size bytes of its base window from window_offset on. The caller
// is rank_ids[domain_rank]. After comm_alloc_windows; nobody else takes part. Valid until
// comm_destroy.
TERN_API int comm_derive_context(CommHandle h, const uint32_t *rank_ids, size_t rank_count,
                                 uint32_t domain_rank, size_t window_offset, size_t window_size,
                                 uint64_t *device_ctx_out);

// Windows of window_size bytes for some ranks, which only these call, all with the same rank_ids.
// allocation_id: a number that no living allocation of a caller has. The windows are zero before
// any rank can reach them. They and the context live until they are released, or until
// comm_destroy.
TERN_API int comm_alloc_domain_windows(CommHandle h, uint64_t allocation_id,
                                       const uint32_t *rank_ids, size_t rank_count,
                                       uint32_t domain_rank, size_t window_size,
                                       uint64_t *device_ctx_out, uint64_t *local_window_base_out);

// All ranks of the allocation call it, with the arguments of the allocation; it returns when all
// have come. -1 also when one does not come: the allocation is released nevertheless.
TERN_API int comm_release_domain_windows(CommHandle h, uint64_t allocation_id, size_t rank_count,
                                         uint32_t domain_rank);

// Global domains: windows of processes that no communicator and no launcher has brought together.
// Each prepares its own window and gets a descriptor of 288 bytes; the program carries it to the
// others by whatever means; who has those of all ranks imports them. Where all are on one machine
// nobody waits for anybody here, so a program that lets its kernels begin has seen to it that all
// have imported. Any thread.
#define COMM_GLOBAL_DOMAIN_VERSION 2u
#define COMM_GLOBAL_DOMAIN_SIM_SHM 1u   // profile: shared memory
#define COMM_GLOBAL_DOMAIN_A3_FABRIC 2u // profile: cards; refused here

typedef struct CommGlobalDomainDescriptor {
    uint32_t version;
    uint32_t profile;
    uint32_t domain_rank;
    uint32_t rank_count;
    uint64_t mapping_size; // window_size in whole pages
    uint32_t handle_size;  // bytes of `handle` that are used
    uint32_t reserved;     // 0
    uint8_t handle[256];
} CommGlobalDomainDescriptor;

// Makes the window of rank domain_rank of rank_count (1 to 64), zero before any rank can reach it.
// domain_id: a number that no living domain of this process has, the same on all ranks, as are
// window_size and profile. It has no name in any folder; the descriptor is good as long as this
// process lives and has not released the domain. The window stays at *local_window_base_out.
TERN_API int comm_global_domain_prepare(uint64_t domain_id, uint32_t domain_rank,
                                        uint32_t rank_count, size_t window_size, uint32_t profile,
                                        CommGlobalDomainDescriptor *out,
                                        uint64_t *local_window_base_out);

// Maps the windows of all ranks, given exactly one descriptor of each, in any order. The context
// lives until the domain is released. All ranks are processes of one user, and those of a machine
// in one pid namespace. With ranks on several machines it returns when all have come, before the
// deadline TERN_TIMEOUT; kernels' loads and stores then reach the windows of the same machine,
// put, get and notify all. On failure the domain is prepared as before: release it, or import it
// again, between machines on all ranks.
TERN_API int comm_global_domain_import(uint64_t domain_id, const CommGlobalDomainDescriptor *all,
                                       size_t count, uint64_t *device_ctx_out);

// Frees a domain that has been prepared, or imported, in this process; the program has seen to it
// that no kernel uses it any more. Waits for no rank. Ranks of this machine that have imported it
// keep this rank's window; transfers from other machines to it fail from then on.
TERN_API int comm_global_domain_release(uint64_t domain_id);

// Workspaces of the engines of asynchronous transfers. Here transfers need none: the mask and the
// number of channels are 0, and to provide one is refused (mask 0: 0, *handle_out NULL).
TERN_API uint32_t dma_workspace_supported_mask(void);
TERN_API uint32_t dma_workspace_channel_count(void);
TERN_API int dma_workspace_provision(uint32_t mask, uint64_t *addr_out, int count,
                                     void **handle_out);
TERN_API void dma_workspace_release(void *handle);

// Frees everything; waits for nobody. The handle must not be used again, whatever is returned.
TERN_API int comm_destroy(CommHandle h);

TERN_END_DECLS

#endif
