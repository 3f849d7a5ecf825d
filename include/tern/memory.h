// SPDX-License-Identifier: Apache-2.0
// Memory that is private to use and shareable to tern: a program gets it like malloc's, of any
// size, alone, and collective calls move it at the speed of windows, without a copy in between.
// Other ranks reach it in collective calls only; it is no window, so there is no put into it and no
// signal in it.
//
//     float *gradients;
//     if (tern_alloc(comm, count * sizeof *gradients, (void **)&gradients) < 0) …
//     tern_all_reduce(comm, gradients, gradients, count, TERN_F32, TERN_SUM);
//     tern_free(gradients);
#ifndef TERN_MEMORY_H
#define TERN_MEMORY_H

#include <stddef.h>

#include "tern/api.h"
#include "tern/comm.h"

TERN_BEGIN_DECLS

// Gives at least size_bytes of memory, aligned to 64 bytes, until tern_free. Not collective: any
// rank, any thread, at any time. What is in it is undefined, as in malloc's. It serves calls on
// every communicator of the job that `comm` belongs to. It is meant for buffers: a call takes
// longer the more blocks there are.
//
// What tern_free gave back is used first; a rank keeps up to 64 MiB of that, and the rest goes back
// to the machine.
//
// fork(): the child has no heap. tern_alloc there is TERN_ERR_STATE, whatever the parent's threads
// did at that moment, so a caller falls back to malloc and children never share what they allocate.
// Blocks of before the fork are the parent's, shared, not copies: a child may read them, and must
// not write into them. A child that joins a job of its own has the heap of that job.
//
// Errors: TERN_ERR_MEMORY when the machine or its cgroup cannot give that much now (the sentence
// says how much there is; asked before a page is touched, for blocks from 1 MiB on), when the
// rank's share of addresses is used up (4 TiB divided by the number of ranks), or when the process
// was not allowed to reserve them (ulimit -v or -f); the error of a failed communicator.
TERN_CALL int tern_alloc(tern_comm *comm, size_t size_bytes, void **memory);

// Gives back what tern_alloc has given; no call may use it any more. Any thread. NULL is allowed.
// The job's first communicator cannot be destroyed before. TERN_ERR_ARG for an address that
// tern_alloc has not given to this process, or that was freed already; TERN_ERR_STATE in the child
// of a fork() for a block of its parent.
TERN_API int tern_free(void *memory);

// 1 when the address lies in a block that tern_alloc has given to this process, and that has not
// been freed: at its beginning or anywhere in it. Else 0: of malloc's memory, of windows, and in
// the child of a fork() of its parent's blocks. Never fails. Any thread.
TERN_API int tern_memory_owner(const void *address);

TERN_END_DECLS

#endif
