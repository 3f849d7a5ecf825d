// SPDX-License-Identifier: Apache-2.0
// A look at the live entries of a buffer: which of them a region meets, wherever they are kept.
// Data path: no allocation, but for the list of ids.
#ifndef TERN_GRAPH_MAP_LOOK_H
#define TERN_GRAPH_MAP_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/ids.h"
#include "graph/map_entries.h"

struct tern__map_rule {
    bool after[2]; // by role of the earlier
    enum tern__map_role becomes;
    bool forgets; // what it comes after and covers
};

struct tern__map_look {
    struct tern__map_entries *entries;
    const struct tern__map_rule *rule;
    struct tern__ids *ids;
    const tern_region *region;
    const struct tern__box *box;
    uint32_t buffer;
    int32_t version;
    // Of the buffer that is looked at: below this version entries are met wherever they are.
    int32_t raised;
    bool is_other;    // it is not the region's
    uint32_t covered; // entries of its tree, chained by `next`
};

// Adds to the ids the tasks whose entries of the buffer the region meets and comes after; forgets
// what it covers, if the rule says so. TERN_ERR_MEMORY.
int tern__map_look_at_buffer(struct tern__map_look *lookup, uint32_t index);

// The same for all buffers that have overlapped with the region's, which is not looked at.
int tern__map_look_at_others(struct tern__map_look *lookup);

#endif
