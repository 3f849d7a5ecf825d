// SPDX-License-Identifier: Apache-2.0
// Trees over a matrix of edge lengths, [from * n + to] and TERN__NO_EDGE (plan/optimal/graph.h):
// whole numbers, so that the same lengths give the same tree on every machine, and a certificate is
// checked without rounding. Lengths are 0 or more and at most TERN__LENGTH_MAX.
#ifndef TERN_OPTIMAL_ARBORESCENCE_H
#define TERN_OPTIMAL_ARBORESCENCE_H

#include <stdint.h>

#include "plan/optimal/graph.h"

#define TERN__LENGTH_MAX (INT64_C(1) << 48)

// The shortest out-tree of a root (Chu-Liu 1965, Edmonds 1967); parent[v] is the rank before v, -1
// for the root. Returns its length; -1 when some rank cannot be reached. For the in-tree, give the
// lengths of the reverse edges; of equal ones those from ranks of lower numbers are taken.
int64_t tern__arborescence(const int64_t *lengths, int n, int root, int *parent);

// The shortest paths from a root (Dijkstra 1959): parents as above and the distance of each rank;
// returns the sum of the distances, or -1.
int64_t tern__shortest_paths(const int64_t *lengths, int n, int root, int *parent,
                             int64_t *distance);

// A tree grown from the root by the edge with the least length + penalty × depth (Prim 1957). Ties
// are broken by `seed`, which moves on. Returns its depth; -1 when some rank cannot be reached.
int tern__shallow_tree(const int64_t *lengths, int n, int root, double penalty, uint64_t *seed,
                       int *parent);

// The lengths of the reverse edges.
void tern__reverse_lengths(const int64_t *lengths, int n, int64_t *reversed);

// The next number of a sequence that looks random (splitmix64).
uint64_t tern__net_random(uint64_t *seed);

#endif
