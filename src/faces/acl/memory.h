// SPDX-License-Identifier: Apache-2.0
// Memory that ACL has given to the program: where each block begins and how long it is. While the
// process is in a job, memory of the device is tern_alloc's, so collective calls move it without a
// copy; before, and where there is none of that, it is ordinary memory, and both work.
//
// Such a block needs its communicator, and programs may free memory after HcclCommDestroy: so
// destroying that is put off until the last block has been freed, or the process exits.
#ifndef TERN_FACES_ACL_MEMORY_H
#define TERN_FACES_ACL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/comm.h"

// The block of aclrtMalloc, aclrtMallocHost and the like that an address is in: where it begins,
// and the bytes that were asked for. False for other memory. Any thread; O(log n).
bool tern__acl_memory_of(const void *address, uintptr_t *begin, size_t *bytes);

// Whether it is in such a block, and which of the two kinds that is.
bool tern__acl_memory_is_known(const void *address, bool *of_device);

// TERN_ERR_ARG, with a sentence of the call, when so many bytes from there on are more than the
// block has that the first of them is in.
int tern__acl_memory_check(const char *call, const char *what, const void *address, size_t bytes);

// The same of bytes that are read or written now: addresses of aclrtReserveMemAddress have memory.
int tern__acl_memory_check_use(const char *call, const char *what, const void *address,
                               size_t bytes);

// From now on memory of the calling thread's device is of this job. `comm` is its first
// communicator; false: no memory to remember it, and nothing has changed.
bool tern__acl_memory_join(tern_comm *comm);

// Destroys the communicator: now, or when its last block is freed. The status of
// tern_comm_destroy; when that refuses (something else is left) it is joined as before. Also for
// communicators that were never joined.
int tern__acl_memory_leave(tern_comm *comm);

#endif
