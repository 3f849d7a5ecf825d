// SPDX-License-Identifier: Apache-2.0
// How the kernels of a mixed task (TERN_CORE_MIX, tern/graph.h) meet. Each of its blocks is an AIC
// kernel and one or two AIV kernels, or two AIV kernels, on the cores of one cluster at the same
// time. What is here belongs to one block: it begins with zeros, and what is left at the end is
// forgotten. Called by these kernels, each on its own core; anywhere else TERN_ERR_STATE.
//
// A wait ends with TERN_ERR_KERNEL when a kernel that it waits for has ended, or when all of the
// block wait here for each other, and with TERN_ERR_TIMEOUT after TERN_TIMEOUT seconds (60). What
// the others wrote before is visible after it. The chip's names: AscendC's CrossCoreSetFlag and
// CrossCoreWaitFlag, and TPipe of the PTO ISA.
#ifndef TERN_CLUSTER_H
#define TERN_CLUSTER_H

#include <stddef.h>
#include <stdint.h>

#include "tern/api.h"

TERN_BEGIN_DECLS

enum { TERN_CLUSTER_FLAGS = 16, TERN_CLUSTER_COUNTERS = 32 };

// Between which cores a flag is set.
typedef enum tern_cluster_mode {
    TERN_CLUSTER_VECTORS = 1, // the two AIV: it counts when both have set it
    TERN_CLUSTER_ACROSS = 2, // AIC and AIV: by the AIC it counts for each AIV; by the AIV it counts
                             // for the AIC when all of them have set it
} tern_cluster_mode;

// Which kernel of the block the caller is: 0 the AIC, 1 and 2 the AIV. -1 outside of a mixed task.
TERN_API int tern_cluster_lane(void);

// How many AIV kernels the block has. 0 outside of a mixed task.
TERN_API int tern_cluster_vectors(void);

// Flags count up, each for itself: a wait takes 1 away, and waits until it can. The stores of the
// caller happen before.
TERN_CALL int tern_cluster_set(int flag, tern_cluster_mode mode);
TERN_CALL int tern_cluster_wait(int flag);

// Counters, for rings of slots. Each kernel has its own of a number: how many entries it has made,
// or has taken. await: until those on the other side (of the AIC all AIV, of an AIV the AIC) have
// counted so far. A counter only grows.
TERN_CALL int tern_cluster_post(int counter, uint32_t entries);
TERN_CALL int tern_cluster_await(int counter, uint32_t entries);

// What the caller itself has counted. 0 for what is no counter, and outside of a mixed task.
TERN_API uint32_t tern_cluster_posted(int counter);

// Memory for slots that all kernels of the block get at one address, by a number in the range of
// counters: who asks first gives its size, others may ask for no more. Aligned to 64 bytes; not
// zeroed. TERN_ERR_ARG, TERN_ERR_MEMORY.
TERN_CALL int tern_cluster_memory(int number, size_t size_bytes, void **memory);

TERN_END_DECLS

#endif
