// SPDX-License-Identifier: Apache-2.0
// The heap of a job: where tern_alloc takes its memory. It lies behind the area of the first
// communicator (comm/area.h), in the same sparse memory, so every rank has mapped it before
// anything is allocated, and to calls it looks like one more window.
#ifndef TERN_COMM_HEAP_H
#define TERN_COMM_HEAP_H

#include <pthread.h>

#include "comm/window.h"
#include "mem/extents.h"

struct tern__heap {
    struct tern_window
        window; // what the registry finds: the area and the heap of all ranks. Not a handle
    pthread_mutex_t lock;
    char *begin; // of this rank's heap
    struct tern__extents extents;
    size_t dumped_bytes; // from its beginning on, in core dumps
};

// The addresses a rank's heap is given in a job of so many ranks.
size_t tern__heap_bytes(int nranks);

// After comm->area, whose parts have `size_bytes` of heap behind them. comm is the first
// communicator of its job.
int tern__heap_create(tern_comm *comm, size_t size_bytes);

// Nothing of it is in use. NULL is allowed.
void tern__heap_destroy(struct tern__heap *heap);

// In the child of a fork: frees what is private, and touches no lock.
void tern__heap_let_go(struct tern__heap *heap);

// Bytes of the job's heaps, of all ranks, that were given out and have not been touched yet.
uint64_t tern__heap_untouched(const tern_comm *comm);

#endif
