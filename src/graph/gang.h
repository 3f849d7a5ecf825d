// SPDX-License-Identifier: Apache-2.0
// Tasks that need several calls: of several blocks, on the cores of one cluster (TERN_CORE_MIX), or
// all at once (sync_start). They are given to cores, in their order and before tasks of one call;
// while any waits, a core that has ended something comes here first. What cannot be placed yet
// keeps cores that it needs: a task with sync_start all that it can get, the first of the others
// one cluster's; from tasks that came later, too. So each of them has its turn as soon as what runs
// has ended. All under one lock.
#ifndef TERN_GRAPH_GANG_H
#define TERN_GRAPH_GANG_H

#include <pthread.h>
#include <stdalign.h>

#include "graph/task.h"

struct tern__gangs {
    pthread_mutex_t lock;
    struct tern__task *first, *last;
    uint32_t turns; // given so far
    alignas(TERN_CACHE_LINE) _Atomic uint32_t count;
};

// From any thread. The task is ready; its blocks are given when places are looked for next.
void tern__gangs_add(struct tern_chip *chip, struct tern__task *task);

// Gives blocks to cores that are idle. Returns tasks of a run that is cancelled, by `next`: those
// of which no call runs any more. The caller ends them.
struct tern__task *tern__gangs_place(struct tern_chip *chip);

#endif
