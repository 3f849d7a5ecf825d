// SPDX-License-Identifier: Apache-2.0
// What the tasks of a ring have in the tensor map, in their order: entries, which go when their
// task has retired; and readers that nobody has looked for so far, which have none. Data path.
#ifndef TERN_GRAPH_MAP_QUEUE_H
#define TERN_GRAPH_MAP_QUEUE_H

#include <stdint.h>

#include "tern/region.h"

#define TERN__MAP_READERS_MAX 32 // of a struct tern__map_queued

// An entry, or readers of a task that are not filed: of its regions from `readers` on those that
// `which` has a bit for.
struct tern__map_queued {
    uint32_t task; // its number in the ring
    union {
        uint32_t entry;
        uint32_t which;
    };
    const tern_region *readers; // NULL: an entry
};

struct tern__map_queue {
    struct tern__map_queued *queue; // in the order of tasks, around the end
    uint32_t room, count, oldest;
};

static inline struct tern__map_queued *tern__map_queued_at(const struct tern__map_queue *ring,
                                                           uint32_t place)
{
    const uint32_t slot = ring->oldest + place;
    return &ring->queue[slot < ring->room ? slot : slot - ring->room];
}

#endif
