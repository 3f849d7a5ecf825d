// SPDX-License-Identifier: Apache-2.0
// Sums in rank order that grow on their way: the sum of the inputs of ranks 0 to k is made on some
// rank and goes on to the next one, where more inputs have come as they are. Each input, and each
// of those sums, pays the length of its path once. The shortest such way is found exactly, by a
// table over how many inputs are in the sum, and where it is.
#ifndef TERN_OPTIMAL_PREFIX_H
#define TERN_OPTIMAL_PREFIX_H

#include <stdint.h>

#include "plan/optimal/graph.h"

// For any rank where the sum is to end. Lengths are as in plan/optimal/arborescence.h.
struct tern__prefix_ways {
    int n;
    // Shortest paths: [from * n + to], and the rank before `to`.
    int64_t distance[TERN__NET_RANKS_MAX * TERN__NET_RANKS_MAX];
    int before[TERN__NET_RANKS_MAX * TERN__NET_RANKS_MAX];
    // Of the sum of the first k + 1 inputs, made on a rank: what has been paid, and where the sum
    // of the first k was made; [k * n + rank].
    int64_t paid[TERN__NET_RANKS_MAX * TERN__NET_RANKS_MAX];
    int came_from[TERN__NET_RANKS_MAX * TERN__NET_RANKS_MAX];
};

void tern__prefix_find(const int64_t *lengths, int n, struct tern__prefix_ways *ways);

// The length of the shortest way to a root; -1 when there is none.
int64_t tern__prefix_length(const struct tern__prefix_ways *ways, int root);

// An in-tree of the root, as close to the shortest way as one tree can be: to[v] is the next rank,
// -1 of the root.
void tern__prefix_tree(const struct tern__prefix_ways *ways, int root, int *to);

#endif
