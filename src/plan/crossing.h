// SPDX-License-Identifier: Apache-2.0
// What can cross between blocks of ranks: the links from one block to another, and what they share.
// Lower bounds ask how many bytes a time can leave some blocks for others.
#ifndef TERN_PLAN_CROSSING_H
#define TERN_PLAN_CROSSING_H

#include "tern/topo.h"

// Links from one block to another that share a resource, or (resource below 0) none.
struct tern__crossing {
    int resource;
    int links;
    double rate; // bytes per us of the links together
};

// A link uses up to TERN_TOPO_USES_MAX resources, and what is charged to any one of them, or to the
// link itself, limits it. Way w charges each link to its use number w, where it has one: of ports
// all outwards, or all inwards. Every way gives a capacity that is not too small; the least counts.
struct tern__crossings {
    int blocks;
    int ways;
    int resources;
    double *capacity; // of each resource, bytes per us
    double *sum;      // of what is being added up; all 0 in between
    int *touched;
    int touched_count;
    struct tern__crossing_way {
        int *start; // of [from * blocks + to], in list; one more at the end
        struct tern__crossing *list;
        int count, room;
    } way[TERN_TOPO_USES_MAX];
};

struct tern__capacity {
    double rate;   // bytes per us, at most
    int way;       // by which it was found
    int links;     // that cross
    int alone;     // of them: that were charged to no resource
    int resources; // that the others were charged to
};

// of[rank] is the block of each of n ranks. topo NULL: every link, 1 GB/s.
int tern__crossings_create(int n, const tern_topo *topo, const int *of, int blocks,
                           struct tern__crossings *crossings);
void tern__crossings_destroy(struct tern__crossings *crossings);

// From any of some blocks to any of others; and between any two of different parts, part[block].
struct tern__capacity tern__crossings_from(struct tern__crossings *crossings, const int *from,
                                           int from_count, const int *to, int to_count);
struct tern__capacity tern__crossings_parts(struct tern__crossings *crossings, const int *part);

#endif
