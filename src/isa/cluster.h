// SPDX-License-Identifier: Apache-2.0
// What the cores of a cluster share while they run a block of a mixed task (tern/cluster.h). A core
// that is done may begin the next block while another one still runs the last, so a cluster has two
// of these; more cannot be in use, as a block needs two of three cores.
#ifndef TERN_ISA_CLUSTER_H
#define TERN_ISA_CLUSTER_H

#include <pthread.h>
#include <stdalign.h>

#include "base/order.h"
#include "sync/bell.h"
#include "tern/cluster.h"

enum { TERN__CLUSTER_LANES = 3, TERN__CLUSTERS_EACH = 2 };

// Of one kernel: 0 the AIC, 1 and 2 the AIV. All but the last two are read by the others.
struct tern__cluster_lane {
    alignas(TERN_CACHE_LINE) _Atomic uint32_t set[TERN_CLUSTER_FLAGS]; // TERN_CLUSTER_ACROSS
    _Atomic uint32_t met[TERN_CLUSTER_FLAGS];                          // TERN_CLUSTER_VECTORS
    _Atomic uint32_t posted[TERN_CLUSTER_COUNTERS];
    _Atomic uint64_t awaits; // what it waits for, and the how many-th wait that is; 0: nothing
    uint32_t waits;          // so far
    uint32_t waited[TERN_CLUSTER_FLAGS];
};

struct tern__cluster {
    alignas(TERN_CACHE_LINE) _Atomic uint32_t users; // cores that have not left
    _Atomic uint32_t ended;                          // bits of lanes whose kernel has ended
    _Atomic uint32_t used;                           // 0: all is zero
    uint32_t lanes;                                  // bits of those that there are
    struct tern__bell bell;
    struct tern__cluster_lane lane[TERN__CLUSTER_LANES];
    pthread_mutex_t lock; // of what follows
    struct tern__cluster_memory {
        size_t size_bytes; // 0: not asked for by this block
        size_t has_bytes;
        void *data;
    } memory[TERN_CLUSTER_COUNTERS];
};

// For so many clusters. NULL: no memory.
struct tern__cluster *tern__clusters_make(int clusters);
void tern__clusters_free(struct tern__cluster *clusters, int count);

// The one of the two of cluster `unit` that is free, for a block whose lanes these bits are. By one
// thread at a time.
struct tern__cluster *tern__cluster_begin(struct tern__cluster *clusters, int unit, uint32_t lanes);

// The calling thread runs lane `lane` of the block, and then does not any more.
void tern__cluster_enter(struct tern__cluster *cluster, int lane);
void tern__cluster_leave(void);

// Whether the caller is a kernel of a mixed task, and there is a `what` of this number.
int tern__cluster_check(const char *call, const char *what, int number, int numbers);

#endif
