// SPDX-License-Identifier: Apache-2.0
// Trees of intervals: which of many have bytes in common with a given one. A tree is ordered by
// beginnings, knows for each of its parts how far that reaches, and is balanced by chance (a treap;
// Seidel, Aragon 1996). The intervals lie in an array of larger structs, numbered from 1; 0 is
// none. Data path: no allocation; about log(count) steps.
#ifndef TERN_GRAPH_INTERVAL_H
#define TERN_GRAPH_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

struct tern__interval {
    uint64_t first, end; // bytes [first, end); not changed while it is in a tree
    uint64_t reach;      // the highest end in this part of the tree
    uint32_t left, right;
};

struct tern__intervals {
    void *zero; // the one with the number 0, if there were one
    size_t size;
};

void tern__interval_add(const struct tern__intervals *all, uint32_t *root, uint32_t added);
void tern__interval_remove(const struct tern__intervals *all, uint32_t *root, uint32_t removed);

// Calls visit(arg, number) for each of the tree that has bytes of [first, end), from low to
// high, until one returns what is not 0; returns that. `visit` does not change the tree.
int tern__interval_visit(const struct tern__intervals *all, uint32_t root, uint64_t first,
                         uint64_t end, int (*visit)(void *arg, uint32_t number), void *arg);

#endif
