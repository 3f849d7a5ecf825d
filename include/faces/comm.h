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

// Frees everything; waits for nobody. The handle must not be used again, whatever is returned.
TERN_API int comm_destroy(CommHandle h);

TERN_END_DECLS

#endif
